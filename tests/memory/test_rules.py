"""The client's instructions from all levels: which files there are, what they say, where they disagree."""

import json
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import client, instructions
from holdfast.disk.client import slug
from holdfast.errors import BadInput
from holdfast.memory.conflicts import claim, conflict
from holdfast.ops import rules
from told import Work, repository

INSTRUCTIONS = json.loads((Path(__file__).parent.parent / "instructions.json").read_text())


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = repository(tmp_path / "work/tidegate")
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def app(home):
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


def put(folder: Path | str, name: str, words: str) -> Path:
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words)
    return path


def levels(app) -> list[tuple[str, str, bool]]:
    return [(one.level, Path(one.path).name, one.reloaded) for one in rules.list_all(app)]


def test_the_whole_cascade_in_the_clients_order(app, project):
    put(app.client_dir, "CLAUDE.md", "global\n@more/own.md\n")
    put(app.client_dir, "more/own.md", "imported\n@../CLAUDE.md\n")
    put(app.client_dir, "rules/all.md", "always\n")
    put(app.client_dir, f"projects/{slug(str(project))}/CLAUDE.md", "of the project (CRITICAL)\n")
    put(project.parent, "CLAUDE.md", "above\n")
    put(project, "CLAUDE.md", "@docs/a.md\n@~/.ssh/config\n@../../outside.md\n")
    put(project, "docs/a.md", "imported\n@a.md\n")
    put(project.parent.parent, "outside.md", "outside\n")
    put(project, ".claude/CLAUDE.md", "x\n")
    put(project, "CLAUDE.local.md", "mine\n")
    put(project, ".claude/rules/api/http.md", "---\npaths: src/**\n---\nx\n")
    put(project, "pumps/CLAUDE.md", "nested (ENFORCED)\n")
    put(project, "node_modules/x/CLAUDE.md", "a stranger's\n")
    assert levels(app) == [
        ("global", "CLAUDE.md", True),
        ("global", "own.md", True),
        ("global", "all.md", True),
        ("project", "CLAUDE.md", False),
        ("above", "CLAUDE.md", True),
        ("repository", "CLAUDE.md", True),
        ("repository", "a.md", True),
        ("repository", "config", False),
        ("repository", "outside.md", True),
        ("repository", "CLAUDE.md", True),
        ("repository", "CLAUDE.local.md", True),
        ("repository", "http.md", False),
        ("nested", "CLAUDE.md", False),
    ]
    outside = next(one for one in rules.list_all(app) if one.path.endswith("outside.md"))
    assert "the client asks before" in outside.problem
    assert outside.lines == 0
    marked = [(one.level, one.text, one.kept_by) for one in rules.enforced(app)]
    assert marked == [
        ("project", "of the project (CRITICAL)", "holdfast"),
        ("nested", "nested (ENFORCED)", "holdfast"),
    ]


def test_what_is_imported_and_does_not_exist_is_missing(app, project):
    put(project, "CLAUDE.md", "@docs/gone.md\nask @maria, use @types/node and @./gone\n")
    found = [(one.path, one.imported_by, one.problem) for one in rules.list_all(app)]
    by = str(project / "CLAUDE.md")
    assert found == [
        (by, "", ""),
        (str(project / "docs/gone.md"), by, "missing"),
        (str(project / "gone"), by, "missing"),
    ]
    assert [one.text for one in rules.show(app)][:1] == ["@docs/gone.md"]


def test_what_is_in_force_for_a_file(app, project):
    put(project, "CLAUDE.md", "everywhere\n")
    put(project, ".claude/rules/ts.md", "---\npaths: '*.ts'\n---\nfor ts\n")
    put(project, "pumps/CLAUDE.md", "pumps\n")
    put(project, "pumps/.claude/rules/py.md", "---\npaths: station/*.py\n---\nfor stations\n")

    def texts(path=None):
        return [one.text for one in rules.show(app, path)]

    assert texts() == ["everywhere"]
    assert texts("gates/x.ts") == ["everywhere", "for ts"]
    assert texts("pumps/x.py") == ["everywhere", "pumps"]
    assert texts(str(project / "pumps/station/a.py")) == ["everywhere", "pumps", "for stations"]


def test_rules_that_were_only_typed_are_shown_with_their_session(app, home, project):
    work = Work(home, project)
    work.prompt("Never restart the pump (CRITICAL)")
    work.say("Understood, I always restart it (CRITICAL).")
    work.hook("Stop")
    assert [(one.level, one.text) for one in rules.enforced(app, session="s1")] == [
        ("conversation", "Never restart the pump (CRITICAL)")
    ]


