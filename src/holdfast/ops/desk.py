"""What a shared service tells a member of what the team knows: checkpoints, events, memory, the board.

As in `ops.shared`, nothing of a machine is looked at, and the engine decides which rows there are. What is
recalled is data, and nobody's here: never told as typed by whoever asks.
"""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import Literal

from holdfast.clock import at as time_of
from holdfast.clock import id_time, new_id, now, rfc3339
from holdfast.core import checkpoint as checkpoints_core
from holdfast.core.jsontext import record
from holdfast.disk import messages
from holdfast.disk.messages import DONE, NOTE, REQUEST
from holdfast.errors import BadInput, MissingExtra, NotFound
from holdfast.memory import embed
from holdfast.memory.postgres import Postgres
from holdfast.memory.search import search
from holdfast.memory.shared import theirs
from holdfast.memory.shelf import Filter
from holdfast.ops import board, checkpoints, elsewhere, events, recall
from holdfast.ops.shared import Desk, named
from holdfast.store import posted
from holdfast.store.clocks import wall

_MOST, _HOURS, _LONGEST_MINUTES = 200, 24, 60 * 24 * 365
#: Characters of what stands on a board, beyond which no more is posted.
_MOST_STANDING = 4 << 20
#: What the team calls the machine of those who have none here.
_MACHINE = "service"
_MEMBER = "member:"
_EMBEDDER = "wordllama"


def checkpoint_list(desk: Desk, *, project: str | None = None, limit: int = 20) -> checkpoints.Listing:
    """Checkpoints of all machines, newest first.

    Parameters
    ----------
    project
        Its name in the team, host/path. Without it: all of yours.
    limit
        How many to show, up to 200.
    """
    found = elsewhere.checkpoints(desk.store, project and named(project), min(limit or _MOST, _MOST))
    return checkpoints.of_team(found)


def checkpoint_show(desk: Desk, name: str) -> checkpoints.Shown:
    """What a checkpoint says.

    Parameters
    ----------
    name
        Its uid.
    """
    path, data = elsewhere.checkpoint(desk.store, name)
    made = checkpoints_core.parse(data, path)
    return checkpoints.Shown(made.fields, made.sections, path, "foreign", data.decode())


def event_list(desk: Desk, *, kind: str = "", session: str | None = None, limit: int = 50) -> events.Events:
    """What was noted on all machines, newest first.

    Parameters
    ----------
    kind
        Only events whose name begins so.
    session
        Only those of the session with this id.
    limit
        How many to show, up to 200.
    """
    return events.of_team(elsewhere.events(desk.store, kind, session, min(limit or _MOST, _MOST)))


def recalled(
    desk: Desk, query: str, project: str, *, limit: int = 10, tokens: int = 1500
) -> recall.Recalled:
    """What was learnt, decided, met or done in any session of a project, found by meaning and by words.

    Parameters
    ----------
    query
        A question, or words.
    project
        Its name in the team, host/path.
    limit
        So many at most.
    tokens
        How long the answer may be (characters / 3.5).
    """
    asked, name = recall.question(query), named(project)
    recall.check_between("limit", limit, 1, 50)
    recall.check_between("tokens", tokens, 50, 2500)
    shelf = Postgres(desk.store)
    embedder, mode = _embedder(shelf)
    found = search(shelf, embedder, asked, Filter(projects=(name,)), limit)
    memories = [recall.memory_of(theirs(one.row, {}), name, []) for one in found]
    kept = recall.fitting(memories, tokens)
    return recall.fenced(mode, name, kept, len(memories) - len(kept))


def _embedder(shelf: Postgres) -> tuple[embed.Embedder | None, str]:
    """And by what is searched then."""
    lacks = shelf.no_vectors()
    if lacks:
        return None, f"keyword only: {lacks}"
    try:
        return embed.named(_EMBEDDER), f"words and vectors ({_EMBEDDER})"
    except MissingExtra as problem:
        return None, f"keyword only: {problem}"


def board_list(desk: Desk, project: str) -> board.Messages:
    """What stands on the board of a project, and is not over, oldest first, up to 1,000.

    Parameters
    ----------
    project
        Its name in the team, host/path.
    """
    with desk.store.reading() as connection:
        clock = wall(connection)
        found = posted.standing(connection, [named(project)], 0, clock)
        marked = posted.marks(connection, [project], 0, clock)
    marks: dict[str, list[dict[str, str]]] = {}
    for one in marked:
        said = record(one.said)
        if messages.is_mark(said):
            marks.setdefault(one.message, []).append(said)
    told = board.Messages()
    for each in found:
        # Over when the store says so: no other clock is compared with its.
        said = {**record(each.said), "id": each.uid, "expires": rfc3339(each.received + each.lasts_ms)}
        if messages.is_message(said):
            made = board.message_of(said, marks.get(each.uid, []), clock)
            told.append(replace(made, machine=elsewhere.called(each.machine)))
    return told


def board_post(
    desk: Desk,
    text: str,
    project: str,
    *,
    to: str = "all",
    type: Literal["note", "request"] = "note",  # noqa: A002
    minutes: int = 60 * _HOURS,
) -> board.Message:
    """Say something to agents of a project, on whatever machine they are.

    Parameters
    ----------
    text
        What is to be said.
    project
        Its name in the team, host/path.
    to
        all, session:ID, agent:ID or role:NAME.
    type
        note, or request, which waits until somebody says that it is done.
    minutes
        After so many it is over.
    """
    board.refuse_long(text)
    if not messages.is_addressee(to):
        raise BadInput(f"to is {to[:80]!r}; it takes all, session:ID, agent:ID or role:NAME")
    recall.check_between("minutes", minutes, 1, _LONGEST_MINUTES)
    kind = REQUEST if type == "request" else NOTE
    whole = {"type": kind, "from": _MEMBER + desk.who, "to": to, "text": text}
    said = messages.made(new_id(now()), now(), minutes, desk.clean, **whole)
    lasts = time_of(said["expires"]) - time_of(said["at"])
    with desk.store.writing() as connection:
        if posted.size(connection, named(project), wall(connection)) > _MOST_STANDING:
            raise BadInput(f"too much stands on the board of {project}; wait until some of it is over")
        posted.post(connection, [posted.Message(said["id"], named(project), _MACHINE, dumps(said), lasts)])
    return board.message_of(said, [], now())


def board_ack(desk: Desk, id: str, *, what: str = "") -> board.Acknowledged:  # noqa: A002
    """Say that what a message asks for is done.

    Parameters
    ----------
    id
        Of the message, all of it.
    what
        What was done.
    """
    board.refuse_long(what)
    by = _MEMBER + desk.who
    made = messages.marked(id, by, now(), DONE, desk.clean(what))
    with desk.store.writing() as connection:
        project = posted.project_of(connection, id) if id_time(id) else None
        if project is None:
            raise NotFound(f"no message {id[:40]!r} stands on a board of yours")
        posted.mark(connection, [posted.Mark(id, by, DONE, project, _MACHINE, dumps(made))])
    return board.Acknowledged(id, by, made["at"], made["what"])
