"""What a transcript says of a session: `fold(seen, entry)`, one entry at a time, in file order.

Bounded and free of text: counters, and the places (byte offset, length) where something was said
or done. Whoever needs the words reads them there, redacts them, and only then writes them down.
Folding changes `seen` in place (a session has a hundred thousand entries) but does nothing else:
no clock, no files.
"""

from holdfast.core.meter import Meter
from holdfast.core.transcript import Entry, count, normal_path

_PRIME = (1 << 61) - 1
_TESTS = (
    "pytest",
    "unittest",
    " test",
    "/test",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "ctest",
    "tox",
    "nox",
    "bats ",
)
_READS = ("Read", "NotebookRead")
_EDITS = ("Edit", "MultiEdit", "NotebookEdit")
_AGENTS = ("Agent", "Task")
_DENIALS = ("The user doesn't want to", "User rejected", "[Request interrupted")

#: What `fold` returns unless the session was rewound.
NOWHERE = -1
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
    "dead": 64,
}
_MOST_FILES, _MOST_TOOLS, _MOST_TASKS, _MOST_OPEN = 64, 48, 64, 48

_COUNTERS = (
    "start offset entries turns prompted typed calls failures compacted micro rereads messages reads "
    "edited tools_used subagents ended_mid_line"
).split()
_LABELS = ("branch", "cwd", "version", "first_at", "last_at", "reread_why")
_TABLES = ("tools", "files", "tasks", "open", "bytes", "identity", "todos")
_SAVED = (*_COUNTERS, *_LABELS, *_TABLES, *MOST)


def fingerprint(text: str) -> int:
    """A 61-bit number that stands for a text: the same for the same text, and not the text."""
    data = text[:4096].encode("utf-8", "replace")
    return (int.from_bytes(data, "little") * 31 + len(text) + 1) % _PRIME


class Seen:
    # Where the view begins (0, or later when the newest part had to be read first) and how far it
    # reaches; bytes in between that were abandoned by a rewind are in `dead`.
    start = offset = 0
    ended_mid_line = 0  # 1: the line at `offset` is too long to hold and its end is still to come
    entries = turns = prompted = typed = calls = failures = compacted = micro = rereads = 0
    # Since the last compaction, for the coarsest estimate.
    messages = reads = edited = tools_used = subagents = 0
    branch = cwd = version = first_at = last_at = reread_why = ""

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        self.meter = Meter()
        self.bytes = [0, 0, 0, 0, 0]  # parsed, salvaged, skipped, lines, damaged lines
        self.identity: list = []  # what the file looked like: see disk.transcripts
        self.prompts: list = []  # [parent, offset, length, typed]
        self.said: list = []  # [offset, length]
        self.edits: list = []  # [file, offset, length, line, lines, hunks]
        self.commands: list = []  # [command, offset, length, result offset, length, exit, is test]
        self.errors: list = []  # [what, offset, length, offset of the success that resolved it]
        self.agents: list = []  # [id, offset, length, result offset, length, status]
        self.compactions: list = []  # [at, trigger, tokens before, after, offset]
        self.rejections: list = []  # [offset, length]
        self.plans: list = []  # [offset, length]
        self.answered: list = []  # tool calls whose results have been folded
        self.dead: list = []  # [from, to): abandoned by a rewind
        self.tools: dict = {}  # name -> [calls, failures, units of results]
        self.files: dict = {}  # file -> [reads, edits, writes, offset, length]
        self.tasks: dict = {}  # id -> [status, offset, length]
        self.todos: list = []  # offset, length, pending, in progress, completed
        self.open: dict = {}  # tool call -> [tool, what, offset, length, is test]

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


