"""Rules: what is marked (ENFORCED) or (CRITICAL), in files of instructions and in what a person typed.

Files of instructions are read as the client reads them: without frontmatter and comments, with what they
import, and, where they name paths, only for files of those.
"""

from holdfast.core.plain import excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MARKERS = ("(CRITICAL)", "(ENFORCED)")
#: Characters of one rule, and how many of a file.
LONGEST = 320
_MOST, _MOST_SAID, _MOST_LINES, _MOST_IMPORTS = 48, 200, 8, 32
_MOST_PATTERNS, _MOST_PARTS = 64, 32
_FENCES = ("```", "~~~")
_ITEMS = ("- ", "* ", "+ ")
_BEGINS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~")


class Rule:
    """One rule, on one line. `path` and `line`: where it stands; without a path it was typed; without a
    `marker` it is something else a file of instructions says."""

    __slots__ = ("line", "marker", "path", "text")

    def __init__(self, marker: str, text: str, path: str = "", line: int = 0) -> None:
        self.marker = marker
        self.text = text
        self.path = path
        self.line = line


class Document:
    """A file of instructions. `paths`: the patterns of files it is for; none: for all."""

    __slots__ = ("_first", "_lines", "_words", "paths")

    def __init__(self, words: str) -> None:
        front, self._first = _frontmatter(words)
        self.paths = _patterns(front)
        self._words = words
        self._lines: list[tuple[int, str]] | None = None

    @property
    def lines(self) -> list[tuple[int, str]]:
        """(number, line) of all that is prose; looked for only where somebody asks."""
        if self._lines is None:
            self._lines = [(number, line) for number, line in _prose(self._words) if number > self._first]
        return self._lines

    def rules(self, path: str) -> list[Rule]:
        found: list[Rule] = []
        if not any(marker in self._words for marker in MARKERS):
            return found
        for at, (number, line) in enumerate(self.lines):
            marker = marked(line)
            if marker and len(found) < _MOST:
                whole = self._whole(line, self._belonging(at, line))
                found.append(Rule(marker, excerpt(whole, LONGEST), path, number))
        return found

    def says(self, path: str) -> list[Rule]:
        """All of it, item by item; what is no rule has no marker."""
        found: list[Rule] = []
        through = 0  # the number of the last line that belongs to what was found
        for at, (number, line) in enumerate(self.lines):
            marker, said = marked(line), line.strip()
            if (
                not said
                or _is_import(said)
                or (number <= through and not marker)
                or len(found) >= _MOST_SAID
            ):
                continue
            belongs = self._belonging(at, line) if marker or not _heading(line) else []
            through = belongs[-1][0] if belongs else number
            whole = self._whole(line, belongs)
            found.append(Rule(marker, excerpt(whole, LONGEST), path, number))
        return found

    def _whole(self, line: str, belongs: list[tuple[int, str]]) -> str:
        parts = [_bare(line), *(_bare(more) for _, more in belongs)]
        return ("; " if _heading(line) else " ").join(parts)

    def _belonging(self, at: int, line: str) -> list[tuple[int, str]]:
        """The lines that go on with this one: the section below a heading, what follows of an item."""
        found, level = [], _heading(line)
        indent = len(line) - len(line.lstrip())
        for number, more in self.lines[at + 1 : at + 1 + _MOST_LINES]:
            said = more.strip()
            if level:
                if _heading(more) or marked(more):
                    break
            elif (
                not said
                or _heading(more)
                or _is_item(said)
                or _is_import(said)
                or len(more) - len(more.lstrip()) < indent
            ):
                break
            if said and not _is_import(said):
                found.append((number, more))
        return found

    def imports(self) -> list[str]:
        """The paths behind @, as they are written."""
        found: dict[str, None] = {}
        for _, line in self.lines if "@" in self._words else ():
            for word in line.split() if "@" in line else ():
                path = word[1:].partition("#")[0]
                if word[0] == "@" and path and path[0] in _BEGINS:
                    found[path] = None
        return list(found)[:_MOST_IMPORTS]


def marked(line: str) -> str:
    """Which mark it bears, if any. Whoever writes about the mark puts it between backquotes."""
    for marker in MARKERS:
        at = line.find(marker)
        if at >= 0 and line[at - 1 : at] != "`":
            return marker
    return ""


def typed(units: list[str]) -> list[str]:
    """Of what a person typed, unit by unit, those that are rules. A mark that was cut off from its sentence
    goes back to it."""
    found = []
    for at, unit in enumerate(units):
        if marked(unit):
            alone = unit.startswith(MARKERS) and at
            found.append(excerpt(f"{units[at - 1]} {unit}" if alone else unit, LONGEST))
    return found


