"""When a checkpoint is due: `due`, and at which breakpoints: `broke`; when finished work is looked through
for what has gone cold: `is_cold_due`, and when a compaction is asked for: `compaction_due`. Every rule is a
line here.

From the state, not from the event alone: what a killed hook did not save is still unsaved when the next
one looks.
"""

from holdfast.core.events import Event, goes_on, ran_out
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import text
from holdfast.core.ladder import CHECKPOINT, WARNING, name_of
from holdfast.core.seen import counter
from holdfast.core.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.config import Config

#: Asked for by a person, through a command: an event of our own.
ASKED = "CheckpointAsked"
#: There was a breakpoint, and no hook of the session will come soon: also ours.
BROKE = "BreakpointReached"
#: Nobody will come any more who pays what an agent owes, or who saves what a client that is gone left: an
#: event of ours, too.
OWED = "CheckpointOwed"
#: What a batch of tool calls left to be done when the client had been answered: ours as well.
AFTER = "AfterBatch"
#: A hook has been answered, and a save of the session is due; nothing else is done: ours, too.
SAVE_DUE = "SaveDue"
WATCHER = "watcher"
_FIRST, _EVERY = "checkpoints.first_turns", "checkpoints.every_turns"
#: How a reason ends that counts turns or minutes; and one that nobody gave.
_OF_WORK, _BY_ERROR = " of work", "stopped by an error"
_STARTS = {"compact": "compacted since the last", "resume": "left unsaved"}
#: Where a pause is natural, or nobody has to wait for us.
_QUIET = ("PostToolBatch", AFTER, "Stop", "UserPromptSubmit", BROKE)
#: A disk that refuses is not asked again on every tool call.
_AGAIN_MS = 30_000
_PATIENT = (
    *("PreCompact", "SessionStart", "PostCompact", "SessionEnd", "Stop", "StopFailure", "SubagentStop"),
    ASKED,
)
#: Milliseconds in which commits of a rebase, or of a row of picks, are one breakpoint.
_SERIES_MS = 600_000
#: Nobody is asked to wait longer: then a clock was set back.
_LONGEST_WAIT_MS = 600_000


def work(state: State) -> int:
    """How much has been done, in turns."""
    return state.seen.turns or state.heard.batches + state.heard.stops


def reached(state: State) -> dict[str, int]:
    """How far a checkpoint that is taken now reaches."""
    return {"work": work(state), "offset": state.seen.offset}


def unsaved(state: State) -> int:
    """Turns since the last checkpoint, by where they began: going back in a session, or reading the whole
    of a transcript after its newest part, changes how many there are, but not where. The newest 256 of
    them are known by their place."""
    seen, done = state.seen, work(state)
    saved, read = state.heard.saved.get("work", 0), state.heard.saved.get("offset", 0)
    if seen.turns and 0 < read <= seen.offset:
        return next(
            (later for later, began in enumerate(reversed(seen.turned)) if began < read), len(seen.turned)
        )
    return done - saved if done >= saved else done  # fewer than before: another file


def worked_ms(state: State) -> int:
    """Milliseconds of work since the last checkpoint: as the hooks were told, or as the transcript says by
    its own times where that is more (hooks that came late know only what came after)."""
    since = int(state.heard.saved.get("offset", 0))
    return max(state.heard.active, sum(took for offset, took in state.seen.slow if offset >= since))


def saved_rung(state: State) -> int:
    """The highest rung at which this cycle's work was saved."""
    saved = state.heard.saved
    return int(saved.get("rung", 0)) if saved.get("cycle") == state.seen.compacted else 0


def due(state: State, event: Event, rung: int, config: "Config") -> str:
    """Why a checkpoint is to be taken now, or "". `rung` is the one the window stands on."""
    name = event.name
    if name == ASKED:
        return "asked for"
    if name == "PreCompact":
        return "compaction"
    if ran_out(event):
        return "the window is full"
    if name == "SubagentStop":
        if not state.has_ended:
            return ""
        is_saved = 0 < state.seen.offset == state.heard.saved.get("offset", 0)  # nothing came since
        says = text(event.data, "last_assistant_message")
        return "agent finished" if (says and not is_saved) or unsaved(state) else ""
    turns = unsaved(state)
    if not turns:
        return ""
    if name == OWED:
        return text(event.data, "why")
    if name == "SessionStart":
        source = text(event.data, "source")
        known = source == "compact" or state.heard.prompts  # one that we were not there for is not unsaved
        return _STARTS.get(source, "") if known else ""
    if name == "SessionEnd":
        return "session ended"
    if name == "StopFailure":
        return _BY_ERROR
    if name not in _QUIET:
        return ""
    return asked_for(state, event.at) or _in_between(state, turns, rung, name == "Stop", config)


def is_optional(state: State, event: Event, why: str) -> bool:
    """Whether none is taken if the session holds no work: nobody asked for it, and only talk can be lost.
    What an agent did is its lead's to judge."""
    if state.agent or why == asked_for(state, event.at):
        return False
    if event.name == "SessionStart":
        return text(event.data, "source") != "compact"
    return event.name in ("SessionEnd", OWED) or why.endswith(_OF_WORK) or why == _BY_ERROR


def is_time(state: State, event: Event) -> bool:
    """Whether what is owed, or due, is to be paid now. After a compaction not yet: what was said before it
    is still in the transcript, and the debt is in the state."""
    owed = state.heard.owed
    if goes_on(event):
        return False
    waited = event.at - owed.get("tried_at", 0)
    return event.name in _PATIENT or owed.get("tries", 0) < 2 or not 0 <= waited < _AGAIN_MS


