"""The facts of a session on disk: brought up to date when a checkpoint, a block or a brief is made.

A cache of the transcript, like the state: not fsynced, set aside when damaged, made again from the file
when the file was rewritten or the session rewound. Read on from where it stopped, it costs what is new.
"""

import posix

from holdfast.clock import elapsed
from holdfast.core.facts import Facts, parse
from holdfast.core.lines import Account, records
from holdfast.core.rewind import Rewinds
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.core.transcript import Entry, entry
from holdfast.disk import files, late, speech, trail, transcripts
from holdfast.disk.home import Home
from holdfast.errors import MISTAKES, BadInput, Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

_LARGEST = 8 << 20
#: When time has run out: so many bytes of the newest all the same, in so many seconds more.
_NEWEST, _EXTRA_S = 1 << 18, 0.15
#: Of more than may be read, this share of that is read whole, the newest; the rest is skimmed.
_WHOLE = 4
#: Shares of the time by which the lines with speech are found, and taken in; what one takes, on a slow
#: machine; how many of the person's first are among them, and how many of each there are in any case.
_FOUND, _TAKEN, _EACH_S, _FIRST, _AT_LEAST = 0.4, 0.75, 0.001, 40, 60
#: What the client attaches says nothing of the work; only prompts that waited come this way, too.
_ATTACHED, _QUEUED = b'"type":"attachment"', b'"queued_command"'


def load(home: Home, state: State) -> Facts:
    path = _path(home, state)
    try:
        return parse(files.read(path, _LARGEST), path, bool(state.agent))
    except FileNotFoundError:
        return Facts()
    except (Damaged, BadInput, PermissionError) as problem:
        aside = files.try_aside(path)
        said = {"session": state.session, "agent": state.agent, "what": str(problem)}
        trail.note(home, "degraded.facts", **said, aside=aside.rpartition("/")[2])
        return Facts()


def furthest(home: Home, state: State, known: Facts, path: str) -> Facts:
    """Those that were read from the front of a transcript that hooks came to late, where they say more, and
    say it of this transcript as it stands."""
    place = late.Place(home, state.session, state.agent)
    front = place.facts()
    if front is None or front.offset <= (0 if is_partial(known) else known.offset):
        return known
    if front.offset > state.seen.offset or is_rewound(front, state.seen):
        return known
    # Its view counts how often it began again by itself; those that were kept have none.
    view = place.view()
    if front.rereads != state.seen.rereads if view is None else not transcripts.is_of(view, path):
        return known
    front.rereads, front.dead = state.seen.rereads, [list(dead) for dead in state.seen.dead]
    return front


def is_rewound(facts: Facts, seen: Seen) -> bool:
    """Whether a rewind has abandoned some of what had been taken in."""
    return any(dead not in facts.dead and dead[0] < facts.offset for dead in seen.dead)


def keep_whole(home: Home, state: State) -> None:
    """Leave the facts that are on disk to the child that will read what there is no time for now."""
    late.Place(home, state.session, state.agent).keep(_path(home, state))


def is_partial(facts: Facts) -> bool:
    """Whether something before them was not taken in whole."""
    return facts.start > 0


def save(home: Home, state: State, facts: Facts) -> None:
    files.replace(_path(home, state), facts.render(), durable=False)


def _path(home: Home, state: State) -> str:
    return home.session(state.session, state.agent) + "/facts.json"


def bring_up(facts: Facts, state: State, path: str, redact: "Redact", most: int, seconds: float) -> Facts:
    """The facts as far as `state` has read the transcript. Where that is more than may be read now, the
    newest part: what was said last is needed first."""
    seen = state.seen
    if facts.offset > seen.offset or facts.rereads != seen.rereads or facts.dead != seen.dead:
        facts = _carried_over(facts, state, path) or Facts()
        facts.rereads, facts.dead = seen.rereads, [list(dead) for dead in seen.dead]
    if facts.offset == seen.offset or not path:
        return facts
    try:
        fd = files.open_regular(path)
    except (OSError, BadInput):
        return facts
    try:
        _read(facts, state, fd, redact, most, elapsed() + seconds)
    finally:
        posix.close(fd)
    return facts


def _carried_over(facts: Facts, state: State, path: str) -> Facts | None:
    if not facts.recent or not (facts.cut or state.seen.reread_why in transcripts.REWRITTEN):
        return None
    from holdfast.disk import trimmed  # few transcripts are

    return trimmed.carried_over(facts, state, path)


