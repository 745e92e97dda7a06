"""What stands at the places of a state, as it may be shown: prompts, changes, commands, errors, reports.

Every text is redacted whole, then put on one line, then cut: a secret that is cut in two is no longer
recognised.
"""

from holdfast.core import speaker, spoken
from holdfast.core.fence import outside
from holdfast.core.fold import NO_RESULT, NO_STATUS
from holdfast.core.jsontext import text
from holdfast.core.outcome import Outcome, outcome
from holdfast.core.plain import excerpt
from holdfast.core.printed import plain
from holdfast.core.redact import names_key_file
from holdfast.core.seen import Seen, fingerprint
from holdfast.core.speaker import AGENT, USER
from holdfast.core.spoken import joined, tail
from holdfast.core.state import State
from holdfast.core.touched import DEFINES, bare
from holdfast.core.transcript import normal_path, opening, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Words = Callable[[int, int], list]
    Redact = Callable[[str], str]

#: How much of one text is looked at: what an item shows is far from where this cuts.
LOOKED_AT = 3 << 12
NOT_KEPT = "the content of key files is never kept"
#: How a line begins that says something of the code rather than being it; and how little says nothing.
_REMARKS, _LEAST = ("#", "//", "/*", "*", "--", '"""', "'''", "<!--", "import ", "from ", "use "), 8


class Quoted:
    def __init__(self, state: State, words: "Words", redact: "Redact", project: str) -> None:
        self.state = state
        self.words = words
        self.redact = redact
        self.project = project
        # While a long transcript is still being read from the front there are two views of it.
        self.views = [view for view in (state.behind, state.seen) if view]

    def _newest(self, name: str, most: int) -> list[tuple[Seen, list]]:
        return [(view, row) for view in self.views for row in getattr(view, name)][-most:]

    def _where(self, view: Seen, place: list) -> str:
        records = self.words(*place)
        entry = excerpt(text(records[0], "uuid"), 8).rstrip(" …") if records else ""
        turn = 0 if view.start else view.turn(place[0])
        return place_of(turn, entry)

    def _prompt(self, row: list) -> str:
        """What somebody asked for, and who, where that was no person."""
        records = self.words(*row[1:3])
        words = self._redacted("".join(self._asked(record) for record in records))
        return spoken.FROM_LEAD + words if words and self.state.agent and _is_leads(records) else words

    def _redacted(self, words: str) -> str:
        """Without what holdfast said, and what is private."""
        return spoken.redacted(outside(words[: spoken.LOOKED_AT]), self.redact, LOOKED_AT)

    def _asked(self, record: dict) -> str:
        attachment = record.get("attachment")
        if type(attachment) is dict:
            return joined(attachment.get("prompt"))
        # A state of an older version has places of what nobody asked for.
        return spoken.asked(record) if _speaker(record) in (USER, AGENT) or spoken.plan(record) else ""

    def _planned(self, place: list) -> str:
        """As the model proposed it, or as it was accepted."""
        accepted = "".join(spoken.plan(record) for record in self.words(*place))
        return accepted or text(self._use(place, tool="ExitPlanMode"), "plan")

    def _said(self, place: list) -> str:
        said = []
        for record in self.words(*place):
            message = record.get("message")
            if record.get("type") == "assistant" and type(message) is dict:
                said.append(joined(message.get("content")))
        return self._redacted("\n".join(said))

    def _use(self, place: list, what: int = 0, tool: str = "") -> dict:
        """What a tool was given: the call in that line with this fingerprint, or of this tool."""
        for record in self.words(*place):
            message = record.get("message")
            content = message.get("content") if type(message) is dict else None
            for block in content if type(content) is list else ():
                given = block.get("input") if type(block) is dict else None
                if type(given) is dict and (block.get("name") == tool or what in _fingerprints(given)):
                    return given
        return {}

    def _result(self, place: list) -> str:
        for record in self.words(*place):
            message = record.get("message")
            content = message.get("content") if type(message) is dict else None
            for block in content if type(content) is list else ():
                if type(block) is dict and block.get("type") == "tool_result":
                    return joined(block.get("content"))
        return ""

    def _report(self, place: list) -> str:
        """What an agent came back with: in the result of its call, or later in a notice."""
        words = spoken.report(self._result(place))
        notice = "" if words else "".join(spoken.said(record) for record in self.words(*place))
        return self._redacted(words or tag(notice, "result"))

    def _what(self, row: list) -> tuple[str, str]:
        """What failed, as it is shown and as it was given: a command, or a file some tool was given."""
        use = self._use(row[1:3], row[0])
        command, path = text(use, "command"), path_of(use)
        if command:
            return f"`{self._command(command, 160)}`", command
        return (self._short(path), path) if path else ("A tool call failed", "")

    def _command(self, given: str, most: int) -> str:
        """Of one that writes a key file (`cat >.env <<EOF`) only the first line. The way into the project
        says nothing; the way elsewhere does."""
        shown = self._redacted(given.partition("\n")[0] if names_key_file(given) else given)
        if not shown.startswith("cd /") or shown.startswith(f"cd {self.project}"):
            shown = bare(shown)
        if len(self.project) > 1:
            shown = shown.replace(self.project.rstrip("/") + "/", "")
        return excerpt(shown, most)

    def _error(self, place: list, given: str) -> str:
        if names_key_file(given):
            return NOT_KEPT
        said = self.redact(tail(self._result(place), LOOKED_AT))
        lines = [line for line in said.split("\n") if line.strip()]
        return excerpt(" | ".join(lines if len(lines) < 6 else [lines[0], *lines[-3:]]), 280)

    def _outcome(self, given: dict, row: list) -> "Outcome | None":
        """How tests ended: by what their runner printed, and by the exit status where it is theirs."""
        in_background = given.get("run_in_background") is True
        status = row[5] if row[5] != NO_RESULT else NO_STATUS
        return outcome(text(given, "command"), status, self._result(row[3:5]), in_background)

    def _last_line(self, command: str, place: list) -> str:
        """The last that a command printed."""
        if names_key_file(command):
            return ""
        lines = self.redact(plain(tail(self._result(place), LOOKED_AT))).rstrip().split("\n")
        return f": {excerpt(lines[-1].strip('= '), 100)}" if lines[-1] else ""

    def _edit(self, given: dict, hunks: int) -> str:
        if "content" in given:
            lines = _lines(text(given, "content").removesuffix("\n"))
            return f"written, {lines} line{'' if lines == 1 else 's'}"
        edits = given.get("edits")
        first = edits[0] if type(edits) is list and edits and type(edits[0]) is dict else given
        old, new = text(first, "old_string"), text(first, "new_string") or text(first, "new_source")
        more = f", {hunks} places" if hunks > 1 else ""
        counted = f"+{_lines(new)} −{_lines(old)}{more}"
        shown = _first_difference(spoken.redacted(old, self.redact), spoken.redacted(new, self.redact))
        return f"`{excerpt(shown, 60)}` ({counted})" if shown else f"changed ({counted})"

    def _short(self, path: str) -> str:
        inside = path.removeprefix(self.project.rstrip("/") + "/")
        return excerpt(self.redact(inside), 200)


