"""Finished work that has gone cold is summarised, each piece once. Loaded only when it is looked for.

Bounded: a few summaries and a few megabytes a hook; what is left is the next one's. A disk that does not
answer is waited for by a child, not by the client. Nothing here can fail a hook: it is noted in the trail,
and tried again some turns later.
"""

from holdfast.apart import by_a_child
from holdfast.app import Holdfast
from holdfast.clock import elapsed, now, rfc3339
from holdfast.core import cold
from holdfast.core.cold import Summary, Work
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.disk import client, noted, sessions, summaries, trail, transcripts
from holdfast.disk.words import Words
from holdfast.errors import Damaged, HoldfastError, Late, NotFound
from holdfast.material import Ground, redactor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.apart import Leave, Tell
    from holdfast.apart import Work as Apart

#: Summaries a hook may write, bytes of transcript it may read for them, and seconds it may do so.
MOST = 4
_MOST_READ, _MOST_S = 2 << 20, 0.4
#: What is read at places lies within that, but for the prompt itself, which may hold pictures.
_MOST_WORDS = 8 << 20
#: Read to number turns that are too long ago for the state to know them.
_MOST_COUNTED = 4 << 20
_ANSWERS = b'"assistant"'
_UNFINISHED_MS = 3600 * 1000
_DONE, _NAMED, _LATER, _WRITTEN = "done", "named", "later", "written"


def compress(state: State, app: Holdfast, transcript: str) -> int:
    """Summarise what has gone cold. How many summaries were written."""
    seen, before = state.seen, state.heard.cold or [0, state.seen.rereads, 0]
    is_rewound = before[1] != seen.rereads or before[2] < 0
    look = _Look(state, app, transcript, is_rewound, 0 if is_rewound else before[2])
    # Before it is done: one that is never finished is not tried again at every tool call.
    state.heard.cold = [seen.turns, seen.rereads, -1 if is_rewound else before[2]]
    try:
        sessions.save(app.home, state)
        written, done, is_more = by_a_child(app, look.run) if app.in_hook else _told(look.run)
    except (OSError, ValueError, HoldfastError) as problem:  # Late, too: the state is saved
        what = f"{type(problem).__name__}: {problem}" if not isinstance(problem, Late) else "out of time"
        trail.note(app.home, "degraded.cold", session=state.session, agent=state.agent, what=what[:300])
        return 0
    soon = seen.turns - app.config["cold.every_turns"] + 1
    state.heard.cold = [soon if is_more else seen.turns, seen.rereads, done]
    sessions.save(app.home, state)
    if written:
        noted.note(app.home, state.session, state.agent)
    return int(written)


def _told(run: "Apart") -> list:
    told: list = []
    run(told.append, dict)
    return list(told[0])


