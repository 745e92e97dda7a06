"""What a checkpoint says: the sections, composed from a state and the words at its places.

By extraction alone. Every item ends with where it was said.
"""

from holdfast.core.fold import NO_RESULT, NO_STATUS
from holdfast.core.jsontext import text
from holdfast.core.plain import excerpt, one_line
from holdfast.core.quoted import NOT_KEPT, Quoted, path_of
from holdfast.core.redact import is_key_file
from holdfast.core.seen import Seen
from holdfast.core.sentences import is_announced, is_question, parts_of
from holdfast.core.settled import ordering, without
from holdfast.core.spoken import FROM_LEAD
from holdfast.core.state import State
from holdfast.core.steps import is_told_done, steps_in
from holdfast.core.touched import looks, symbols
from holdfast.core.unfinished import Unfinished
from holdfast.core.units import units
from holdfast.core.workstate import goal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.core.quoted import Redact, Words

FINISHED = "finished"
_MISUSED = "<tool_use_error>"
_DONE = ("completed", "deleted")
_PLAN_LINES, _PLAN_CHARACTERS = 40, 1200
#: So many finished steps are told one by one; more of them together.
_FEW = 3
_PROMPTS, _CHANGED, _COMMANDS, _OLD_ERRORS = 6, 10, 16, 2
#: Characters for names that changes of a file brought in; marks of unfinished work in files.
_NAMES, _MARKED = 24, 8
#: Texts that are searched for steps, newest first; and after so many prompts nobody means them any more.
_SEARCHED, _PROMPTS_SINCE = 12, 3
_LONGEST_STEP = 160
_ENDED = {NO_STATUS: "failed without a status", NO_RESULT: "cut short, nobody knows how it ended"}
_HEARD, _FILED = " (told to a hook)", " (the client's own task files)"


class Member:
    """An agent that has told of itself. Everything in it is redacted, and on one line."""

    __slots__ = ("agent", "kind", "last_at", "more", "status", "task")

    def __init__(self, agent: str, kind: str, task: str, status: str, more: str, last_at: int) -> None:
        self.agent = agent
        self.kind = kind
        self.task = task
        self.status = status
        self.more = more
        self.last_at = last_at

    @property
    def is_open(self) -> bool:
        """Whether something is still to be expected of it, or lost with it."""
        return self.status != FINISHED

    def line(self) -> str:
        who = f"Agent {self.agent} {self.kind}".rstrip()
        return f"{who}: {self.status}" + (f"; task: {self.task}" if self.task else "") + self.more


