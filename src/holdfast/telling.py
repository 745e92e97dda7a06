"""What the guard says, in words: to the person, and at most once per cycle to the model. Loaded only then.

It informs and never orders. Of what a session holds only the name of what refills it is in it.
"""

from holdfast.app import Holdfast
from holdfast.core import decide
from holdfast.core.events import Event
from holdfast.core.forecast import Forecast
from holdfast.core.gauge import Reading, thousands
from holdfast.core.guard import ADVICE, FULL, SOON, Look
from holdfast.core.jsontext import dump
from holdfast.core.ladder import CHECKPOINT, CRITICAL, PROMPT, name_of
from holdfast.core.state import State
from holdfast.core.thrash import Burst
from holdfast.errors import MISTAKES, HoldfastError

#: As the plugin and `install` name it.
SAVE, LOAD = "/holdfast:save", "/holdfast:load"
#: Turns that a checkpoint may be behind and still be called the last one.
_A_FEW = 5


def reply(
    due: list, event: Event, state: State, app: Holdfast, reading: Reading, now: Look
) -> tuple[str, str]:
    """(what the hook prints, what of it the model reads)."""
    lines = []
    for what in due:
        if type(what) is Burst:
            lines.append(_refilled(what, state, app))
        elif what != ADVICE:
            lines.append(_line(what, state, reading, now))
    said: dict = {"systemMessage": "\n".join(lines)} if lines else {}
    advice = _advice(state, reading) if ADVICE in due else ""
    if advice:
        said["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": advice}
    return dump(said) if said else "", advice


def _line(what: object, state: State, reading: Reading, now: Look) -> str:
    if what == PROMPT:  # in the words people know from before
        return f"CONTEXT: ~{reading.fill:.0f}% used. Consider {SAVE} before context exhaustion."
    if what == FULL:
        return _full(state)
    is_off = state.heard.client.get("compaction_off")
    left = f"{thousands(reading.until_compaction)} tokens before {'the end' if is_off else 'compaction'}"
    said = f"{reading.fill:.0f}% used, {left}{_turns(now.forecast)}."
    if what == SOON:
        return f"holdfast: {said}"
    rung = int(str(what))
    name = "" if rung == CHECKPOINT else f" {name_of(rung)}"
    early = f" Early: {now.velocity:.0f}% a step." if now.is_early and now.velocity >= 1 else ""
    return f"holdfast{name}: {said}{early} {_saved(state, rung)}"


def _full(state: State) -> str:
    """How to go on, where the client does not by itself."""
    saved = state.heard.saved.get("id", "")
    load = f", then {LOAD} {saved}; a new session here is told of it, too" if saved else ""
    return f"holdfast: the window is full. {_saved(state, 0)} To go on: /compact, or /clear{load}."


def _turns(coming: Forecast | None) -> str:
    return f", about {coming.turns} turns ({coming.low}–{coming.high})" if coming else ""


def _saved(state: State, rung: int) -> str:
    heard = state.heard
    if heard.owed.get("what"):
        return "The work could not be saved; `holdfast status` says why."
    if heard.owed or not heard.saved:
        return "It is being saved." if heard.owed else "Nothing is saved yet."
    behind = decide.unsaved(state)
    if behind > _A_FEW:
        return f"Last saved: {heard.saved['id']}, {behind} turns ago."
    ready = " What a summary would lose is ready to be put back." if rung == CRITICAL else ""
    return f"Saved: {heard.saved['id']}.{ready}"


def _advice(state: State, reading: Reading) -> str:
    left = f"about {thousands(reading.until_compaction)} tokens are left in the context window"
    if state.heard.owed.get("what"):
        return (
            f"holdfast: {left}, and the work since the last checkpoint could not be saved. What must not "
            "be lost is safe only in a file."
        )
    saved = "The work so far is saved; a new session can go on from there, or the user"
    if not state.heard.saved or decide.unsaved(state) > _A_FEW:
        saved = "The user"
    return f"holdfast: {left}, and this client does not compact by itself. {saved} can run /compact."


def _refilled(burst: Burst, state: State, app: Holdfast) -> str:
    """What fills the window as soon as it was emptied, and what would cost less."""
    from holdfast.core import culprit
    from holdfast.disk import attributed
    from holdfast.material import redactor_of

    project = state.heard.project
    try:
        found = culprit.culprit(attributed.refill_of(state.heard.transcript, state, burst))
        redact = redactor_of(app, project).text
    except (OSError, HoldfastError, *MISTAKES):  # the number of compactions says something, too
        return culprit.say(burst, None, str, project)
    return culprit.say(burst, found, redact, project)
