"""The client's own memory of a project, changed beside the client."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.app import Holdfast
from holdfast.disk.client import slug
from holdfast.errors import BadInput, NotFound
from holdfast.memory import swap, topics
from holdfast.ops import topics as ops
from told import git, repository

FRONT = "---\nname: {}\ndescription: {}\nmetadata:\n  type: {}\n---\n\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = repository(tmp_path / "tidegate")
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def app(home):
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


@pytest.fixture
def memory(app, project):
    folder = Path(app.client_dir) / "projects" / slug(str(project)) / "memory"
    folder.mkdir(parents=True)
    return folder


def put(
    memory: Path,
    file: str,
    name: str = "x",
    kind: str = "project",
    body: str = "A fact.\n",
    line: bool = True,
):
    (memory / file).write_text(FRONT.format(name, f"about {name}", kind) + body)
    if line:
        with (memory / "MEMORY.md").open("a") as index:
            index.write(f"- [{name}]({file}) — about {name}\n")


def kinds(app) -> list[tuple[str, str]]:
    return [(one.kind, one.where) for one in ops.lint(app).findings]


def test_a_topic_is_written_as_the_client_writes_them(app, memory):
    ops.write(
        app,
        "tide tables",
        "They come at noon.\n\nAlways.",
        description="where: they come",
        type="reference",
    )
    (topic,) = (path for path in memory.iterdir() if path.name != "MEMORY.md")
    assert topic.name == "reference_tide_tables.md"
    head = '---\nname: tide tables\ndescription: "where: they come"\nmetadata:\n  type: reference\n---\n'
    assert topic.read_text() == f"{head}\nThey come at noon.\n\nAlways.\n"
    assert (
        memory / "MEMORY.md"
    ).read_text() == "- [tide tables](reference_tide_tables.md) — where: they come\n"
    (listed,) = ops.list_all(app, type="reference").topics
    assert (listed.name, listed.indexed, listed.problem) == ("tide tables", True, "")
    assert ops.list_all(app, type="user").topics == []
    assert kinds(app) == []


def test_it_is_the_folder_of_the_repository_from_every_working_tree(
    app, memory, project, tmp_path, monkeypatch
):
    put(memory, "a.md", "gates")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    (project / "deep").mkdir()
    for folder in (tmp_path / "tree", project / "deep"):
        monkeypatch.chdir(folder)
        assert [one.name for one in ops.list_all(app).topics] == ["gates"]


def test_the_users_settings_may_name_another_folder_and_no_project_can(app, project, tmp_path):
    elsewhere = tmp_path / "notes"
    elsewhere.mkdir()
    Path(app.client_dir).mkdir()
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text('{"autoMemoryDirectory": "/tmp/strangers"}')
    usual = ops.list_all(app).folder
    assert usual.startswith(app.client_dir)
    settings = Path(app.client_dir) / "settings.json"
    for named, expected in (
        ("~/notes", str(elsewhere)),
        ("~/../x", usual),
        ("relative", usual),
        ("/", usual),
    ):
        settings.write_text(f'{{"autoMemoryDirectory": "{named}"}}')
        assert ops.list_all(app).folder == expected


def test_only_what_is_meant_to_change_changes(app, memory):
    odd = (
        "---\r\nname:   'gates'\r\n# mine\r\ndescription: >-\r\n  two\r\n  lines\r\n"
        "metadata:\r\n  type: user\r\n  x: 1\r\n---\r\nBody  \r\n"
    )
    (memory / "gates.md").write_bytes(odd.encode())
    (memory / "MEMORY.md").write_bytes(b"# Mine\r\n\r\n* [My own words](gates.md): as I like it\r\n")
    index = (memory / "MEMORY.md").read_bytes()
    ops.move(app, "gates", "feedback")
    assert (memory / "gates.md").read_bytes() == odd.replace("type: user", "type: feedback").encode()
    ops.update(app, "gates", description="new")
    expected = odd.replace("type: user", "type: feedback").replace(
        "description: >-\r\n  two\r\n  lines", "description: new"
    )
    assert (memory / "gates.md").read_bytes() == expected.encode()
    ops.update(app, "gates", append="more")
    assert (memory / "gates.md").read_bytes() == (expected.rstrip() + "\r\nmore\r\n").encode()
    assert (memory / "MEMORY.md").read_bytes() == index


def test_what_is_forgotten_is_gone(app, memory):
    put(memory, "a.md", "gates")
    put(memory, "b.md", "pumps")
    with (memory / "MEMORY.md").open("a") as file:
        file.write("Read [gates](a.md) first.\n")
    ops.forget(app, "gates")
    assert sorted(path.name for path in memory.iterdir()) == ["MEMORY.md", "b.md"]
    assert (
        memory / "MEMORY.md"
    ).read_text() == "- [pumps](b.md) — about pumps\nRead [gates](a.md) first.\n"


def test_secrets_are_redacted_before_anything_is_written(app, memory):
    token = "ghp_" + "1234567890abcdefghijABCDEFGHIJ123456"
    ops.write(app, f"key {token}", f"It is {token}.", description=f"use {token}")
    ops.update(app, "key", append=f"again {token}")
    assert token.encode() not in b"".join(path.read_bytes() for path in memory.iterdir())


def test_what_the_client_writes_meanwhile_is_kept(app, memory, monkeypatch):
    """It writes between our look and our rename; then again, before the second try."""
    put(memory, "a.md", "gates")
    real, times = swap.put, []

    def late(path, expected, new, temporary):
        if path.endswith("MEMORY.md") and len(times) < 2:
            times.append(1)
            with open(path, "a") as file:
                file.write(f"- [theirs {len(times)}](t{len(times)}.md) — theirs\n")
        return real(path, expected, new, temporary)

    monkeypatch.setattr(swap, "put", late)
    ops.write(app, "pumps", "They pump.", description="pumping")
    lines = (memory / "MEMORY.md").read_text().splitlines()
    assert [line[3:].partition("]")[0] for line in lines] == ["gates", "theirs 1", "theirs 2", "pumps"]


def test_many_writers_lose_nothing(app, memory):
    """Two of ours in processes of their own, and one that knows nothing of our lock and appends."""
    script = (
        "import sys; from holdfast.app import Holdfast; from holdfast.ops import topics\n"
        "app = Holdfast.open()\n"
        "for n in range(12): topics.write(app, f'{sys.argv[1]} {n}', 'text', description='d')\n"
    )
    env = {**os.environ, "HOLDFAST_HOME": app.home.root, "HOME": app.environ["HOME"]}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("CLAUDE_CONFIG_DIR", None)
    ours = [subprocess.Popen([sys.executable, "-c", script, name], env=env) for name in ("one", "two")]

    def append():
        for number in range(60):
            with (memory / "MEMORY.md").open("a") as file:
                file.write(f"- their line {number}\n")

    other = threading.Thread(target=append)
    other.start()
    assert [one.wait(60) for one in ours] == [0, 0]
    other.join()
    index = (memory / "MEMORY.md").read_text()
    assert all(f"[{name} {number}]" in index for name in ("one", "two") for number in range(12))
    assert len(list(memory.glob("project_*.md"))) == 24
    assert not list(memory.glob(".*"))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("no frontmatter at all", "frontmatter"),
        ("---\nname: x\n", "frontmatter"),
        ("---\nname: [\n---\n", "frontmatter"),
        ("---\n- a\n---\n", "frontmatter"),
        ("---\nname: x\ndescription: y\n---\n", "frontmatter"),
        ("---\nname: x\ndescription: y\ntype: secret\n---\n", "frontmatter"),
    ],
)
def test_a_topic_with_a_broken_frontmatter_is_named_and_the_others_are_shown(app, memory, words, kind):
    put(memory, "good.md", "good")
    (memory / "bad.md").write_text(words)
    assert [one.file for one in ops.list_all(app).topics] == ["bad.md", "good.md"]
    assert (kind, "bad.md") in kinds(app)
    assert ops.show(app, "bad.md").text == words


def test_huge_binary_linked_and_nameless_topics_are_named_and_not_read(app, memory, tmp_path):
    (memory / "huge.md").write_bytes(b"x" * (10 << 20))
    (memory / "binary.md").write_bytes(b"\x89PNG\0")
    (tmp_path / "secret").write_text("secret")
    (memory / "link.md").symlink_to(tmp_path / "secret")
    (memory / "folder").symlink_to(tmp_path)
    put(memory, "large.md", "large", body="x" * (70 << 10))
    found = kinds(app)
    for file in ("huge.md", "binary.md", "link.md"):
        assert ("not read", file) in found
        with pytest.raises(BadInput):
            ops.show(app, file)
        with pytest.raises(BadInput):
            ops.update(app, file, text="x")
    assert ("too large", "large.md") in found
    ops.forget(app, "link.md")
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "MEMORY.md/../x", ""])
def test_no_name_leads_out_of_the_folder(app, memory, name):
    (memory.parent / "secret.md").write_text("secret")
    for call in (ops.show, ops.forget):
        with pytest.raises((NotFound, BadInput)):
            call(app, name)
    with pytest.raises((NotFound, BadInput)):
        topics.Memory(str(memory)).path("../secret.md")
    made = ops.write(app, f"{name}/../../x y", "text", description="d")
    assert Path(made.file).parent == memory


def test_an_index_through_a_link_is_left_alone(app, memory, tmp_path):
    (tmp_path / "mine").write_text("mine\n")
    (memory / "MEMORY.md").symlink_to(tmp_path / "mine")
    with pytest.raises(BadInput, match="is not a plain file"):
        ops.write(app, "x", "text", description="d")
    assert (tmp_path / "mine").read_text() == "mine\n"


def test_no_topic_is_added_to_an_index_the_client_would_cut(app, memory):
    (memory / "MEMORY.md").write_text("- a line\n" * 200)
    with pytest.raises(BadInput, match="would cut it"):
        ops.write(app, "x", "text", description="d")
    assert [path.name for path in memory.iterdir()] == ["MEMORY.md"]


@pytest.mark.parametrize(
    "call",
    [
        lambda app: ops.write(app, "gates", "again", description="d"),
        lambda app: ops.write(app, "new", " \n", description="d"),
        lambda app: ops.write(app, "new", "x" * 70_000, description="d"),
        lambda app: ops.write(app, "new", "x", description=" "),
        lambda app: ops.write(app, "new", "x", description="d", type="fact"),
        lambda app: ops.move(app, "gates", "fact"),
        lambda app: ops.update(app, "gates"),
        lambda app: ops.update(app, "twin", text="x"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(app, memory, call):
    put(memory, "a.md", "gates")
    put(memory, "b.md", "twin")
    put(memory, "c.md", "twin")
    before = {path: path.read_bytes() for path in memory.iterdir()}
    with pytest.raises(BadInput):
        call(app)
    assert {path: path.read_bytes() for path in memory.iterdir()} == before


def test_what_is_no_text_is_written_as_text(app, memory):
    ops.write(app, "na\0me\ud800", "bo\0dy \ud800", description="de\0scription \udcff")
    (topic,) = ops.list_all(app).topics
    assert topic.problem == ""
    assert kinds(app) == []


# What is wrong


def test_the_index_and_the_topics_are_held_against_each_other(app, memory):
    put(memory, "a.md", "gates")
    put(memory, "lost.md", "lost", line=False)
    with (memory / "MEMORY.md").open("a") as file:
        file.write("- [gone](gone.md) — x\n- [gates](a.md) — about gates\n- [out](../x.md) — y\n")
        file.write(f"- [gates](a.md) — {'x' * 400}\n- [web](https://example.org) — fine\n")
    assert kinds(app) == [
        ("dead link", "MEMORY.md:2"),
        ("line twice", "MEMORY.md:3"),
        ("dead link", "MEMORY.md:4"),
        ("line too long", "MEMORY.md:5"),
        ("not in the index", "lost.md"),
    ]
    (memory / "MEMORY.md").write_text("x\n" * 201)
    assert ("index too long", "MEMORY.md") in kinds(app)


def test_topics_that_say_the_same_or_the_opposite_are_found(app, memory):
    same = "The pumps are started by hand in winter because the relay freezes below minus ten degrees.\n"
    put(
        memory,
        "a.md",
        "gates",
        body="Port: 5433\nNever start the pump by night.\nUse 4 workers in tests.\n",
    )
    put(memory, "b.md", "Gates", body="Port: 5432\n")
    put(memory, "c.md", "pumps", body="Always start the pump by night.\nUse 8 workers in tests.\n")
    put(memory, "d.md", "winter", body=same)
    put(memory, "e.md", "frost", body="- " + same.replace("below", "under"))
    found = ops.lint(app).findings
    assert {(one.kind, one.where) for one in found} == {
        ("same name", "b.md"),
        ("contradiction", "b.md"),
        ("duplicate", "e.md"),
        ("contradiction", "c.md"),
    }
    why = " ".join(one.what for one in found)
    assert "once wanted and once forbidden" in why
    assert "the same sentence has another value" in why


def test_agreement_is_no_contradiction(app, memory):
    put(memory, "a.md", "a", body="Never restart the harbour pump.\nUse tabs in Go.\nNote: one\n")
    put(
        memory,
        "b.md",
        "b",
        body="Never restart the harbour pump by day.\nUse spaces in Python.\nAlways start the gate.\n",
    )
    assert kinds(app) == []


def test_facts_about_what_is_gone_are_stale(app, memory, project):
    (project / "src").mkdir()
    (project / "src/poll.py").write_text("")
    commit = git(project, "rev-parse", "--short", "HEAD")
    body = (
        "See `src/poll.py:3`, `src/gone.py` and `lib/elsewhere.py`. "
        f"On branch `main`, not branch `old/one`. Since commit {commit}, before commit 1234567abc.\n"
    )
    put(memory, "a.md", "gates", body=body)
    assert sorted(one.what for one in ops.lint(app).findings) == [
        "`src/gone.py` is gone",
        "branch old/one is gone",
        "commit 1234567abc is gone",
    ]


def test_what_is_safe_is_mended_shown_and_can_be_had_back(app, memory, home):
    put(memory, "a.md", "gates")
    put(memory, "lost.md", "lost", line=False)
    (memory / "feedback_tests.md").write_text("# Run them all\n\nAlways.\n")
    (memory / "odd.md").write_text("nobody knows what this is\n")
    with (memory / "MEMORY.md").open("a") as file:
        file.write("my own words\n- [gone](gone.md) — x\n")
    before = {path.name: path.read_bytes() for path in memory.iterdir()}
    shown = ops.fix(app, dry_run=True)
    assert {path.name: path.read_bytes() for path in memory.iterdir()} == before
    done = ops.fix(app)
    assert done.diff == shown.diff
    assert "-- [gone](gone.md) — x" in done.diff
    assert (memory / "MEMORY.md").read_text().splitlines() == [
        "- [gates](a.md) — about gates",
        "my own words",
        "- [tests](feedback_tests.md) — Run them all",
        "- [lost](lost.md) — about lost",
    ]
    assert (memory / "feedback_tests.md").read_bytes().endswith(b"\n" + before["feedback_tests.md"])
    assert (memory / "odd.md").read_bytes() == before["odd.md"]
    kept = {Path(path).read_bytes() for path in done.backups}
    assert kept == {before["MEMORY.md"], before["feedback_tests.md"]}
    assert [one.where for one in done.left] == ["odd.md", "odd.md"]
    assert ops.fix(app).diff == ""


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(topics.TYPES), st.text(max_size=80))
def test_what_is_written_is_read_back(name, description, kind, body):
    from holdfast.core.plain import one_line

    name, description = one_line(name) or "x", one_line(description) or "y"
    made = topics.rendered(name, description, kind, body)
    read = topics.parsed("x.md", made, len(made))
    assert (read.name, read.description, read.type, read.problem) == (name, description, kind, "")
    moved = topics.parsed("x.md", topics.changed(read, "type", "user"), 0)
    assert (moved.type, moved.name, moved.body) == ("user", name, read.body)


def test_the_name_of_a_project_among_the_clients():
    assert slug("/home/mira/Tide gate_2.0/ü😀") == "-home-mira-Tide-gate-2-0----"
    long = "/" + "a" * 250
    assert slug(long).startswith("-" + "a" * 199 + "-")
    assert len(slug(long)) <= 208