class Composer(Quoted):
    """`tasks` is what the client's own files say: id -> (status, subject); `run` how the tests of the
    working tree ended last, whoever ran them; `team` the agents that have told of themselves; `workflows`
    how far each is that is being carried out here."""

    def __init__(
        self,
        state: State,
        words: "Words",
        redact: "Redact",
        project: str,
        tasks: dict[str, tuple[str, str]],
        run: "dict | None" = None,
        team: "Sequence[Member]" = (),
        workflows: "Sequence[str]" = (),
    ) -> None:
        super().__init__(state, words, redact, project)
        self.tasks = tasks
        self.run = run or {}
        self.workflows = workflows
        self.team = {one.agent: one for one in team}
        self._failed: list[tuple[str, str]] | None = None

    def sections(self) -> dict[str, list[str]]:
        return {
            "Goal": self.goal(),
            "What Changed": self.changed(),
            "Active Issues": self.issues(),
            "Standing Instructions": self.orders(),
            "Plan and Workflow": self.plan(),
            "Next Steps": self.next_steps(),
            "Commands and Tests": self.commands(),
            "Agents": self.agents(),
        }

    def summary(self) -> str:
        """One line for the index."""
        files = {key for view in self.views for key, row in view.files.items() if row[1] or row[2]}
        about = excerpt(goal({"Goal": self.goal(), "Standing Instructions": []}), 72)
        about = about or f"Nothing asked for in {one_line(self.project).rpartition('/')[2]}"
        return f"{about} - {len(files)} file{'' if len(files) == 1 else 's'} modified" if files else about

    # Sections

    def goal(self) -> list[str]:
        """What was asked for, without the orders, which have a section of their own."""
        asked = []
        for words, view, row in self._told():
            said = without(words, ordering(words))
            if said:
                asked.append((said, view, row))
        return [
            f"{'Then: ' if number else ''}{excerpt(words, 240)}{self._where(view, row[1:3])}"
            for number, (words, view, row) in enumerate(asked[:1] + asked[1:][-3:])
        ]

    def orders(self) -> list[str]:
        """Of the prompts that are shown; those of the others are known from the facts."""
        return [
            (FROM_LEAD if words.startswith(FROM_LEAD) else "")
            + excerpt(order, 240)
            + self._where(view, row[1:3])
            for words, view, row in self._told()
            for order in ordering(words.removeprefix(FROM_LEAD))
        ]

    def _told(self) -> list[tuple[str, Seen, list]]:
        """What the session began with, and the newest prompts, oldest first."""
        rows = [(view, row) for view in self.views for row in view.prompts if row[3]]
        # Pictures may take all that may be read: the newest before the others, after what it began with.
        newest = [(self._prompt(row), view, row) for view, row in rows[:1] + rows[:0:-1][:_PROMPTS]]
        prompts = newest[:1] + newest[:0:-1]
        return [prompt for prompt in prompts if prompt[0] and not _is_command(prompt[0])]

    def changed(self) -> list[str]:
        """The newest change of each file, what the others brought in, and how many there were."""
        items: dict[int, tuple[str, str]] = {}
        times: dict[int, int] = {}
        names: dict[int, dict[str, None]] = {}
        for view, row in reversed(self._newest("edits", 40)):  # newest first: what may be read has a bound
            if len(items) == _CHANGED and row[0] not in times:
                continue
            use = self._use(row[1:3], row[0])
            path = path_of(use)
            times[row[0]] = times.get(row[0], 0) + 1
            if path and not is_key_file(path):
                names.setdefault(row[0], {}).update(dict.fromkeys(self._names(use)))
            if path and row[0] not in items:
                what = NOT_KEPT if is_key_file(path) else self._edit(use, row[7])
                items[row[0]] = f"[{self._short(path)}:{row[5] or 1}] - {what}", self._where(view, row[1:3])
        return [
            said
            + _named(said, list(names.get(file, ())))
            + (f", {times[file]} edits" if times[file] > 1 else "")
            + where
            for file, (said, where) in reversed(items.items())
        ]

    def _names(self, given: dict) -> list[str]:
        """What a change defines or brings in."""
        edits = given.get("edits")
        found: list[str] = []
        for edit in edits[:8] if type(edits) is list and edits else [given]:
            if type(edit) is dict:
                new = text(edit, "new_string") or text(edit, "new_source") or text(edit, "content")
                found += symbols(self._redacted(new), self._redacted(text(edit, "old_string")))
        return found

    def issues(self) -> list[str]:
        items = []
        state = self.state
        if not state.has_transcript:
            heard = state.heard
            items.append(
                "There is no transcript to read: all that is known is what hooks were told "
                f"({heard.calls} tool calls, {heard.failures} failed, {heard.typed} prompts)"
            )
        elif state.behind:
            share = 100 * state.behind.offset // max(1, state.seen.start)
            items.append(
                f"Only the newest part and {share} % of the rest of the transcript was read so far"
            )
        if state.heard.trouble:
            items.append(f"holdfast is degraded: {excerpt(self.redact(state.heard.trouble), 200)}")
        items += [f"{error}{where}" for error, where in self._errors()[-12:]]
        return items + self._unfinished()

    def _unfinished(self) -> list[str]:
        """What was left in files to be done later, and was not taken out again."""
        marks = Unfinished()
        for view, row in self._newest("edits", 64):
            use = self._use(row[1:3], row[0])
            path = path_of(use)
            if path and not is_key_file(path):
                marks.take(use, row[0], path, row[5], (view, row[1:3]))
        return [
            f"[{self._short(path)}{f':{line}' if line else ''}] - "
            f"{excerpt(self._redacted(said), 160)}{self._where(*place)}"
            for path, line, said, place in marks.found()[-_MARKED:]
        ]

    def errors(self) -> list[str]:
        """What failed and was not seen to succeed since, newest last."""
        return [error for error, _ in self._errors()[-8:]]

    def _errors(self) -> list[tuple[str, str]]:
        if self._failed is None:
            self._failed = self._unresolved()
        return self._failed

    def _unresolved(self) -> list[tuple[str, str]]:
        """Newest last. Of those that a compaction has passed over only the newest: nobody has come back to
        them. One that only looked had nothing to see, and a call that the client refused as wrong (a file
        that was not read before) did nothing."""
        since, old = self._since(), 0
        found: list[tuple[str, str]] = []
        for view, row in reversed(self._newest("errors", 24)):
            if row[5] or (row[3] < since and old == _OLD_ERRORS):
                continue
            failed, given = self._what(row)
            if looks(given) and found:
                continue
            error = self._error(row[3:5], given)
            if error.startswith(_MISUSED) or not (error or given):
                continue  # or nobody knows any more what it was
            old += row[3] < since
            found.append((f"{failed}: {error}", self._where(view, row[3:5])))
        return found[::-1]

    def _since(self) -> int:
        """Where the last compaction is that a turn has followed."""
        turned = self.state.seen.turned[-1:]
        return max((row[4] for row in self.state.seen.compactions if [row[4]] < turned), default=0)

    def plan(self) -> list[str]:
        items = [f"{line} (conductor-state.json)" for line in self.workflows]
        for view, row in self._newest("plans", 1):
            words = self._planned(row)
            lines = self._redacted(words)[:_PLAN_CHARACTERS].split("\n")[:_PLAN_LINES]
            quoted = "\n".join(f"> {one_line(line)}".rstrip() for line in lines).rstrip(">\n ")
            if words:
                items.append(f"Plan{self._where(view, row)}:\n{quoted}")
        tasks = [(f"Task {name}", *rest) for name, *rest in self._tasks()]
        steps = tasks + [("To do", *todo) for todo in self._todos()]
        if sum(step[1] in _DONE for step in steps) > _FEW:  # they stand among the next steps
            steps = [step for step in steps if step[1] not in _DONE]
        return items + [f"{name} ({status}): {said}{where}" for name, status, said, where in steps]

    def steps(self) -> list[tuple[str, str]]:
        """(status, subject) of every task and to-do."""
        tasks = [(status, subject) for _, status, subject, _ in self._tasks()]
        return tasks + [(status, subject) for status, subject, _ in self._todos()]

    def next_steps(self) -> list[str]:
        steps = [task[1:] for task in self._tasks()] + self._todos()
        done = [(said, where) for status, said, where in steps if status in _DONE]
        items = [f"[{'x' if status in _DONE else ' '}] {said}{where}" for status, said, where in steps]
        if len(done) > _FEW:
            together = "; ".join(said for said, _ in done)
            items = [item for item in items if item[1] == " "]
            items.insert(0, f"[x] {excerpt(together, 400)}{done[-1][1]}")
        items += self._listed([said for _, said, _ in steps])
        return _distinct([*items, *self._standing(any(item.startswith("[ ]") for item in items))])

    def _listed(self, known: list[str]) -> list[str]:
        """The steps that were named last, each by itself."""
        said = self._newest("said", _SEARCHED)
        since: list[str] = []
        for view, row in reversed(said):
            words = self._said(row)
            if sum(one[3] > 0 for one in view.prompts if one[1] > row[0]) > _PROMPTS_SINCE:
                break
            steps = steps_in(words)
            if steps:
                where = self._where(view, row)
                return [
                    f"[{'x' if done or is_told_done(step, since) else ' '}] {step}{where}"
                    for done, step in steps
                    if not any(step in one or one in step for one in known)
                ]
            since += [one for line in words.split("\n") for one in parts_of(one_line(line))]
        return []

    def _standing(self, has_steps: bool) -> list[str]:
        """What the session is about to do: a prompt to answer, work that goes on, an answer to wait for."""
        seen = self.state.seen
        prompts = [row for row in seen.prompts if row[3]]
        for row in seen.said[-1:]:
            words = self._said(row)
            last = [one for one in parts_of(one_line(words)) if one]
            if prompts and prompts[-1][1] > row[0]:
                break
            if not last:
                return []
            where = self._where(seen, row)
            if is_question(last[-1]):
                return [f"[ ] Answer: {excerpt(last[-1], _LONGEST_STEP)}{where}"]
            if self._is_at_work(row[0]) or any(map(is_announced, last[-3:])):
                return [f"[ ] Go on from: {excerpt(_closing(words), _LONGEST_STEP)}{where}"]
            return []
        if prompts and not has_steps:
            asked = self._prompt(prompts[-1])
            if asked and not _is_command(asked):
                said = excerpt(asked, _LONGEST_STEP)
                return [f"[ ] The user asked last: {said}{self._where(seen, prompts[-1][1:3])}"]
        return []

    def _is_at_work(self, said: int) -> bool:
        """Whether something was done after that was said."""
        seen = self.state.seen
        newest = [
            row[1] for rows in (seen.commands, seen.edits, seen.errors, seen.agents) for row in rows[-1:]
        ]
        newest += [row[3] for row in list(seen.files.values())[-1:]] + seen.turned[-1:]
        return bool(seen.open) or any(place > said for place in newest)

    def commands(self) -> list[str]:
        items = []
        last: dict[int, tuple[Seen, list]] = {}
        for view, row in self._newest("commands", 32):
            last.pop(row[0], None)  # of the same command only the last run
            last[row[0]] = view, row
        for view, row in _newest_of(list(last.values())):
            given = self._use(row[1:3], row[0])
            command = text(given, "command")
            if command:
                tests = self._outcome(given, row) if row[6] else None
                seen = self._last_line(command, row[3:5]) if tests and not tests.count else ""
                ended = tests.with_status() + seen if tests else _ENDED.get(row[5]) or f"exit {row[5]}"
                kind = "Test run: " if tests else ""
                shown = self._command(tests.named if tests else command, 80)
                items.append(f"{kind}`{shown}` → {ended}{self._where(view, row[1:3])}")
        return items + self._last_run()

    def _last_run(self) -> list[str]:
        """How tests ended last, whoever ran them, and which commit is known to be green."""
        items, last = [], self.run.get("tests", {})
        if last:
            count, by = last["count"], excerpt(self.redact(last["command"]), 80)
            many = f", {count} tests" if last["passed"] else f", {last['failed']} of {count}"
            ended = ("passed" if last["passed"] else "failed") + (many if count else "")
            items.append(f"Last test result: {ended} ({f'`{by}`, ' if by else ''}{last['at']})")
        known = [one for one in (self.state.heard.green, self.run.get("green")) if one]
        if known:
            green = max(known, key=lambda one: one[1])
            items.append(f"Last known green commit: {green[0][:12]} (tests passed on it, {green[1]})")
        return items

    def agents(self) -> list[str]:
        """Those whose call is in the transcript, and those that told of themselves and are not back yet."""
        items, named = [], set()
        for view, row in self._newest("agents", 8):
            named.add(row[0])
            own = self.team.get(row[0])
            given = self._use(row[1:3], tool="Agent") or self._use(row[1:3], tool="Task")
            about = excerpt(self._redacted(text(given, "description") or text(given, "prompt")), 120)
            kind = excerpt(self._redacted(text(given, "subagent_type")), 40)
            said = self._report(row[3:5]) if row[5] == "completed" else ""
            came = "".join(f": {excerpt(unit, 100)}" for unit, _ in units(said)[:1])
            status = own.status if own and row[5] != "completed" else excerpt(self.redact(row[5]), 32)
            items.append(
                f"{excerpt(self.redact(row[0]), 64)}{' ' + kind if kind else ''} ({status}): {about}{came}"
                + (own.more if own else "")
                + self._where(view, row[1:3])
            )
        rest = [own for agent, own in self.team.items() if agent not in named and own.is_open]
        return items + [f"{own.agent} {own.kind} ({own.status}): {own.task}{own.more}" for own in rest]

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
                excerpt(self.redact(name), 64),
                excerpt(self.redact(status), 32),
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
            (
                excerpt(self._redacted(text(todo, "status")), 32),
                excerpt(self._redacted(text(todo, "content")), 200),
                where,
            )
            for todo in (todos if type(todos) is list else ())
            if type(todo) is dict and todo.get("content")
        ][:32]


def _newest_of(commands: list[tuple[Seen, list]]) -> list[tuple[Seen, list]]:
    """The newest, and before older ones those that test or failed; in their order."""
    late = len(commands) - _COMMANDS // 2

    def gives_way(at: int) -> tuple[bool, int]:
        _, (*_, ended, is_test) = commands[at]
        return at < late and not ended and not is_test, -at

    order = sorted(range(len(commands)), key=gives_way)
    return [commands[at] for at in sorted(order[:_COMMANDS])]


def _is_command(words: str) -> bool:
    """`/compact`, but not `/review the parser`: that says what is wanted."""
    return words.startswith("/") and " " not in words.strip()


def _named(said: str, names: list[str]) -> str:
    """The names that the change itself does not show."""
    more = ""
    for name in names:
        if name not in said and len(more) + len(name) < _NAMES:
            more += f"{', ' if more else ''}{name}"
    return f": {more}" if more else ""


def _closing(words: str) -> str:
    """How a text ends: what its last paragraph says."""
    lines = [line for line in words.split("\n") if line.strip()]
    return lines[-1] if lines else ""


def _distinct(items: list[str]) -> list[str]:
    return list(dict.fromkeys(items))
