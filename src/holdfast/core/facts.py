"""The facts of a session: what was said that whoever goes on has to know, unit by unit, in order.

Taken in one record at a time, like a fold, so that a long session costs what is new in it. Every text is
redacted whole before it is cut. What a rewind abandoned is never taken in; what holdfast itself put into
the session comes as an attachment, or between its own fences, and is not taken in either.
"""

from holdfast.core.cues import judge, names, topics
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.core.plain import excerpt, one_line
from holdfast.core.redact import is_key_file
from holdfast.core.seen import checksum
from holdfast.core.touched import SAID, TYPED, Touched, paths
from holdfast.core.transcript import Entry, normal_path, tag
from holdfast.core.units import LONGEST, units
from holdfast.errors import Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Redact = Callable[[str], str]

VERSION = 1
_HEAD = b'{"v":%d,"sum":' % VERSION
#: Who said it, or what kind of text it is.
USER, ANSWER, SAID_MID, SAID_LAST, PLAN, SUMMARY, AGENT, COMMIT, REFUSED = range(9)
_LOOKED_AT = 1 << 16
_MOST_UNITS, _MOST_OPEN = 600, 48
#: Of one text at most so many units: of what is longer the beginning and the end.
_MOST_OF_ONE = {USER: 24, AGENT: 24}
_MOST_OF_ANY = 64
_REASON = "the user said:\n"
_ANSWERED = "User has answered your questions: "
_HANDED_BACK = "The report follows:\n"
_SUMMARY_ENDS = (
    "If you need specific details from before",
    "Please continue the conversation",
    "Continue the",
)
_SIGNED = ("Co-Authored-By", "Co-authored-by", "🤖", "Signed-off-by")
FENCE = "holdfast-"