def _read(facts: Facts, state: State, fd: int, redact: "Redact", most: int, until: float) -> None:
    place = Seen(state.agent)
    place.offset, place.dead = facts.offset, state.seen.dead
    stop = state.seen.offset
    if stop - place.offset > most:
        _skim(facts, place, fd, stop - most // _WHOLE, stop, redact, until)
    _take(facts, place, fd, stop, redact, until)
    if place.offset < stop:  # out of time: what was said last, in any case
        if stop - place.offset > _NEWEST:
            before = place.offset
            _jump(facts, place, fd, stop - _NEWEST, stop)
            facts.unread += place.offset - before
        _take(facts, place, fd, stop, redact, elapsed() + _EXTRA_S)
    facts.offset = place.offset


def _skim(facts: Facts, place: Seen, fd: int, to: int, stop: int, redact: "Redact", until: float) -> None:
    """Take in what was typed and said up to `to`, as much of it as there is time for, and nothing else."""
    began, since = elapsed(), place.offset
    seconds = max(0.0, until - began)
    agent = place.agent
    _jump(facts, place, fd, to, stop)
    found, unread = speech.find(fd, since, place.offset, agent, began + _FOUND * seconds)
    many = max(_AT_LEAST, int((_TAKEN - _FOUND) * seconds / _EACH_S / 2))
    spoken, rewinds = [], Rewinds()
    for offset, length, rank in speech.newest(found, many, many, _FIRST):
        for record in records(posix.pread(fd, length, offset), Account()):
            made = entry(record, offset, length)
            if made is not None and made.agent == agent:
                spoken.append((record, made, rank))
                if rank == speech.ASKED:
                    rewinds.take(made)
    dead = [*place.dead, *rewinds.dead]
    for record, made, rank in spoken:
        late_by = elapsed() - began - _TAKEN * seconds
        if late_by >= 0 and (rank != speech.ASKED or late_by >= (1 - _TAKEN) * seconds):
            continue  # what people typed is little, and comes first
        if not any(start <= made.offset < end for start, end in dead):
            _take_in(facts, record, made, redact)
    facts.unread += unread
    facts.skimmed += place.offset - since - unread


def read_on(facts: Facts, seen: Seen, fd: int, redact: "Redact", most: int) -> Facts:
    """Facts of the whole transcript from its front, taken on by about `most` bytes, not beyond what was
    seen. Where a rewind has abandoned what had been taken in, they begin again."""
    if is_rewound(facts, seen):
        facts = begin_again(facts, seen, fd)
    facts.rereads, facts.dead = seen.rereads, [list(dead) for dead in seen.dead]
    place = Seen(seen.agent)
    place.offset, place.dead = facts.offset, seen.dead
    stop = transcripts.line_end(fd, min(seen.offset, facts.offset + most), seen.offset)
    _take(facts, place, fd, stop, redact, 1e18)
    facts.offset = place.offset
    return facts


def begin_again(facts: Facts, seen: Seen, fd: int) -> Facts:
    """Facts that know nothing yet but what the client has cut away from the transcript."""
    if not facts.cut:
        return Facts()
    from holdfast.disk import trimmed

    return trimmed.as_cut(facts, seen, fd) or Facts()


def _jump(facts: Facts, place: Seen, fd: int, at: int, stop: int) -> None:
    """On to a line that is not abandoned."""
    at = transcripts.line_end(fd, at, stop)
    place.offset = facts.start = max([at, *(to for since, to in place.dead if since < at < to)])


def _take(facts: Facts, place: Seen, fd: int, stop: int, redact: "Redact", until: float) -> None:
    for offset, raw, length in transcripts.live_lines(place, fd, stop, Account(), until):
        _overhear(facts, raw, offset, redact)
        if _ATTACHED not in raw[:600] or _QUEUED in raw[:2000]:
            for record in records(raw, Account()):
                made = entry(record, offset, length)
                if made is not None and made.agent == place.agent:
                    _take_in(facts, record, made, redact)
        if elapsed() >= until:
            break


def _overhear(facts: Facts, raw: bytes, offset: int, redact: "Redact") -> None:
    try:
        facts.overhear(raw, offset, redact)
    except MISTAKES:
        facts.missed += 1


def _take_in(facts: Facts, record: dict, made: Entry, redact: "Redact") -> None:
    """One record that is not as expected costs itself, not what all the others say."""
    try:
        facts.take(record, made, redact)
    except MISTAKES:
        facts.missed += 1
