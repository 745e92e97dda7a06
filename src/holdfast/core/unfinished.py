"""What was left in files to be done later (TODO, FIXME), and is still there, as far as edits show."""

from holdfast.core.jsontext import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIGNS = ("TODO", "FIXME")
#: What a remark begins with, in the languages that people write.
_REMARKS = ("#", "//", "/*", "*", "--", "<!--", ";", "%", "{#", "{/*", "rem ", "'")
_BULLETS = "-*+ \t[]"
_PROSE = (".md", ".txt", ".rst", ".adoc")
_LONGEST = 300


class Unfinished:
    def __init__(self) -> None:
        self._files: dict[int, dict[str, tuple[str, int, Any]]] = {}

    def take(self, given: dict, file: int, path: str, line: int, place: "Any") -> None:
        """A change of a file, as its tool was given it; `line` is the first that changed."""
        marks = self._files.setdefault(file, {})
        if "content" in given:
            marks.clear()
            self._add(marks, text(given, "content"), set(), path, 1, place)
            return
        edits = given.get("edits")
        several = type(edits) is list and bool(edits)
        for edit in edits[:64] if several and type(edits) is list else [given]:
            if type(edit) is dict:
                old = text(edit, "old_string")
                new = text(edit, "new_string") or text(edit, "new_source")
                left = set(_marks(new))
                for mark in _marks(old):
                    if mark not in left:
                        marks.pop(mark, None)
                began = 0 if several or not line else line - _same(old, new)
                self._add(marks, new, set(marks), path, began, place)

    def _add(self, marks: dict, new: str, known: set[str], path: str, began: int, place: "Any") -> None:
        for number, line in enumerate(new.split("\n")):
            mark = _mark(line, path)
            if mark and mark not in known:
                marks.pop(mark, None)
                marks[mark] = path, began + number if began else 0, place

    def found(self) -> "list[tuple[str, int, str, Any]]":
        """(path, line, what it says, where it was written), oldest first."""
        rows = [
            (path, line, mark, place)
            for marks in self._files.values()
            for mark, (path, line, place) in marks.items()
        ]
        return sorted(rows, key=lambda row: row[3][1][0])


def _marks(words: str) -> list[str]:
    return [mark for line in words.split("\n") if (mark := _mark(line, ""))]


def _same(old: str, new: str) -> int:
    """How many lines both begin with."""
    count = 0
    for before, after in zip(old.split("\n"), new.split("\n"), strict=False):
        if before != after:
            break
        count += 1
    return count


def _mark(line: str, path: str) -> str:
    """From the sign on; '' where the line bears none, or only speaks of one."""
    for sign in _SIGNS:
        at = line.find(sign)
        if at < 0:
            continue
        before, after = line[:at], line[at + len(sign) : at + len(sign) + 1]
        if (
            after.isalnum()
            or after in ("_", "'", '"', "`")
            or (before[-1:] and (before[-1].isalnum() or before[-1] in "_'\"`"))
        ):
            continue
        remark = any(one in before for one in _REMARKS)
        begins = not before.strip(_BULLETS)
        if begins or (remark and not path.endswith(_PROSE)):
            return line[at : at + _LONGEST].strip().removesuffix("*/").removesuffix("-->").strip()
    return ""
