"""What a prompt caused: the turns until the next one, and what they added to the window."""

from holdfast.core import spoken
from holdfast.core.rewind import Rewinds
from holdfast.core.transcript import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BRACKETS = str.maketrans("'\"`()[]{}<>,;:!?", " " * 16)


class Stretch:
    """`words`: what was typed. `cost`: the tokens by which the window grew from one response to the next,
    all in all; what a compaction took away does not count against it."""

    __slots__ = ("cost", "files", "offset", "turns", "words")

    def __init__(self, words: str, offset: int) -> None:
        self.words = words
        self.offset = offset
        self.turns = self.cost = 0
        self.files: set[str] = set()

    def task(self) -> dict:
        """As somebody would have written it down before: with the files it names, and no more."""
        files = named_files(self.words)
        return {"description": self.words, **({"files": files} if files else {})}


def stretches(lines: "Iterable[tuple[Entry, dict]]") -> "list[Stretch]":
    """Of one session, oldest first; of what a rewind left behind nothing. One in which nothing was answered
    cost nothing, and is left out."""
    kept = [(made, record) for made, record in lines if not made.agent]
    rewinds = Rewinds()
    for made, _ in kept:
        rewinds.take(made)
    return [one for one in _cut(kept, rewinds.dead) if one.turns]


def _cut(lines: "list[tuple[Entry, dict]]", dead: list) -> "Iterator[Stretch]":
    current: Stretch | None = None
    last, message = 0, ""
    for made, record in lines:
        if any(start <= made.offset < end for start, end in dead):
            continue
        if made.kind == "prompt":
            if current:
                yield current
            current = Stretch(spoken.typed(record), made.offset)
        elif made.kind == "boundary":
            last = 0
        elif made.kind == "answer" and not made.failed:
            used = made.usage.context + made.usage.output if made.usage else 0
            if current:
                current.turns += made.message != message
                current.files |= {
                    path for _, _, given in made.uses if type(path := given.get("file_path")) is str
                }
                current.cost += max(0, used - last) if last and used else 0
            last, message = used or last, made.message
    if current:
        yield current


def named_files(words: str) -> list[str]:
    """What looks like a file among words: an ending of letters behind a dot, no address."""
    found = []
    for word in words.translate(_BRACKETS).split():
        name = word.lstrip("@").rstrip(".")
        ending = name.rpartition("/")[2].rpartition(".")[2]
        if (
            "." in name
            and "//" not in name
            and 0 < len(ending) <= 5
            and ending.isalpha()
            and ending.islower()
        ):
            found.append(name)
    return list(dict.fromkeys(found))[:64]
