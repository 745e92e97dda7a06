"""The board of a project: what agents and people say to each other, who has read it, and what was done."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.books import mark as random_mark
from holdfast.clock import new_id, now
from holdfast.core.fence import fenced, inert
from holdfast.core.state import State
from holdfast.disk import board, messages, sessions, trail
from holdfast.disk.home import is_safe_name
from holdfast.disk.messages import ALL, PERSON, ROLE, SESSION, TRIGGER, Reader
from holdfast.errors import BadInput, HoldfastError, NotFound
from holdfast.mail import SAYS
from holdfast.material import redactor_of
from holdfast.memory.place import project_of
from holdfast.ops import asking
from holdfast.ops.context import whole_id

#: A trigger that nobody has met by then says nothing any more.
TRIGGER_MINUTES = 30
_LONGEST_MINUTES = 525_600
_LEAST_PREFIX = 4


@dataclass(frozen=True)
class Posted:
    """`shown` is the project's rendering; `problem` why it could not be written."""

    id: str
    to: str
    type: str
    expires: str
    shown: str
    problem: str

    def __str__(self) -> str:
        said = f"{self.id}: {self.type} to {self.to}, until {self.expires}"
        return f"{said}\nnot shown in the project: {self.problem}" if self.problem else said


@dataclass(frozen=True)
class Message:
    id: str
    at: str
    type: str
    sender: str
    to: str
    expires: str
    reason: str
    status: str
    recommended_action: str
    text: str
    state: str
    delivered: list[str]
    done: list[str]
    machine: str = ""


class Messages(list[Message]):
    """Newest last."""


@dataclass(frozen=True)
class Read:
    """`text` is fenced: all in it is data."""

    reader: str
    ids: list[str]
    text: str

    def __str__(self) -> str:
        return self.text or f"nothing waits for {self.reader}"


@dataclass(frozen=True)
class Acknowledged:
    id: str
    by: str
    at: str
    what: str

    def __str__(self) -> str:
        return f"{self.id} is done, says {self.by}" + (f": {self.what}" if self.what else "")


def post(
    app: Holdfast,
    text: str,
    *,
    to: str = ALL,
    type: str = messages.NOTE,  # noqa: A002
    reason: str = "",
    minutes: int | None = None,
    agent: str | None = None,
    project: str | None = None,
) -> Posted:
    """Say something to other agents of a project; their next hook delivers it, once, as data.

    Parameters
    ----------
    text
        What is said; secrets are taken out before it is written.
    to
        all, session:ID, agent:ID or role:NAME (role:lead: every session itself, not its agents).
    type
        note, request (waits until it is acknowledged), checkpoint_trigger (their next hook takes one), or a
        word of your own.
    reason
        One word that says why.
    minutes
        How long it stands. Without it: board.keep_hours; a checkpoint_trigger half an hour.
    agent
        Say it as this agent of the session.
    project
        The folder whose agents are meant. Without it: this one.
    """
    where = board.place(project_of(app, project))
    whom = _addressee(app, where, to)
    for name, word in (("--type", type), *((("--reason", reason),) if reason else ())):
        if not is_safe_name(word):
            raise BadInput(f"{name} is {word[:40]!r}; it takes one word of letters, digits, - _ .")
    refuse_long(text)
    if not text.strip() and type != TRIGGER:
        raise BadInput("the message is empty; say something: holdfast board post 'the gate is open'")
    sender = _reader(app, None, agent)
    said = {"type": type, "from": sender.name if sender else PERSON, "to": whom, "reason": reason}
    return send(app, where, said | {"text": text}, _minutes(app, type, minutes))


def send(app: Holdfast, where: board.Place, said: dict[str, str], minutes: int) -> Posted:
    """Post what was checked, and show it."""
    redact = redactor_of(app, where.root).text
    at = now()
    message = messages.made(new_id(at), at, minutes, redact, **said)
    board.post(app.home, where, message)
    whose = {name: message[name] for name in ("type", "from", "to", "reason")}
    trail.note(app.home, "board.posted", id=message["id"], board=where.key, **whose)
    shown, problem = showing(app, where)
    return Posted(message["id"], message["to"], message["type"], message["expires"], shown, problem)


