"""The facts of a session: what was said that whoever goes on has to know, unit by unit, in order.

Taken in one record at a time, like a fold, so that a long session costs what is new in it. Every text is
redacted whole before it is cut. What a rewind abandoned is never taken in; what holdfast itself put into
the session comes as an attachment, or between its own fences, and is not taken in either.
"""

from holdfast.core import rules, speaker, spoken, testruns, waiting
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, OTHER, VALUE, judge, terms_of
from holdfast.core.events import NOT_RUN
from holdfast.core.fence import outside
from holdfast.core.fold import exit_status, runs_tests
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.core.jsontext import record as load_record
from holdfast.core.outcome import UNKNOWN, outcome
from holdfast.core.plain import excerpt, one_line
from holdfast.core.printed import plain
from holdfast.core.redact import is_key_file, names_key_file
from holdfast.core.seen import checksum
from holdfast.core.spoken import LOOKED_AT, redacted
from holdfast.core.touched import SAID, TYPED, Touched, opens_request, paths, restored, shows_head
from holdfast.core.transcript import Entry, normal_path, tag
from holdfast.core.units import LONGEST, units
from holdfast.errors import Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

#: Since version 2 the words that were typed are kept, to hold a summary against; of a summary nothing is
#: kept that it ascribes to the user; and what hooks, the client and a lead say is not the user's.
VERSION, _FIRST = 2, 1
_HEAD = b'{"v":%d,"sum":'
#: Who said it, or what kind of text it is.
USER, ANSWER, SAID_MID, SAID_LAST, PLAN, SUMMARY, AGENT, COMMIT, REFUSED, ACCEPTED, SENT, LEAD = range(12)
#: What a person said, or said yes to.
AGREED = (USER, ANSWER, ACCEPTED)
#: All that was asked for: in a subagent by its lead, which is no person.
ASKED = (*AGREED, LEAD)
#: Classes of what the session settled itself: no summary may put another value in its place.
_SETTLED = (DECISION, DEAD_END, INSTRUCTION, VALUE)
#: So much of what a sentence of a summary is about, for a unit to be about the same.
_SAME_TOPIC = 0.5
_TAIL = 1 << 14
_MOST_UNITS, _MOST_OPEN, _MOST_COMPACTIONS = 480, 48, 16
_MOST_RULES = 24
MARK, _MOST_RECENT = 12, 64
#: Characters of one text and of all that was typed that are kept to hold a summary against.
_MOST_TYPED, _MOST_TYPED_IN_ALL = 8_000, 120_000
_LONGEST_GIVEN = 2000
#: Of one text at most so many units: of what is longer the beginning and the end.
_MOST_OF_ONE = {USER: 24, LEAD: 24, AGENT: 24, ACCEPTED: 24}
_MOST_OF_ANY = 64
#: Turns after which a unit is worth one less when there are too many; and so many of one text were typed.
_FADES, _FEW = 150, 8
#: A plan that another one replaced is worth so much less; a question that was answered in so few words so
#: much more, because they do not tell what they answer.
_REPLACED, _ASKED, _WORDS, _NEAR = 0.8, 0.4, 50, 12


_QUEUED, _HEADED = b'"type":"queue-operation"', 400
#: What is left of a quotation, or of code, says nothing.
_NOTHING = " >`~-=_*#|."
#: To accept a plan and have the window emptied for it is a rejection, too, in the session it was made in.
_NOT_BEGUN = "The plan was not begun here: rejected, or accepted and begun in a session of its own"


