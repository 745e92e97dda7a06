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
from holdfast.core.plain import ago
from holdfast.core.state import State
from holdfast.core.thrash import Burst
from holdfast.disk import spool
from holdfast.errors import MISTAKES, HoldfastError
from holdfast.installed import LOAD, has_slash_commands, save_command, says_why, shell_command

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
            lines.append(_line(what, event, state, app, reading, now))
    said: dict = {"systemMessage": "\n".join(lines)} if lines else {}
    advice = _advice(state, reading) if ADVICE in due else ""
    if advice:
        said["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": advice}
    return dump(said) if said else "", advice


def _line(what: object, event: Event, state: State, app: Holdfast, reading: Reading, now: Look) -> str:
    is_off = state.heard.client.get("compaction_off")
    if what == PROMPT:  # in the words people know from before
        command = save_command(app, state.heard.project)
        used, end = min(100.0, reading.fill), "the window ends" if is_off else "the client compacts"
        return (
            f"CONTEXT: ~{used:.0f}% used. Consider {command} before context exhaustion. "
            f"That is of the {thousands(reading.capacity)} tokens before {end}. "
            + _last_saved(event, state, app)
        )
    if what == FULL:
        return _full(state, app)
    left = f"{thousands(reading.until_compaction)} tokens before {'the end' if is_off else 'compaction'}"
    said = f"{reading.fill:.0f}% used, {left}{_turns(now.forecast)}."
    if what == SOON:
        return f"holdfast: {said}"
    rung = int(str(what))
    name = "" if rung == CHECKPOINT else f" {name_of(rung)}"
    early = f" Early: {now.velocity:.0f}% a step." if now.is_early and now.velocity >= 1 else ""
    return f"holdfast{name}: {said}{early} {_saved(state, app, rung)}"


def _full(state: State, app: Holdfast) -> str:
    """How to go on, where the client does not by itself."""
    saved, shell = state.heard.saved.get("id", ""), shell_command(app)
    load = f", then {LOAD} {saved}" if saved and has_slash_commands(app, state.heard.project) else ""
    ways = [f"/compact, or /clear{load}"]
    ways += ["a new session here is told of it, too"] if saved else []
    if shell and app.config["auto_context.enabled"]:
        ways.append(f"in a shell: {shell} rs {spool.environment(app.environ)}")
    return f"holdfast: the window is full. {_saved(state, app, 0)} To go on: {'; '.join(ways)}."


def _last_saved(event: Event, state: State, app: Holdfast) -> str:
    heard = state.heard
    if heard.owed.get("what") or not heard.saved:
        return _saved(state, app, 0)
    return f"Work was last saved {ago(max(0, event.at - heard.saved['at']))}: {heard.saved['id']}."


def _turns(coming: Forecast | None) -> str:
    return f", about {coming.turns} turns ({coming.low}–{coming.high})" if coming else ""


def _saved(state: State, app: Holdfast, rung: int) -> str:
    heard = state.heard
    if heard.owed.get("what"):
        why = says_why(app, heard.project, "status")
        return "The work could not be saved" + (f"; {why} says why." if why else ".")
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
