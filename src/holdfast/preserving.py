"""Before a compaction: what the summariser is told to keep, or, if nothing could be saved, that it waits.

Loaded only then. The checkpoint has been taken by now, or is owed.
"""

from holdfast import overflow
from holdfast.app import ANSWERED, Holdfast
from holdfast.books import book_block, mark, note
from holdfast.clock import elapsed
from holdfast.core import preserve
from holdfast.core.events import Event
from holdfast.core.jsontext import dump
from holdfast.core.plain import excerpt
from holdfast.core.state import State
from holdfast.disk import git, sessions
from holdfast.installed import says_why
from holdfast.material import Material


def refusal(event: Event, state: State, app: Holdfast) -> str:
    """A compaction that a person asked for waits for a second word of theirs when nothing could be saved
    before it, if they wish so. Never an automatic one: the client would ask again at every turn."""
    owed = state.heard.owed
    wished = app.config["compaction.block_unverified"] == event.data.get("trigger") == "manual"
    if not (owed and wished and not app.full) or "blocked" in owed:
        return ""
    owed["blocked"] = 1
    sessions.save(app.home, state)  # where that is not possible either it would be refused for ever
    what = owed.get("what", "")
    note(app, state, "compaction.blocked", what)
    why = says_why(app, state.heard.project, "status")
    reason = (
        f"holdfast could not save a checkpoint of this session: {excerpt(what, 200)}. Nothing has been "
        f"compacted. {f'{why} says what is wrong; ' if why else ''}/compact once more goes on without a "
        "checkpoint."
    )
    return dump({"decision": "block", "reason": reason})


def block(event: Event, state: State, app: Holdfast, material: Material) -> str:
    diff = _diff(app, material)
    trigger = "manual" if event.data.get("trigger") == "manual" else "auto"
    facts, tasks, errors = material.facts, material.tasks, material.errors
    cold, config = material.cold(), app.config
    known = facts, material.weighed, tasks, errors, diff, cold
    said = preserve.block(*known, trigger, mark(), config, settled=material.settled)
    if said:
        book_block(event, state, app, len(said))
    if app.left(ANSWERED) > 0:  # else whoever says the brief
        overflow.keep(app, state, facts, tasks, errors)
    return said


def _diff(app: Holdfast, material: Material) -> list[str]:
    """What git says has changed, where it answers in time."""
    tree = material.ground.tree
    if not tree:
        return []
    began, seconds = elapsed(), min(git.PATIENCE_S, app.left(ANSWERED))
    lines = git.diff_stat(tree, app.environ, seconds) if seconds > 0 else []
    if elapsed() - began >= seconds:
        what = "without the diff: there was no time to ask git for it"
        note(app, material.state, "degraded.block", what)
    return [material.redactor.text(line) for line in lines]