class _Look:
    """One look through what is finished. `done`: every stretch before this offset was dealt with."""

    def __init__(self, state: State, app: Holdfast, transcript: str, is_rewound: bool, done: int) -> None:
        self.state = state
        self.app = app
        self.transcript = transcript
        self.is_rewound = is_rewound
        self.done = done
        self.after = app.config["cold.after_turns"]
        self.at, self.stop = now(), elapsed() + _MOST_S
        self.written = 0
        self.is_more = False

    def run(self, tell: "Tell", leave: "Leave") -> None:
        state, home = self.state, self.app.home
        self.project = Ground(state.heard.project, state.heard.cwd, state.agent).project
        if self.is_rewound:
            self._drop_abandoned()
        works = [work for work in cold.finished(state) if cold.is_cold(state.seen, work, self.after)]
        works = [work for work in works if work.kind == cold.TASK or work.offset >= self.done]
        works = [work for work in works if not work.task or not self._is_known(work.task)]
        if works:
            summaries.tidy(home, state.session, state.agent, self.at - _UNFINISHED_MS)
            self._summarise(works)
        tell([self.written, self.done, self.is_more])
        leave()

    def _is_known(self, task: str) -> bool:
        return summaries.has(self.app.home, self.state.session, task, self.state.agent)

    def _summarise(self, works: list[Work]) -> None:
        self.redact = redactor_of(self.app, self.project).text
        self.turned, self.since = self._turned(min(work.begin for work in works))
        self.texts = self._texts()
        self.filed = client.tasks(self.app.client_dir, self.state.session) if works[0].task else {}
        read, in_order = 0, True
        for work in works:
            size = work.until - work.begin
            is_enough = self.written >= MOST or (read > 0 and read + size > _MOST_READ)
            ended = _LATER if is_enough else self._one(work)
            if ended == _LATER:
                self.is_more = True
                return
            read += size if ended == _WRITTEN else 0
            self.written += ended == _WRITTEN
            in_order = in_order and ended != _NAMED
            if in_order and work.kind == cold.STRETCH:
                self.done = work.until

    def _one(self, work: Work) -> str:
        """What came of it: done (nothing to write, or written before), named again, no time, or written."""
        words = Words(self.transcript, _MOST_WORDS)
        try:
            first = words(work.offset, work.length)
            if work.kind == cold.STRETCH and self._is_known(cold.stretch_id(first, work.offset)):
                return _DONE
            if cold.is_named(work, self._plain(words).subject(work, self.filed), self.texts):
                return _NAMED
            part = self._part(work.begin, work.until, _MOST_READ)
            if part.offset < work.until:
                return _LATER
            if not part.turns:
                return _DONE
            summary = Summary(self.state, part, words, self.redact, self.project)
            subject = summary.subject(work, self.filed)
            said = summary.of(work, subject, self._turns(work), rfc3339(self.at))
        finally:
            words.close()
        return _WRITTEN if summaries.write(self.app.home, said) else _DONE

    def _part(self, start: int, stop: int, most: int, only: bytes = b"") -> Seen:
        left = max(0.0, self.stop - elapsed())
        return transcripts.fold_part(self.state.seen, self.transcript, start, stop, most, left, only)

    def _plain(self, words: Words) -> Summary:
        """For comparing only: nothing is redacted, and nothing of it is kept."""
        return Summary(self.state, Seen(self.state.agent), words, str, self.project)

    def _turns(self, work: Work) -> tuple[int, int]:
        """The first and the last turn of it; 0 where that is too long ago to be known."""
        turned, turns = self.turned, self.state.seen.turns
        start = cold.begun(turned, turns, work.begin) + (work.kind == cold.STRETCH)
        end = cold.begun(turned, turns, work.until - 1)
        return start if work.begin >= self.since else 0, end if work.until > self.since else 0

    def _turned(self, offset: int) -> tuple[list[int], int]:
        """Where turns began, further back than the state knows, and from where on that is all of them."""
        seen = self.state.seen
        known = seen.turned
        if len(known) == seen.turns:
            return known, 0
        if offset >= known[0]:
            return known, known[0]
        before = self._part(offset, known[0], _MOST_COUNTED, _ANSWERS)
        if before.offset < known[0]:  # out of time, and so is all that follows
            return known, known[0]
        if before.turns == len(before.turned) and before.start == offset:
            return before.turned + known, offset
        # What is first may have begun before what was read.
        turned = before.turned[1:] + known
        return turned, turned[0]

    def _texts(self) -> list[str]:
        words = Words(self.transcript)
        try:
            plain = self._plain(words)
            return [
                cold.comparable(plain.spoken(place)) for place in cold.recent(self.state.seen, self.after)
            ]
        finally:
            words.close()

    def _drop_abandoned(self) -> None:
        """What a rewind has abandoned since was never part of the session. Only if it is still the same
        entry that stands there: a transcript may have been rewritten as well."""
        home, session, agent = self.app.home, self.state.session, self.state.agent
        words = Words(self.transcript)
        gone = []
        for name in summaries.stems(home, session, agent):
            try:
                said = summaries.read(home, session, name, agent)
            except (Damaged, NotFound):
                continue
            offset, length, _, until = said["place"]
            is_dead = any(since < until <= to for since, to in self.state.seen.dead)
            if is_dead and cold.entry_id(words(offset, length)) == said["entry"]:
                gone.append(name)
        words.close()
        if gone:
            summaries.remove(home, session, gone, agent)