def showing(app: Holdfast, where: board.Place) -> tuple[str, str]:
    """(the rendering, what kept it from being written). It is for people: nothing depends on it."""
    try:
        return board.show(app.home, where), ""
    except (OSError, BadInput) as problem:
        return "", str(problem)


def list_all(
    app: Holdfast, *, project: str | None = None, every: bool = False, limit: int = 50
) -> Messages:
    """What stands on the board of a project, newest last: to whom, who has got it, what was done.

    Parameters
    ----------
    project
        The folder whose board is meant. Without it: this one.
    every
        Also what is over: done, delivered to the one it was for, or expired.
    limit
        How many to show; 0 for all.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    found, at = board.load(app.home, board.place(project_of(app, project)).key), now()
    open_ones = {one["id"] for one in found.open(at)}
    chosen = [one for uid, one in found.messages.items() if every or uid in open_ones]
    return Messages(message_of(one, found.of(one["id"]), at) for one in chosen[-limit:])


def read(
    app: Holdfast, *, session: str | None = None, agent: str | None = None, project: str | None = None
) -> Read:
    """What waits on the board for a session or an agent of it, delivered: each message once.

    Parameters
    ----------
    session
        The session with this id. Without it: the one that asks.
    agent
        This agent of the session.
    project
        The folder whose board is meant. Without it: this one.
    """
    reader = _reader(app, session, agent)
    if reader is None:
        raise BadInput(
            "no session asks: name the one that reads with --session (`holdfast sessions` lists them), or "
            "see every message: holdfast board list"
        )
    where = board.place(project_of(app, project))
    at = now()
    waiting = board.since(app.home, where.key, [], reader).waiting(reader, at)
    if not waiting:
        return Read(reader.name, [], "")
    ids = [one["id"] for one in waiting]
    board.mark(
        app.home, where.key, [messages.marked(uid, reader.name, at, messages.DELIVERED) for uid in ids]
    )
    trail.note(app.home, "board.delivered", board=where.key, by=reader.name, ids=ids)
    showing(app, where)
    return Read(reader.name, ids, fenced(random_mark(), SAYS, [messages.line(one, at) for one in waiting]))


def ack(
    app: Holdfast,
    id: str,  # noqa: A002
    what: str = "",
    *,
    session: str | None = None,
    agent: str | None = None,
    project: str | None = None,
) -> Acknowledged:
    """Say that what a message asked for is done. Saying it twice changes nothing.

    Parameters
    ----------
    id
        The message's id, or its last characters.
    what
        What was done.
    session
        As the session with this id. Without it: the one that asks, or, outside of one, a person.
    agent
        As this agent of the session.
    project
        The folder whose board is meant. Without it: this one.
    """
    refuse_long(what)
    where, reader = board.place(project_of(app, project)), _reader(app, session, agent)
    found = board.load(app.home, where.key)
    message = _one(found, id)
    by = reader.name if reader else PERSON
    if reader and not reader.is_meant(message):
        raise BadInput(f"{message['id']} is for {message['to']}, and not for {by}")
    made = next(
        (one for one in found.of(message["id"]) if (one["by"], one["mark"]) == (by, messages.DONE)), None
    )
    if made is None:
        redact = redactor_of(app, where.root).text
        made = messages.marked(message["id"], by, now(), messages.DONE, redact(what))
        board.mark(app.home, where.key, [made])
        trail.note(app.home, "board.acknowledged", id=message["id"], board=where.key, by=by)
        showing(app, where)
    return Acknowledged(message["id"], by, made["at"], made["what"])


def refuse_long(text: str) -> None:
    """Rather than cut: half a secret is not known for one."""
    if len(text) > messages.LONGEST:
        raise BadInput(
            f"that has {len(text):,} characters, and a message may have {messages.LONGEST:,}; put the rest "
            "into a file and name it"
        )


def _one(found: board.Board, wanted: str) -> dict[str, str]:
    fits = [one for uid, one in found.messages.items() if uid.endswith(wanted.upper())]
    if len(wanted) < _LEAST_PREFIX or not fits:
        raise NotFound(f"no message {wanted[:40]!r} stands here; `holdfast board list` shows those that do")
    if len(fits) > 1:
        raise BadInput(f"{wanted!r} ends {len(fits)} ids; give more of it")
    return fits[0]


def message_of(one: dict[str, str], marks: list[dict[str, str]], at: int) -> Message:
    done = [f"{mark['by']} {mark['what']}".strip() for mark in marks if mark["mark"] == messages.DONE]
    over = "expired" if messages.has_expired(one, at) else "done" if done else "delivered"
    return Message(
        id=one["id"],
        at=one["at"],
        type=one["type"],
        sender=inert(one["from"]),
        to=one["to"],
        expires=one["expires"],
        reason=inert(one["reason"]),
        status=inert(one["status"]),
        recommended_action=inert(one["action"]),
        text="\n".join(map(inert, one["text"].split("\n"))),
        state=over if messages.is_over(one, marks, at) else "open",
        delivered=sorted({inert(mark["by"]) for mark in marks}),
        done=list(map(inert, done)),
        machine=inert(one.get("machine", "")),
    )


def _minutes(app: Holdfast, kind: str, given: int | None) -> int:
    if given is None:
        return TRIGGER_MINUTES if kind == TRIGGER else 60 * int(app.config["board.keep_hours"])
    if not 1 <= given <= _LONGEST_MINUTES:
        raise BadInput(f"--minutes is {given}; it takes 1 to {_LONGEST_MINUTES:,} (a year)")
    return given


def _reader(app: Holdfast, session: str | None, agent: str | None) -> Reader | None:
    """Who asks; None: a person."""
    name = whole_id(app, session) if session is not None else asking.session(app)
    for word in filter(None, (name, agent)):
        if not is_safe_name(word):
            raise BadInput(f"{word[:40]!r} cannot be the id of a session or an agent")
    if agent and not name:
        raise BadInput("an agent belongs to a session; name that with --session")
    if not name:
        return None
    known = _peek(app, name, agent or "")
    if known is None and (session is not None or agent):
        whose = f"no agent {agent!r} of session {name!r}" if agent else f"no session {name!r}"
        raise NotFound(f"{whose} is known here; `holdfast sessions` lists those that are")
    return Reader(name, agent or "", known.heard.role if known else "")


def _addressee(app: Holdfast, where: board.Place, to: str) -> str:
    """BadInput or NotFound for one that nobody could be: the message would wait for nobody."""
    whom = to if to == ALL or ":" in to else SESSION + to
    if not messages.is_addressee(whom):
        raise BadInput(f"--to is {to[:80]!r}; it takes all, session:ID, agent:ID or role:NAME")
    if whom == ALL or whom.startswith(ROLE):
        return whom
    kind, _, name = whom.partition(":")
    if whom.startswith(SESSION):
        name = whole_id(app, name)
        whom = SESSION + name
    found = any(_board_of(one) == where.key for one in _known(app, kind + ":", name))
    if not found and whom not in _elsewhere(app, where):
        raise NotFound(
            f"no {kind} {name!r} works in {where.root}; `holdfast sessions` lists the sessions there are, "
            "--project names another folder"
        )
    return whom


def _elsewhere(app: Holdfast, where: board.Place) -> set[str]:
    """Who has spoken here from another machine of the team: they can be answered."""
    said = board.load(app.home, where.key).messages.values()
    return {one["from"] for one in said if "machine" in one}


def _known(app: Holdfast, kind: str, name: str) -> list[State]:
    everywhere = [(session, name) for session in sessions.names(app.home)]
    pairs = [(name, "")] if kind == SESSION else everywhere
    return [state for session, agent in pairs if (state := _peek(app, session, agent))]


def _peek(app: Holdfast, session: str, agent: str) -> State | None:
    try:
        return sessions.peek(app.home, session, agent)
    except (HoldfastError, OSError):
        return None


def _board_of(state: State) -> str:
    return board.place(state.heard.project or state.heard.cwd or "/").key