def fold(seen: Seen, entry: Entry) -> int:
    """Take in one entry. Returns NOWHERE, or where an abandoned branch began: a second prompt under
    one parent means that the first, and all that followed it, is no longer part of the session."""
    if entry.sidechain and (not seen.agent or entry.agent != seen.agent):
        return NOWHERE
    seen.entries += 1
    if entry.at:
        seen.last_at = entry.at
        if not seen.first_at:
            seen.first_at = entry.at
    if entry.branch:
        seen.branch = entry.branch
    if entry.cwd:
        seen.cwd = entry.cwd
    if entry.version:
        seen.version = entry.version
    kind = entry.kind
    if kind == "answer":
        _answer(seen, entry)
    elif kind == "result":
        seen.meter.add(entry, fingerprint(entry.uuid))
        _results(seen, entry)
    elif kind == "prompt" or kind == "note":
        return _prompt(seen, entry)
    elif kind == "attachment" or kind == "summary":
        seen.meter.add(entry, fingerprint(entry.uuid))
    elif kind == "boundary":
        _compaction(seen, entry)
    elif kind == "micro":
        seen.micro += 1
        seen.meter.micro(entry)
    return NOWHERE


def _keep(seen: Seen, name: str, item: object) -> None:
    places = getattr(seen, name)
    places.append(item)
    # Cut rarely: deleting from the front on every append would move the whole list each time.
    if len(places) > 2 * MOST[name]:
        del places[: -MOST[name]]


def _prompt(seen: Seen, entry: Entry) -> int:
    # Without a parent a prompt begins the session it names: files joined end to end have several.
    parent = fingerprint(entry.parent or entry.session)
    if entry.offset not in (end for _, end in seen.dead):
        for known, offset, _, _ in reversed(seen.prompts):
            if known == parent:
                return int(offset)
    seen.prompted += 1
    typed = entry.kind == "prompt"
    _keep(seen, "prompts", [parent, entry.offset, entry.length, 1 if typed else 0])
    if typed:
        seen.typed += 1
        seen.messages += 1
    if entry.denied:
        _keep(seen, "rejections", [entry.offset, entry.length])
    seen.meter.add(entry, fingerprint(entry.uuid))
    return NOWHERE


def _answer(seen: Seen, entry: Entry) -> None:
    if entry.failed:
        return
    if seen.meter.answer(entry, fingerprint(entry.uuid)):
        seen.turns += 1
        seen.messages += 1
    if entry.says:
        _keep(seen, "said", [entry.offset, entry.length])
    for call, tool, given in entry.uses:
        _use(seen, entry, call, tool, given)


def _use(seen: Seen, entry: Entry, call: str, tool: str, given: dict) -> None:
    seen.calls += 1
    tally(seen.tools, tool)[0] += 1
    what, is_test = 0, 0
    if tool == "Bash":
        command = given.get("command")
        if type(command) is str:
            what = fingerprint(command)
            is_test = 1 if any(mark in command for mark in _TESTS) else 0
    elif tool == "TaskUpdate":
        _task(seen, entry, given.get("taskId"), given.get("status"))
    elif tool == "TodoWrite":
        _todos(seen, entry, given.get("todos"))
    elif tool == "ExitPlanMode":
        _keep(seen, "plans", [entry.offset, entry.length])
    else:
        path = given.get("file_path") or given.get("notebook_path")
        if type(path) is str:
            what = fingerprint(normal_path(path))
    if tool in _READS:
        seen.reads += 1
    elif tool in _EDITS or tool == "Write":
        seen.edited += 1
    elif tool in _AGENTS:
        seen.subagents += 1
    else:
        seen.tools_used += 1
    if call:
        seen.open[call] = [tool[:64], what, entry.offset, entry.length, is_test]
        if len(seen.open) > _MOST_OPEN:
            del seen.open[next(iter(seen.open))]


def tally(tools: dict, tool: str) -> list:
    """[calls, failures, units] of a tool. A name is an identifier or it is not kept."""
    name = tool if tool in tools or (len(tool) <= 64 and _is_identifier(tool)) else "other"
    if name not in tools and len(tools) >= _MOST_TOOLS:
        name = "other"
    row: list = tools.setdefault(name, [0, 0, 0])
    return row


def _is_identifier(tool: str) -> bool:
    return tool.replace("-", "_").replace(":", "_").replace(".", "_").isidentifier()


