"""Steps that a text names as still to be done, one by one, as it lists them."""

from holdfast.core.phrases import STEP_TITLES
from holdfast.core.plain import one_line
from holdfast.core.sentences import is_question, spaced

_MARKS = "#*_ \t>`"
_BULLETS = ("- ", "* ", "+ ", "• ", "– ")
_DONE_BOXES, _OPEN_BOXES = ("[x] ", "[X] ", "✅ ", "☑ ", "✔ "), ("[ ] ", "☐ ", "⬜ ", "⏳ ", "[~] ", "[-] ")
_MOST, _LONGEST, _LONGEST_TITLE = 12, 200, 40
#: So far behind the end of a sentence a title is looked for: its marks and what stands in brackets count.
_TITLE_ENDS = 200
_ARTICLES = (
    *("the ", "my ", "your ", "our ", "recommended ", "suggested ", "immediate ", "proposed "),
    *("die ", "meine ", "les ", "mes ", "los ", "mis ", "os ", "i "),
)
_JOINTS = ("and then ", "then ", "dann ", "puis ", "luego ", "затем ", "and ")
_SENTENCE_ENDS = (". ", "! ", "。", "！", " - ", " — ")
_FINISHED = tuple(
    f" {word} "
    for word in "done finished completed complete implemented added fixed merged landed passes pass green "
    "written updated removed moved ✅ ✓ erledigt fertig terminé fait hecho listo feito fatto готово".split()
)
_FINISHED_WIDE = ("完成", "已", "完了", "완료")
_SMALL = frozenset("the and for with then that this into from run der die das und les des una los".split())
#: So much of a step is named by who says that it is done; so many letters tell a word from others.
_NAMED, _STEM = 0.6, 4


def steps_in(words: str) -> list[tuple[bool, str]]:
    """(whether it is done, what it is) of the last list of steps in a text; [] where there is none."""
    lines = words.split("\n")
    for at in range(len(lines) - 1, -1, -1):
        titled, rest = _title(lines[at])
        if titled:
            found = _inline(rest) if rest else _listed(lines[at + 1 :])
            if found:
                return found[:_MOST]
    return []


def _title(line: str) -> tuple[bool, str]:
    """(whether it names a list of steps, what stands behind the name)."""
    said = line.strip(_MARKS)
    number, dot, rest = said.partition(". ")
    if dot and number.isdecimal():
        said = rest.strip(_MARKS)
    name, rest, colon = _named(said)
    if name in STEP_TITLES:
        is_title = bool(colon) or line.lstrip().startswith(("#", "**"))
        return is_title or name == "next steps", rest.strip(_MARKS)
    for mark in _SENTENCE_ENDS:  # behind what else is said on the line
        end = said.rfind(mark)
        while end >= 0:
            begin = end + len(mark)
            name, rest, colon = _named(said[begin : begin + _TITLE_ENDS])
            if colon and name in STEP_TITLES:
                return True, (rest + said[begin + _TITLE_ENDS :]).strip(_MARKS)
            end = said.rfind(mark, 0, end)
    return False, ""


def _named(said: str) -> tuple[str, str, str]:
    """(what stands before the colon, as titles are written; what behind it; the colon)."""
    head, colon, rest = said.partition(":")
    if not colon:
        head, colon, rest = said.partition("：")
    name = head.strip(_MARKS + "()").lower().replace("’", "'").partition(" (")[0].strip()
    if len(name) > _LONGEST_TITLE:
        return "", "", ""
    for article in _ARTICLES:
        name = name.removeprefix(article)
    return name, rest if colon else "", colon


def _inline(rest: str) -> list[tuple[bool, str]]:
    """`1. one 2. two`, `(1) one; (2) two`, `one; two`."""
    parts = _numbered(rest) or rest.replace("；", ";").split(";")
    return [(False, said) for part in parts if (said := _shown(part))]


def _numbered(rest: str) -> list[str]:
    """At the numbers, where they count up from one."""
    for closed in (". ", ") ", "）", "、", ".", ")"):
        parts: list[str] = []
        at, number, place = -1, 1, 0
        while True:
            mark = f"{number}{closed}"
            here = _mark(rest, mark, place)
            if here < 0:
                break
            if at >= 0:
                parts.append(rest[at:here])
            at = place = here + len(mark)
            number += 1
        if number > 2:
            return [*parts, rest[at:]]
    return []


def _mark(rest: str, mark: str, start: int) -> int:
    here = rest.find(mark, start)
    while here > 0 and rest[here - 1] not in " (;,（；，\t。.":
        here = rest.find(mark, here + 1)
    return here


def _listed(lines: list[str]) -> list[tuple[bool, str]]:
    """The items below a title; a line that is none ends them, unless it goes on with one."""
    found: list[tuple[bool, str]] = []
    indent = 0
    for line in lines:
        said, here = line.strip(), len(line) - len(line.lstrip())
        if not said:
            continue
        item = _item(said)
        if item is None:
            if found and here and not said.startswith("#"):
                continue  # it explains the item above
            break
        if found and here > indent + 1:
            continue
        indent = here
        if words := _shown(item[1]):
            found.append((item[0], words))
    return found


def _item(said: str) -> tuple[bool, str] | None:
    """(whether it is done, what it says) of one line of a list."""
    bullet = next((one for one in _BULLETS if said.startswith(one)), "")
    rest = said[len(bullet) :].lstrip()
    if not bullet:
        number, _, after = said.partition(" ")
        digits = number.strip("().*")
        if digits.isdecimal() and len(digits) < 3 and number[-1] in ".)*" and after:
            rest = after.lstrip()
        elif not said.startswith(_DONE_BOXES + _OPEN_BOXES):
            return None
    is_struck = rest.startswith("~~") and rest.rstrip().endswith("~~")
    return is_struck or rest.startswith(_DONE_BOXES), rest


def _shown(words: str) -> str:
    """Without its marks, at most so long; '' of what says nothing, or asks."""
    for box in (*_DONE_BOXES, *_OPEN_BOXES):
        words = words.removeprefix(box)
    words = one_line(words.replace("**", "").replace("~~", "")).strip(" ;,.。；，")
    for joint in _JOINTS:
        words = words.removeprefix(joint)
    if len(words) > _LONGEST:
        cut = max(words.rfind(mark, 60, _LONGEST) for mark in (". ", "; ", " — ", " – ", ", "))
        words = words[:cut] if cut > 0 else words[: words.rfind(" ", 0, _LONGEST)] + " …"
    return words if len(words) > 2 and not is_question(words) else ""


def is_told_done(step: str, sentences: list[str]) -> bool:
    """Whether one of the sentences says that this step is done, and names most of it."""
    wanted = _content(step)
    for sentence in sentences if wanted else ():
        said = spaced(sentence)
        is_done = any(word in said for word in _FINISHED) or any(
            sign in sentence for sign in _FINISHED_WIDE
        )
        if is_done and len(wanted & _content(sentence)) >= _NAMED * len(wanted):
            return True
    return False


def _content(words: str) -> set[str]:
    found: set[str] = set()
    for word in spaced(words).split():
        if not word.isascii():
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        elif len(word) > 2 and word not in _SMALL and any(map(str.isalnum, word)):
            found.add(word[:_STEM])
    return found
