"""What somebody said, cut into units: whole sentences, list items, rows, of at most 240 characters.

A unit is what a checkpoint or a brief keeps or leaves out, so it has to stand alone: sentences are never
cut in two where that can be avoided, and short neighbours stay together.
"""

from holdfast.core.plain import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 240
#: What a person typed is marked where it is shown; with its mark it is no longer than the rest.
LONGEST_TYPED = LONGEST - 2
_MOST_CODE, _SHORT_ITEM, _STUB = 4, 120, 60
#: A line that leads to a list is told with its first item, if it is no longer than this.
_LEAD = 120
#: By itself one that is shorter than this says nothing.
_SHORTEST_LEAD = 30
_FENCES = ("```", "~~~")
_ITEM = ("- ", "* ", "+ ", "• ", "– ")
_ABBREVIATED = ("e.g", "i.e", "etc", " vs", " cf", " no")
_FULL_STOPS = "。！？｡"
#: What stands before and after words that are marked with `**`.
_BEFORE, _AFTER = " \t([{\"'|:-", " \t)]}\"'|:-.,;!?"
_MARKS = ".,;:!?()\"'`*-"
#: Announces work instead of saying something about it; unless a reason follows, or it is a choice.
_FILLER = tuple(
    "let me |now let me |first, let me|ok, let me|okay, let me|next, let me|i'll |now i'll |next i'll "
    "|let's |now let's|i need to |now i need to|now i can|i'm going to|next is |next up|on to "
    "|one more look|another look|checking |looking at |looking into |reading |running |searching "
    "|opening |inspecting |moving on|continuing ".split("|")
)
_CHOOSES = tuple(f" {verb} " for verb in "use keep leave drop store stick pick choose prefer have".split())
_LOOKS = ("let me ", "i'll have a ", "let's have a ")
#: Within so many characters the verb stands.
_ANNOUNCED = 24
_REASONED = (
    " because ",
    "instead",
    " rather ",
    " so that ",
    " since ",
    "n't ",
    "cannot",
    " not ",
    "avoid",
    "fail",
    "error",
)
_LEADS = (
    "perfect! great! good! good. excellent! yes! yes, ok. ok, okay, right. confirmed. interesting. "
    "so now also actually actually, good|question. good|question! great|question! good|point. good|point! "
    "good|catch! good|catch. you're|right. you're|right! you're|absolutely|right! you're|absolutely|right. "
    "got|it. absolutely|right! sure. sure! alright, alright. done. fixed."
)
_OPENINGS = tuple(lead.replace("|", " ") + " " for lead in _LEADS.split())


def units(words: str, typed: bool = False) -> list[tuple[str, str]]:
    """(unit, form) in order; a form is p(rose), i(tem), r(ow of a table), c(ode) or o(utput). What a person
    typed is taken as it stands: nothing of it is filler."""
    if typed:
        return [(unit, "o" if _is_output(unit) else "p") for unit in _typed(words)]
    cutter = _Cutter()
    for line in words.split("\n"):
        cutter.take(line.strip())
    return cutter.finish()


def _typed(words: str) -> "list[str]":
    found = []
    for paragraph in words.split("\n\n"):
        parts = [part for line in paragraph.split("\n") for part in sentences_of(one_line(line))]
        found += _together(parts, longest=LONGEST_TYPED)
    return found


def _is_output(unit: str) -> bool:
    """Whether it is what a machine printed rather than what somebody said: hardly any of it is words."""
    parts = unit.split()
    return len(parts) > 4 and sum(map(_is_word, parts)) * 2 < len(parts)


def _is_word(part: str) -> bool:
    """In scripts that put marks above and below their letters not every character is one."""
    return part.strip(_MARKS).isalpha() or _is_foreign(part)


def _is_foreign(words: str) -> bool:
    return any(letter > "\x7f" and letter.isalpha() for letter in words)


class _Cutter:
    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.prose: list[str] = []
        self.items: list[str] = []
        self.code: list[str] | None = None
        self.lead = ""
        self.rows = 0  # of the table so far
        self.columns: tuple[str, int] | None = None  # what led to its first row, and where that stands

    def take(self, line: str) -> None:
        if line.startswith(_FENCES):
            self._end()
            self.code = [] if self.code is None else None
            return
        if self.code is not None:
            self.code.append(one_line(line))
            return
        line = _without_emphasis(line)
        if line[:1] != "|":
            self.rows, self.columns = 0, None
        if _leads(line) and not self.prose:
            self._end()
            self._drop_lead()
            self.lead = one_line(line)
        elif not line or _is_heading(line):
            self._end()
        elif line[0] == "|":
            self._end()
            self._row(line)
        elif _item(line):
            if self.prose:
                self._end()
            self.items.append(one_line(_item(line)))
        else:
            if self.items:
                self._end()
            self.prose.append(line)
            if len(line) < 60 and line[-1] in ".:;!?":
                self._end()

    def finish(self) -> list[tuple[str, str]]:
        self._end()
        self._drop_lead()
        return self.found

    def _row(self, line: str) -> None:
        cells = [one_line(cell) for cell in line.strip("|").split("|")]
        if any(cell.strip("-: ") for cell in cells):
            self.rows += 1
            self.columns = (self.lead, len(self.found)) if self.rows == 1 else None
            self._add([" | ".join(cells)], "r")
        elif self.columns and "-" in line:  # above it are but the names of the columns
            self.lead, first = self.columns
            self.columns = None
            del self.found[first:]

    def _drop_lead(self) -> None:
        """It led to no list, but to something that is not told: it stays if it says something by itself."""
        lead, self.lead = self.lead, ""
        says = len(lead) >= _SHORTEST_LEAD or any(word in lead.lower() for word in _REASONED)
        if (says or _is_foreign(lead)) and not _is_filler(lead):
            self._add([lead], "p")

    def _end(self) -> None:
        if self.code:
            lines = [line for line in self.code if line]
            self._add(lines, "c", " ⏎ ", _MOST_CODE)
            self.code = []
        self._end_list()
        if self.prose:
            sentences = sentences_of(one_line(" ".join(self.prose)))
            self.prose.clear()
            self._add([one for one in sentences if not _is_filler(one)], "p")

    def _end_list(self) -> None:
        """Short items of one list stay together: alone they say little."""
        run: list[str] = []
        for item in [*self.items, ""]:
            if item and len(item) < _SHORT_ITEM:
                run.append(item)
                continue
            self._add(run, "i", "; ")
            self._add(sentences_of(item), "i")
            run = []
        self.items.clear()

    def _add(self, parts: list[str], form: str, glue: str = " ", most: int = 1 << 30) -> None:
        if self.lead and form == "p":
            self._drop_lead()
        for unit in _together(parts, glue)[:most]:
            said = _without_opening(_plain(unit))
            if self.lead and len(self.lead) + len(said) < LONGEST:
                said, self.lead = f"{_plain(self.lead)} {said}", ""
            elif self.lead:
                self._drop_lead()
            if _says(said):
                self.found.append((said, form))


