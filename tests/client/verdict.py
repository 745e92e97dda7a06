"""What must hold of a day that was played (`day`), found in what the model was sent and what is on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from client.day import Day
from client.plan import Plan
from client.prose import KINDS
from client.saved import Saved
from client.sent import Sent, observe, strangers
from hooks import folder, lines, notes

_WENT_WRONG = re.compile(r"hook error|hook cancelled|non-blocking status|\[[^\]]*launch\.py[^\]]*\] failed")
_HOOK_TROUBLE = {"hook_blocking_error", "hook_non_blocking_error", "hook_cancelled"}
#: What a brief may take, and what may be printed for a summary, in characters.
BRIEF, BLOCK = 1500 * 3.5, 6000


@dataclass
class Report:
    """Of the day itself, but for what is wrong with any of them: that is told by what it is about."""

    seed: int
    calls: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    checkpoints: int = 0
    receipts: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    longest_brief: int = 0
    #: run, plan, compactions, facts, sizes, others, hooks, checkpoints, receipts.
    problems: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def clean(self) -> bool:
        return not any(self.problems.values())

    @property
    def rows(self) -> list[list[str]]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.compactions.items()))
        return [
            ["tool calls", str(self.calls)],
            ["compactions", f"{self.compactions.total()}: {kinds}"],
            ["checkpoints, verified", str(self.checkpoints)],
            ["receipts", str(self.receipts)],
            ["longest brief, characters", str(self.longest_brief)],
            *([f"{kind}s told again", f"{self.found[kind]} of {self.planted[kind]}"] for kind in KINDS),
        ]


def examine(day: Day, installed: bool) -> Report:
    report = Report(day.seed)
    for plan, run in zip(day.plans, day.runs, strict=True):
        ended = (run.returncode, run.trouble, run.refused, run.unplayed)
        if ended != (0, "", [], {}):
            report.problems["run"].append(f"{plan.area.name}: {ended}")
        if _typed(day, plan) != [prompt.text for prompt in plan.prompts]:
            report.problems["run"].append(f"{plan.area.name}: not what was typed: {_typed(day, plan)}")
        requests = [request for request in run.requests if request["kind"] != "side"]
        _compactions(report, plan, requests, counted=plan is day.plans[0])
        others = [fact for other in day.plans if other is not plan for fact in other.facts]
        report.problems["others"] += [f"{plan.area.name}: {name}" for name in strangers(others, requests)]
    _calls(report, day)
    _hooks(report, day)
    if installed:
        _checkpoints(report, day)
        _receipts(report, day)
    return report


def _compactions(report: Report, plan: Plan, requests: list[dict], counted: bool) -> None:
    for number, cut in enumerate(plan.cuts, 1):
        name = f"{plan.area.name}, compaction {number} ({cut.kind})"
        seen = observe(cut, requests)
        if seen is None or seen.kind != cut.kind:
            report.problems["compactions"].append(f"{name}: {seen.kind if seen else 'none'}")
            continue
        sent = Sent.of(seen.after)
        briefs = [len(brief) for brief in sent.briefs]
        if len(seen.block) > BLOCK or sum(briefs) > BRIEF:
            report.problems["sizes"].append(f"{name}: block {len(seen.block)}, brief {briefs}")
        if counted:
            report.compactions[cut.kind] += 1
            report.longest_brief = max(report.longest_brief, sum(briefs))
        for fact in plan.expected(cut):
            told = sent.tells(fact)
            report.planted[fact.said.kind] += counted
            report.found[fact.said.kind] += counted and told
            if not told:
                report.problems["facts"].append(f"{name}: {fact.said.kind}: {fact.said.text!r}")
            if sent.keeps(fact):
                report.problems["plan"].append(f"{name}: {fact.said.text!r} is in the kept tail")


def _calls(report: Report, day: Day) -> None:
    """Tool calls with results, as the transcripts of a session and its agents have them; and that those
    failed that were meant to, and no others."""
    done: Counter[str] = Counter()
    failed: set[str] = set()
    meant = {failure.command for plan in day.plans for failure in plan.failures}
    for entries in day.machine.transcripts.values():
        commands: dict[str, str] = {}
        for entry in entries:
            content = entry["message"]["content"] if entry["type"] in ("user", "assistant") else []
            for block in content if isinstance(content, list) else []:
                if block["type"] == "tool_use":
                    commands[block["id"]] = block["input"].get("command", block["name"])
                elif block["type"] == "tool_result":
                    done[entry["sessionId"]] += 1
                    ran = commands[block["tool_use_id"]]
                    if block.get("is_error"):
                        failed.add(ran)
                        if ran not in meant and " fixtures/" not in ran:
                            report.problems["run"].append(f"{ran}: {str(block['content'])[:200]}")
    report.problems["run"] += [f"{ran}: did not fail" for ran in sorted(meant - failed)]
    for plan in day.plans:
        if done[plan.session] != plan.calls:
            report.problems["run"].append(f"{plan.area.name}: {done[plan.session]} of {plan.calls} calls")
    report.calls = done[day.plans[0].session]


def _hooks(report: Report, day: Day) -> None:
    """That none failed, was cancelled or gave up: on the screen, in the transcripts, in the trail."""
    said = report.problems["hooks"]
    for run in day.runs:
        for path in (run.folder / "stderr", run.folder / "screen"):
            said += _WENT_WRONG.findall(path.read_text()) if path.exists() else []
    for path, entries in day.machine.transcripts.items():
        told = [entry["attachment"] for entry in entries if entry["type"] == "attachment"]
        bad = [one for one in told if one["type"] in _HOOK_TROUBLE]
        said += [f"{path.name}: {json.dumps(one)[:300]}" for one in bad]
    said += map(json.dumps, notes(day.home))


def _told(day: Day, event: str) -> list[dict]:
    """What the probe, which they share, was told."""
    return [one for one in day.runs[-1].heard if one["hook_event_name"] == event]


def _times(day: Day, event: str) -> Counter[tuple[str, str]]:
    """(session, agent) -> how often."""
    return Counter((one["session_id"], one.get("agent_id", "")) for one in _told(day, event))


def _typed(day: Day, plan: Plan) -> list[str]:
    """Without what the client itself says when an agent has come back."""
    told = [one for one in _told(day, "UserPromptSubmit") if one["session_id"] == plan.session]
    return [one["prompt"] for one in told if "<task-notification>" not in one["prompt"]]


def _checkpoints(report: Report, day: Day) -> None:
    saved = Saved.read(day.home, *{plan.project for plan in day.plans})
    report.checkpoints = sum(made.fields["session_id"] == day.plans[0].session for made in saved.files)
    said = report.problems["checkpoints"]
    try:
        saved.check()
        saved.check_places()
        saved.check_lineages(alone=False)
    except AssertionError as problem:
        said.append(f"the accounts of them disagree: {problem}")
    for who, times in _times(day, "PreCompact").items():
        made = [one for one in saved.of(*who) if one.fields["reason"] == "compaction"]
        if len(made) != times:
            said.append(f"{who}: {len(made)} for {times} compactions")
    home, config = str(day.machine.home), str(day.machine.config)
    checked = subprocess.run(
        [sys.executable, "-m", "holdfast", "checkpoint", "check"],
        env={"PATH": os.defpath, "HOME": home, "CLAUDE_CONFIG_DIR": config},
        cwd=day.machine.project,
        capture_output=True,
        text=True,
        check=False,
    )
    if checked.returncode:
        said.append(checked.stdout + checked.stderr)


def _receipts(report: Report, day: Day) -> None:
    for who, times in _times(day, "PostCompact").items():
        given = lines(folder(day.home, *who) / "receipts.jsonl")
        report.receipts += len(given) if who[0] == day.plans[0].session else 0
        if len(given) != times:
            report.problems["receipts"].append(f"{who}: {len(given)} for {times} compactions")
