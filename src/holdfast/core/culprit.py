"""What refilled a window that is compacted again and again, and how a person is told.

The client says that something is too large, but not what. This names the file, command, server or kind of
thing that takes the largest part, and what would cost less. It informs and never orders.
"""

from holdfast.core.fence import inert
from holdfast.core.shares import UNREAD, Part, Shares
from holdfast.core.spoken import redacted
from holdfast.core.thrash import Burst

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

#: The system prompt and tools take no more than this in an ordinary session: what is beyond it is to blame.
_USUAL = 60_000
#: One thing is named if so much of what fills the window is due to it, else all of its kind.
_OUTSTANDING = 0.5
LONGEST = 300

#: kind -> (what it is called, and what where one of it stands out; what would cost less).
_KINDS = {
    "file": (
        "files that were read",
        "{}",
        "Ranges of a file, or a search in it, cost less than all of it.",
    ),
    "reread": (
        "files the client reads again after a compaction",
        "{}, which the client reads again after a compaction",
        "Smaller files, or fewer at a time, cost less.",
    ),
    "tool": ("results of tools", "{}", "Narrower calls, or an agent that makes them, cost less."),
    "server": (
        "an MCP server",
        "the MCP server {}",
        "Fewer fields and rows cost less; /mcp can switch it off.",
    ),
    "schemas": (
        "tools of an MCP server",
        "tools of the MCP server {}",
        "/mcp can switch it off where it is not needed.",
    ),
    "memory": ("memory files", "{}", "It comes back after every compaction: shorter, it leaves more room."),
    "skill": ("skills", "the skill {}", "A skill that an agent uses does not fill this window."),
    "listing": ("lists of tools and agents", "the {}", "Fewer plugins and servers leave more room."),
    "reminder": ("reminders and hooks", "reminder or hook {}", "Hooks that print less leave more room."),
    "prompt": ("prompts", "", "A file that is named and not pasted is read only as far as needed."),
    "answer": ("the model's own text", "", "Shorter answers leave more room."),
    "thinking": ("the model's thinking", "", "A lower effort leaves more room."),
    "image": ("pictures", "{}", "Smaller and fewer pictures cost less, and text the least."),
    "summary": ("the summary itself", "", "/compact with a word on what matters makes a shorter one."),
    "system": ("system prompt and tools", "the {}", "Fewer plugins and MCP servers leave more room."),
}
#: The same for tools.
_EDITS = ("edits", "edits of {}", "Shorter pieces to be replaced cost less.")
_REPORTS = (
    "reports of agents",
    "the agent for {}",
    "A report that names files costs less than quotations.",
)
_PAGES = ("web pages", "{}", "A narrower question, or an agent that reads it, costs less.")
_TOOLS = {
    "Bash": (
        "output of commands",
        "output of `{}`",
        "Sent to a file and looked at by tail or grep, output costs less.",
    ),
    "Write": ("files that were written", "writing {}", "An edit costs less than the whole file again."),
    "Edit": _EDITS,
    "MultiEdit": _EDITS,
    "NotebookEdit": _EDITS,
    "Agent": _REPORTS,
    "Task": _REPORTS,
    "WebFetch": _PAGES,
    "WebSearch": _PAGES,
}
#: Of these names the end says more than the beginning.
_PATHS = ("file", "reread", "memory", "image")


class Culprit:
    """What takes the largest part of the window. `name` is empty where nothing of its kind stands out;
    `cycles`: in how many of the cycles that were read it was there."""

    __slots__ = ("cycles", "kind", "name", "percent", "times", "tokens", "tool")

    def __init__(self, kind: str, tool: str, name: str, parts: list[Part], used: int) -> None:
        self.kind = kind
        self.tool = tool
        self.name = name
        self.tokens = round(sum(part.tokens for part in parts))
        self.percent = round(100 * self.tokens / used)
        self.times = sum(part.times for part in parts)
        self.cycles = max(part.cycles for part in parts)


def culprit(shares: Shares) -> Culprit | None:
    """None where most of what fills the window was not read."""
    groups: dict[tuple[str, str], list[Part]] = {}
    for part in shares.parts:
        groups.setdefault(_belongs(part), []).append(part)
    kind, whose = max(groups, key=lambda key: _blame(key[0], groups[key]))
    parts = groups[kind, whose]
    if kind == UNREAD or _blame(kind, parts) <= 0:
        return None
    if kind == "server":
        called = sum(part.tokens if part.tool else -part.tokens for part in parts)
        return Culprit(kind if called > 0 else "schemas", "", whose, parts, shares.used)
    name = _outstanding(parts)
    named = [part for part in parts if part.name == name] if name else parts
    return Culprit(kind, whose, name, named, shares.used)


def _belongs(part: Part) -> tuple[str, str]:
    """Files are judged together, MCP servers and other tools each by itself."""
    if part.origin in ("command", "edit", "tool"):
        return "tool", part.tool
    return part.origin, part.name if part.origin == "server" else ""


def _blame(kind: str, parts: list[Part]) -> float:
    return sum(part.tokens for part in parts) - (_USUAL if kind == "system" else 0)


def _outstanding(parts: list[Part]) -> str:
    sizes: dict[str, float] = {}
    for part in parts:
        sizes[part.name] = sizes.get(part.name, 0.0) + part.tokens
    name = max(sizes, key=lambda one: sizes[one])
    return name if sizes[name] >= _OUTSTANDING * sum(sizes.values()) else ""


def say(burst: Burst, found: Culprit | None, redact: "Redact", project: str = "") -> str:
    """To the person, in at most LONGEST characters: what it was, and what would cost less."""
    turns = max(1, burst.turns)
    head = f"holdfast: {burst.compactions} compactions within {turns} turn{'' if turns == 1 else 's'}. "
    if found is None:
        return head + "`holdfast explain` shows what fills the window."
    head += "What refills it most: "
    what, one, way = _TOOLS.get(found.tool) or _KINDS[found.kind]
    if found.tool and found.tool not in _TOOLS:
        tool = inert(redacted(found.tool, redact))[:64]
        what, one = f"results of {tool}", f"{tool} {{}}"
    again = ", again after a compaction" if found.kind == "file" and found.name and found.cycles > 1 else ""
    often = f" ({found.times:,} times{again})" if found.times > 1 else again
    tail = f"{often}, {_short(found.tokens)} tokens ({found.percent} %). {way}"
    name = _name(found, redact, project, LONGEST - len(head) - len(one) - len(tail))
    before, _, after = one.rpartition("{}")
    return head + (f"{before}{name}{after}" if name and one else what) + tail


def _name(found: Culprit, redact: "Redact", project: str, room: int) -> str:
    """On one line, without secrets, and not too long."""
    inside = found.name.removeprefix(project.rstrip("/") + "/") if project else found.name
    name = inert(redacted(inside, redact))
    if len(name) <= room:
        return name
    return "…" + name[1 - room :] if found.kind in _PATHS else name[: room - 1] + "…"


def _short(tokens: int) -> str:
    return str(tokens) if tokens < 1000 else f"{tokens / 1000:.0f}k"