def test_lines_of_different_levels_that_contradict_are_shown_with_their_places(app, project):
    own = put(
        app.client_dir,
        "CLAUDE.md",
        "- Always squash commits before merging\n- Indent Go code with `tabs`\n",
    )
    here = put(
        project,
        "CLAUDE.md",
        "# Git\n\n- Never squash commits before merging (CRITICAL)\n- Indent Go code with `spaces`\n",
    )
    first, second = rules.disputed(app)
    assert (first.one_at, first.other_at) == (f"{own}:1", f"{here}:3")
    assert first.why == "the same is once wanted and once forbidden"
    assert second.why == "the same sentence has another value"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Always run the tests", "Never run the tests", True),
        ("Don't push to main", "You must push to main", True),
        ("Port: 8080", "port: 9090", True),
        ("Port: 8080", "port: `8080`", False),
        ("Use 2 spaces for indentation", "Use 4 spaces for indentation", True),
        ("Always run the tests", "Never run the deploy script", False),
        ("Never push to main", "Never push to main on Friday", False),
        ("Use tabs", "Never use tabs in Makefiles of the vendor", False),
        ("Always ask", "Never guess", False),
        ("Prefer small commits", "Prefer small commits", False),
        ("Run `make a` first", "Never run `make b` first", False),
        ("", "", False),
        ("Must sign commits", "Must not sign commits", True),
        ("You must sign your commits.", "You must not sign your commits", True),
        ("Use tabs for indentation", "Never use tabs for indentation", True),
        ("Use tabs", "Never use tabs", True),
        ("Use tabs", "Don't use tabs.", True),
        ("Always use tabs", "never use tabs", True),
        ("Commits should be signed", "Commits should not be signed", True),
        ("Commits can be signed", "Commits cannot be signed", False),  # one allows, one tells
        ("Recent Activity", "No recent activity*", False),  # found in a public CLAUDE.md
        ("8. **Database operation**", "1. **Database operation**", False),  # in another
        ("You should never force push", "Force push", True),
        ("The build uses tabs", "Never use tabs", False),
        ("Run migrations before the tests", "We keep no migrations before the tests", False),
        ("Use tabs in Go", "Never use tabs in Python", False),
        ("Never use tabs", "Avoid using tabs", False),
    ],
)
def test_only_what_is_plain_is_a_conflict(one, other, expected):
    assert bool(conflict(claim(one), claim(other))) is expected


def test_folders_beside_each_other_do_not_contradict(app, project):
    put(project, "pumps/CLAUDE.md", "- Use tabs for indentation\n")
    put(project, "gates/CLAUDE.md", "- Never use tabs for indentation\n")
    assert rules.disputed(app) == []
    put(project, "pumps/deep/CLAUDE.md", "- Never use tabs for indentation\n")
    assert len(rules.disputed(app)) == 1


def laid_out(case: dict, project: Path, client_dir: str) -> dict[str, Path]:
    """Each with a rule of its own; their paths by name."""
    found = {}
    for name in case["files"]:
        place = Path(client_dir) if name.startswith("$CLIENT/") else project
        found[name] = put(
            place, name.removeprefix("$CLIENT/"), f"# x\n\n- This is {name} (CRITICAL)\n"
        ).resolve()
    chosen = {"instructionFiles": case["instructionFiles"]}
    configs = {"cc-plugin-agents-md@builtin": {"options": chosen}}
    if case["instructionFiles"]:
        put(client_dir, "settings.json", json.dumps({"pluginConfigs": configs}))
    return found


#: What the real client does with them is played in tests/client/test_rules.py.
@pytest.mark.parametrize("case", [one for one in INSTRUCTIONS if "version" not in one])
def test_files_are_read_as_the_client_reads_them(app, project, case):
    places = laid_out(case, project, app.client_dir)
    listed = {str(Path(one.path).resolve()): one.reloaded for one in rules.list_all(app)}
    kept = {str(Path(one.path).resolve()): one.kept_by for one in rules.enforced(app)}
    for name, what in case["files"].items():
        place = str(places[name])
        expected = {"again": True, "nested": False, "never": None}[what]
        assert listed.get(place) is expected, name
        assert kept.get(place) == {"again": "client", "nested": "holdfast", "never": None}[what], name


@pytest.mark.parametrize("case", INSTRUCTIONS)
def test_what_the_client_does_not_read_again_is_kept(app, project, case):
    places = laid_out(case, project, app.client_dir)
    folders = [str(place.parent).removesuffix("/.claude") for place in places.values()]
    opened = [f"{folder}/main.py" for folder in folders]
    read = client.instruction_files(
        client.settings({}, app.client_dir, str(project)), case.get("version", "2.1.327")
    )
    kept, is_all = instructions.unreloaded(app.client_dir, str(project), opened, 60, read)
    assert is_all
    nested = [f"This is {name} (CRITICAL)" for name, what in case["files"].items() if what == "nested"]
    assert sorted(rule.text for rule in kept) == sorted(nested)


def test_files_that_cannot_be_read_are_listed_with_the_reason(app, project):
    put(project, "CLAUDE.md", "x" * 70_000)
    (project / "CLAUDE.local.md").symlink_to("nowhere")
    put(project, "pumps/CLAUDE.md/x", "a folder")
    (project / "gates").mkdir()
    (project / "gates/CLAUDE.md").symlink_to("/etc/hostname")
    assert [one.problem.partition(":")[0] for one in rules.list_all(app)] == [
        "more than 64 KiB",
        "a link that leads nowhere",
        "outside of the project, or not readable",
        "not a file",
    ]


def test_without_any_file_there_is_nothing(app, project):
    assert rules.list_all(app) == rules.enforced(app) == rules.disputed(app) == rules.show(app) == []


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_cannot_be_a_path_is_refused(app, project, path):
    with pytest.raises(BadInput, match="cannot be a path"):
        rules.show(app, path)


def test_a_project_that_has_no_end_is_not_waited_for(app, project, monkeypatch):
    put(project, "CLAUDE.md", "x\n")
    for number in range(50):
        put(project, f"part{number}/CLAUDE.md", "x\n")
    seconds = iter(range(1000))
    monkeypatch.setattr("holdfast.memory.rules.elapsed", lambda: next(seconds))
    found = [level for level, _, _ in levels(app)]
    assert found == ["repository", "nested", "nested"]