class Facts:
    def __init__(self) -> None:
        self.offset = 0  # how far the transcript has been taken in
        self.start = 0  # and from where
        self.rereads = 0  # how often it had been read over when this was begun
        self.turns = self.prompts = 0
        self.message = self.cwd = self.branch = ""
        self._branch = ""  # as it was given
        self.sayings: list = []  # [kind, offset, turn, prompt, entry]
        self.units: list = []  # [saying, text, form, worth, class, names, topics]
        self.todos: list = []  # [status, content]
        self.open: dict = {}  # tool call -> [tool, what it was given]
        self.dead: list = []  # what had been abandoned when this was taken in
        self.touched = Touched()

    # One record after the other

    def take(self, record: dict, entry: Entry, redact: "Redact") -> None:
        self.cwd = self.cwd or normal_path(entry.cwd)
        if entry.branch and entry.branch != self._branch:
            self._branch, self.branch = entry.branch, excerpt(redact(entry.branch), 200)
        if entry.kind == "answer" and not entry.failed:
            self._answer(record, entry, redact)
        elif entry.kind == "prompt":
            self._prompt(_message(record), entry, redact)
        elif entry.kind == "queued":
            self._prompt(_joined(record["attachment"].get("prompt")), entry, redact)
        elif entry.kind == "summary":
            words = _message(record).partition("Summary:")[2] or _message(record)
            self._say(
                SUMMARY, min((words.partition(end)[0] for end in _SUMMARY_ENDS), key=len), entry, redact
            )
        elif entry.kind == "note":
            self._note(_message(record), entry, redact)
        elif entry.kind == "result":
            self._results(record, entry, redact)

    def _answer(self, record: dict, entry: Entry, redact: "Redact") -> None:
        if entry.message != self.message or not entry.message:
            self.message = entry.message
            self.turns += 1
        if entry.says:
            words = _message(record)
            self._say(SAID_MID, words, entry, redact)
            self._mentions(words, redact, SAID)
        for call, tool, given in entry.uses:
            self._use(call, tool, given, entry, redact)

    def _use(self, call: str, tool: str, given: dict, entry: Entry, redact: "Redact") -> None:
        path = normal_path(text(given, "file_path") or text(given, "notebook_path"))
        command = text(given, "command") if tool == "Bash" else ""
        if call:
            what = command or path or text(given, "description")
            self.open[call[:64]] = [tool[:64], redact(what[:_LOOKED_AT])[:2000]]
            if len(self.open) > _MOST_OPEN:
                del self.open[next(iter(self.open))]
        if path:
            self._file(tool, path, given, redact)
        elif tool == "ExitPlanMode":
            self._say(PLAN, text(given, "plan"), entry, redact)
        elif tool == "TodoWrite" and type(given.get("todos")) is list:
            self.todos = [
                [text(todo, "status")[:32], excerpt(redact(text(todo, "content")), 200)]
                for todo in given["todos"][:32]
                if type(todo) is dict and todo.get("content")
            ]
        elif command:
            self._mentions(command, redact)
            if "git commit" in command:
                self._say(COMMIT, _commit_message(command), entry, redact)
        else:
            named = " ".join(value for value in given.values() if type(value) is str)
            self._mentions(named[:_LOOKED_AT], redact)

    def _file(self, tool: str, path: str, given: dict, redact: "Redact") -> None:
        if tool in ("Read", "NotebookRead"):
            self.touched.opened(redact(path), self.turns)
            return
        edits = given.get("edits")
        for edit in edits[:16] if type(edits) is list and edits else [given]:
            if type(edit) is dict:
                new = text(edit, "new_string") or text(edit, "new_source") or text(edit, "content")
                old = text(edit, "old_string")
                hidden = is_key_file(path)
                self.touched.edited(
                    redact(path),
                    "" if hidden else redact(old[:_LOOKED_AT]),
                    "" if hidden else redact(new[:_LOOKED_AT]),
                    self.turns,
                )

    def _prompt(self, words: str, entry: Entry, redact: "Redact") -> None:
        words = outside_fences(words)
        self.prompts += 1
        for saying in reversed(self.sayings):
            if saying[0] == SAID_MID:
                saying[0] = SAID_LAST  # nothing followed it: that is what the model ended with
                break
            if saying[0] == USER:
                break
        self._say(USER, words, entry, redact)
        self._mentions(words, redact, TYPED)

    def _note(self, words: str, entry: Entry, redact: "Redact") -> None:
        if entry.task:
            self._say(AGENT, tag(words, "result"), entry, redact)
        command, given = tag(words, "command-name"), tag(words, "command-args")
        if command and given:  # what a person typed after a slash command is theirs
            self.prompts += 1
            self._say(USER, f"{command} {given}", entry, redact)

    def _results(self, record: dict, entry: Entry, redact: "Redact") -> None:
        beside = [
            text(block, "text")
            for block in _blocks(record)
            if block.get("type") == "text" and text(block, "text")[:1] not in ("<", "[")
        ]
        if beside:
            self._say(USER, "\n".join(beside), entry, redact)
        for block in _blocks(record):
            if block.get("type") == "tool_result":
                known = self.open.pop(text(block, "tool_use_id")[:64], None)
                if known:
                    self._result(known[0], known[1], block, entry, redact)

    def _result(self, tool: str, given: str, block: dict, entry: Entry, redact: "Redact") -> None:
        words = _joined(block.get("content"))[: 4 * _LOOKED_AT]
        failed = block.get("is_error") is True
        if failed and (entry.denied or words.startswith("The user doesn't want")):
            what = excerpt(given, 120)
            if _REASON in words:
                said = words.rpartition(_REASON)[2]
                self._say(USER, f"(rejecting {tool} {what}) {said}", entry, redact)
            else:
                self._say(REFUSED, f"The user rejected {tool} {what}", entry, redact)
        elif tool == "AskUserQuestion":
            said = words.removeprefix(_ANSWERED).partition("You can now continue")[0]
            self._say(ANSWER, said, entry, redact)
        elif tool in ("Task", "Agent"):
            self._say(AGENT, words.rpartition(_HANDED_BACK)[2], entry, redact)
            self._mentions(words, redact)
        elif tool == "Bash":
            self._ran(given, failed, words, redact)
        elif tool not in ("Read", "NotebookRead", "Edit", "Write", "MultiEdit", "NotebookEdit"):
            self._mentions(words, redact)

    def _mentions(self, words: str, redact: "Redact", weight: float = 0.0) -> None:
        found = paths(redact("\n".join(paths(words))))
        self.touched.mentions(found, self.turns, self.cwd, weight)

    def _ran(self, command: str, failed: bool, words: str, redact: "Redact") -> None:
        shown = one_line(command)
        tail = redact(words[-3000:].partition("\n")[2] if len(words) > 3000 else words).rstrip()
        lines = [line for line in tail.split("\n") if line.strip()]
        self.touched.ran(shown, failed, excerpt(" | ".join(lines[-2:]) if lines else "", 160), self.turns)
        self._mentions(words, redact)
        if "git commit" in command and not failed and words.lstrip().startswith("["):
            self.touched.committed(excerpt(redact(words.lstrip().partition("\n")[0]), 120), self.turns)

    def _say(self, kind: int, words: str, entry: Entry, redact: "Redact") -> None:
        words = redact(outside_fences(words)[:_LOOKED_AT])
        if self.cwd and len(self.cwd) > 3:
            words = words.replace(self.cwd + "/", "")  # every path begins with it and none is told by it
        typed = kind in (USER, ANSWER, REFUSED)
        found = units(words, typed)
        most = _MOST_OF_ONE.get(kind, _MOST_OF_ANY)
        if len(found) > most:
            found = found[: most // 2] + found[-most // 2 :]
        if not found:
            return
        number = self.sayings[-1][5] + 1 if self.sayings else 0
        self.sayings.append([kind, entry.offset, self.turns, self.prompts, entry.uuid[:8], number])
        for unit, form in found:
            worth, name = judge(unit, form, typed)
            row = [
                number,
                unit[:LONGEST],
                form,
                round(worth, 2),
                name,
                " ".join(names(unit)),
                " ".join(topics(unit)),
            ]
            self.units.append(row)
        if len(self.units) > _MOST_UNITS:
            self._forget()

    def _forget(self) -> None:
        """The third that is worth least, by itself and by its age; what the person said stays longest."""
        by_number = {saying[5]: saying for saying in self.sayings}

        def worth(row: list) -> float:
            kind, _, turn = by_number[row[0]][:3]
            return float(row[3] + (1.5 if kind in (USER, ANSWER) else 0.0) - (self.turns - turn) / 150)

        floor = sorted(map(worth, self.units))[len(self.units) // 3]
        self.units = [row for row in self.units if worth(row) > floor]
        kept = {row[0] for row in self.units}
        self.sayings = [saying for saying in self.sayings if saying[5] in kept]

    # On disk

    def render(self) -> bytes:
        saved = {name: value for name, value in self.__dict__.items() if name not in ("touched", "_branch")}
        rest = dump({**saved, "touched": self.touched.__dict__})[1:].encode()
        return b"%s%d,%s" % (_HEAD, checksum(rest), rest)


def parse(data: bytes, where: str) -> Facts:
    try:
        written, _, rest = data.removeprefix(_HEAD).partition(b",")
        if not data.startswith(_HEAD) or written != b"%d" % checksum(rest):
            raise ValueError("its checksum does not fit")
        saved: dict = load("{" + rest.decode("utf-8"))  # type: ignore[assignment]
        facts = Facts()
        facts.touched.__dict__.update(saved.pop("touched"))
        facts.__dict__.update(saved)
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(f"{where} is not what holdfast writes there: {problem}") from problem
    return facts


def outside_fences(words: str) -> str:
    """Without what holdfast itself once said: from `<holdfast-…>` to its end, or to the end of all."""
    while (start := words.find(f"<{FENCE}")) >= 0:
        name = words[start + 1 :].partition(">")[0][:40]
        end = words.find(f"</{name}>", start)
        words = words[:start] + (words[end + len(name) + 3 :] if end >= 0 else "")
    return words


def _message(record: dict) -> str:
    message = record.get("message")
    return _joined(message.get("content")) if type(message) is dict else ""


def _blocks(record: dict) -> list:
    message = record.get("message")
    content = message.get("content") if type(message) is dict else None
    return [block for block in content if type(block) is dict] if type(content) is list else []


def _joined(content: object) -> str:
    if type(content) is str:
        return content
    blocks = content if type(content) is list else ()
    return "\n".join(text(block, "text") for block in blocks if type(block) is dict)


def _commit_message(command: str) -> str:
    """What was given with -m, or in a here-document, without the signatures."""
    if "<<" in command:
        opening, _, rest = command.partition("<<")[2].partition("\n")
        body = rest.partition("\n" + opening.strip("-'\"\\ )"))[0]
    else:
        given = command.partition(" -m ")[2].lstrip()
        quote = given[:1]
        body = given[1:].partition(quote)[0] if quote in ("'", '"') and quote else ""
    return "\n".join(line for line in body.split("\n") if not line.strip().startswith(_SIGNED))
