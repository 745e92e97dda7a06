"""What a transcript says of a session, as far as it has been read.

Bounded and free of text: counters, and the places (byte offset, length) where something was said
or done. Whoever needs the words reads them there, redacts them, and only then writes them down.
"""

import sys

from holdfast.core.meter import Meter

_PRIME = (1 << 61) - 1
_IS_PRIME_OF_HASH = sys.hash_info.modulus == _PRIME
#: How many of each are kept, newest last.
MOST = {
    "prompts": 96,
    "said": 64,
    "edits": 64,
    "commands": 32,
    "errors": 24,
    "agents": 32,
    "compactions": 16,
    "rejections": 16,
    "plans": 8,
    "answered": 64,
    "turned": 256,
    "slow": 64,
    "dead": 256,
}
#: The most that one step of a turn counts as work, and from when on it is remembered by its place. A longer
#: one is a machine that slept, a clock that was set, or a question that waited for its person for hours.
LONGEST_STEP_MS, SLOW_STEP_MS = 3_600_000, 60_000
_MOST_TOOLS = 48

_COUNTERS = (
    "start offset entries turns prompted typed calls failures compacted micro rereads messages reads "
    "edited tools_used subagents ended_mid_line"
).split()
_LABELS = ("branch", "cwd", "version", "first_at", "last_at", "acted_at", "reread_why", "tail")
_TABLES = ("tools", "files", "tasks", "worked", "open", "bytes", "identity", "todos")
_SAVED = (*_COUNTERS, *_LABELS, *_TABLES, *MOST)


def checksum(data: bytes, start: int = 0) -> int:
    """61 bits that change with every change of `data`, from `start` on. No import, and no match for an
    attacker. What it is of, with a 1 behind it, is taken as a number, little end first, modulo a prime."""
    # The hash of a number is what it leaves of the same prime, in the language itself and far faster;
    # where numbers have 32 bits the prime is another. By this one 2**61 leaves 1, so what stands before and
    # behind can be reckoned out and in: a copy of a large text costs more than all else here.
    number = int.from_bytes(data, "little")
    left = hash(number) if _IS_PRIME_OF_HASH else number % _PRIME
    left += 1 << 8 * len(data) % 61
    if start:
        left -= int.from_bytes(data[:start], "little")
        left *= 1 << -8 * start % 61
    return left % _PRIME


def fingerprint(text: str) -> int:
    """A number that stands for a text (a path, a command, an id) where the text is not kept."""
    return checksum(b"%d %s" % (len(text), text[:4096].encode("utf-8", "replace")))


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a client's version, to be compared; () where it is none."""
    parts = version.split(".")[:3]
    return tuple(map(int, parts)) if all(p.isdecimal() and p.isascii() for p in parts) else ()


_COUNTED = {
    "Read": "reads",
    "NotebookRead": "reads",
    "Edit": "edited",
    "MultiEdit": "edited",
    "NotebookEdit": "edited",
    "Write": "edited",
    "Agent": "subagents",
    "Task": "subagents",
}


def counter(tool: str) -> str:
    """The counter a tool's calls go to."""
    return _COUNTED.get(tool, "tools_used")


def tally(tools: dict, tool: str) -> list:
    """[calls, failures, units] of a tool. A name is an identifier or it is not kept."""
    name = tool if tool in tools or (len(tool) <= 64 and _is_identifier(tool)) else "other"
    if name not in tools and len(tools) >= _MOST_TOOLS:
        name = "other"
    row: list = tools.setdefault(name, [0, 0, 0])
    return row


def _is_identifier(tool: str) -> bool:
    return tool.replace("-", "_").replace(":", "_").replace(".", "_").isidentifier()


class Seen:
    # Where the view begins (0, or later when the newest part had to be read first) and how far it
    # reaches; bytes in between that were abandoned by a rewind are in `dead`.
    start = offset = 0
    ended_mid_line = 0  # 1: the line at `offset` is too long to hold and its end is still to come
    entries = turns = prompted = typed = calls = failures = compacted = micro = rereads = 0
    # Since the last compaction, for the coarsest estimate.
    messages = reads = edited = tools_used = subagents = 0
    branch = cwd = version = first_at = last_at = reread_why = ""
    acted_at = ""  # when something was last said or done: what the client notes by itself is neither
    # How the newest line of the conversation leaves it: see `fold.ENDED` and those beside it.
    tail = ""

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        self.meter = Meter()
        self.bytes = [0, 0, 0, 0, 0]  # parsed, salvaged, skipped, lines, damaged lines
        self.identity: list = []  # what the file looked like: see disk.transcripts
        self.prompts: list = []  # [parent, offset, length, typed]
        self.said: list = []  # [offset, length]
        self.edits: list = []  # [file, offset, length, result offset, length, line, lines, hunks]
        self.commands: list = []  # [command, offset, length, result offset, length, exit, is test]
        self.errors: list = []  # [what, offset, length, result offset, length, offset of success]
        self.agents: list = []  # [id, offset, length, result offset, length, status]
        # [at, trigger, tokens before, after, offset, model]; trigger: the client's, "precomputed" or "idle"
        self.compactions: list = []
        self.rejections: list = []  # [offset, length]
        self.plans: list = []  # [offset, length]
        self.answered: list = []  # tool calls whose results have been folded
        self.turned: list = []  # where each turn began
        self.slow: list[
            list[int]
        ] = []  # [offset, milliseconds]: steps of a turn that took longer than a minute
        self.dead: list = []  # [from, to): abandoned by a rewind
        self.tools: dict = {}  # name -> [calls, failures, units of results]
        self.files: dict = {}  # file -> [reads, edits, writes, offset, length]
        self.tasks: dict = {}  # id -> [status, offset, length]
        self.worked: dict = {}  # task -> [offset where it was begun, where it was completed]
        self.todos: list = []  # offset, length, pending, in progress, completed
        self.unanswered: list = []  # prompts since the last answer, with what to go back to; not saved
        self.open: dict = {}  # tool call -> [tool, what, offset, length, is test]

    def turn(self, offset: int) -> int:
        """The turn in which something at `offset` was said; 0 where that is too long ago to be known."""
        for later, began in enumerate(reversed(self.turned)):
            if began <= offset:
                return self.turns - later
        return 0

    def to_json(self) -> dict:
        saved: dict = {}
        for name in _SAVED:
            value = getattr(self, name)
            if value:
                saved[name] = value[-MOST[name] :] if name in MOST else value
        saved["meter"] = self.meter.to_json()
        return saved

    @classmethod
    def from_json(cls, saved: dict, agent: str) -> "Seen":
        seen = cls(agent)
        for name in _SAVED:
            if name in saved:
                setattr(seen, name, saved[name])
        seen.meter = Meter.from_json(saved["meter"])
        return seen