def _leads(line: str) -> bool:
    return line.endswith(":") and len(line) < _LEAD and line[0] not in "|#" and not _item(line)


def _is_heading(line: str) -> bool:
    """`## So`, but not `#12 is still open`."""
    return line.lstrip("#")[:1] in ("", " ") and line[0] == "#"


def _without_emphasis(line: str) -> str:
    """Without `**` where it stands around words; in `2**8`, `src/**/*.py` and `**options` it means
    something."""
    if "**" not in line:
        return line
    parts = line.split("**")
    said, opened = parts[0], -1
    for part in parts[1:]:
        before, after = said[-1:], part[:1]
        if opened < 0 and after.strip() and (before in _BEFORE or not before.isascii()):
            opened = len(said)
        elif opened >= 0 and before.strip() and (after in _AFTER or not after.isascii()):
            said, opened = said[:opened] + said[opened + 2 :] + part, -1
            continue
        said += "**" + part
    return said


def _item(line: str) -> str:
    if line.startswith(_ITEM):
        return line[2:]
    number, _, rest = line.partition(" ")
    return line if rest and len(number) < 4 and number[-1] in ".)" and number[:-1].isdecimal() else ""


def sentences_of(line: str, least: int = 20) -> list[str]:
    """None shorter than `least`, but the last: it stays with the next one."""
    found, start = [], 0
    ends = sorted(end + 1 for mark in (". ", "! ", "? ") for end in _every(line, mark))
    for at in ends:
        if at - start > least and not (
            line[at - 1] == "." and line[max(0, at - 4) : at - 1] in _ABBREVIATED
        ):
            found.append(line[start:at])
            start = at
    found.append(line[start:])
    if not line.isascii():
        found = [part for sentence in found for part in _fully_stopped(sentence)]
    return [one for sentence in found if (one := sentence.strip())]


def _every(line: str, mark: str) -> "Iterator[int]":
    at = line.find(mark)
    while at >= 0:
        yield at
        at = line.find(mark, at + 2)


def _fully_stopped(sentence: str) -> list[str]:
    for mark in _FULL_STOPS:
        sentence = sentence.replace(mark, mark + "\n")
    return sentence.split("\n")


def _together(parts: list[str], glue: str = " ", longest: int = LONGEST) -> list[str]:
    found: list[str] = []
    held = ""
    for part in parts:
        while len(part) > longest:
            cut = max(part.rfind(mark, 100, longest - 1) for mark in (", ", "; ", " – ", " — "))
            if cut < 0:
                cut = part.rfind(" ", 100, longest - 1)
            cut = cut if cut > 0 else longest - 2
            if len(part) - cut < _STUB:  # a word or two would be left, which say nothing
                earlier = part.rfind(" ", cut - _STUB, len(part) - _STUB)
                cut = earlier if earlier > 0 else cut
            found += [held, part[: cut + 1].strip()]
            held, part = "", part[cut + 1 :].strip()
        if held and len(held) + len(glue) + len(part) <= longest:
            held += glue + part
        else:
            found.append(held)
            held = part
    return [unit for unit in [*found, held] if unit]


def _is_filler(sentence: str) -> bool:
    said = sentence.lower()
    if len(said) >= 140 or not said.startswith(_FILLER) or any(word in said for word in _REASONED):
        return False
    return said.startswith(_LOOKS) or not any(verb in said[:_ANNOUNCED] for verb in _CHOOSES)


def _without_opening(unit: str) -> str:
    """Without what a model says before it says something."""
    while True:
        lower = unit[:40].lower()
        opening = next((one for one in _OPENINGS if lower.startswith(one)), "")
        if not opening or len(unit) - len(opening) < 25:
            return unit
        unit = unit[len(opening) :]


def _plain(unit: str) -> str:
    """Without the marks of Markdown: they cost room and say nothing. Of a link its text stays."""
    unit = unit.replace("`", "")
    while (middle := unit.find("](")) >= 0:
        start, end = unit.rfind("[", 0, middle), unit.find(")", middle)
        if start < 0 or end < 0:
            break
        unit = unit[:start] + unit[start + 1 : middle] + unit[end + 1 :]
    return " ".join(unit.split())


def _says(unit: str) -> bool:
    letters = sum(map(str.isalnum, unit[:64]))
    return letters > 5 or not unit.isascii() or unit.lower() in ("yes", "no", "go", "ok", "stop")
