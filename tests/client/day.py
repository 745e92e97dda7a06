"""A day of the real client, with holdfast beside it or without.

Three sessions of one user: the day itself, on a screen, and, begun while it runs, one in another project
and one more in the same project. `verdict` says what must hold of them afterwards.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from client.client import Machine, Run
from client.plan import MODEL, Plan, made
from client.prose import Names
from client.work import lay_out
from holdfast.app import Holdfast
from holdfast.install.operations import install

KINDS = ("threshold", "reactive", "precomputed", "subagent")
#: The witness of what the client does. At every tool call it would cost as much as holdfast does.
_PROBED = (
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
    "PostCompact",
    "SubagentStop",
    "SessionEnd",
)
#: Has the client write summaries early: a flag its maker's servers would set, as it remembers them.
_FLAGS = {
    "cachedFeatureFlags": {"tengu_sepia_moth": True},
    "cachedFeatureFlagsAt": 4102444800000,
    "cachedGrowthBookFeatures": {"tengu_sepia_moth": True},
    "cachedGrowthBookFeaturesAt": 4102444800000,
}
_ENV = {"CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF": "1"}
_WITHIN_S = 3600
_STRETCH_S = 300


@dataclass(frozen=True)
class Size:
    calls: int
    #: Of its compactions, in their order.
    kinds: tuple[str, ...]
    #: Turns between what is planted and the compaction, at least.
    distance: int

    @classmethod
    def full(cls, calls: int, compactions: int) -> Size:
        return cls(calls, tuple(KINDS[at % len(KINDS)] for at in range(compactions)), 30)


#: One compaction of each kind, for every run of the tests.
SHORT = Size(60, ("threshold", "subagent", "precomputed", "reactive"), 10)


@dataclass(frozen=True)
class Day:
    """The day itself is the first; of the others only the facts matter."""

    seed: int
    machine: Machine
    plans: list[Plan]
    runs: list[Run]

    @property
    def home(self) -> Path:
        return self.machine.config / "holdfast"


def plans(machine: Machine, seed: int, size: Size, beside: bool) -> list[Plan]:
    names = Names(seed)
    itself = made(names, machine.project, "tide", list(size.kinds), size.calls, size.distance)
    if not beside:
        return [itself]
    calls = max(20, size.calls // 20)
    elsewhere = made(names, machine.folder / "other", "mail", ["threshold"], calls, 10, alone=True)
    same = made(names, machine.project, "wind", ["threshold"], calls, 10, alone=True)
    return [itself, elsewhere, same]


def play(folder: Path, binary: Path, seed: int, size: Size, installed: bool) -> Day:
    """`installed` has the others beside it, too: without holdfast nobody could tell one of another."""
    machine = Machine(folder, binary)
    wanted = plans(machine, seed, size, beside=installed)
    for project in {plan.project for plan in wanted}:
        mine = [plan for plan in wanted if plan.project == project]
        failures = [failure for plan in mine for failure in plan.failures]
        lay_out(project, [plan.area for plan in mine], failures)
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}
    hooks = json.loads(Path(install(Holdfast.open(environ)).settings).read_text()) if installed else {}
    jobs = [_job(plan, hooks) for plan in wanted]
    for job in jobs[1:]:
        job["after"] = wanted[0].session
    return Day(seed, machine, wanted, machine.run_together(*jobs))


def played(folder: Path, binary: Path, seed: int, size: Size, installed: bool) -> Day:
    """One that was played before, from the folder it was played in."""
    machine = Machine(folder, binary)
    return Day(seed, machine, plans(machine, seed, size, beside=installed), machine.runs)


def _job(plan: Plan, hooks: dict) -> dict:
    """As `Machine.run` takes it: one prompt is printed, more are typed."""
    keys: list[dict] = [{"event": "SessionStart"}, {"see": "bypass permissions"}]
    stops = 0
    for prompt in plan.prompts:
        stops += prompt.stops
        keys += [{"type": prompt.text}, {"event": "Stop", "times": stops, "within_s": _STRETCH_S}]
    alone = len(plan.prompts) == 1
    return {
        "script": plan.script,
        "args": ["--model", MODEL, *(["-p", plan.prompts[0].text] if alone else [])],
        "keys": [] if alone else [*keys, {"type": "/exit"}],
        "settings": hooks,
        "env": _ENV,
        "client_json": _FLAGS,
        "session_id": plan.session,
        "cwd": plan.project,
        "probed": _PROBED,
        "within_s": _WITHIN_S,
        "lean": True,
    }
