"""What one agent says to others of its project: a message, who it is for, and when it is over.

Its words are an agent's, so they are data: redacted before they are written, fenced when they are
delivered. A message is known by its id, and never changed; what became of it is told by marks.
"""

from holdfast.clock import at, id_time, rfc3339
from holdfast.core.fence import not_typed
from holdfast.core.plain import ago, excerpt, in_lines
from holdfast.disk.home import is_safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NOTE, REQUEST, TRIGGER = "note", "request", "checkpoint_trigger"
#: These wait until somebody says that they are done; of all others it is enough that they were delivered.
_ANSWERED = (REQUEST, TRIGGER)
DELIVERED, DONE = "delivered", "done"
#: Addressees: everybody in the project, or one of a kind by its name. LEAD is the role of who has no other.
ALL, SESSION, AGENT, ROLE = "all", "session:", "agent:", "role:"
LEAD = "lead"
#: Senders that are no agents.
WATCHER, PERSON = "watcher", "person"
#: What a message says, in its order; all of it is text. `after`: before then it is not acted upon.
NAMES = "id at type from to expires after reason status action text".split()
MARKS = "of by at mark what".split()
#: Characters of what is said in one, and of what is said of it in a mark.
LONGEST, LONGEST_MARK = 8_000, 300


class Reader:
    """Who reads: a session, or an agent in it, and the role it has."""

    __slots__ = ("agent", "role", "session")

    def __init__(self, session: str, agent: str = "", role: str = "") -> None:
        self.session = session
        self.agent = agent
        self.role = role or LEAD

    @property
    def name(self) -> str:
        """As senders and marks say it."""
        return AGENT + self.agent if self.agent else SESSION + self.session

    @property
    def names(self) -> tuple[str, ...]:
        """Those by which one is spoken to."""
        return ALL, self.name, ROLE + self.role

    def is_meant(self, message: dict) -> bool:
        """Nobody is told what he said himself."""
        return message["from"] != self.name and message["to"] in self.names


def is_addressee(to: str) -> bool:
    kind, found, name = to.partition(":")
    return to == ALL or (bool(found) and kind + found in (SESSION, AGENT, ROLE) and is_safe_name(name))


def made(uid: str, now: int, minutes: int, redact: "Callable[[str], str]", **said: str) -> dict:
    """One with all its names. It is over after so many minutes, whatever happens."""
    expires = rfc3339(now + minutes * 60_000)
    whole = {"id": uid, "at": rfc3339(now), "expires": expires, **said}
    whole["text"] = in_lines(redact(said.get("text", "")), LONGEST)
    return {name: whole.get(name, "") for name in NAMES}


def marked(of: str, by: str, now: int, mark: str, what: str = "") -> dict:
    whole = {"of": of, "by": by, "at": rfc3339(now), "mark": mark, "what": excerpt(what, LONGEST_MARK)}
    return {name: whole[name] for name in MARKS}


def mark_uid(mark: dict) -> str:
    """One is known by whose it is, upon which message, and what it says of it."""
    return f"{mark['of']} {mark['by']} {mark['mark']}"


def is_message(said: dict) -> bool:
    if not all(type(said.get(name)) is str for name in NAMES) or not id_time(said["id"]):
        return False
    return is_addressee(said["to"]) and is_safe_name(said["type"]) and _is_timed(said)


def is_mark(said: dict) -> bool:
    return all(type(said.get(name)) is str for name in MARKS)


def _is_timed(said: dict) -> bool:
    try:
        return (
            at(said["expires"]) >= 0
            and at(said["at"]) >= 0
            and (not said["after"] or at(said["after"]) > 0)
        )
    except ValueError:
        return False


def has_expired(message: dict, now: int) -> bool:
    """Not where the clock was set back to before it was posted: then nobody knows."""
    return at(message["at"]) <= now and at(message["expires"]) <= now


def is_over(message: dict, marks: list[dict], now: int) -> bool:
    """Whether nobody needs it any more. What everybody is told is over only in time; a request to a role
    is when one of that role has done it."""
    if has_expired(message, now):
        return True
    to = message["to"]
    if to == ALL or (to.startswith(ROLE) and message["type"] not in _ANSWERED):
        return False
    ended = {mark["by"] for mark in marks if mark["mark"] in _ends(message)}
    return not ended.isdisjoint((to, PERSON)) or bool(to.startswith(ROLE) and ended)


def _ends(message: dict) -> tuple[str, ...]:
    return (DONE,) if message["type"] in _ANSWERED else (DELIVERED, DONE)


def waits_for(message: dict, marks: list[dict], reader: Reader, now: int) -> bool:
    """Whether it is still to be delivered to this reader."""
    return (
        reader.is_meant(message)
        and not has_expired(message, now)
        and not any(mark["by"] == reader.name for mark in marks)
        and not is_over(message, marks, now)
    )


def line(message: dict, now: int, most: int = LONGEST) -> str:
    """As it is delivered, on one line: its words are an agent's, and nobody's who could say what to do."""
    said = " | ".join(filter(None, message["text"].split("\n"))) or message["reason"]
    when = ago(now - at(message["at"]))
    return excerpt(
        not_typed(f"{message['type']} {message['id']} from {message['from']}, {when}: {said}"), most
    )


def shown(message: dict, marks: list[dict]) -> dict:
    """In the shape that scripts know: `type`, `reason`, `timestamp`, and the rest beside it."""
    return {
        "type": message["type"],
        "reason": message["reason"],
        "timestamp": message["at"],
        "id": message["id"],
        "from": message["from"],
        "to": message["to"],
        "expires": message["expires"],
        "STATUS": message["status"],
        "RECOMMENDED_ACTION": message["action"],
        "text": message["text"],
        "delivered": sorted({mark["by"] for mark in marks}),
        "acknowledged": [
            {name: mark[name] for name in ("by", "at", "what")} for mark in marks if mark["mark"] == DONE
        ],
    }
