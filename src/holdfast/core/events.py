"""What the client says on a hook's stdin, as one value.

The payload may be anything: empty, not JSON, a hundred megabytes, of the wrong types. What makes
an event is a session id; everything else is optional and falls back to nothing.
"""

from holdfast.core.jsontext import UNREADABLE, load, scan, text
from holdfast.errors import BadInput

_LONGEST_FIELD = 1 << 15
_EXIT = "Exit code "
#: How the client tells the model that a call was not run.
NOT_RUN = (
    *("<tool_use_error>", "[Request interrupted", "Permission to use ", "Claude requested permissions"),
    *("The user doesn't want to ", "Hook PreToolUse:", "PreToolUse:"),
)
_COMMON = ("session_id", "transcript_path", "cwd", "hook_event_name", "agent_id", "agent_type")


class Event:
    """One thing that happened. `size` is the payload's length in bytes, `cut` whether only its
    head could be kept."""

    __slots__ = ("agent", "agent_type", "at", "cut", "cwd", "data", "name", "session", "size", "transcript")

    def __init__(self, name: str, session: str, at: int, data: dict, size: int = 0, cut: bool = False):
        self.name = name
        self.session = session
        self.at = at
        self.data = data
        self.size = size
        self.cut = cut
        self.agent = text(data, "agent_id")  # "": the session itself
        self.agent_type = text(data, "agent_type")
        self.cwd = text(data, "cwd")
        self.transcript = text(data, "transcript_path")


def calls(event: Event) -> list[dict]:
    """The tool calls of a batch, each with what the model was answered."""
    found = event.data.get("tool_calls")
    return [call for call in found if type(call) is dict] if type(found) is list else []


def command(call: dict) -> str:
    given = call.get("tool_input")
    return text(given, "command") if type(given) is dict else ""


def exit_code(call: dict) -> int:
    """Of a command, as the client tells it to the model; 0 also where it tells of none, -1 where it is no
    number."""
    said = text(call, "tool_response")
    if not said.startswith(_EXIT):
        return 0
    code, _, _ = said[len(_EXIT) :].partition("\n")
    return int(code) if code.isdecimal() and len(code) < 4 else -1


def was_run(call: dict) -> bool:
    """Not one that was refused, or misused its tool."""
    return not text(call, "tool_response").startswith(NOT_RUN)


def ran_out(event: Event) -> bool:
    """Whether a turn ended because the window had no room left, and the client did not make any."""
    said = text(event.data, "last_assistant_message")
    return event.name == "StopFailure" and "prompt is too long" in said.lower()


def goes_on(event: Event) -> bool:
    """Whether a session waits for what it is told after a compaction. What need not be done by then is left
    to PostCompact, which follows at once."""
    return event.name == "SessionStart" and event.data.get("source") == "compact"


def from_hook(payload: bytes, at: int, size: int, name: str = "") -> Event:
    """`payload` is what was kept of `size` bytes; `name` is for payloads that name no event."""
    if not payload.strip():
        raise BadInput("nothing on stdin: a hook is given its event there as JSON")
    words = payload.decode("utf-8", "replace")
    cut = size > len(payload)
    if cut:
        data: object = _head(words)
    else:
        try:
            data = load(words)
        except UNREADABLE:
            raise BadInput(f"stdin is not JSON ({size} bytes)") from None
    if type(data) is not dict:
        raise BadInput("stdin holds a JSON " + type(data).__name__ + ", not an object")
    session = text(data, "session_id")
    if not session:
        raise BadInput("the event names no session_id")
    if data.get("agent_id") is not None and type(data["agent_id"]) is not str:
        raise BadInput("the event's agent_id is not a name: whose it is cannot be told")
    return Event(name or text(data, "hook_event_name") or "unknown", session, at, data, size, cut)


def _head(words: str) -> dict:
    """The common fields of a payload too large to keep. The client writes them first."""
    data = {}
    for key in _COMMON:
        _, found, rest = words.partition('"' + key + '"')
        rest = rest[:_LONGEST_FIELD].lstrip(" :\t\r\n")
        if found:
            try:
                data[key], _ = scan(rest, 0)
            except UNREADABLE:
                continue
    return data
