"""One record of the client's transcript, as an Entry. Tolerant: a field of the wrong type is absent.

An entry keeps no text, only how large it is, where it stands and what it refers to.
"""

from holdfast.core import sizes, speaker
from holdfast.core.jsontext import text as _text

#: No context is larger; a larger number in a file is damage, not usage.
MOST_TOKENS = 1 << 30
#: No message has more blocks; what lies beyond is not worth a hook's time.
_MOST_BLOCKS = 512
#: So many letters of a text tell who speaks.
_HEAD = 200
#: What a client that was resumed writes for a call whose result it does not have.
_CUT_SHORT = "[Tool call interrupted: the session ended"
_NOTIFIES = "<task-notification>"
#: Trigger of a compaction whose summary was made ahead of time; the client's own word is "auto".
PRECOMPUTED = "precomputed"
#: What the client says beside a compaction that no lack of space called for.
_WHILE_AWAY = ("Compacted while idle", "Compacted using a summary written while you were away")


class Usage:
    """What the API said a response read and wrote."""

    __slots__ = ("cache_creation", "cache_read", "input", "output")

    def __init__(self, given: int, cache_read: int, cache_creation: int, output: int) -> None:
        self.input = given
        self.cache_read = cache_read
        self.cache_creation = cache_creation
        self.output = output

    @property
    def context(self) -> int:
        return self.input + self.cache_read + self.cache_creation


class Entry:
    """One line that matters. Attributes a kind does not have keep these defaults.

    kind: prompt (typed by a person, or a plan they accepted; in a subagent also what its lead asks) |
    queued (typed while the model worked) | note (any other user line) | result | summary | answer |
    attachment | boundary (compaction) | micro | idle (the compaction before it was made because nobody
    was there) | system
    """

    kind = "system"
    uuid = parent = session = ""
    agent = ""
    speaker = ""  # whose words a line holds, where they are not the model's or a tool's
    offset = length = 0
    units = tokens = 0.0
    thought_units = thought_tokens = 0.0
    message = model = ""
    usage: Usage | None = None
    final = False  # the response is complete: its output count is the real one
    ends = False  # and calls no tool: nothing of the turn comes after it
    plan = False  # a plan that the person accepted, handed to a session with an empty window
    failed = False  # an API error in the shape of an answer
    says = False  # holds text meant for the reader
    uses: tuple | list = ()  # (id, tool, input)
    results: tuple | list = ()  # (tool_use_id, is_error, result, error text)
    denied = False  # the person refused or interrupted
    cut_short = False  # the client died before it could write the result
    task: tuple = ()  # (id, status) of a background agent that has come back
    at = branch = cwd = version = ""
    trigger = (
        ""  # of a compaction, as the client names it; PRECOMPUTED where its summary was made long before
    )
    pre_tokens = post_tokens = saved_tokens = 0
    lasted_s = 0  # how long the compaction took
    kept: tuple | list = ()


def entry(record: dict, offset: int, length: int) -> Entry | None:
    """None for a record that says nothing about the conversation."""
    kind = record.get("type")
    make = _MAKERS.get(kind) if type(kind) is str else None
    if make is None:
        return None
    made = Entry()
    if not make(made, record):
        return None
    made.offset = offset
    made.length = length
    if record.get("isSidechain") is True:
        made.agent = _text(record, "agentId") or "unnamed"
    fields = made.__dict__  # on every line of the file: no call for each
    for name, key in _LABELS:
        value = record.get(key)
        if type(value) is str:
            fields[name] = value
    return made


_LABELS = (
    ("uuid", "uuid"),
    ("parent", "parentUuid"),
    ("session", "sessionId"),
    ("at", "timestamp"),
    ("branch", "gitBranch"),
    ("cwd", "cwd"),
    ("version", "version"),
)


def count(value: object) -> int:
    """A token or line count, or 0: floats, booleans, negatives and nonsense are not counts."""
    return value if type(value) is int and 0 <= value < MOST_TOKENS else 0


def _answer(made: Entry, record: dict) -> bool:
    message = record.get("message")
    if type(message) is not dict:
        return False
    made.kind = "answer"
    made.message = _text(message, "id")
    made.model = _text(message, "model")
    made.failed = speaker.is_client_answer(record, made.model)
    made.usage = usage(message.get("usage"))
    made.final = bool(message.get("stop_reason"))
    made.ends = made.final and message.get("stop_reason") != "tool_use"
    content = message.get("content")
    if type(content) is str:
        content = [{"type": "text", "text": content}]
    if type(content) is not list:
        return True
    uses = []
    for block in content[:_MOST_BLOCKS]:
        if type(block) is not dict:
            continue
        kind = block.get("type")
        if kind == "text":
            made.says = True
            made.units += sizes.TEXT * sizes.leaves(block.get("text"))
        elif kind == "tool_use":
            made.units += sizes.of_input(block.get("input"))
            made.tokens += sizes.PER_TOOL_USE
            given = block.get("input")
            uses.append((_text(block, "id"), _text(block, "name"), given if type(given) is dict else {}))
        elif kind == "thinking":
            more, fixed = sizes.of_thinking(block)
            made.thought_units += more
            made.thought_tokens += fixed
    made.uses = uses
    return True


