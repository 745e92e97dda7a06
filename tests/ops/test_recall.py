"""Deep memory, from what hooks leave behind to what a question is answered with."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import carriers
from carriers import CARRIERS, Session, play
from holdfast.app import Holdfast
from holdfast.core import budget as core_budget
from holdfast.disk import noted
from holdfast.disk.client import slug
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.memory import embed, feed, own
from holdfast.memory.index import Index
from holdfast.memory.items import Ground, of_save
from holdfast.memory.shelf import Filter
from holdfast.ops import budget, recall, remember
from holdfast.ops.upkeep import status
from payloads import CANARY, PAYLOADS
from recalled import answers, shown, wrong
from told import DEAD_END, DECIDED, RULE, Work, repository

ALL_AT_ONCE = "\n\n".join(words for words in PAYLOADS.values() if len(words) < 700)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch):
    monkeypatch.setattr(carriers.engine, "_SETTLE_S", 0.0)


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = repository(tmp_path / "tidegate")
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def app(home):
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


@pytest.fixture
def worked(home, project):
    """A session that has ended, with nothing taken in yet."""
    work = Session(home, project)
    work.start("startup")
    work.prompt(RULE)
    work.say(DECIDED)
    work.say(DEAD_END)
    work.edit("src/gauge.py", "def poll_gauge(): return 7")
    work.call("Bash", "12 passed in 0.4s", command="python -m pytest tests/test_gauge.py")
    work.fail("Bash", "Exit code 1\nKeyError: 'level'", command="make tides")
    work.hook("Stop")
    work.hook("SessionEnd", reason="other")
    return work


def texts(found: recall.Recalled) -> list[str]:
    return [one.text for one in found.found]


def test_what_one_session_said_is_asked_for_by_the_beginning_of_its_id(app, home, project) -> None:
    for name, words in (("a1b2c3d4-0000", DECIDED), ("e5f6a7b8-0000", DEAD_END)):
        work = Session(home, project, name)
        work.start("startup")
        work.say(words)
        work.hook("SessionEnd", reason="other")
    said = recall.timeline(app, session="a1b2c3d4").found
    assert {one.session for one in said} == {"a1b2c3d4-0000"}


def test_a_decision_of_one_session_is_recalled_in_another_by_a_paraphrase(app, worked) -> None:
    found = recall.recall(app, "Which database did we pick for storing data, and for what reason?")
    assert DECIDED in texts(found)[:3]
    assert "wordllama" in found.mode
    one = found.found[texts(found).index(DECIDED)]
    assert (one.collection, one.origin, one.session) == ("decisions", "assistant", "s1")
    assert one.at.startswith("2026-03-01T10:00")
    assert one.source == str(worked.path)


def test_without_vectors_it_still_answers_and_says_so(app, worked, monkeypatch) -> None:
    monkeypatch.setattr(embed, "find_spec", lambda name: None)
    found = recall.recall(app, "why sqlite and not a server?")
    assert DECIDED in texts(found)[:2]
    assert found.mode.startswith("keyword only: ")
    (check,) = [check for check in status(app).checks if check.name == "memory"]
    assert not check.ok
    assert "keyword only" in check.what
    assert check.fix


_NO_VECTORS = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "safetensors", "tokenizers", "wordllama"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import importlib.util
real = importlib.util.find_spec
def find_spec(name, package=None):
    try:
        return real(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find_spec
from holdfast.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_where_the_packages_are_gone_every_command_of_it_answers(app, home, worked) -> None:
    """Also when vectors were made while they were there."""
    recall.recall(app, "sqlite")
    uid = remember.learn(app, "The mole is painted white").uid

    def told(*command: str) -> str:
        given = [sys.executable, "-c", _NO_VECTORS, *command]
        environ = {**os.environ, **app.environ}
        done = subprocess.run(given, env=environ, cwd=worked.project, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for command in (["memory", "drain"], ["recall", "why sqlite and not a server?"], ["memory", "rebuild"]):
        assert "keyword only" in told(*command)
    assert DECIDED in told("recall", "why sqlite and not a server?")
    assert DECIDED in told("memory", "timeline")
    assert "painted white" in told("memory", "around", uid)
    assert "keyword only" in told("memory", "collections")
    assert "1 erased for good" in told("memory", "erase", uid)
    assert "painted white" not in told("recall", "which colour has the mole, white?")


_BARE = """
from holdfast.app import Holdfast
from holdfast.ops.upkeep import status
(check,) = [one for one in status(Holdfast.open()).checks if one.name == "memory"]
print(check.ok, check.what)
"""


def test_status_tells_of_it_where_no_package_is_installed(app, home, worked) -> None:
    def told() -> str:
        ours = str(Path(recall.__file__).parents[2])
        environ = {**os.environ, "HOLDFAST_HOME": str(home), "PYTHONPATH": ours}
        command = [sys.executable, "-S", "-c", _BARE]  # without site-packages
        return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout

    assert told().startswith("True nothing kept yet; keyword only")
    recall.recall(app, "sqlite")
    assert told().startswith("False ")


def test_vectors_that_are_gone_or_of_another_size_are_made_again(app, home, worked) -> None:
    recall.recall(app, "gauge")
    with sqlite3.connect(home / "memory.db") as db:
        db.execute("UPDATE vectors SET data = x'0000'")
        db.execute("DELETE FROM vectors WHERE id % 2")
        db.execute("UPDATE counters SET value = value + 1 WHERE name = 'changes'")
    db.close()
    assert DECIDED in texts(recall.recall(app, "why sqlite and not a server?"))
    remember.drain(app)
    assert remember.collections(app).vectors == remember.collections(app).items
    db = sqlite3.connect(home / "memory.db")
    assert db.execute("SELECT DISTINCT length(data) FROM vectors").fetchall() == [(512,)]
    db.close()


def test_what_was_done_is_there_with_its_files_and_how_it_ended(app, worked) -> None:
    ran = recall.recall(app, "how are the gauge tests run", collection=["commands"])
    assert texts(ran)[0].startswith("python -m pytest tests/test_gauge.py → 12 passed")
    assert [one.kind for one in recall.timeline(app, collection=["commands"], type=["failed"]).found]
    edited = recall.recall(app, "poll_gauge", file="gauge.py")
    assert edited.found[0].collection == "files"
    assert texts(recall.recall(app, "harbour port", origin=["user"])) == [f"> {RULE}"]


def test_only_what_a_person_typed_is_rendered_as_their_words(app, worked) -> None:
    for one in recall.timeline(app, limit=200, tokens=2500).found:
        assert one.text.startswith("> ") == (one.origin == "user")


def test_what_stood_beside_it_comes_along(app, worked) -> None:
    found = recall.recall(app, "why sqlite", around=1, limit=1)
    assert any(DEAD_END in line for line in found.found[0].beside)
    more = recall.around(app, found.found[0].uid, before=5, after=1)
    assert f"> {RULE}" in texts(more)
    with pytest.raises(NotFound, match="holdfast recall"):
        recall.around(app, "nothing")


def test_other_projects_answer_only_when_asked_for_and_by_name(app, worked, tmp_path, monkeypatch) -> None:
    other = repository(tmp_path / "lighthouse")
    monkeypatch.chdir(other)
    assert recall.recall(app, "why sqlite").found == []
    found = recall.recall(app, "why sqlite", everywhere=True)
    assert {one.project for one in found.found} == {str(worked.project)}
    assert recall.recall(app, "why sqlite", project=str(worked.project)).found[0].project == ""


def test_a_working_tree_of_the_same_repository_remembers_the_same(
    app, worked, tmp_path, monkeypatch
) -> None:
    tree = tmp_path / "second"
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=worked.project, check=True)
    monkeypatch.chdir(tree)
    assert DECIDED in texts(recall.recall(app, "why sqlite"))


def test_an_answer_has_its_tokens_and_what_is_evicted_is_left_out(app, worked) -> None:
    small = recall.recall(app, "gauge sqlite websocket harbour", tokens=100)
    assert len(small.found) < len(recall.recall(app, "gauge sqlite websocket harbour").found)
    assert small.left_out
    assert sum(one.size for one in small.found[1:]) <= 100 * 3.5
    budget.evict(app, DECIDED)
    assert DECIDED not in texts(recall.recall(app, "why sqlite and not a server"))


def test_what_is_pinned_stands_first_among_what_answers(app, worked) -> None:
    asked = "gauge sqlite websocket harbour"
    last = recall.recall(app, asked, limit=3).found[-1]
    budget.pin(app, last.text.removeprefix("> "))
    assert recall.recall(app, asked, limit=3).found[0].uid == last.uid
    assert last.uid not in [one.uid for one in recall.recall(app, "make tides", limit=1).found]
    budget.unpin(app, last.text.removeprefix("> "))
    assert recall.recall(app, asked, limit=3).found[-1].uid == last.uid


def test_a_compartment_has_its_share_of_an_answer(app, worked) -> None:
    """What the person typed as a rule is told in a short answer once its compartment has a share."""
    asked, rule = "why sqlite and not a server, websocket, gauge", f"> {RULE}"
    for name in core_budget.COMPARTMENTS:
        budget.put(app, name, 0)
    assert rule not in texts(recall.recall(app, asked, limit=2))
    budget.put(app, "safety_constraints", 60)
    found = recall.recall(app, asked, limit=2)
    assert texts(found)[1] == rule
    assert found.left_out


def test_what_is_evicted_does_not_come_along_with_its_neighbours(app, worked) -> None:
    budget.evict(app, DEAD_END)
    found = recall.recall(app, "why sqlite", around=2, limit=1).found[0]
    assert found.beside
    assert not any(DEAD_END in line for line in found.beside)
    told = texts(recall.around(app, found.uid, before=5, after=5))
    assert DECIDED in told
    assert DEAD_END not in told


def test_what_another_project_saved_under_the_same_name_is_nobodys_neighbour(app) -> None:
    save = {"context": "", "next_steps": "", "environment": "main", "source": "manual"}
    made = [
        one
        for at, project in enumerate(("/p/tide", "/p/mole"))
        for one in of_save(
            Ground(project, "/e", at=at), {**save, "task": f"alpha {project}", "id": str(at)}
        )
    ]
    with Index(app.home.memory) as shelf:
        shelf.add(made)
        assert [row.project for row in shelf.around(made[0].uid, 2, 2)] == ["/p/tide"]
        assert shelf.keyword(["mole"], Filter(("/p/tide",)), 5) == []


def test_topics_are_as_they_are_now(app, project, home) -> None:
    folder = Path(app.client_dir) / "projects" / slug(str(project)) / "memory"
    folder.mkdir(parents=True)
    topic = folder / "reference_pump.md"
    topic.write_text(
        "---\nname: pump\ndescription: its valve\ntype: reference\n---\n\nThe pump has a brass valve.\n"
    )
    (found,) = recall.recall(app, "what is the valve made of", collection=["topics"]).found
    assert (found.kind, found.title, found.origin) == ("reference", "pump", "file")
    topic.write_text(topic.read_text().replace("brass", "copper"))
    os.utime(topic, ns=(1, 1))
    assert "copper" in texts(recall.recall(app, "valve"))[0]
    topic.unlink()
    assert recall.recall(app, "valve", collection=["topics"]).found == []
    assert b"copper" not in (home / "memory.db").read_bytes()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bare.md", b"The sluice is green, and nothing says who wrote that."),
        ("broken.md", b"---\nname: [\n---\nThe sluice is green.\n"),
        ("one.md", b"---\nname: x\ndescription: y\ntype: user\n---\nThe sluice is green.\n"),
    ],
)
def test_a_topic_that_is_not_as_it_should_be_is_found_all_the_same(app, project, name, data) -> None:
    folder = Path(app.client_dir) / "projects" / slug(str(project)) / "memory"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    (folder / f"two-{name}").write_bytes(data)
    (folder / "huge.md").write_bytes(b"sluice " * 1_500_000)
    (folder / "binary.md").write_bytes(b"\0\xff sluice")
    (folder / "MEMORY.md").write_text("- a line\n" * 5000)
    drained = remember.drain(app)
    assert {Path(path).name for path in drained.amiss} == {"huge.md", "binary.md"}
    found = recall.recall(app, "sluice").found
    assert [one.collection for one in found] == ["topics"], "of two that say the same, one"


@pytest.mark.parametrize(
    ("query", "more", "says"),
    [
        ("", {}, "no word"),
        ("?!… — ''", {}, "no word"),
        ("x" * 200_000, {}, "characters"),
        ("tide", {"collection": ["nothing"]}, "there are topics, checkpoints"),
        ("tide", {"origin": ["god"]}, "there are user, assistant"),
        ("tide", {"since": "yesterday"}, "--since"),
        ("tide", {"until": "2026-02-30"}, "--until"),
        ("tide", {"limit": 0}, "--limit"),
        ("tide", {"around": 99}, "--around"),
        ("tide", {"tokens": 9999}, "--tokens"),
        ("tide", {"project": "/nowhere"}, "not a folder"),
        ("tide", {"file": "x" * 100_000}, "--file"),
        ("tide", {"type": ["note"] * 100}, "--type"),
    ],
    ids=lambda given: str(given)[:30],
)
def test_a_question_that_cannot_be_asked_is_refused_with_what_can(app, project, query, more, says) -> None:
    with pytest.raises(BadInput, match=says):
        recall.recall(app, query, **more)


def test_of_a_very_long_question_the_rarest_words_are_looked_for(app, worked) -> None:
    log = "the and of " * 8000 + " sqlite lighthouse network"
    assert len(log) > 80_000
    assert DECIDED in texts(recall.recall(app, log))
    assert recall.recall(app, 'sqlite" OR NEAR(* ^{x} AND -"').found


def test_bytes_that_are_no_text_find_nothing_and_break_nothing(app, worked) -> None:
    for more in ({"session": "\udcff"}, {"file": "\udcff"}, {"type": ["\udcff"]}):
        assert recall.recall(app, "sqlite", **more).found == []
    assert recall.recall(app, "sqlite \udcff \ud800x").found
    with pytest.raises(NotFound):
        recall.around(app, "\udcff")
    with pytest.raises(NotFound):
        remember.erase(app, ["\udcff"])


def test_times_are_dates_moments_and_how_long_ago(app, worked) -> None:
    assert recall.recall(app, "sqlite", since="2026-03-01", until="2026-03-02T12:00").found
    assert not recall.recall(app, "sqlite", collection=["decisions"], since="2026-03-02").found
    assert recall.recall(app, "sqlite", since="520w").found


# Hooks, and what takes in what they note


def test_hooks_note_a_session_once_it_is_saved_or_ends_and_nothing_else(home, project) -> None:
    work = Session(home, project)
    work.start("startup")
    work.prompt("look at the tide")
    work.call("Bash", "ok", command="ls")
    work.hook(
        "PostToolBatch", tool_name="Bash", tool_input={"command": "ls"}, tool_response={}, tool_use_id="t"
    )
    assert not (home / "memory-spool.jsonl").exists()
    work.say(DECIDED)
    work.hook("SessionEnd", reason="other")
    said = [json.loads(line) for line in (home / "memory-spool.jsonl").read_text().splitlines()]
    assert {one["session"] for one in said} == {"s1"}
    assert [one for one in said if one["checkpoint"].endswith(".md")]


def test_what_is_taken_in_is_taken_in_once(app, home, worked) -> None:
    first = remember.drain(app)
    assert first.new
    assert noted.size(Home(str(home))) == 0
    before = {row.uid: row.count for row in _rows(home)}
    for _ in range(3):
        noted.note(Home(str(home)), "s1")
        assert remember.drain(app).new == 0
    assert {row.uid: row.count for row in _rows(home)} == before


def test_whoever_takes_it_in_for_others_loads_no_model(app, home, worked) -> None:
    took_in = (
        "import sys; from holdfast.app import Holdfast; from holdfast.memory import deep; "
        "deep.take_in(Holdfast.open()); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", took_in], env={**os.environ, **app.environ}, check=True)
    assert noted.size(app.home) == 0
    kept = remember.collections(app)
    assert (kept.items > 5, kept.vectors) == (True, 0)
    assert DECIDED in texts(recall.recall(app, "Which database did we pick for storing data?"))
    assert remember.collections(app).vectors == remember.collections(app).items


def test_a_line_that_is_torn_strange_or_of_another_version_costs_itself(app, home, worked) -> None:
    with (home / "memory-spool.jsonl").open("ab") as file:
        file.write(
            b'{"v":99,"session":"s1","agent":"","checkpoint":""}\n[]\n{"v":1,"session":5}\n\xff\n{"v":1,"se'
        )
    noted.note(Home(str(home)), "../../etc", "x")
    noted.note(Home(str(home)), "unknown")
    noted.note(Home(str(home)), "s1", checkpoint="/etc/passwd")
    assert remember.drain(app).new
    assert DECIDED in texts(recall.recall(app, "why sqlite"))


_KILLED = """
import os, sys
from holdfast.app import Holdfast
from holdfast.memory import index
from holdfast.ops import remember
at = int(sys.argv[1])
real, done = index.Index.take, [0]
def take(self, *given, **more):
    done[0] += 1
    if done[0] == at:
        os._exit(9)
    return real(self, *given, **more)
