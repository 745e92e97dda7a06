"""What every tool call pays for: the modules a hook loads, and that any Python we support loads them."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import bundle, bundling
from hooks import (
    PACKAGE,
    PYTHON,
    Transcript,
    copy_package,
    edit,
    encode,
    environ,
    event,
    run_hook,
    run_silently,
    state,
)
from session import Script

#: Beyond what a bare `python -I -S` has. A longer list is a reviewed decision.
LOADED = (
    "_json gc holdfast holdfast.app holdfast.bundle holdfast.clock holdfast.core holdfast.core.config "
    "holdfast.core.decide holdfast.core.events holdfast.core.fold holdfast.core.forecast "
    "holdfast.core.gauge holdfast.core.guard holdfast.core.heard holdfast.core.jsontext "
    "holdfast.core.ladder holdfast.core.lines holdfast.core.meter holdfast.core.rewind "
    "holdfast.core.seen holdfast.core.sizes holdfast.core.speaker holdfast.core.state holdfast.core.thrash "
    "holdfast.core.transcript holdfast.disk holdfast.disk.compiled holdfast.disk.files "
    "holdfast.disk.home holdfast.disk.sessions holdfast.disk.trail holdfast.disk.transcripts "
    "holdfast.engine holdfast.errors holdfast.hook holdfast.watch"
).split()
TOO_DEAR = "json re typing enum os dataclasses pathlib signal functools collections logging".split()

#: Runs launch.py and, when it leaves, prints what a bare interpreter had not loaded.
_LISTS_MODULES = """
import posix
import sys

bare, leave = set(sys.modules), posix._exit

def list_and_leave(code):
    posix.write(1, "\\n".join(sys.modules.keys() - bare).encode())
    leave(code)

posix._exit = list_and_leave
__file__ = sys.argv[1]
fd = posix.open(__file__, posix.O_RDONLY)
source = posix.read(fd, 1 << 16)
posix.close(fd)
exec(compile(source, __file__, "exec"))
"""


@pytest.fixture
def session(home):
    """A session in which something has happened already: its first hook loads a little more."""
    transcript = Transcript(home.parent / "t.jsonl")
    transcript.prompt("fix it")
    transcript.answer(50_000, call="toolu_post")
    run_silently(event("SessionStart", transcript=transcript.path), home, package=PACKAGE)
    transcript.result("toolu_post", "done")
    transcript.answer(51_000, call="toolu_next")
    return event("PostToolBatch", transcript=transcript.path, tool_use_id="toolu_next")


def loaded(payload: dict, home: Path, lists: str = _LISTS_MODULES, **env: str) -> set[str]:
    script = home.parent / "lists.py"
    script.write_text(lists)
    found = subprocess.run(
        [PYTHON, "-I", "-S", str(script), str(PACKAGE / "launch.py")],
        input=encode(payload),
        env=environ(home, **env),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert not found.stderr
    return set(found.stdout.decode().split("\n"))


def test_a_hook_loads_these_modules_and_no_others(session, home):
    run_silently(session, home, package=PACKAGE)  # whose bundle is fresh now
    assert sorted(loaded(session, home)) == LOADED


def test_the_collector_it_turns_off_is_there_whole(session, home):
    run_silently(session, home, package=PACKAGE)
    lists = _LISTS_MODULES.replace("sys.modules.keys() - bare", "dir(sys.modules['gc'])")
    assert {"callbacks", "DEBUG_STATS", "disable"} <= loaded(session, home, lists)


def test_what_costs_as_much_as_the_interpreter_is_not_loaded(session, home):
    assert not loaded(session, home) & set(TOO_DEAR)


@pytest.mark.parametrize(
    ("name", "fields"), [("PreCompact", {}), ("SessionStart", {"source": "compact"}), ("SessionEnd", {})]
)
def test_nor_where_something_is_saved_said_or_left_in_a_vault(name, fields, session, home):
    (home.parent / "vault").mkdir()
    payload = {**session, "hook_event_name": name, **fields}
    found = loaded(payload, home, HOLDFAST_VAULT_PATH=str(home.parent / "vault"))
    assert not found & set(TOO_DEAR)
    assert ("holdfast.breadcrumb" in found) == (name == "SessionEnd")


def test_the_bundle_holds_exactly_the_modules_of_ours_that_a_hook_loads(session, home):
    run_silently(session, home, package=PACKAGE)
    stems = (f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".") for stem in bundling.HOT)
    assert sorted(stems) == sorted(m for m in loaded(session, home) if m.partition(".")[0] == "holdfast")


def test_what_saves_and_says_comes_from_a_bundle_of_its_own(tmp_path):
    """Changed, damaged or gone: it is made again, and what was to be said is said meanwhile."""
    package = copy_package(tmp_path)
    cache = Path(bundle.path(str(package), "later"))
    home, transcript = tmp_path / "home", tmp_path / "s1.jsonl"
    script = Script()
    script.prompt("always keep the gate shut")
    transcript.write_bytes(script.bytes())
    said = {"session_id": "s1", "transcript_path": str(transcript), "cwd": str(tmp_path)}
    said["hook_event_name"] = "PreCompact"

    def run():
        return run_hook(said, home, package=package).stdout.decode()

    assert "gate shut" in run()
    whole = cache.read_bytes()
    assert "gate shut" in run()
    assert cache.read_bytes() == whole
    cache.write_bytes(whole[:-9] + b"something")
    assert "gate shut" in run()
    assert cache.read_bytes() == whole
    edit(package / "core" / "plain.py", '"""Text of a session', '"""Text of any session')
    assert "gate shut" in run()
    assert cache.read_bytes() != whole


def found_by_import(payload: dict, home: Path, *args: str, package: Path = PACKAGE) -> list[str]:
    """What Python's import system had to look for: what a bundle brings it does not see."""
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-X", "importtime", str(package / "launch.py"), *args],
        input=encode(payload),
        env=environ(home),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return [line.rpartition("|")[2].strip() for line in done.stderr.decode().split("\n")]


