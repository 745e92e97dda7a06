"""What a power cut may leave of a history of effects: every image of the disk that the syncs do not forbid.

What is written to a file is safe at the fsync of that file, a name at the fsync of its folder; nothing else
is. Until then each effect may be there, absent or half there, in any combination: names without their
data, data without its name, a later change of a folder without an earlier one, an append of which half a
line is left, or some sectors, or zeros of the right length. Making a file durable does not keep its name,
and a folder that is lost takes along whatever had been safe in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from disk.faults import DAY, NOW, Expected, Maker, in_memory, ours, wrong
from disk.memory import FILE, FOLDER, Crew, Memory, Node, put
from holdfast.app import Holdfast
from holdfast.disk import index, marks
from holdfast.disk.checkpoints import Draft
from holdfast.disk.home import Home
from holdfast.ops import integrity

SECTOR = 512
USER, PROJECTS = "/u", ("/u/p", "/u/q")
HOME = Home("/u/.claude/holdfast")
#: Files that are caches, and the folder of them: they may be anything, but take no part in full products.
_CACHES = (
    ".json",
    ".json.tmp",
    ".latest",
    ".latest.tmp",
    "latest.md",
    ".checkpoint_iteration",
    ".gitignore",
    ".lock",
    ".synced",
    "heads",
)
#: How a history begins, and what is special in it; "again": with what a power cut left of another.
KINDS = ("fresh", "existing", "home", "old", "no links", "again", "repaired")
_RECENT = 4
_VARIANTS = 2


class Disk:
    """What is safe, and what is not yet, after the effects that were taken in."""

    def __init__(self, memory: Memory) -> None:
        """All that is in memory now is safe."""
        self.root = memory.root.number
        self.kinds = {number: node.kind for number, node in memory.nodes.items()}
        self.data = {number: node.data for number, node in memory.nodes.items()}
        self.entries = {
            number: {name: child.number for name, child in node.entries.items()}
            for number, node in memory.nodes.items()
        }
        self.pending: dict[int, list[tuple]] = {}
        self.caches: set[int] = set()
        self._possible: dict[int, tuple[int, list]] = {}

    def take_in(self, memory: Memory, effect: tuple, expected: Expected) -> None:
        """An effect, or something that was promised."""
        what, number = effect[0], effect[1]
        if what == "acked":
            expected.ack(effect[1])
        elif what == "pinned":
            expected.pinned.add(effect[1])
        elif what == "begun":
            expected.begin(effect[1])
        elif what == "sync":
            self._settle(number)
        elif what == "entry" and effect[3] and effect[3] not in self.kinds:
            node = memory.nodes[effect[3]]
            self.kinds[node.number] = node.kind
            self.data[node.number] = node.data if node.kind not in (FILE, FOLDER) else b""
            self.entries[node.number] = {}
            if effect[2].endswith(_CACHES):
                self.caches.add(node.number)
        if what in ("data", "size", "entry", "rename"):
            self.pending.setdefault(number, []).append(effect)
            self._possible.pop(number, None)

    def _settle(self, number: int) -> None:
        changes = self.pending.pop(number, [])
        self._possible.pop(number, None)
        for change in changes:
            if change[0] in ("data", "size"):
                self.data[number] = _changed(self.data[number], change)
            else:
                _rename(self.entries[number], change)

    def possible(self, number: int) -> list:
        """What a power cut may leave of a file or folder, the safe state and the newest one first."""
        known = self._possible.get(number)
        if known is None:
            changes = self.pending[number]
            if self.kinds[number] == FOLDER:
                found: list = list(_folders(self.entries[number], changes))
            else:
                found = list(dict.fromkeys(_files(self.data[number], changes)))
            known = self._possible[number] = len(changes), found
        return known[1]

    def images(self, most: int, dice: random.Random) -> Iterator[dict[int, object]]:
        """Choices by number: all combinations of what matters if they are not more than `most`, otherwise
        the extremes, each alone in both directions, and a sample. Caches are what they happen to be."""
        numbers = [number for number in self.pending if number not in self.caches]
        caches = [number for number in self.pending if number in self.caches]
        options = [self.possible(number) for number in numbers]
        if prod(map(len, options)) <= most:
            combined: Iterator[tuple] = product(*options)
        else:
            combined = _sampled(options, most, dice)
        for chosen in combined:
            image: dict[int, object] = dict(zip(numbers, chosen, strict=True))
            for number in caches:
                image[number] = dice.choice(self.possible(number))
            yield image

    def mounted(self, image: dict[int, object]) -> Memory:
        """The machine after it has started again."""
        made: dict[int, Node] = {}
        memory = Memory(self._node(self.root, image, made), self.root)
        memory.nodes = made
        memory.numbers = max(made)
        return memory

    def _node(self, number: int, image: dict[int, object], made: dict[int, Node]) -> Node:
        if number in made:
            return made[number]
        kind = self.kinds[number]
        node = made[number] = Node(number, kind)
        if kind == FOLDER:
            entries: dict = image.get(number, self.entries[number])  # type: ignore[assignment]
            for name, below in entries.items():
                child = node.entries[name] = self._node(below, image, made)
                child.names += 1
        else:
            node.data = image.get(number, self.data[number])  # type: ignore[assignment]
        return node


def _sampled(options: list[list], most: int, dice: random.Random) -> Iterator[tuple]:
    oldest, newest = [one[0] for one in options], [one[:2][-1] for one in options]
    left = most
    for others in (oldest, newest):
        yield tuple(others)
        for at, one in enumerate(options):
            for choice in one if len(one) < 16 else dice.sample(one, 16):
                left -= 1
                yield (*others[:at], choice, *others[at + 1 :])
    for _ in range(max(left, most // 2)):
        yield tuple(dice.choice(one) for one in options)


def _changed(data: bytes, change: tuple) -> bytes:
    if change[0] == "size":
        return data[: change[2]].ljust(change[2], b"\0")
    return put(data, change[2], change[3])


def _files(data: bytes, changes: list[tuple]) -> Iterator[bytes]:
    """Any number of changes, the last of them cut or blank in places; or all but one."""
    states = [data]
    for change in changes:
        states.append(_changed(states[-1], change))
    yield data
    yield states[-1]
    yield from states[: 2 * _RECENT]
    yield from states[-2 * _RECENT :]
    for at in range(max(0, len(changes) - _RECENT), len(changes)):
        if changes[at][0] == "data":
            yield from _torn(states[at], *changes[at][2:])
        left = data if at == 0 else states[at]
        for change in changes[at + 1 :]:
            left = _changed(left, change)
        yield left


def _torn(data: bytes, at: int, written: bytes) -> Iterator[bytes]:
    cuts = {len(written) // 2, *range(SECTOR - at % SECTOR, len(written), SECTOR)}
    blank = bytes(len(written))
    yield put(data, at, blank)
    for cut in sorted(cuts):
        yield put(data, at, written[:cut])
        yield put(data, at, written[:cut] + blank[cut:])
        yield put(data, at, blank[:cut] + written[cut:])


def _folders(entries: dict[str, int], changes: list[tuple]) -> Iterator[dict[str, int]]:
    """All subsets of few changes. Of many: any number of them, all but one, one alone, and some."""
    seen = set()
    for kept in _subsets(len(changes)):
        state = dict(entries)
        for change, keeps in zip(changes, kept, strict=True):
            if keeps:
                _rename(state, change)
        mark = frozenset(state.items())
        if mark not in seen:
            seen.add(mark)
            yield state


def _subsets(number: int) -> Iterator[tuple[bool, ...]]:
    everything = (True,) * number
    yield (False,) * number
    yield everything
    if number <= 6:
        yield from product((False, True), repeat=number)
        return
    for at in range(number):
        yield everything[:at] + (False,) * (number - at)
        yield (*everything[:at], False, *everything[at + 1 :])
        yield (*(False,) * at, True, *(False,) * (number - at - 1))
    dice = random.Random(number)
    for _ in range(64):
        yield tuple(dice.random() < 0.5 for _ in everything)


def _rename(entries: dict[str, int], change: tuple) -> None:
    if change[0] == "rename":
        entries.pop(change[2], None)
        entries[change[3]] = change[4]
    elif change[3]:
        entries[change[2]] = change[3]
    else:
        entries.pop(change[2], None)


# Histories


class History:
    """Some processes at work, one after another and at once, some of them killed; written down."""

    def __init__(self, seed: int, unsynced: frozenset[int] = frozenset()) -> None:
        self.dice = random.Random(seed)
        self.seed = seed
        self.kind = KINDS[seed % len(KINDS)]
        self.expected = Expected()
        self.unpaid: list[Draft] = []
        # Not of its own dice: what is taken is the same in all histories, so that images can be equal.
        self.makers = [Maker(project, random.Random(project)) for project in PROJECTS]
        self.repairs = {"repaired": 0.4, "existing": 0.1, "old": 0.1, "again": 0.1}.get(self.kind, 0.0)
        self.memory = _machine(self.kind)
        with in_memory(self.memory):
            self._prepare()
            self.disk = Disk(self.memory)
            self.memory.log.clear()
            self.memory.unsynced = unsynced
            if self.kind == "again":
                self._cut_off()
            self.start = self.expected.copy()
            self._rounds()
        self.log = self.memory.log

    def __str__(self) -> str:
        return f"history {self.seed} ({self.kind})"

    def _prepare(self) -> None:
        for _ in range({"existing": 3, "old": 6, "again": 2, "repaired": 4}.get(self.kind, 0)):
            maker = self.dice.choice(self.makers)
            draft = maker.draft(NOW - (9 - maker.number) * DAY if self.kind in ("old", "repaired") else 0)
            self.expected.now = draft.at
            ours(HOME, draft, lambda _, draft=draft: self.expected.ack(draft))
        if self.kind == "old" and self.dice.random() < 0.5:
            self._pin(self.dice.choice(list(index.load_all(HOME).entries)))

    def _cut_off(self) -> None:
        """The history begins with what a power cut left of another one."""
        before = self.expected.copy()
        self._round()
        self.expected = before
        for effect in self.memory.log[: self.dice.randrange(len(self.memory.log))]:
            self.disk.take_in(self.memory, effect, self.expected)
        image = self.dice.choice(list(self.disk.images(64, self.dice)))
        made = self.disk.mounted(image)
        kept, self.memory.log[:] = self.memory.nodes, []
        self.memory.root, self.memory.nodes = made.root, {**kept, **made.nodes}
        self.memory.locks.clear()
        self.memory.flocks.clear()
        self.disk = Disk(made)

    def _rounds(self) -> None:
        for _ in range(self.dice.randrange(2, 5)):
            self._round()

    def _round(self) -> None:
        crew = Crew(self.memory, self.dice)
        for _ in range(self.dice.choice((1, 2, 2, 3))):
            kill = None
            if self.dice.random() < 0.3:
                kill = self.dice.randrange(40), self.dice.choice(("before", "half", "after"))
            crew.add(self._job(), kill)
        crew.run()

    def _job(self) -> Callable[[], object]:
        said = self.dice.random()
        if self.dice.random() < self.repairs:
            return _repair
        young = [uid for uid, draft in self.expected.acked.items() if draft.at >= NOW]
        if said < 0.1 and young:
            return lambda: self._pin(self.dice.choice(young))
        pays = said < 0.5 and self.unpaid
        draft = self.unpaid.pop() if pays else self.dice.choice(self.makers).draft()
        return lambda: self._take(draft)

    def _take(self, draft: Draft) -> None:
        self.unpaid.append(draft)
        self.memory.effect("begun", draft)
        ours(HOME, draft, lambda _: self._acknowledge(draft))

    def _acknowledge(self, draft: Draft) -> None:
        self.expected.ack(draft)
        self.memory.effect("acked", draft)
        self.unpaid.remove(draft)

    def _pin(self, uid: str) -> None:
        marks.add(HOME, "pin", uid, "")
        self.expected.pinned.add(uid)
        self.memory.effect("pinned", uid)


class Takeover(History):
    """One is killed, another takes a checkpoint; then the power goes."""

    def __init__(self, kind: str, kill: tuple[int, str], first: str) -> None:
        self.kill = kill
        self.first = first
        super().__init__(KINDS.index(kind))

    def __str__(self) -> str:
        return f"{self.kind}, {self.first} killed {self.kill}"

    def _rounds(self) -> None:
        crew = Crew(self.memory, self.dice)
        draft = self.makers[0].draft()
        crew.add(_repair if self.first == "repair" else lambda: self._take(draft), self.kill)
        crew.run()
        self._take(draft if self.first == "same" else self.makers[0].draft())


class Crowd(History):
    """Many who have something to say in the same moment. They sync in turns."""

    def __init__(self, seed: int) -> None:
        super().__init__(KINDS.index("existing") + seed * len(KINDS))

    def __str__(self) -> str:
        return f"crowd {self.seed // len(KINDS)}"

    def _rounds(self) -> None:
        self._pin("FIRST")
        crew = Crew(self.memory, self.dice)
        for number in range(6):
            kill = (self.dice.randrange(2, 6), "before") if self.dice.random() < 0.4 else None
            crew.add(lambda uid=f"PIN{number}": self._pin(uid), kill)
        draft = self.makers[0].draft()
        crew.add(lambda: self._take(draft))
        crew.run()


def takeovers(step: int = 1) -> Iterator[Takeover]:
    """A kill at every effect of a repair, of a take, and of one that is paid again afterwards."""
    cases = [(kind, first) for kind in ("fresh", "home", "no links", "old") for first in ("other", "same")]
    for kind, first in cases:
        for number in range(0, 60, step):
            yield Takeover(kind, (number, ("before", "half", "after")[number // step % 3]), first)
    for number in range(24):
        yield Takeover("old", (number, "before"), "repair")


def _repair() -> None:
    integrity.repair(Holdfast(HOME, USER, {}))


def _machine(kind: str) -> Memory:
    memory = Memory()
    for path in (USER, USER + "/.claude", *(PROJECTS if kind != "home" else PROJECTS[:1])):
        memory.mkdir(path)
    if kind == "home":
        memory.close(memory.open(PROJECTS[0] + "/.claude", memory.O_CREAT | memory.O_WRONLY))
    if kind == "no links":
        memory.refused = frozenset(("link",))
    memory.cwd = PROJECTS[0]
    return memory


class Result:
    def __init__(self) -> None:
        self.histories = self.images = self.acked = 0
        self.distinct: set[int] = set()
        self.mattering: dict[int, int] = {}
        self.wrong: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def is_new(self, whole: int, mattering: int) -> bool:
        """Images that differ only in caches are looked at a few times."""
        times = self.mattering.get(mattering, 0)
        if whole in self.distinct or times == _VARIANTS:
            return False
        self.distinct.add(whole)
        self.mattering[mattering] = times + 1
        return True

    def add(self, other: Result) -> None:
        """Another's images: those that are new to this one."""
        self.histories += other.histories
        self.images += other.images
        self.distinct |= other.distinct
        self.mattering.update(other.mattering)
        for kind, number in other.wrong.items():
            self.wrong[kind] = self.wrong.get(kind, 0) + number
        self.examples = {**other.examples, **self.examples}

    def note(self, kind: str, what: str) -> None:
        self.wrong[kind] = self.wrong.get(kind, 0) + 1
        self.examples.setdefault(kind, what)


