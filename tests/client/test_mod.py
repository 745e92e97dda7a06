"""The plugin's mod in the client: what it reports, what it starts, and that its failing disturbs nobody."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.client import Machine, Run
from client.saved import Saved
from client.scenario import commit
from client.test_plugin import PLUGIN, handled, told
from holdfast.app import Holdfast
from holdfast.ops.context import usage
from hooks import edit, heard, lines, state, wrong

MODEL = ["--model", "claude-opus-4-6"]
#: The client compacts at 167,000.
HALF = {"HOLDFAST_COMPACTION_AT": "50"}
AT_BREAKPOINTS = {"HOLDFAST_COMPACTION_AT_BREAKPOINT": "50"}
WHO = {f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
BEGIN = [{"event": "SessionStart"}, {"see": "bypass permissions"}]


@pytest.fixture
def machine(tmp_path: Path, binary: Path) -> Machine:
    return Machine(tmp_path / "machine", binary)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy: the client writes the types of its API beside a mod."""
    return Path(shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("__pycache__")))


def ask(machine: Machine, plugin: Path, main: list[dict], env: dict[str, str] | None = None) -> Run:
    """Without a screen."""
    run = machine.run({"main": main}, ["-p", "go", *MODEL], plugin_dirs=[plugin], env=env)
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    return run


def sit(
    machine: Machine, plugin: Path, script: dict, keys: list[dict], env: dict[str, str] | None = None
) -> Run:
    """At the screen, where nothing of ours is drawn: there is no statusline."""
    keys = [*BEGIN, *keys, {"type": "/exit"}]
    run = machine.run(script, MODEL, plugin_dirs=[plugin], keys=keys, env=env)
    assert (run.returncode, run.trouble, run.refused, run.unplayed) == (0, "", [], {})
    return run


def home(machine: Machine) -> Path:
    return machine.config / "holdfast"


def check(machine: Machine, run: Run, reports: int) -> None:
    """Each event was handled once, and the mod has reported so often."""
    assert handled(machine, run) == told(run)
    assert heard(home(machine), run.session).get("Measured", 0) == reports
    assert not wrong(home(machine))


def asked(machine: Machine) -> int:
    return sum(note["event"] == "compaction.asked" for note in lines(home(machine) / "events.jsonl"))


@pytest.mark.parametrize("with_mod", [True, False])
def test_without_a_screen_the_client_still_says_what_it_measured(
    machine: Machine, plugin: Path, with_mod: bool
) -> None:
    """And a threshold means nothing there: the client compacts no such session between turns."""
    if not with_mod:
        edit(plugin / "hooks/hooks.json", '  "modules": ["./mod.mjs"],\n', "")
    run = ask(
        machine, plugin, [{"run": "true", "context": 90_000}, {"say": "done", "context": 91_000}], HALF
    )
    check(machine, run, 2 if with_mod else 0)
    assert asked(machine) == 0
    known = state(home(machine), run.session)["heard"]
    sent = run.requests[-1]["usage"]
    context = sent["input_tokens"] + sent["cache_read_input_tokens"] + sent["cache_creation_input_tokens"]
    assert (known.get("window"), known.get("told", [])[:1]) == (
        (200_000, [context]) if with_mod else (None, [])
    )
    shown = usage(Holdfast.open({"HOLDFAST_HOME": str(home(machine))}), session=run.session)
    assert (shown.max, shown.window_source) == (200_000, "client" if with_mod else "model")


def test_a_compaction_begins_at_the_threshold_once_in_a_cycle(machine: Machine, plugin: Path) -> None:
    turns = [60_000, 90_000, 32_000, 93_000, 95_000]
    script = {
        "main": [{"say": f"answer {context}", "context": context} for context in turns],
        "summary": [{"say": "<summary>all of it</summary>"}, {"say": "never said", "delay_s": 9}],
    }
    keys = [
        {"type": "first"},
        {"event": "Stop"},
        {"type": "second"},
        {"event": "PostCompact"},
        {"type": "third"},
        {"event": "Stop", "times": 3},
        {"type": "fourth"},
        {"see": "Compacting"},
        {"press": "escape"},  # not now
        {"see": "❯"},
        {"type": "fifth"},
        {"event": "Stop", "times": 5},
    ]
    run = sit(machine, plugin, script, keys, HALF)
    check(machine, run, 6)
    assert (told(run)["PreCompact"], told(run)["PostCompact"], asked(machine)) == (2, 1, 2)
    saved = Saved.read(home(machine), machine.project)
    saved.check()
    before = [one for one in saved.files if one.fields["reason"] == "compaction"]
    assert [one.fields["used_tokens"] for one in before] == [90_050, 93_050]
    assert state(home(machine), run.session)["heard"]["told"][:1] == [95_000]


