"""The save that `holdfast rs` finds: a session saves itself when its window is nearly full, and when it is.

A due save is recorded as pending in the state before it is made, with the id that it will have. So a hook
that is killed in between leaves it to the next one, which finds by that id what was written already. It is
made apart from the hook that the client waits for. Loaded only when one is due.
"""

from holdfast.apart import by_a_child
from holdfast.app import Holdfast
from holdfast.clock import new_id
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.guard import NO_SPACE
from holdfast.core.ladder import ADVISORY, name_of
from holdfast.core.state import State
from holdfast.disk import saves, sessions, spool, trail
from holdfast.disk.home import is_safe_name
from holdfast.errors import MISTAKES, HoldfastError, Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.apart import Leave, Tell

_NEXT = "Continue from auto-save point"


def schedule(state: State, event: Event, app: Holdfast, reading: Reading, level: int) -> None:
    """Record what is to be saved. One that waits still is replaced: this one covers it."""
    state.heard.autosave = {
        "uid": new_id(event.at),
        "at": event.at,
        "why": "the client compacts" if event.name == "PreCompact" and level == ADVISORY else _named(level),
        "environment": _environment(app),
        "used": reading.used,
        "max": reading.window,
        "fill": reading.fill,
        "capacity": reading.capacity,
        "tries": 0,
    }


def _environment(app: Holdfast) -> str:
    named = spool.environment(app.environ)
    if is_safe_name(named):
        return named
    what = f"CONTEXTS_ENV cannot be the name of an environment; a session was saved for {spool.DEFAULT}"
    trail.note(app.home, "degraded.autosave", what=what)
    return spool.DEFAULT


def make(state: State, event: Event, app: Holdfast) -> None:
    """Write the pending save, durably; where that is not possible now, a later hook tries again."""
    due = state.heard.autosave
    due.update(tries=due["tries"] + 1, tried_at=event.at)
    sessions.save(app.home, state)  # before it is made: one that is never finished counts, too
    try:
        if due["tries"] == 1 or not _is_made(app, due):
            _write(app, _composed(state, event, app, due))
    except Late:
        raise
    except (OSError, HoldfastError, *MISTAKES) as problem:
        ours = isinstance(problem, (OSError, HoldfastError))  # others' words may hold text of the session
        what = (str(problem) if ours else type(problem).__name__)[:300]
        trail.note(app.home, "degraded.autosave", session=state.session, what=what)
        return
    state.heard.autosave = {}
    sessions.save(app.home, state)
    said = {"id": due["uid"], "environment": due["environment"], "why": due["why"]}
    trail.note(app.home, "session.saved", session=state.session, fill=due["fill"], **said)


def _named(level: int) -> str:
    return "the window is full" if level >= NO_SPACE else name_of(level)


def _is_made(app: Holdfast, due: dict) -> bool:
    """Whether an earlier try wrote it and could not say so."""
    return any(save["id"] == due["uid"] for save in saves.of(app.home, due["environment"]))


def _write(app: Holdfast, save: dict) -> None:
    def write(tell: "Tell", leave: "Leave" = dict) -> None:  # noqa: ARG001
        saves.add(app.home, [save])
        tell([save["id"]])

    if app.in_hook:  # a disk that does not answer holds up nobody
        by_a_child(app, write)
    else:
        write(dict)


def _composed(state: State, event: Event, app: Holdfast, due: dict) -> dict:
    from holdfast.material import Ground, redactor_of

    ground = Ground(state.heard.project, event.cwd)
    saved = state.heard.saved
    percent = 100 * due["used"] / due["max"]
    save = saves.made(
        due["at"],
        due["environment"],
        saves.AUTO,
        redactor_of(app, ground.project).text,
        ["auto-save", f"tokens-{due['used']}"],
        task=_goal(app, saved.get("path", "")) or f"[Auto-save at {percent:.0f}% context]",
        context=f"Automatic save triggered at {due['used']}/{due['max']} tokens: {due['why']}, "
        f"{due['fill']:.1f}% of the {due['capacity']} that the client fills at most",
        next_steps=_NEXT,
        used=due["used"],
        max=due["max"],
        project=ground.project,
        lineage=ground.lineage,
        joined=saves.TOLD,
        branch=ground.branch,
        commit=ground.commit,
        checkpoint=saved.get("path", ""),
        session_id=state.session,
    )
    save["id"] = due["uid"]
    return save


def _goal(app: Holdfast, path: str) -> str:
    """What the session works on, as its newest checkpoint says."""
    from holdfast.disk.kept import look

    if not path:
        return ""
    try:
        kept = look(app.home, path)
    except (OSError, HoldfastError):
        return ""
    return kept.goal if kept.is_trusted else ""