def _is_leads(records: list) -> bool:
    """Whether none of them is a person's."""
    return USER not in map(_speaker, records)


def _speaker(record: dict) -> str:
    message = record.get("message")
    content = message.get("content") if type(message) is dict else None
    return speaker.of_user_line(record, opening(content))


def place_of(turn: int, entry: str) -> str:
    """Where something was said, as it stands behind an item."""
    if turn and entry:
        return f" (turn {turn}, {entry})"
    return f" (turn {turn})" if turn else f" (entry {entry})" if entry else ""


def _fingerprints(given: dict) -> tuple:
    command, path = given.get("command"), path_of(given)
    return (
        fingerprint(command) if type(command) is str else -1,
        fingerprint(normal_path(path)) if path else -1,
    )


def path_of(given: dict) -> str:
    return text(given, "file_path") or text(given, "notebook_path")


def _first_difference(old: str, new: str) -> str:
    """The line that tells most of what is new, or else the first that is gone: one that defines something,
    before others, before remarks."""
    before, after = old.split("\n"), new.split("\n")
    for lines, others, sign in ((after, set(before), ""), (before, set(after), "− ")):
        fresh = [line.strip() for line in lines if line.strip() and line not in others]
        if fresh:
            return sign + min(fresh, key=_tells)
    return ""


def _tells(line: str) -> int:
    """0: it defines something; 1: it says something; 2: it hardly does."""
    words = line.replace("(", " ").split()
    if any(word in DEFINES for word in words[:3]) and len(words) > 1:
        return 0
    if line.startswith(_REMARKS) or sum(map(str.isalnum, line)) < _LEAST:
        return 2
    return 1


def _lines(words: str) -> int:
    return words.count("\n") + 1 if words else 0
