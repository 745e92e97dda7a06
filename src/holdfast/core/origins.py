"""Where what a record brings into the window comes from: a file, a command, an MCP server, a person, …

A piece is (origin, tool, name, units, tokens, times). The pieces of a record add up to the size of its
entry, so that what is told of the window's parts is told of the very sizes the gauge works with. `times` is
0 for what belongs to something that was counted before: a call counts, its result does not.
"""

from holdfast.core import sizes, speaker
from holdfast.core.jsontext import text
from holdfast.core.seen import counter
from holdfast.core.spoken import blocks
from holdfast.core.transcript import Entry, first_text, normal_path, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    Key = tuple[str, str, str]
    Piece = tuple[str, str, str, float, float, int]

_PROMPT = ("prompt", "", "")
_AGENT = ("tool", "Agent", "")
#: A result whose call is not known: it lies before what was read.
_UNKNOWN = ("tool", "", "")
_FOREIGN = "mcp__"
#: What a call is known by, where it names no file.
_NAMED_BY = ("command", "pattern", "url", "query", "skill", "description", "subject")
_NOTIFIES = "<task-notification"
_SKILL = "Base directory for this skill: "
#: What holdfast itself says begins so, behind at most so many characters of the client's.
_FENCE, _FENCE_AT = "<holdfast-", 200
_LISTINGS = {
    "deferred_tools_delta": "list of tools",
    "mcp_instructions_delta": "list of servers",
    "agent_listing_delta": "list of agents",
    "skill_listing": "list of skills",
}


class Origins:
    """Remembers the calls, because a result does not say what it is the result of."""

    def __init__(self) -> None:
        self.calls: dict[str, Key] = {}
        #: Who has which part in what fills the window before anything was said, where the client tells.
        self.bare: dict[Key, float] = {}
        self._is_rereading = False  # right after a compaction the client reads files again

    def compacted(self) -> None:
        self._is_rereading = True

    def pieces(self, record: dict, entry: Entry) -> "list[Piece]":
        kind = entry.kind
        if kind == "answer":
            self._is_rereading = False
            return self._answer(entry) if not entry.failed else []
        if kind == "result":
            return self._result(record)
        if kind == "attachment" or kind == "queued":
            return self._attachment(record["attachment"], entry)
        if kind == "summary":
            return [("summary", "", "", entry.units, entry.tokens, 1)]
        if kind == "prompt" or kind == "note":
            return self._user(record, entry)
        return []

    def _answer(self, entry: Entry) -> "list[Piece]":
        pieces: list[Piece] = []
        units, tokens = entry.units, entry.tokens
        for call, tool, given in entry.uses:
            key = self.calls[call] = _of_call(tool, given)
            size = sizes.of_input(given)
            pieces.append((*key, size, sizes.PER_TOOL_USE, 1))
            units -= size
            tokens -= sizes.PER_TOOL_USE
        if entry.says:
            pieces.append(("answer", "", "", max(0.0, units), max(0.0, tokens), 1))
        if entry.thought_units or entry.thought_tokens:
            pieces.append(("thinking", "", "", entry.thought_units, entry.thought_tokens, 1))
        return pieces

    def _result(self, record: dict) -> "list[Piece]":
        pieces: list[Piece] = []
        for block in blocks(record):
            units, tokens = sizes.of_content([block])
            if block.get("type") == "tool_result":
                key = self.calls.get(text(block, "tool_use_id"), _UNKNOWN)
                pieces += _apart(key, block.get("content"), units, tokens, 0)
            else:
                pieces += _apart(_beside(block), [block], units, tokens, 1)
        return pieces

    def _user(self, record: dict, entry: Entry) -> "list[Piece]":
        content = record["message"].get("content")
        if entry.kind == "note":
            return _apart(self._note(record, first_text(content)), content, entry.units, entry.tokens, 1)
        pieces: list[Piece] = []
        units, tokens = entry.units, entry.tokens
        for block in blocks(record):
            if _beside(block) != _PROMPT:
                size, fixed = sizes.of_content([block])
                pieces.append((*_beside(block), size, fixed, 1))
                units, tokens = units - size, tokens - fixed
        return [*_apart(_PROMPT, content, max(0.0, units), max(0.0, tokens), 1), *pieces]

    def _note(self, record: dict, words: str) -> "Key":
        """A line of the user's side that nobody typed."""
        if words.startswith(_NOTIFIES):  # what ran in the background reports
            return self.calls.get(tag(words, "tool-use-id"), _AGENT)
        if words.startswith("<command-"):
            return _PROMPT
        if speaker.of_user_line(record, words) != speaker.FILE:
            return ("reminder", "", "local commands" if words.startswith("<") else "notes")
        called = self.calls.get(text(record, "sourceToolUseID"))
        first = words.removeprefix(_SKILL).strip().partition("\n")[0]
        named = first.rstrip("/").rpartition("/")[2] if words.startswith(_SKILL) else first
        return ("skill", "", called[2] if called else named)

    def _attachment(self, given: dict, entry: Entry) -> "list[Piece]":
        kind = text(given, "type")
        if kind == "prompt_snapshot":
            self._snapshot(given)
        if not (entry.units or entry.tokens):
            return []
        if kind == "queued_command":
            typed = entry.kind == "queued"
            key = _PROMPT if typed else self._note(given, first_text(given.get("prompt")))
            return [(*key, entry.units, entry.tokens, 1)]
        return _split(_within(given, kind, self._is_rereading), entry.units, entry.tokens)

    def _snapshot(self, given: dict) -> None:
        """The client notes down what it sends before every conversation."""
        tools = given.get("tools")
        if type(tools) is not list:
            return
        bare = {("system", "", "system prompt"): sizes.leaves(given.get("systemPrompt"))}
        for tool in tools:
            if type(tool) is dict:
                server = _server(text(tool, "name"))
                key = ("server", "", server) if server else ("system", "", "tools")
                bare[key] = bare.get(key, 0.0) + sizes.leaves(tool)
        self.bare = bare


