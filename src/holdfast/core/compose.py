"""What a checkpoint says: the sections, composed from a state and the words at its places.

By extraction alone. Every text is redacted whole, then put on one line, then cut: a secret that is cut
in two is no longer recognised. Every item ends with where it was said.
"""

from holdfast.core import spoken
from holdfast.core.fence import outside
from holdfast.core.fold import NO_RESULT, NO_STATUS
from holdfast.core.jsontext import text
from holdfast.core.plain import excerpt, one_line
from holdfast.core.redact import is_key_file, names_key_file
from holdfast.core.seen import Seen, fingerprint
from holdfast.core.spoken import joined, tail
from holdfast.core.state import State
from holdfast.core.transcript import normal_path, tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Words = Callable[[int, int], list]
    Redact = Callable[[str], str]

_DONE = ("completed", "deleted")
#: How much of one text is looked at: what an item shows is far from where this cuts.
_LOOKED_AT = 1 << 13
_PLAN_LINES, _PLAN_CHARACTERS = 40, 2400
_CHANGED, _OLD_ERRORS = 10, 2
_NOT_KEPT = "the content of key files is never kept"
_ENDED = {NO_STATUS: "failed without a status", NO_RESULT: "cut short, nobody knows how it ended"}
_HANDED_BACK = "The report follows:\n"
_HEARD, _FILED = " (told to a hook)", " (the client's own task files)"