@pytest.mark.parametrize(
    ("fields", "args"),
    [
        ({}, ()),
        ({"tool_input": {"command": "pytest -q"}}, ()),
        ({"hook_event_name": "SessionStart", "source": "compact"}, ()),
        ({"hook_event_name": ""}, ("statusline",)),
    ],
)
def test_nothing_of_ours_is_looked_for_one_by_one(fields, args, session, home):
    payload = {**session, **fields}
    run_silently(session, home, package=PACKAGE)
    for _ in range(2):  # the first makes what is not there yet
        found = found_by_import(payload, home, *args)
    assert "encodings" in found
    assert not [name for name in found if name.startswith("holdfast")]
    assert not {"_json", "encodings.utf_16_le"} & {*found}


def test_where_the_json_module_is_elsewhere_it_is_looked_for(session, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    edit(package / "bundle.py", "/_json{", "/elsewhere/_json{")
    run_silently(session, home, package=package)
    assert "_json" in found_by_import(session, home, package=package)
    assert state(home)["heard"]["calls"] == 2


def test_a_small_group_is_made_again_when_a_source_has_changed(session, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    cache = Path(bundle.path(str(package), "line"))
    run_silently(session, home, package=package)
    found_by_import(session, home, "statusline", package=package)
    made = cache.read_bytes()
    source = package / f"{bundling.LINE[-1]}.py"
    source.write_text(source.read_text() + "# changed\n")
    found_by_import(session, home, "statusline", package=package)
    assert cache.read_bytes() != made


def test_a_group_is_loaded_once_its_last_module_is_there():
    last = {group: stems[-1] for group, stems in bundling.GROUPS.items() if group != "hot"}
    assert {group: f"holdfast/{stem}".replace("/", ".") for group, stem in last.items()} == bundle._LAST


def test_launch_knows_the_layout():
    assert f"source_hash({bundle.LAYOUT}, " in (PACKAGE / "launch.py").read_text()


def compiled(folder: Path, source: str) -> dict:
    """What a module of this source comes to once it is bundled."""
    (folder / "one.py").write_text(source)
    ((_, _, _, _, code),) = bundling._compiled(str(folder), ["one"])
    made = {"__linked__": sys.modules, "__name__": "one"}
    exec(code, made)
    return made


def test_what_is_bundled_has_no_annotations_and_does_the_same(tmp_path):
    made = compiled(
        tmp_path,
        "class A:\n    def f(self, a: int, /, b: str = 'b', *c: int, d: int = 4, **e: int) -> tuple:\n"
        "        return a, b, c, d, e\n\nasync def g(a: A) -> None: ...\n",
    )
    assert made["A"]().f(1, "2", 3, z=5) == (1, "2", (3,), 4, {"z": 5})
    assert not made["A"].f.__annotations__
    assert not made["g"].__annotations__


_IMPORTS = """
import sys
from holdfast import clock as time, hook
from holdfast.clock import at, now as current
from holdfast.ops import registry
TYPE_CHECKING = False
if TYPE_CHECKING:
    import nothing
else:
    from holdfast.clock import rfc3339
def later():
    from holdfast import mail
    return mail
"""
_FAILS = f"""
def f(a):
    if a == 1:
        raise KeyError
{300 * "#"}{300 * chr(10)}
    while a:
        a -= (
            1 /
            (a - 3))
    return [
        a for a in [
1, a.x]]
"""


def test_imports_among_bundled_modules_are_links(tmp_path):
    """And those of others, and in functions, stay what they are."""
    from holdfast import clock, hook  # in a bundle, too, they are there before
    from holdfast.ops import registry

    made = compiled(tmp_path, _IMPORTS)
    assert (made["sys"], made["time"], made["hook"], made["registry"]) == (sys, clock, hook, registry)
    assert (made["at"], made["current"], made["rfc3339"]) == (clock.at, clock.now, clock.rfc3339)
    assert made["later"]().__name__ == "holdfast.mail"
    named = (bundling._compiled(str(tmp_path), ["one"])[0][-1]).co_names
    assert "nothing" not in named
    assert "holdfast.clock" not in named


def test_what_fails_in_a_bundle_is_told_by_its_line(tmp_path):
    """However far apart, and in whatever order their code comes; only the columns are gone."""
    made, plain = compiled(tmp_path, _FAILS), {}
    exec(compile(_FAILS, "one.py", "exec"), plain)
    lines = []
    for f in (made["f"], plain["f"]):
        for given in (1, 3, 0):
            with pytest.raises((KeyError, ZeroDivisionError, AttributeError)) as problem:
                f(given)
            lines.append(problem.traceback[-1].lineno)
    assert lines[:3] == lines[3:]
    assert len({*lines}) == 3
    assert len(made["f"].__code__.co_linetable) < len(plain["f"].__code__.co_linetable)


def test_each_bundled_module_needs_only_those_before_it(session, home, tmp_path):
    """With every other way to import them taken away."""
    package = copy_package(tmp_path / "copy")
    edit(package / "bundle.py", 'sys.path.append(package().rpartition("/")[0])', "pass")
    run_silently(session, home, package=package)
    assert (package / "__pycache__" / f"hot.{sys.implementation.cache_tag}").exists()
    run_silently(session, home, package=package)
    assert state(home)["heard"]["calls"] == 2


def needed(stem: str) -> set[str]:
    """The modules of ours that one names at its top level, as stems."""
    found = set()
    for node in ast.parse((PACKAGE / f"{stem}.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "holdfast":
            place = PACKAGE.parent.joinpath(*node.module.split("."))
            named = [place / alias.name for alias in node.names] if place.is_dir() else [place]
            found |= {str(path.relative_to(PACKAGE)) for path in named if path.with_suffix(".py").exists()}
    return found


def test_no_module_of_a_bundle_has_to_be_looked_for():
    """One that comes too late is loaded from its own file first, which costs more than all the others."""
    for group in (bundling.LINE, bundling.LATER):
        order = [*bundling.HOT, *group]
        late = [(stem, one) for at, stem in enumerate(order) for one in needed(stem) - {*order[:at]}]
        assert late == []


def pythons() -> list[str]:
    """Every Python we support that is to be found here, the current one among them."""
    places = [Path(folder) for folder in os.get_exec_path()]
    places += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    found = {PYTHON: sys.version_info[:2]}
    for place in places:
        for path in place.glob("python3.[0-9][0-9]"):
            real = os.path.realpath(path)
            minor = int(path.name.removeprefix("python3."))
            if minor >= 11 and "shims" not in path.parts and os.access(real, os.X_OK):
                found.setdefault(real, (3, minor))
    return sorted(found, key=lambda path: (path != PYTHON, path))


@pytest.mark.parametrize("python", pythons())
def test_any_python_writes_the_same_state(python, tmp_path):
    transcript = Transcript(tmp_path / "t.jsonl")
    for turn in range(20):
        transcript.prompt(f"prompt {turn}: größer → 你好")
        transcript.answer(50_000 + 700 * turn, call=f"toolu_{turn}")
        transcript.result(f"toolu_{turn}", "line\n" * turn * 50)
    payloads = [
        event(name, transcript=transcript.path)
        for name in ("SessionStart", "UserPromptSubmit", "PostToolBatch", "PreCompact", "Stop")
    ]
    package = copy_package(tmp_path / "copy")
    states = []
    for home, by in ((tmp_path / "home", PYTHON), (tmp_path / "other", python)):
        for payload in payloads:
            run_silently(payload, home, python=by, package=package)
        written = state(home)
        assert written.pop("sum")
        assert written["heard"].pop("first_at") <= written["heard"].pop("last_at")
        assert written["heard"].pop("begun")
        assert written["heard"].pop("saved")["work"] == 20
        written["heard"].pop("active", None)
        states.append(written)
    assert states[0] == states[1]
    assert states[0]["seen"]["turns"] == 20