def _of_call(tool: str, given: dict) -> "Key":
    server = _server(tool)
    if server:
        return ("server", tool, server)
    path = text(given, "file_path") or text(given, "notebook_path")
    if path:
        origin = {"reads": "file", "edited": "edit"}.get(counter(tool), "tool")
        return (origin, tool, normal_path(path))
    name = next((given[key] for key in _NAMED_BY if type(given.get(key)) is str), "")
    return ("command" if tool == "Bash" else "tool", tool, name)


def _server(tool: str) -> str:
    """mcp__server__tool."""
    return tool.removeprefix(_FOREIGN).partition("__")[0] if tool.startswith(_FOREIGN) else ""


def _beside(block: dict) -> "Key":
    """A text beside a result or in a prompt: a person's, unless the client put it there."""
    is_typed = speaker.of_block(text(block, "text")) == speaker.USER
    return _PROMPT if is_typed else ("reminder", "", "beside prompts")


def _apart(key: "Key", content: object, units: float, tokens: float, times: int) -> "list[Piece]":
    """Pictures by themselves; and the tools that a search for tools has brought."""
    pieces: list[Piece] = []
    for block in content if type(content) is list else ():
        kind = block.get("type") if type(block) is dict else ""
        if kind in ("image", "document") and tokens >= sizes.IMAGE:
            pieces.append(("image", key[1], key[2], 0.0, sizes.IMAGE, 1))
            tokens -= sizes.IMAGE
        elif kind == "tool_reference" and tokens >= sizes.TOOL_SCHEMA:
            server = _server(text(block, "tool_name"))
            found = ("server", "", server) if server else ("listing", "", "list of tools")
            pieces.append((*found, 0.0, sizes.TOOL_SCHEMA, 0))
            tokens -= sizes.TOOL_SCHEMA
    return [(*key, units, tokens, times), *pieces]


def _within(given: dict, kind: str, is_rereading: bool) -> "dict[Key, float]":
    """Who has which part in an attachment."""
    content = given.get("content")
    inside = content if type(content) is dict else {}
    path = text(given, "filename") or text(given, "path") or text(inside, "path")
    if kind in speaker.FILES:
        origin = "image" if inside.get("type") == "image" else "reread" if is_rereading else "file"
        return {(origin, "", normal_path(path)): 1.0}
    if kind in speaker.MEMORY:
        files = given.get("files")
        found = [one for one in files if type(one) is dict] if type(files) is list else []
        return {("memory", "", text(one, "path")): sizes.leaves(one) for one in found} or {
            ("memory", "", path): 1.0
        }
    if kind == "invoked_skills":
        skills = given.get("skills")
        found = [one for one in skills if type(one) is dict] if type(skills) is list else []
        return {("skill", "", text(one, "name")): sizes.leaves(one) for one in found}
    if kind in _LISTINGS:
        return _listed(given, kind)
    words = content[0] if type(content) is list and content else content
    ours = type(words) is str and _FENCE in words[:_FENCE_AT]
    return {("reminder", "", "holdfast" if ours else text(given, "hookName") or kind): 1.0}


def _listed(given: dict, kind: str) -> "dict[Key, float]":
    """Of tools and of instructions each server has its part."""
    what = _LISTINGS[kind]
    found: dict[Key, float] = {}
    names, instructions = given.get("addedNames"), given.get("addedBlocks")
    told = instructions if type(instructions) is list else []
    for at, name in enumerate(names if type(names) is list else ()):
        if type(name) is str:
            server = _slug(name) if kind == "mcp_instructions_delta" else _server(name)
            key = ("server", "", server) if server else ("listing", "", what)
            found[key] = found.get(key, 0.0) + sizes.units(name) + sizes.leaves(told[at : at + 1])
    return found or {("listing", "", what): 1.0}


def _slug(name: str) -> str:
    """A server's name as it stands in the names of its tools."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


def _split(weights: "dict[Key, float]", units: float, tokens: float) -> "list[Piece]":
    weights = weights or {("reminder", "", "notes"): 1.0}
    total = sum(weights.values())
    pieces: list[Piece] = []
    for key, weight in weights.items():
        share = weight / total if total else 1 / len(weights)
        # That a server is listed is no call of it.
        pieces.append((*key, units * share, tokens * share, 0 if key[0] == "server" else 1))
    return pieces