def _frontmatter(words: str) -> tuple[list[str], int]:
    """(its lines, the number of the last)."""
    if not words.startswith("---"):
        return [], 0
    lines = words[: 1 << 14].split("\n")
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return lines[1:at], at + 1
    return [], 0


def _patterns(front: list[str]) -> list[str]:
    """What `paths:` says: one text with commas, or a list."""
    said: list[str] = []
    inside = False
    for line in front:
        if line.startswith("paths:"):
            inside, line = True, line[6:]
        elif inside and line.strip() and not line.lstrip().startswith("-"):
            inside = False
        if inside:
            said.append(line.strip().removeprefix("- ").strip("[] \t\r"))
    found = [one for text in said for whole in _split(text) for one in _expanded(whole.strip(" \"'"))]
    found = [one.removesuffix("/**") for one in found[:_MOST_PATTERNS]]
    return [] if all(one == "**" for one in found) else [one for one in found if one]


def _split(text: str) -> list[str]:
    """At the commas that stand in no braces."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _expanded(pattern: str) -> list[str]:
    """`*.{ts,tsx}` as two; braces in braces stay as they are."""
    start, end = pattern.find("{"), pattern.find("}")
    if not 0 <= start < end:
        return [pattern]
    head, tail = pattern[:start], pattern[end + 1 :]
    return [head + one + tail for one in pattern[start + 1 : end].split(",")]


def _prose(words: str) -> "Iterator[tuple[int, str]]":
    """The lines that are neither code nor comment, with their numbers."""
    fence, comment = "", False
    for number, line in enumerate(words.split("\n"), 1):
        said = line.strip()
        if fence:
            fence = "" if said.startswith(fence) else fence
            continue
        if said.startswith(_FENCES):
            fence = said[:3]
            continue
        kept = ""
        while line:
            ends, opens = line.find("-->"), line.find("<!--")
            if comment:
                comment, line = ends < 0, line[ends + 3 :] if ends >= 0 else ""
            elif opens >= 0:
                kept, line, comment = kept + line[:opens], line[opens + 4 :], True
            else:
                kept, line = kept + line, ""
        yield number, kept.rstrip()


def _heading(line: str) -> int:
    said = line.lstrip()
    level = len(said) - len(said.lstrip("#"))
    return level if said[level : level + 1] == " " else 0


def _is_import(said: str) -> bool:
    """A line of its own that stands for another file: nothing that is said, and no part of a rule."""
    return said[0] == "@" and " " not in said


def _is_item(said: str) -> bool:
    number, _, rest = said.partition(" ")
    return said.startswith(_ITEMS) or bool(rest and number[:-1].isdecimal() and number[-1] in ".)")


def _bare(line: str) -> str:
    """Without the marks of Markdown around it."""
    said = line.strip().lstrip("#").strip()
    for item in _ITEMS:
        said = said.removeprefix(item)
    return said.replace("**", "").strip()


def matches(pattern: str, path: str) -> bool:
    """Whether a path, below the folder the pattern is for, is the pattern's or lies in one that is, as git
    reads it: `*` within a name, `**` over any number of folders, a name alone at any depth."""
    wanted = pattern.strip("/").removeprefix("./").split("/")[:_MOST_PARTS]
    if "/" not in pattern.rstrip("/"):
        wanted = ["**", *wanted]
    places = _passed({0}, wanted)
    for part in path.split("/"):
        on = {at + (wanted[at] != "**") for at in places if at < len(wanted) and _fits(wanted[at], part)}
        places = _passed(on, wanted)
        if len(wanted) in places:
            return True
    return False


def _passed(places: set[int], wanted: list[str]) -> set[int]:
    """And those behind every `**` among them, which may stand for nothing."""
    more = set(places)
    for at in sorted(places):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            more.add(at)
    return more


def _fits(pattern: str, name: str) -> bool:
    """`*` and `?` within one name, in time that grows with both lengths and no faster."""
    if pattern == "**":
        return True
    at = here = 0
    star, since = -1, 0
    while here < len(name):
        if pattern[at : at + 1] in (name[here], "?"):
            at, here = at + 1, here + 1
        elif pattern[at : at + 1] == "*":
            star, since, at = at, here, at + 1
        elif star >= 0:
            since += 1
            at, here = star + 1, since
        else:
            return False
    return pattern[at:].strip("*") == ""