class Composer:
    """`tasks` is what the client's own files say: id -> (status, subject)."""

    def __init__(
        self,
        state: State,
        words: "Words",
        redact: "Redact",
        project: str,
        tasks: dict[str, tuple[str, str]],
    ) -> None:
        self.state = state
        self.words = words
        self.redact = redact
        self.project = project
        self.tasks = tasks
        self._failed: list[tuple[str, str]] | None = None
        # While a long transcript is still being read from the front there are two views of it.
        self.views = [view for view in (state.behind, state.seen) if view]

    def sections(self) -> dict[str, list[str]]:
        return {
            "Goal": self.goal(),
            "What Changed": self.changed(),
            "Active Issues": self.issues(),
            "Plan and Workflow": self.plan(),
            "Next Steps": self.next_steps(),
            "Commands and Tests": self.commands(),
            "Agents": self.agents(),
        }

    def summary(self) -> str:
        """One line for the index."""
        rows = [row for view in self.views for row in view.prompts if row[3]]
        typed = [self._prompt(row) for row in rows[-1:]]
        files = {key for view in self.views for key, row in view.files.items() if row[1] or row[2]}
        about = excerpt(typed[-1], 72) if typed else "Work in " + one_line(self.project).rpartition("/")[2]
        return f"{about} - {len(files)} file{'' if len(files) == 1 else 's'} modified"

    # Sections

    def goal(self) -> list[str]:
        rows = [(view, row) for view in self.views for row in view.prompts if row[3]]
        chosen = rows[:1] + rows[1:][-3:]
        items: list[str] = []
        for view, row in chosen:
            words = self._prompt(row)
            if words:
                items.append(
                    ("Then: " if items else "") + excerpt(words, 300) + self._where(view, row[1:3])
                )
        return items

    def changed(self) -> list[str]:
        """The newest change of each file, and how many there were."""
        items: dict[int, tuple[str, str]] = {}
        times: dict[int, int] = {}
        for view, row in reversed(self._newest("edits", 40)):  # newest first: what may be read has a bound
            if len(items) == _CHANGED and row[0] not in times:
                continue
            use = self._use(row[1:3], row[0])
            path = _path(use)
            times[row[0]] = times.get(row[0], 0) + 1
            if path and row[0] not in items:
                what = _NOT_KEPT if is_key_file(path) else self._edit(use, row[7])
                items[row[0]] = f"[{self._short(path)}:{row[5] or 1}] - {what}", self._where(view, row[1:3])
        return [
            said + (f", {times[file]} edits in all" if times[file] > 1 else "") + where
            for file, (said, where) in reversed(items.items())
        ]

    def issues(self) -> list[str]:
        items = []
        state = self.state
        if not state.has_transcript:
            heard = state.heard
            items.append(
                "There is no transcript to read: all that is known is what hooks were told "
                f"({heard.calls} tool calls, {heard.failures} failed, {heard.prompts} prompts)"
            )
        elif state.behind:
            share = 100 * state.behind.offset // max(1, state.seen.start)
            items.append(
                f"Only the newest part and {share} % of the rest of the transcript was read so far"
            )
        if state.heard.trouble:
            items.append(f"holdfast is degraded: {excerpt(self.redact(state.heard.trouble), 200)}")
        return items + [f"{error}{where}" for error, where in self._errors()[-12:]]

    def errors(self) -> list[str]:
        """What failed and was not seen to succeed since, newest last."""
        return [error for error, _ in self._errors()[-8:]]

    def _errors(self) -> list[tuple[str, str]]:
        if self._failed is None:
            self._failed = self._unresolved()
        return self._failed

    def _unresolved(self) -> list[tuple[str, str]]:
        """Of those that a compaction has passed over only the newest: nobody has come back to them."""
        rows = [(view, row) for view, row in self._newest("errors", 24) if not row[5]]
        since = self._since()
        old = sum(row[3] < since for _, row in rows)
        found = []
        for view, row in rows[max(0, old - _OLD_ERRORS) :]:
            failed, given = self._what(row)
            found.append((f"{failed}: {self._error(row[3:5], given)}", self._where(view, row[3:5])))
        return found

    def _since(self) -> int:
        """Where the last compaction is that a turn has followed."""
        turned = self.state.seen.turned[-1:]
        return max((row[4] for row in self.state.seen.compactions if [row[4]] < turned), default=0)

    def plan(self) -> list[str]:
        items = []
        for view, row in self._newest("plans", 1):
            words = text(self._use(row, tool="ExitPlanMode"), "plan")
            lines = self.redact(words[:_LOOKED_AT])[:_PLAN_CHARACTERS].split("\n")[:_PLAN_LINES]
            quoted = "\n".join(f"> {one_line(line)}".rstrip() for line in lines).rstrip(">\n ")
            if words:
                items.append(f"Plan{self._where(view, row)}:\n{quoted}")
        items += [f"Task {name} ({status}): {said}{where}" for name, status, said, where in self._tasks()]
        return items + [f"To do ({status}): {said}{where}" for status, said, where in self._todos()]

    def steps(self) -> list[tuple[str, str]]:
        """(status, subject) of every task and to-do."""
        tasks = [(status, subject) for _, status, subject, _ in self._tasks()]
        return tasks + [(status, subject) for status, subject, _ in self._todos()]

    def next_steps(self) -> list[str]:
        steps = [task[1:] for task in self._tasks()] + self._todos()
        items = [f"[{'x' if status in _DONE else ' '}] {said}{where}" for status, said, where in steps]
        for view, row in self._newest("said", 1):
            words = self._said(row)
            if words:
                items.append(f"[ ] Go on from: {excerpt(words, 240)}{self._where(view, row)}")
        return _distinct(items)

    def commands(self) -> list[str]:
        items = []
        last: dict[int, tuple[Seen, list]] = {}
        for view, row in self._newest("commands", 32):
            last.pop(row[0], None)  # of the same command only the last run
            last[row[0]] = view, row
        for view, row in list(last.values())[-16:]:
            command = text(self._use(row[1:3], row[0]), "command")
            if command:
                ended = _ENDED.get(row[5]) or f"exit {row[5]}"
                told = self._outcome(command, row[3:5]) if row[6] else ""
                kind = "Test run: " if row[6] else ""
                shown = self._command(command, 120)
                items.append(f"{kind}`{shown}` → {ended}{told}{self._where(view, row[1:3])}")
        green = self.state.heard.green
        if green:
            items.append(f"Last known green commit: {green[0][:12]} (tests passed on it, {green[1]})")
        return items

    def agents(self) -> list[str]:
        items = []
        for view, row in self._newest("agents", 8):
            given = self._use(row[1:3], tool="Agent") or self._use(row[1:3], tool="Task")
            about = excerpt(
                self.redact(text(given, "description") or text(given, "prompt")[:_LOOKED_AT]), 120
            )
            kind = excerpt(text(given, "subagent_type"), 40)
            said = self._report(row[3:5]) if row[5] == "completed" else ""
            came = f": {excerpt(said, 100)}" if said else ""
            items.append(
                f"{excerpt(row[0], 64)}{' ' + kind if kind else ''} ({excerpt(row[5], 32)}): {about}{came}"
                + self._where(view, row[1:3])
            )
        return items

    # Where things were said, and the words there

    def _newest(self, name: str, most: int) -> list[tuple[Seen, list]]:
        return [(view, row) for view in self.views for row in getattr(view, name)][-most:]

    def _where(self, view: Seen, place: list) -> str:
        records = self.words(*place)
        entry = excerpt(text(records[0], "uuid"), 8).rstrip(" …") if records else ""
        turn = 0 if view.start else view.turn(place[0])
        return place_of(turn, entry)

    def _prompt(self, row: list) -> str:
        words = "".join(self._typed(record) for record in self.words(*row[1:3]))
        return self.redact(outside(words[:_LOOKED_AT]))

    def _typed(self, record: dict) -> str:
        attachment = record.get("attachment")
        return joined(attachment.get("prompt")) if type(attachment) is dict else spoken.typed(record)

    def _said(self, place: list) -> str:
        said = []
        for record in self.words(*place):
            message = record.get("message")
            if record.get("type") == "assistant" and type(message) is dict:
                said.append(joined(message.get("content")))
        return self.redact("\n".join(said)[:_LOOKED_AT])

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
        words = self._result(place).rpartition(_HANDED_BACK)[2]
        notice = "" if words else "".join(spoken.said(record) for record in self.words(*place))
        return self.redact((words or tag(notice, "result"))[:_LOOKED_AT])

    def _what(self, row: list) -> tuple[str, str]:
        """What failed, as it is shown and as it was given: a command, or a file some tool was given."""
        use = self._use(row[1:3], row[0])
        command, path = text(use, "command"), _path(use)
        if command:
            return f"`{self._command(command, 160)}`", command
        return (self._short(path), path) if path else ("A tool call failed", "")

    def _command(self, given: str, most: int) -> str:
        """Of one that writes a key file (`cat >.env <<EOF`) only the first line."""
        shown = given.partition("\n")[0] if names_key_file(given) else given
        return excerpt(self.redact(shown[:_LOOKED_AT]), most)

    def _error(self, place: list, given: str) -> str:
        if names_key_file(given):
            return _NOT_KEPT
        said = self.redact(tail(self._result(place), _LOOKED_AT))
        lines = [line for line in said.split("\n") if line.strip()]
        return excerpt(" | ".join(lines if len(lines) < 6 else [lines[0], *lines[-3:]]), 360)

    def _outcome(self, command: str, place: list) -> str:
        """The last line a test run printed: runners sum up there."""
        if names_key_file(command):
            return ""
        lines = self.redact(tail(self._result(place), _LOOKED_AT)).rstrip().split("\n")
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
        return f"`{excerpt(shown, 80)}` ({counted})" if shown else f"changed ({counted})"

    def _tasks(self) -> list[tuple[str, str, str, str]]:
        """(id, status, subject, where), from the transcript, the hooks and the client's own files."""
        found: dict[str, list[str]] = {}
        for view in self.views:
            for name, (status, *place) in view.tasks.items():
                given = self._use(place, tool="TaskCreate") or self._use(place, tool="TaskUpdate")
                found[name] = [status, text(given, "subject"), self._where(view, place)]
        for name, status in self.state.heard.tasks.items():
            found.setdefault(name, ["", "", _HEARD])[0] = status
        for name, (status, subject) in self.tasks.items():
            found.setdefault(name, ["", "", _FILED])[:2] = status, subject
        return [
            (
                excerpt(name, 64),
                excerpt(status, 32),
                excerpt(self.redact(said), 200) or "(no subject)",
                where,
            )
            for name, (status, said, where) in found.items()
        ]

    def _todos(self) -> list[tuple[str, str, str]]:
        place = self.state.seen.todos[:2]
        todos = self._use(place, tool="TodoWrite").get("todos") if place else None
        where = self._where(self.state.seen, place) if place else ""
        return [
            (excerpt(text(todo, "status"), 32), excerpt(self.redact(text(todo, "content")), 200), where)
            for todo in (todos if type(todos) is list else ())
            if type(todo) is dict and todo.get("content")
        ][:32]

    def _short(self, path: str) -> str:
        inside = path.removeprefix(self.project.rstrip("/") + "/")
        return excerpt(self.redact(inside), 200)


def place_of(turn: int, entry: str) -> str:
    """Where something was said, as it stands behind an item."""
    if turn and entry:
        return f" (turn {turn}, {entry})"
    return f" (turn {turn})" if turn else f" (entry {entry})" if entry else ""


def _fingerprints(given: dict) -> tuple:
    command, path = given.get("command"), _path(given)
    return (
        fingerprint(command) if type(command) is str else -1,
        fingerprint(normal_path(path)) if path else -1,
    )


def _path(given: dict) -> str:
    return text(given, "file_path") or text(given, "notebook_path")


def _first_difference(old: str, new: str) -> str:
    """The first line that is new, or else the first that is gone."""
    before, after = old.split("\n"), new.split("\n")
    for lines, others, sign in ((after, set(before), ""), (before, set(after), "− ")):
        for line in lines:
            if line.strip() and line not in others:
                return sign + line.strip()
    return ""


def _lines(words: str) -> int:
    return words.count("\n") + 1 if words else 0


def _distinct(items: list[str]) -> list[str]:
    return list(dict.fromkeys(items))