def cut_power(history: History, result: Result, most: int, recover: bool = True, every: int = 1) -> None:
    """Look at images of every moment of a history (or of some, and of those when something has just been
    acknowledged): at once, and after another checkpoint is taken."""
    result.histories += 1
    expected = history.start
    disk, dice = history.disk, random.Random(history.seed)
    for at, effect in enumerate([("begin", 0), *history.log]):
        disk.take_in(history.memory, effect, expected)
        if at % every and effect[0] not in ("acked", "pinned"):
            continue
        for image in disk.images(most, dice):
            result.images += 1
            memory = disk.mounted(image)
            if not result.is_new(*_marks(memory.root, disk.caches)):
                continue
            result.acked += len(expected.acked)
            for kind, what in _look(memory, history, expected, recover):
                last = str(effect[1:])[:100] if effect[0] not in ("begun", "acked") else effect[1].uid
                result.note(kind, f"{what}: {history}, after effect {at}, {effect[0]} {last}")


def _look(memory: Memory, history: History, expected: Expected, recover: bool) -> list[tuple[str, str]]:
    projects = list(PROJECTS)
    memory.refused, memory.cwd = history.memory.refused, PROJECTS[0]
    memory.random.seed(len(history.log) + len(memory.nodes))
    with in_memory(memory):
        found = wrong(HOME, projects, expected, strict=False)
        if found or not recover:
            return found
        after = expected.copy()
        owed = list(after.begun.values())
        if owed and memory.random.random() < 0.5:  # by one who does not know how far it got
            draft = owed[-1]
        else:
            draft = Maker(PROJECTS[0], random.Random(len(history.log))).draft(NOW + DAY)
        after.begin(draft)
        try:
            ours(HOME, draft, lambda _: after.ack(draft))
        except Exception as problem:
            return [("stuck", f"the next take fails: {type(problem).__name__}: {problem}")]
        return [
            (kind, "after the next take: " + what) for kind, what in wrong(HOME, projects, after, False)
        ]


def _marks(root: Node, caches: set[int]) -> tuple[int, int]:
    """Two images are the same if everything that can be reached in them is; the second mark is of what is
    no cache."""
    everything, mattering = [], []
    first: dict[int, str] = {}
    todo = [("", root)]
    while todo:
        path, node = todo.pop()
        same = first.setdefault(node.number, path)  # another name of a file that was met already
        everything.append((path, node.kind, node.data, same))
        if node.number not in caches:
            mattering.append((path, node.data, same))
        if node.kind == FOLDER:
            todo += [(f"{path}/{name}", child) for name, child in sorted(node.entries.items())]
    return hash(tuple(everything)), hash(tuple(mattering))


def lose_power(
    images: int, seed: int, most: int = 24, unsynced: frozenset[int] = frozenset(), recover: bool = True
) -> Result:
    """Histories from `seed` on, until so many distinct images have been looked at."""
    result = Result()
    while len(result.distinct) < images:
        history = History(seed, unsynced)
        cut_power(history, result, most, recover)
        seed += 1
    return result