def _results(seen: Seen, entry: Entry) -> None:
    for call, failed, result, error in entry.results:
        if call:
            _keep(seen, "answered", fingerprint(call))
        tool, what, offset, length, is_test = seen.open.pop(call, ("", 0, 0, 0, 0))
        if not tool:
            continue  # its call lies before the part that was read
        row = tally(seen.tools, tool)
        row[2] += int(entry.units)
        if failed:
            row[1] += 1
            seen.failures += 1
        denied = entry.denied or (failed and error.startswith(_DENIALS))
        if denied:
            _keep(seen, "rejections", [entry.offset, entry.length])
        elif what:
            _outcome(seen, entry, what, failed)
        if tool == "Bash":
            status = _exit_status(failed, error)
            _keep(seen, "commands", [what, offset, length, entry.offset, entry.length, status, is_test])
        elif tool in _AGENTS:
            _agent(seen, entry, call, offset, length, result)
        elif tool == "TaskCreate" and type(result) is dict and type(result.get("task")) is dict:
            _task(seen, entry, result["task"].get("id"), "pending", (offset, length))
        elif what and not failed:
            _file(seen, tool, what, offset, length, result)


def _outcome(seen: Seen, entry: Entry, what: int, failed: bool) -> None:
    """An error stays open until the very same thing succeeds."""
    if failed:
        _keep(seen, "errors", [what, entry.offset, entry.length, 0])
        return
    for error in seen.errors:
        if error[0] == what and not error[3]:
            error[3] = entry.offset


def _exit_status(failed: bool, error: str) -> int:
    """-1 where it failed without a code (interrupted, timed out)."""
    if not failed:
        return 0
    _, found, rest = error.partition("Exit code ")
    digits = rest[:3].split("\n")[0].strip() if found else ""
    return int(digits) if digits.isdecimal() and digits.isascii() else -1


def _file(seen: Seen, tool: str, what: int, offset: int, length: int, result: object) -> None:
    key = str(what)
    row = seen.files.pop(key, None) or [0, 0, 0, 0, 0]
    row[3], row[4] = offset, length
    seen.files[key] = row  # newest last
    if len(seen.files) > _MOST_FILES:
        del seen.files[next(iter(seen.files))]
    if tool in _READS:
        row[0] += 1
        return
    row[2 if tool == "Write" else 1] += 1
    line, lines, hunks = 0, 0, 0
    patch = result.get("structuredPatch") if type(result) is dict else None
    if type(patch) is list and patch and type(patch[0]) is dict:
        line, lines = count(patch[0].get("newStart")), count(patch[0].get("newLines"))
        hunks = len(patch)
    _keep(seen, "edits", [what, offset, length, line, lines, hunks])


def _agent(seen: Seen, entry: Entry, call: str, offset: int, length: int, result: object) -> None:
    status, agent = "failed", ""
    if type(result) is dict:
        said = result.get("status")
        status = said if type(said) is str and len(said) <= 32 else "completed"
        named = result.get("agentId")
        agent = named if type(named) is str and len(named) <= 64 else ""
    _keep(seen, "agents", [agent or call[:64], offset, length, entry.offset, entry.length, status])


def _task(seen: Seen, entry: Entry, task: object, status: object, place: tuple = ()) -> None:
    if type(task) is not str or not task or len(task) > 64:
        return
    row = seen.tasks.setdefault(task, ["pending", entry.offset, entry.length])
    if place:
        row[1], row[2] = place
    if type(status) is str and len(status) <= 32:
        row[0] = status
    if len(seen.tasks) > _MOST_TASKS:
        finished = (t for t, r in seen.tasks.items() if r[0] in ("completed", "deleted"))
        del seen.tasks[next(finished, next(iter(seen.tasks)))]


def _todos(seen: Seen, entry: Entry, todos: object) -> None:
    if type(todos) is not list:
        return
    states = [t.get("status") for t in todos if type(t) is dict]
    totals = [states.count(s) for s in ("pending", "in_progress", "completed")]
    seen.todos = [entry.offset, entry.length, *totals]


def _compaction(seen: Seen, entry: Entry) -> None:
    seen.compacted += 1
    _keep(
        seen,
        "compactions",
        [entry.at, entry.trigger[:16], entry.pre_tokens, entry.post_tokens, entry.offset],
    )
    seen.messages = seen.reads = seen.edited = seen.tools_used = seen.subagents = 0
    seen.meter.compact({fingerprint(uuid) for uuid in entry.kept if type(uuid) is str})