def test_a_compaction_begins_at_a_breakpoint(machine: Machine, plugin: Path) -> None:
    """Not where nothing was finished, nor where something else was begun since; after a commit."""
    commit(machine.project, {"tides.txt": "low\n"})
    commits = {"run": "git commit -q --allow-empty -m 'Dredge the lock'"}
    begins = {"call": "Write", "input": {"file_path": str(machine.project / "next.txt"), "content": "high"}}
    turns = [
        {"say": "nothing finished", "context": 95_000},
        {**commits, "context": 96_000},
        {"calls": [begins], "context": 97_000},
        {"say": "something begun", "context": 98_000},
        {**commits, "context": 99_000},
        {"say": "all committed", "context": 100_000},
        {"say": "after it", "context": 30_000},
    ]
    keys = [
        {"type": "first"},
        {"event": "Stop"},
        {"type": "second"},
        {"event": "Stop", "times": 2},
        {"type": "third"},
        {"event": "PostCompact"},
        {"type": "fourth"},
        {"event": "Stop", "times": 4},
    ]
    script = {"main": turns, "summary": [{"say": "<summary>all of it</summary>"}]}
    run = sit(machine, plugin, script, keys, {**AT_BREAKPOINTS, **WHO})
    check(machine, run, 5)
    assert (told(run)["PreCompact"], told(run)["PostCompact"], asked(machine)) == (1, 1, 1)
    saved = Saved.read(home(machine), machine.project)
    saved.check()
    (before,) = [one for one in saved.files if one.fields["reason"] == "compaction"]
    assert before.fields["used_tokens"] == 100_050


def test_no_compaction_begins_that_nobody_wanted(machine: Machine, plugin: Path) -> None:
    script = {"main": [{"say": "one", "context": 60_000}, {"say": "two", "context": 160_000}]}
    keys = [{"type": "first"}, {"event": "Stop"}, {"type": "second"}, {"event": "Stop", "times": 2}]
    run = sit(machine, plugin, script, keys)
    check(machine, run, 3)
    assert (told(run)["PreCompact"], asked(machine)) == (0, 0)


@pytest.fixture
def hung(machine: Machine, plugin: Path) -> Iterator[Path]:
    """Where the ids of reports stand that never end."""
    path = machine.folder / "hung"
    hang = f'#!/bin/sh\n[ "$1" = measured ] && echo $$ >>{path} && exec sleep 600\n'
    edit(plugin / "run", "#!/bin/sh\n", hang)
    yield path
    for pid in path.read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def test_nobody_waits_for_a_report(machine: Machine, plugin: Path, hung: Path) -> None:
    edit(plugin / "hooks/mod.mjs", "RUN_MS = 2000", "RUN_MS = 600_000")
    script = {"main": [{"say": "one", "context": 60_000}, {"say": "two", "context": 61_000}]}
    keys = [{"type": "first"}, {"event": "Stop"}, {"type": "second"}, {"event": "Stop", "times": 2}]
    check(machine, sit(machine, plugin, script, keys, HALF), 0)
    assert len(hung.read_text().split()) == 2, (
        "one at the start; after the turns one, which is still awaited"
    )


def test_a_report_that_hangs_is_ended(machine: Machine, plugin: Path, hung: Path) -> None:
    """Without a screen the client does not end before."""
    check(machine, ask(machine, plugin, [{"say": "done", "context": 90_000}]), 0)
    assert len(hung.read_text().split()) == 2
    assert not [pid for pid in hung.read_text().split() if Path("/proc", pid).exists()]


def test_without_a_python_nothing_happens(machine: Machine, plugin: Path) -> None:
    run = ask(machine, plugin, [{"say": "done", "context": 90_000}], {"PATH": str(machine.temp)})
    assert not home(machine).exists()
    assert run.stderr == ""