index.Index.take = take
remember.drain(Holdfast.open())
"""


def test_whoever_is_killed_over_it_leaves_it_to_the_next(app, home, worked) -> None:
    for at in (1, 2, 1):
        environ = {**os.environ, "HOLDFAST_HOME": str(home)}
        ran = subprocess.run(
            [sys.executable, "-c", _KILLED, str(at)], env=environ, cwd=worked.project, check=False
        )
        assert ran.returncode == 9
        assert noted.size(Home(str(home)))
    remember.drain(app)
    assert noted.size(Home(str(home))) == 0
    assert len({row.uid for row in _rows(home)}) == len(list(_rows(home)))
    assert DECIDED in texts(recall.recall(app, "why sqlite"))


def test_what_the_index_has_no_room_for_is_noted_still(app, home, worked, monkeypatch) -> None:
    def is_full(*_, **__):
        raise OSError(5, "SQLite says: database or disk is full", app.home.memory)

    with monkeypatch.context() as full:
        full.setattr(Index, "take", is_full)
        assert "disk is full" in str(remember.drain(app).amiss)
    assert noted.size(Home(str(home)))
    assert remember.drain(app).new
    assert not noted.size(Home(str(home)))


def _rows(home: Path):
    with Index(str(home / "memory.db")) as shelf:
        yield from shelf.every()


def test_one_decision_in_many_checkpoints_is_one_memory(app, home, worked) -> None:
    worked.start("resume")
    for number in range(3):
        worked.edit(f"src/part{number}.py", f"def part{number}(): pass")
        worked.hook("PreCompact", trigger="manual", custom_instructions="")
    remember.drain(app)
    (one,) = [row for row in _rows(home) if row.text == DECIDED]
    assert one.count >= 2
    assert len(one.sources) == one.count


# Forgetting and learning


def test_what_is_erased_is_gone_everywhere_and_no_file_brings_it_back(app, home, worked) -> None:
    (one, *_) = [one for one in recall.recall(app, "why sqlite").found if one.text == DECIDED]
    done = remember.erase(app, [one.uid])
    assert done.erased >= 1
    assert str(worked.path) in done.still_in
    for again in (remember.drain, remember.rebuild):
        again(app)
        assert DECIDED not in texts(recall.recall(app, "why sqlite and not a server"))
        for file in home.glob("memory*"):
            assert b"lighthouse has no network" not in file.read_bytes(), file
    with pytest.raises(NotFound):
        remember.erase(app, [one.uid])
    with pytest.raises(BadInput, match="erased for good"):
        remember.learn(app, DECIDED)


def test_without_the_hash_of_it_a_rebuild_would_bring_it_back(app, home, worked) -> None:
    """The control of the test above."""
    (one, *_) = [one for one in recall.recall(app, "why sqlite").found if one.text == DECIDED]
    remember.erase(app, [one.uid])
    Path(own.forgotten_path(app)).unlink()
    remember.rebuild(app)
    assert DECIDED in texts(recall.recall(app, "why sqlite and not a server"))


def test_what_was_learned_is_redacted_found_and_survives_a_rebuild(app, home, project) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = remember.learn(
        app, f"The gauge wants LANG=C; its token is {secret}", type="howto", files=["gauge.py"]
    )
    assert secret not in made.text
    remember.rebuild(app)
    (one,) = recall.recall(app, "which locale for the gauge?", collection=["learned"]).found
    assert (one.uid, one.origin, one.kind, one.files) == (made.uid, "agent", "howto", ["gauge.py"])
    assert secret.encode() not in b"".join(file.read_bytes() for file in home.glob("memory*"))
    remember.erase(app, [made.uid])
    assert own.learned(app) == []
    for text, says in (("", "empty"), ("x" * 3000, "characters")):
        with pytest.raises(BadInput, match=says):
            remember.learn(app, text)
    with pytest.raises(BadInput, match="there are note"):
        remember.learn(app, "a fact", type="wish")


# The index as a cache


def test_a_rebuild_from_files_alone_answers_as_before(app, home, worked) -> None:
    client = Path(app.client_dir) / "projects" / "x"
    client.mkdir(parents=True)
    stranger = Work(home.parent / "elsewhere", worked.project, "other")
    stranger.prompt("Paint the buoy orange from now on")
    (client / "other.jsonl").write_bytes(stranger.script.bytes())
    before = recall.recall(app, "why sqlite")
    for file in home.glob("memory.db*"):
        file.unlink()
    done = remember.rebuild(app)
    assert done.items
    assert texts(recall.recall(app, "why sqlite"))[:3] == texts(before)[:3]
    assert "> Paint the buoy orange from now on" in texts(recall.recall(app, "colour of the buoy"))


def test_what_no_file_holds_any_more_outlives_a_rebuild(app, home, worked) -> None:
    recall.recall(app, "sqlite")
    worked.path.unlink()
    for file in worked.project.glob(".claude/checkpoints/*"):
        file.unlink()
    (home / "sessions/s1/facts.json").unlink()
    remember.rebuild(app)
    assert DECIDED in texts(recall.recall(app, "why sqlite"))


def test_a_damaged_index_is_set_aside_and_status_says_what_to_do(app, home, worked) -> None:
    recall.recall(app, "sqlite")
    (home / "memory.db").write_bytes(b"no database at all" * 1000)
    for end in ("-wal", "-shm"):
        (home / f"memory.db{end}").unlink(missing_ok=True)
    with pytest.raises(Damaged, match="holdfast memory rebuild"):
        recall.recall(app, "sqlite")
    assert len(list(home.glob("memory.db.damaged-*"))) == 1
    (check,) = [check for check in status(app).checks if check.name == "memory"]
    assert (check.ok, "memory rebuild" in check.fix) == (False, True)
    remember.rebuild(app)
    assert DECIDED in texts(recall.recall(app, "why sqlite"))


def test_a_rebuild_needs_no_other_command_before_it(app, home, worked) -> None:
    recall.recall(app, "sqlite")
    for end in ("-wal", "-shm"):
        (home / f"memory.db{end}").unlink(missing_ok=True)
    (home / "memory.db").write_bytes(b"no database at all" * 1000)
    remember.rebuild(app)
    assert DECIDED in texts(recall.recall(app, "why sqlite"))
    assert len(list(home.glob("memory.db.damaged-*"))) == 1


def test_what_cannot_be_read_during_a_rebuild_is_not_taken_for_gone(app, home, worked, monkeypatch) -> None:
    recall.recall(app, "sqlite")

    def fails(*_, **__):
        raise PermissionError(13, "not now")

    with monkeypatch.context() as refused:
        refused.setattr(feed.Feed, "_said", fails)
        assert remember.rebuild(app).amiss
    assert f"> {RULE}" in texts(recall.recall(app, "harbour port", origin=["user"]))


def test_damage_in_the_middle_is_said_and_a_rebuild_mends_it(app, home, worked) -> None:
    recall.recall(app, "sqlite")
    path = home / "memory.db"
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 2000] = b"\x5a" * 2000
    path.write_bytes(data)
    with pytest.raises(Damaged, match="holdfast memory rebuild"):
        recall.recall(app, "sqlite")
    remember.rebuild(app)
    assert DECIDED in texts(recall.recall(app, "why sqlite"))
    assert list(home.glob("memory.db.damaged-*"))


def test_while_another_takes_in_one_answers_with_what_there_is(app, home, worked, monkeypatch) -> None:
    recall.recall(app, "sqlite")
    monkeypatch.setattr(feed, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(feed, "_LONG_S", 0.0)
    with feed._alone(app, 0.0) as have:
        assert have
        noted.note(Home(str(home)), "s1")
        assert DECIDED in texts(recall.recall(app, "why sqlite"))
        with pytest.raises(HoldfastError, match="somebody else"):
            remember.rebuild(app)
    assert noted.size(Home(str(home)))
    remember.drain(app)
    assert not noted.size(Home(str(home)))


# What it must never be


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__)
def test_whatever_way_it_comes_in_recall_gives_it_back_as_data(carrier, tmp_path) -> None:
    case = play(tmp_path, carrier, ALL_AT_ONCE)
    found = list(answers(tmp_path))
    assert all(one.found for one in found)
    assert [what for one in found for what in wrong(one, case.typed)] == []


def test_an_answer_that_begins_like_a_quotation_is_not_the_users_in_a_checkpoint_either(tmp_path) -> None:
    case = play(tmp_path, carriers.option, PAYLOADS["thousands of lines"])
    found = list(answers(tmp_path))
    assert CANARY in "".join(map(shown, found))
    assert [what for one in found for what in wrong(one, case.typed)] == []


def test_without_its_safeguards_it_would_be_noticed(tmp_path, monkeypatch) -> None:
    """The control: one who leaves `inert` out, and one who takes all for the user's."""
    case = play(tmp_path, carriers.said_by_the_model, PAYLOADS["closes a reminder"])
    assert CANARY in "".join(map(shown, answers(tmp_path)))
    for instead in (str, lambda line: f"> {line}"):
        with monkeypatch.context() as broken:
            broken.setattr(recall, "not_typed", instead)
            assert [what for found in answers(tmp_path) for what in wrong(found, case.typed)]