def usage(value: object) -> Usage | None:
    """None where a proxy reports nothing or zeros: a context of zero tokens does not exist."""
    if type(value) is not dict:
        return None
    found = Usage(
        count(value.get("input_tokens")),
        count(value.get("cache_read_input_tokens")),
        count(value.get("cache_creation_input_tokens")),
        count(value.get("output_tokens")),
    )
    return found if found.context else None


def _user(made: Entry, record: dict) -> bool:
    message = record.get("message")
    if type(message) is not dict:
        return False
    content = message.get("content")
    made.units, made.tokens = sizes.of_content(content)
    results = []
    if type(content) is list:
        result = record.get("toolUseResult")
        for block in content[:_MOST_BLOCKS]:
            if type(block) is dict and block.get("type") == "tool_result":
                error = block.get("is_error") is True
                said = _opening(block.get("content")) if error else ""
                results.append((_text(block, "tool_use_id"), error, result, said))
    made.denied = "toolDenialKind" in record or "interruptedMessageId" in record
    if results and results[0][3].startswith(_CUT_SHORT):
        made.denied, made.cut_short = False, True
    if results:
        made.kind = "result"
        made.results = results
        return True
    made.tokens += sizes.PER_ITEM
    words = opening(content)
    who = made.speaker = speaker.of_user_line(record, words)
    if record.get("isCompactSummary") is True:
        made.kind = "summary"
        return True
    made.plan = bool(_text(record, "planContent"))
    is_asked = who == speaker.AGENT and record.get("isSidechain") is True
    made.kind = "prompt" if made.plan or who == speaker.USER or is_asked else "note"
    if made.kind == "note" and _NOTIFIES in words:
        made.task = tag(words, "task-id"), tag(words, "status")
    made.denied = made.denied or words.startswith(speaker.INTERRUPTED)
    return True


def first_text(content: object) -> str:
    """Of a message."""
    if type(content) is str:
        return content
    if type(content) is list:
        for block in content:
            words = block.get("text") if type(block) is dict else None
            if type(words) is str:
                return words
    return ""


def opening(content: object) -> str:
    """How a line begins, to tell who speaks: by the first block that is somebody's words."""
    blocks = content if type(content) is list else ()
    for block in blocks:
        words = block.get("text") if type(block) is dict else None
        if type(words) is str and not speaker.is_around(words):
            return words[:_HEAD]
    return _opening(content)


def _opening(content: object) -> str:
    return first_text(content)[:_HEAD]


def tag(words: str, name: str) -> str:
    """What stands between <name> and </name>, or "". The client writes its own notices so."""
    return words.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _attachment(made: Entry, record: dict) -> bool:
    attachment = record.get("attachment")
    if type(attachment) is not dict:
        return False
    made.kind = "attachment"
    made.units, made.tokens = sizes.of_attachment(attachment)
    words = _opening(attachment.get("prompt"))
    made.speaker = speaker.of_attachment(attachment, words, record.get("isSidechain") is True)
    if made.speaker == speaker.USER:  # typed while the model was working
        made.kind = "queued"
    return True


def _system(made: Entry, record: dict) -> bool:
    made.speaker = speaker.of_record(record)
    subtype = record.get("subtype")
    if subtype == "compact_boundary":
        made.kind = "boundary"
        data = record.get("compactMetadata")
        if type(data) is dict:
            made.trigger = _text(data, "trigger")
            if data.get("precomputed") is True and made.trigger == "auto":
                made.trigger = PRECOMPUTED
            made.lasted_s = count(data.get("durationMs")) // 1000
            made.pre_tokens = count(data.get("preTokens"))
            made.post_tokens = count(data.get("postTokens"))
            kept = data.get("preservedMessages")
            uuids = kept.get("uuids") if type(kept) is dict else None
            made.kept = uuids if type(uuids) is list else ()
    elif subtype == "microcompact_boundary":
        made.kind = "micro"
        data = record.get("microcompactMetadata")
        if type(data) is dict:
            made.saved_tokens = count(data.get("tokensSaved"))
    elif _text(record, "content").startswith(_WHILE_AWAY):
        made.kind = "idle"
    return True


_MAKERS = {"assistant": _answer, "user": _user, "attachment": _attachment, "system": _system}


def normal_path(path: str) -> str:
    """One spelling for one file: a Windows path is written with slashes, like every other."""
    if path[1:3] == ":\\" or path.startswith("\\\\"):
        return path.replace("\\", "/")
    return path