def is_save_pending(state: State, at: int) -> bool:
    """Whether a save of the session that is due is to be tried now."""
    due = state.heard.autosave
    waited = at - due.get("tried_at", 0)
    return bool(due) and (due.get("tries", 0) < 2 or not 0 <= waited < _AGAIN_MS)


def asked_for(state: State, at: int) -> str:
    """Why somebody else wants one, if its time has come; where the clock was set back, it has."""
    asked = state.heard.asked
    if not asked or "done" in asked or asked.get("after", 0) - at in range(1, _LONGEST_WAIT_MS):
        return ""
    return text(asked, "why")


def _in_between(state: State, turns: int, rung: int, at_rest: bool, config: "Config") -> str:
    broken = state.heard.broke.get("why")
    if broken:
        return str(broken)
    step = CHECKPOINT if rung == WARNING else rung  # a warning is only said
    if step > saved_rung(state):
        return name_of(step)
    if _only_talked(state, config):
        return ""
    minutes = config["checkpoints.active_minutes"]
    if worked_ms(state) >= minutes * 60_000:
        return f"{minutes} minutes{_OF_WORK}"
    # It is what a session that ends without a word can lose.
    if turns >= config[_FIRST if at_rest or not state.heard.saved else _EVERY]:
        return f"{turns} turns{_OF_WORK}"
    return ""


def _only_talked(state: State, config: "Config") -> bool:
    """Whether that was found out a few turns ago, and nothing was done since that shows in the state."""
    seen, talked = state.seen, state.heard.talked
    acted = seen.edits or seen.plans or seen.tasks or seen.todos or state.heard.tasks or _edits(state)
    return bool(talked) and not acted and 0 <= work(state) - talked < config[_EVERY]


def trigger(state: State, event: Event, why: str) -> str:
    """Of a checkpoint that is due: as its frontmatter says it."""
    if event.name == ASKED or (event.name == "PreCompact" and event.data.get("trigger") == "manual"):
        return "manual"
    if event.name == "SessionEnd":
        return "end"
    if why in (text(state.heard.asked, "why"), text(event.data, "why") if event.name == OWED else ""):
        return WATCHER
    broke = state.heard.broke
    return str(broke["trigger"]) if broke.get("why") == why else "auto"


def broke(state: State, found: list[dict], at: int) -> dict:
    """Why a checkpoint is due at the breakpoints that were `found`, oldest first: one, however many they
    are. {}: nothing is unsaved, or none of them counts (tests that failed, more of the same rebase)."""
    if not unsaved(state):
        return {}
    for entry in reversed(found):
        kind, why = entry["kind"], f"commit {entry['commit'][:12]}".strip()
        if kind == "tests":
            if entry["passed"]:
                count = entry["count"]
                return {"why": f"{count} tests passed" if count > 1 else "tests passed", "trigger": "tests"}
        elif kind == "commit":
            return {"why": why, "trigger": "commit"}
        elif not 0 <= at - state.heard.broke.get("series", 0) < _SERIES_MS:
            return {"why": why, "trigger": "commit", "series": at}
    return {}


def is_news(state: State, passed: bool, config: "Config") -> bool:
    """Whether the outcome of a test run is one for this session: another than before, or after so many
    turns. An agent may run its tests with every turn."""
    if not state.heard.tests:
        return True
    before, done = state.heard.tests
    return bool(before) != passed or not 0 <= work(state) - done < config[_EVERY]


def is_other(known: dict, run: dict) -> bool:
    """Whether tests ended otherwise than they are `known` to have last, or on another commit."""
    return any(known.get(name) != run[name] for name in ("passed", "commit"))


def is_cold_due(state: State, event: Event, fill: float, config: "Config") -> bool:
    """Not while only the newest part of a long transcript was read: its turns are not numbered yet."""
    turns, looked = state.seen.turns, state.heard.cold
    if fill < config["cold.from_percent"] or event.name not in _QUIET or state.seen.start:
        return False
    if turns <= config["cold.after_turns"]:
        return False
    if not looked or looked[1] != state.seen.rereads:  # the session went back: what was made may be untrue
        return True
    return not 0 <= turns - looked[0] < config["cold.every_turns"]


def rest(state: State, found: list[dict]) -> dict:
    """Where work stood when the newest of these breakpoints was reached: at rest, if that was a commit or
    tests that passed."""
    newest = found[-1]
    is_good = newest["kind"] != "tests" or newest["passed"]
    return {"rest": [state.heard.prompts, _edits(state)] if is_good else []}


def _edits(state: State) -> int:
    return sum(row[0] for tool, row in state.heard.tools.items() if counter(tool) == "edited")


def compaction_due(state: State, event: Event, reading: Reading, config: "Config") -> int:
    """The person's own threshold, if it is reached, by a measurement and at a screen; else 0. Once in a
    cycle: one that was announced is under way, or was stopped by someone who had a reason. And not where as
    much as that is always there, or was left by the last one: another would leave no less."""
    seen, heard = state.seen, state.heard
    rests = heard.broke.get("rest") == [heard.prompts, _edits(state)]  # and nothing was begun since
    given = (config["compaction.at"], config["compaction.at_breakpoint"] if rests else 0)
    at = int(min(filter(None, given), default=0))
    if not at or reading.fill < at or event.data.get("interactive") is not True:
        return 0
    if not reading.source.startswith("usage") or state.awaits_boundary or heard.compacting > seen.compacted:
        return 0
    left = seen.meter.bare() + (seen.compactions[-1][3] if seen.compactions else 0)
    return at if 100 * left < at * reading.capacity else 0