def test_what_holdfast_said_is_never_taken_in_again(app, home, worked) -> None:
    """Twenty rounds over its own answers, in every way they come back into a session, add nothing."""
    counts = []
    for _ in range(20):
        told = shown(recall.recall(app, "why sqlite and the websocket", tokens=800))
        counts.append({row.text for row in _rows(home) if row.collection != "checkpoints"})
        assert not any('"found"' in row.text for row in _rows(home))
        worked.prompt(told)
        worked.call("mcp__holdfast__recall", told)
        worked.call("Bash", f"header\n{DECIDED} {told}", command="holdfast recall 'why sqlite'")
        worked.line("attachment", attachment={"type": "hook_additional_context", "content": [told]})
        worked.hook("Stop")
        worked.hook("SessionEnd", reason="other")
    assert counts[-1] == counts[1]


def test_a_strangers_checkpoint_is_not_repeated(app, home, worked) -> None:
    (path,) = list(worked.project.glob(".claude/checkpoints/2*.md"))[:1]
    forged = path.with_name("2031-01-01-000000.md")
    forged.write_bytes(path.read_bytes().replace(b"sqlite", b"mongodb"))
    noted.note(Home(str(home)), "s1", checkpoint=str(forged))
    drained = remember.drain(app)
    assert str(forged) in drained.amiss
    assert not any("mongodb" in row.text for row in _rows(home))