class Facts:
    def __init__(self) -> None:
        self.offset = 0  # how far the transcript has been taken in
        self.start = 0  # and from where
        # Bytes before that of which only what was typed and said was taken in, and of which nothing was.
        self.skimmed = self.unread = 0
        self.missed = 0  # records that could not be taken in
        self.rereads = 0  # how often it had been read over when this was begun
        self.turns = self.prompts = 0
        self.compacted: list = []  # [turns that had been taken, offset]
        self.message = self.cwd = self.branch = ""
        self._branch = ""  # as it was given
        self.sayings: list = []  # [kind, offset, turn, prompt, entry, number]
        self.units: list = []  # [saying, text, form, worth, class, names, topics]
        # Of each unit among the others, whichever prompt is the current one, as they were last weighed;
        # those that came or changed later have none.
        self.worths: list = []
        self.open: dict = {}  # tool call -> [tool, what it was given]
        self.dead: list = []  # what had been abandoned when this was taken in
        self.rules: list = []  # [turn, entry, text] of what the person marked as a rule
        self.typed: list = []  # what was typed or agreed to, to hold a summary against
        self.typed_lost = 0  # characters of it that are not kept
        # The beginnings of the ids of the newest lines: where the client has cut away what was before them,
        # they tell how far its transcript had been taken in.
        self.recent: list = []
        self.cut = ""  # these, as JSON, as they were when the client had cut something away last
        self.begun = 0  # whether the first line that has a place in the conversation was seen
        self.waiting: list = []  # prompts in the client's queue (`waiting`)
        self.touched = Touched()

    @property
    def past(self) -> list[int]:
        """Where it was compacted and went on: what was said before has been told again already. Not where
        it was just now: that loss is being made good."""
        return [offset for turns, offset in self.compacted if turns < self.turns]

    # One record after the other

    def overhear(self, raw: bytes, offset: int, redact: "Redact") -> None:
        """Note what no entry says: a prompt that was queued, and whether the transcript has its beginning
        (of one that was cut off not all is known that was typed)."""
        head = raw[:_HEADED].replace(b" ", b"")  # spaced or not, as who writes the file likes it
        if _QUEUED in head:
            self._queued(load_record(raw.decode("utf-8", "replace")), offset, redact)
        if not self.begun and b'"parentUuid":' in head:
            self.begun = 1
            self.typed_lost += b'"parentUuid":null' not in head or b'"compact_boundary"' in raw

    def trim(self, known: int) -> None:
        """What was taken in is no longer in the transcript, but for its first `known` bytes; it was before
        all that is. What had not been read cannot be read any more."""
        before = self.offset + 1
        for saying in self.sayings:
            saying[1] -= before
        self.compacted = [[turns, offset - before] for turns, offset in self.compacted]
        self.typed_lost += self.start > 0
        self.offset, self.dead, self.cut = known, [], ""
        self.start = self.skimmed = self.unread = 0
        self.cut = dump(self._saved())

    def as_cut(self) -> "Facts":
        """As they were then: of what came later a rewind may have abandoned something."""
        facts = _restored(load(self.cut)) if self.cut else Facts()  # type: ignore[arg-type]
        facts.cut = self.cut
        return facts

    def take(self, record: dict, entry: Entry, redact: "Redact") -> None:
        if entry.uuid:
            self.recent = [*self.recent[1 - _MOST_RECENT :], entry.uuid[:MARK]]
        if entry.cwd and not self.cwd:
            self.cwd = redact(normal_path(entry.cwd))
        if entry.branch and entry.branch != self._branch:
            self._branch, self.branch = entry.branch, excerpt(redact(entry.branch), 200)
        if self.waiting and entry.kind in ("prompt", "boundary", "answer"):
            self._said_late(waiting.GIVEN_BEFORE if entry.kind == "answer" else 1, redact)
        if entry.kind == "answer" and not entry.failed:
            self._answer(record, entry, redact)
        elif entry.kind == "prompt":
            is_lead = entry.speaker == speaker.AGENT and not entry.plan
            words = (spoken.sent(record) if is_lead else "") or spoken.typed(record)
            self._prompt(words, entry, redact, spoken.accepted(record), LEAD if is_lead else USER)
        elif entry.kind == "queued":
            words = spoken.joined(record["attachment"].get("prompt"))
            waiting.drop(self.waiting, words)
            self._prompt(words, entry, redact)
        elif entry.kind == "boundary" and self.turns not in (turns for turns, _ in self.compacted):
            self.compacted = [*self.compacted[1 - _MOST_COMPACTIONS :], [self.turns, entry.offset]]
        elif entry.kind == "summary":
            from holdfast.core.ascribed import without  # once in a compaction

            self._say(SUMMARY, without(spoken.summary(record)), entry, redact)
        elif entry.kind == "note":
            self._note(record, entry, redact)
        elif entry.kind == "result":
            self._results(record, entry, redact)

    def _answer(self, record: dict, entry: Entry, redact: "Redact") -> None:
        if entry.message != self.message or not entry.message:
            self.message = entry.message
            self.turns += 1
        if entry.says:
            words = spoken.said(record)
            self._say(SAID_MID, words, entry, redact)
            self._mentions(words, redact, SAID)
        for call, tool, given in entry.uses:
            self._use(call, tool, given, entry, redact)

    def _use(self, call: str, tool: str, given: dict, entry: Entry, redact: "Redact") -> None:
        path = normal_path(text(given, "file_path") or text(given, "notebook_path"))
        command = text(given, "command") if tool == "Bash" else ""
        if call:
            if len(command) > _LONGEST_GIVEN and runs_tests(command):
                command = testruns.shortened(command, _LONGEST_GIVEN)
            task = text(given, "task_id") or text(given, "bash_id")
            what = _shown(command) or path or task or text(given, "description")
            self.open[call[:64]] = [tool[:64], redacted(what, redact)[:_LONGEST_GIVEN]]
            if len(self.open) > _MOST_OPEN:
                del self.open[next(iter(self.open))]
        if path:
            self._file(tool, path, given, redact)
        elif tool == "ExitPlanMode":
            self._plan(PLAN, text(given, "plan"), entry, redact)
        elif command:
            self._mentions(command, redact)
            if "git commit" in command:
                self._say(COMMIT, spoken.commit_message(command), entry, redact)
        else:
            named = " ".join(value for value in given.values() if type(value) is str)
            self._mentions(named, redact)

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
                    "" if hidden else redacted(old, redact),
                    "" if hidden else redacted(new, redact),
                    self.turns,
                )

    def _plan(self, kind: int, words: str, entry: Entry, redact: "Redact") -> None:
        if words:
            self._outdate((PLAN, ACCEPTED))
        self._say(kind, words, entry, redact)

    def _accept(self, edited: str, entry: Entry, redact: "Redact") -> None:
        """The plan that was proposed last, or as the person has made it."""
        if edited:
            self._plan(ACCEPTED, edited, entry, redact)
            return
        for saying in reversed(self.sayings):
            if saying[0] == PLAN:
                saying[0] = ACCEPTED
                # It, and what came after it, are to be weighed again.
                del self.worths[sum(row[0] < saying[5] for row in self.units) :]
                return

    def _queued(self, record: dict, offset: int, redact: "Redact") -> None:
        """Take in a line of the client's queue; its words are evidence even where they never left it."""
        waiting.queue(self.waiting, record, offset, redact)
        words = text(record, "content")
        if text(record, "operation") == "enqueue" and words and speaker.of_words(words) == speaker.USER:
            self._hear(redacted(words, redact))

    def _said_late(self, since: int, redact: "Redact") -> None:
        for _, offset, words, _ in waiting.late(self.waiting, since):
            entry = Entry()
            entry.offset = offset
            self._prompt(words, entry, redact)

    def _prompt(self, words: str, entry: Entry, redact: "Redact", plan: str = "", kind: int = USER) -> None:
        words = outside(words[: 4 * LOOKED_AT])
        says = words.strip(_NOTHING + "\n")
        if (not says or words.strip() in spoken.TO_CLIENT) and not plan:
            return  # an image, nothing but what holdfast had said, or nothing for the model
        self.prompts += 1
        for saying in reversed(self.sayings):
            if saying[0] == SAID_MID:
                saying[0] = SAID_LAST  # nothing followed it: that is what the model ended with
                break
            if saying[0] in (USER, LEAD):
                break
        if len(words) < _WORDS and self.sayings and self.sayings[-1][0] == SAID_LAST:
            last = self.sayings[-1][5]
            self._hear("\n".join(row[1] for row in self.units if row[0] == last))  # perhaps agreed to
            for row in [row for row in self.units[-_NEAR:] if row[0] == last and "?" in row[1]][-1:]:
                row[3] += _ASKED
        self._plan(ACCEPTED, plan, entry, redact)
        self._say(kind, words, entry, redact)
        self._mentions(f"{plan}\n{words}", redact, TYPED)

    def _note(self, record: dict, entry: Entry, redact: "Redact") -> None:
        if entry.task:
            self._came_later("", entry.task[0], spoken.said(record))
            self._say(AGENT, tag(spoken.said(record), "result"), entry, redact)
            return
        self._say(SENT, spoken.sent(record), entry, redact)
        self._prompt(spoken.slash_command(record), entry, redact)

    def _results(self, record: dict, entry: Entry, redact: "Redact") -> None:
        beside = spoken.beside_results(record)
        if self.waiting:
            waiting.drop(self.waiting, beside)
            waiting.answered(self.waiting)
        self._say(USER, beside, entry, redact)
        for block in spoken.blocks(record):
            if block.get("type") == "tool_result":
                known = self.open.pop(text(block, "tool_use_id")[:64], None)
                if known:
                    self._result(known, block, record, entry, redact)

    def _result(self, known: list, block: dict, record: dict, entry: Entry, redact: "Redact") -> None:
        tool, given = known
        words = spoken.joined(block.get("content"))[: 4 * LOOKED_AT]
        failed = block.get("is_error") is True
        if spoken.REASON in words and tool.startswith("mcp__"):
            self._hear(redacted(words.partition(spoken.REASON)[2], redact))  # perhaps the user's
        if failed and speaker.is_refused(record, tool, words):
            # Apart: what was rejected is the model's, the reason is the person's.
            reason = spoken.reason(record, words)
            if tool == "ExitPlanMode" and not reason:
                refused = _NOT_BEGUN
            else:
                refused = f"The user rejected {tool} {excerpt(given, 120)}"
            self._say(REFUSED, refused, entry, redact)
            self._say(USER, reason, entry, redact)
        elif tool == "AskUserQuestion" and not failed:
            for answered, noted in spoken.answers(record, words, redact):
                self._say(ANSWER, answered, entry, redact)
                self._say(USER, noted, entry, redact)
        elif tool == "ExitPlanMode" and not failed:
            self._accept(spoken.edited_plan(words), entry, redact)
        elif tool in ("Task", "Agent"):
            self._say(AGENT, spoken.report(words), entry, redact)
            self._mentions(words, redact)
        elif tool == "Bash" and not (failed and words.startswith(NOT_RUN)):
            self._ran(given, failed, words, redact)
        elif tool not in ("Read", "NotebookRead", "Edit", "Write", "MultiEdit", "NotebookEdit"):
            self._mentions(words, redact)
        if self.touched.waiting and not failed:
            self._came_later(tool, given, words)

    def _came_later(self, tool: str, given: str, words: str) -> None:
        """What a test run printed that had not ended, or went to a file: looked at, or told by the client
        (then there is no tool)."""
        for place, (key, command) in list(self.touched.waiting.items()):
            from holdfast.core.lookedat import looked_at  # few runs are

            tests = looked_at(tool, given, words, place, command, self.cwd)
            if tests:
                self.touched.ended_later(place, key, tests)

    def _mentions(self, words: str, redact: "Redact", weight: float = 0.0) -> None:
        if "<private" in words.lower():  # it goes as a whole; a path alone no longer shows where it stood
            words = redacted(words, redact)
        found = paths(redact("\n".join(paths(words))))
        self.touched.mentions(found, self.turns, self.cwd, weight)

    def _ran(self, command: str, failed: bool, words: str, redact: "Redact") -> None:
        tail = redact(spoken.tail(words, _TAIL)).rstrip()
        lines = [line for line in plain(tail).split("\n") if line.strip()]
        last = "" if names_key_file(command) or not lines else excerpt(" | ".join(lines[-2:]), 160)
        tests = outcome(command, exit_status(failed, words), words) if runs_tests(command) else None
        self.touched.ran(one_line(command), failed, last, self.turns, tests)
        if tests and tests.ended == UNKNOWN:
            self.touched.wait_for(command, tests)
        self._mentions(words, redact)
        first = words.lstrip().partition("\n")[0]
        if failed:
            return
        if "git commit" in command and first.startswith("["):
            said = excerpt(redacted(first, redact), 120)
            self.touched.committed(said + (" (amended)" if "--amend" in command else ""), self.turns)
        elif shows_head(command) or ("git commit" in command and shows_head(_last_of(command))):
            self.touched.stands(excerpt(redacted(first.removeprefix("commit "), redact), 120), self.turns)
        if opens_request(command):
            self.touched.requested(redact(words), self.turns)

    def _say(self, kind: int, words: str, entry: Entry, redact: "Redact") -> None:
        words = redacted(outside(words[: 4 * LOOKED_AT]), redact)
        if self.cwd and len(self.cwd) > 3:
            words = words.replace(self.cwd + "/", "")  # every path begins with it and none is told by it
        typed = kind in (*ASKED, REFUSED)
        found = [(unit, form) for unit, form in units(words, typed) if unit.strip(_NOTHING)]
        if kind == SUMMARY:
            found = self._uncontradicted(found)
        most = _MOST_OF_ONE.get(kind, _MOST_OF_ANY)
        if len(found) > most:
            found = found[: most // 2] + found[-most // 2 :]
        if not found:
            return
        if kind == USER and any(marker in words for marker in rules.MARKERS):
            self._rule(rules.typed([unit for unit, _ in units(words, typed=True)]), entry)
        if typed:
            self._hear(words)
        number = self.sayings[-1][5] + 1 if self.sayings else 0
        self.sayings.append([kind, entry.offset, self.turns, self.prompts, entry.uuid[:8], number])
        for unit, form in found:
            worth, name = judge(unit, form, typed)
            if kind == SUMMARY and name == INSTRUCTION:
                name = OTHER  # orders are what was typed, not what the client's model says of it
            words_of = map(" ".join, terms_of(unit))
            self.units.append([number, unit[:LONGEST], form, round(worth, 2), name, *words_of])
        if len(self.units) > _MOST_UNITS:
            self._forget()

    def _uncontradicted(self, found: "list[tuple[str, str]]") -> "list[tuple[str, str]]":
        """Of a summary's units those that do not give another value for what the session itself settled:
        what was said is told, and not what a summary made of it."""
        from holdfast.core.altered import Sentences, instead  # once in a compaction

        kinds = {saying[5]: saying[0] for saying in self.sayings}
        own: dict[str, list[int]] = {}  # a topic -> the units that are about it
        for at, row in enumerate(self.units):
            if row[4] in _SETTLED and kinds[row[0]] != SUMMARY:
                for topic in row[6].split():
                    own.setdefault(topic, []).append(at)
        kept = []
        for unit, form in found:
            about = terms_of(unit)[1]
            shared: dict[int, int] = {}
            for topic in about:
                for at in own.get(topic, ()):
                    shared[at] = shared.get(at, 0) + 1
            near = [self.units[at][1] for at, many in shared.items() if many >= _SAME_TOPIC * len(about)]
            settled = Sentences(near)  # of a whole session it would take longer than all the rest
            if not near or not instead(settled.of(unit), settled):
                kept.append((unit, form))
        return kept

    def _hear(self, words: str) -> None:
        """Keep what was typed; of what is too long the beginning and the end, of all the newest."""
        if len(words) > _MOST_TYPED:
            self.typed_lost += len(words) - _MOST_TYPED
            words = f"{words[: _MOST_TYPED // 2]}\n{words[-_MOST_TYPED // 2 :]}"
        self.typed.append(words)
        over = sum(map(len, self.typed)) - _MOST_TYPED_IN_ALL
        while over > 0:
            gone = len(self.typed.pop(0))
            self.typed_lost += gone
            over -= gone

    def evidence(self) -> "tuple[list[str], bool]":
        """What was typed or agreed to, and whether that is all of it."""
        return self.typed, not (self.start or self.typed_lost)

    def _outdate(self, kinds: tuple) -> None:
        """What was said of these kinds is replaced by what is said now."""
        old = {saying[5] for saying in self.sayings if saying[0] in kinds}
        for row in self.units if old else ():
            if row[0] in old:
                row[3] -= _REPLACED

    def _rule(self, found: list[str], entry: Entry) -> None:
        """A rule is kept however long the session; said again, it was said last."""
        known = [row for row in self.rules if row[2] not in found]
        self.rules = [*known, *([self.turns, entry.uuid[:8], rule] for rule in found)][-_MOST_RULES:]

    def _forget(self) -> None:
        """The third that is worth least, by itself and by its age. What the person said stays longest: a
        rule holds however long ago it was made. What they pasted fades like everything else."""
        by_number = {saying[5]: saying for saying in self.sayings}
        lengths: dict[int, int] = {}
        for row in self.units:
            lengths[row[0]] = lengths.get(row[0], 0) + 1

        def worth(row: list) -> float:
            kind, _, turn = by_number[row[0]][:3]
            age = (self.turns - turn) / _FADES
            if kind not in ASKED:
                return float(row[3] - age)
            return float(row[3] + (2.5 - min(1.0, age) if lengths[row[0]] <= _FEW else 1.5 - age))

        order = sorted(range(len(self.units)), key=lambda at: worth(self.units[at]))
        gone = set(order[: len(order) // 3])  # of equals the oldest; never more than a third
        self.units = [row for at, row in enumerate(self.units) if at not in gone]
        self.worths = []
        kept = {row[0] for row in self.units}
        self.sayings = [saying for saying in self.sayings if saying[5] in kept]

    # On disk

    def render(self) -> bytes:
        rest = dump(self._saved())[1:].encode()
        return b"%s%d,%s" % (_HEAD % VERSION, checksum(rest), rest)

    def _saved(self) -> dict:
        saved = {name: value for name, value in self.__dict__.items() if name not in ("touched", "_branch")}
        return {**saved, "touched": self.touched.__dict__}

    def renew(self, in_subagent: bool) -> None:
        """From version 1: without what a summary ascribed to the user, and with its speaker for what was
        taken for the user's. What was typed is known in part."""
        from holdfast.core.ascribed import QUOTES, without

        _ascribe(self, in_subagent)
        kinds = {saying[5]: saying[0] for saying in self.sayings}
        self.typed = [row[1] for row in self.units if kinds[row[0]] in ASKED]
        self.typed_lost = 1
        self.units = [
            row
            for row in self.units
            if kinds[row[0]] != SUMMARY or (without(row[1]) == row[1] and row[1][:1] not in QUOTES)
        ]
        for row in self.units:
            if kinds[row[0]] == SUMMARY and row[4] == INSTRUCTION:
                row[4] = OTHER
        self.worths = []
        kept = {row[0] for row in self.units}
        self.sayings = [saying for saying in self.sayings if saying[5] in kept]


def parse(data: bytes, where: str, in_subagent: bool = False) -> Facts:
    try:
        version = next((one for one in (VERSION, _FIRST) if data.startswith(_HEAD % one)), 0)
        start = data.index(b",", len(_HEAD)) + 1
        if not data.startswith(b"%s%d," % (_HEAD % version, checksum(data, start))):
            raise ValueError("its checksum does not fit")
        saved: dict = load(data.decode("utf-8"))  # type: ignore[assignment]
        del saved["v"], saved["sum"]
        facts = _restored(saved)
        if version < VERSION:
            facts.renew(in_subagent)
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(f"{where} is not what holdfast writes there: {problem}") from problem
    return facts


def _restored(saved: dict) -> Facts:
    facts = Facts()
    facts.touched.__dict__.update(saved.pop("touched"))
    facts.touched.commands = restored(facts.touched.commands)
    facts.__dict__.update(saved)
    return facts


def _ascribe(facts: Facts, in_subagent: bool) -> None:
    """Give what version 1 took for the user's to whoever said it."""
    first: dict[int, str] = {}
    for row in facts.units:
        first.setdefault(row[0], row[1])
    theirs = [saying for saying in facts.sayings if saying[0] == USER]
    if in_subagent:
        facts.rules = []  # no person made them
        for saying in theirs:
            saying[0] = LEAD
    gone = {saying[5] for saying in theirs if speaker.of_words(first.get(saying[5], "")) != speaker.USER}
    facts.units = [row for row in facts.units if row[0] not in gone]
    facts.sayings = [saying for saying in facts.sayings if saying[5] not in gone]


def _last_of(command: str) -> str:
    """Of several in a row."""
    return command.rpartition("&&")[2].rpartition(";")[2].strip()


def _shown(command: str) -> str:
    """What is written to a key file is kept nowhere, not even by the command that writes it."""
    return command.partition("\n")[0] if names_key_file(command) else command
