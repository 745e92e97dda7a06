"""What is to be done about a session: the rules, one after the other. Values in, values out.

In the words that scripts know: a STATUS and a RECOMMENDED_ACTION.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.agents.facts import Facts
from holdfast.core.config import Config
from holdfast.core.heard import RESTING
from holdfast.core.seen import LONGEST_STEP_MS

OK, HIGH, OVERDUE, OWED = "ok", "context_high", "checkpoint_overdue", "checkpoint_owed"
STALLED, LOOPING, THRASHING, DEAD = "stalled", "looping", "thrashing", "dead"
STATUSES = (DEAD, HIGH, OVERDUE, OWED, THRASHING, LOOPING, STALLED, OK)
NOTHING, TRIGGER, SAVE, TELL, ESCALATE = (
    "none",
    "trigger_checkpoint",
    "save_for_it",
    "tell_person",
    "escalate",
)
_PAYING_MS = 60_000


@dataclass(frozen=True)
class Finding:
    """`reason` is what a trigger says; `what` is for people. A trigger is not repeated for what was so when
    one was last posted after `since`."""

    status: str
    action: str
    reason: str
    what: str
    since: int = 0


def findings(facts: Facts, gone: bool, now: int, config: Config) -> list[Finding]:
    """The gravest first."""
    if gone:
        return [_dead(facts)]
    return [*_saving(facts, now, config), *_working(facts, now, config)]


def _dead(facts: Facts) -> Finding:
    left = f", {facts.unsaved} turns unsaved" if facts.unsaved else ""
    action = SAVE if facts.unsaved or facts.owed else NOTHING
    return Finding(DEAD, action, "client_gone", f"its client is gone{left}")


def _saving(facts: Facts, now: int, config: Config) -> list[Finding]:
    """One reason is enough: the checkpoint is the same."""
    threshold, minutes = config["ladder.checkpoint"], config["checkpoints.active_minutes"]
    if facts.fill >= threshold and facts.unsaved and not facts.is_saved_here:
        what = f"{facts.fill:.0f} % full, {facts.unsaved} turns unsaved"
        return [Finding(HIGH, TRIGGER, f"context_{threshold}_percent", what, facts.since)]
    running = 0 if is_resting(facts) else min(max(0, now - facts.told_at), LONGEST_STEP_MS)
    active = facts.active_ms + running
    if facts.unsaved and active >= minutes * 60_000:
        what = f"{active // 60_000} minutes of work since the last checkpoint"
        return [Finding(OVERDUE, TRIGGER, f"minutes_{minutes}_of_work", what, facts.saved_at)]
    # Every checkpoint is owed for a moment before it is taken.
    if facts.owed and not 0 <= now - facts.owed_at < _PAYING_MS:
        return [
            Finding(OWED, TRIGGER, "checkpoint_owed", "a checkpoint could not be saved", facts.saved_at)
        ]
    return []


def _working(facts: Facts, now: int, config: Config) -> list[Finding]:
    found = []
    if facts.thrashes:
        what = "it compacts again and again: something refills its window"
        found.append(Finding(THRASHING, TELL, "thrashing", what))
    most = config["watcher.loop_calls"]
    if facts.repeated >= most or facts.failing >= most:
        again = f"the same call failed {facts.failing} times" if facts.failing >= most else ""
        again = again or f"the same command {facts.repeated} times in a row"
        found.append(Finding(LOOPING, TELL, "looping", again))
    quiet = now - facts.last_at
    if not is_resting(facts) and quiet >= config["watcher.stall_minutes"] * 60_000:
        found.append(Finding(STALLED, TELL, "stalled", f"nothing for {quiet // 60_000} minutes in a turn"))
    return found


def is_resting(facts: Facts) -> bool:
    return facts.last in RESTING


def status_of(found: list[Finding]) -> str:
    return next((one for one in STATUSES if any(one == finding.status for finding in found)), OK)


def action_of(found: list[Finding]) -> str:
    asked = {finding.action for finding in found}
    return next((one for one in (SAVE, TRIGGER, TELL) if one in asked), NOTHING)
