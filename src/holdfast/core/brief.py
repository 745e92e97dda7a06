"""The brief: what a summary loses, within an allowance, most of it in the words in which it was said.

First what is known by being looked at (branch, commits, tasks, files, commands), then what was said, in the
order in which it was said. Lines that begin with `>` are the person's own words.
"""

from holdfast.core.budget import STANDARD, Budget
from holdfast.core.cues import DONE, ISSUE
from holdfast.core.facts import LEAD, SENT, SUMMARY, USER, Facts
from holdfast.core.fence import TYPED, inert, not_typed
from holdfast.core.plain import PER_TOKEN, one_line
from holdfast.core.settled import taken_back, without
from holdfast.core.spoken import FROM_LEAD
from holdfast.core.touched import bare, is_check, told
from holdfast.core.units import LONGEST
from holdfast.core.worth import Item, chosen, known, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_DONE = ("completed", "deleted")
#: Characters for names of files and for commands, and the share of a small allowance they may have: where
#: there is room for little, a name says more than a sentence.
_FILES, _COMMANDS = (240, 1200, 0.73), (260, 400, 0.22)
_SMALL = 700
_COMMIT = 90
_ANOTHER = "Another session: "
#: What the client's own summary of a compaction said.
SUMMED_UP = "Summary: "
_EDITS, _CHECKS, _OPEN = 4, 8, 2
#: Lines for tasks that are in progress: they must not leave the rest without room.
_GOING = 4


def lines(
    facts: Facts,
    items: list[Item],
    tokens: float,
    tasks: list[tuple[str, str]],
    errors: list[str],
    budget: Budget = STANDARD,
    bound: "Sequence[str]" = (),
) -> list[str]:
    """The lines of a brief of at most so many tokens; `items` are the facts, weighed. First come those that
    bind the session and those that are pinned; then what the budget grants each compartment."""
    first = [*bound, *budget.pinned(tokens)]
    used = sum(len(line) + 1 for line in first)
    room = int(tokens * PER_TOKEN) - used
    small = tokens <= _SMALL
    head = standing(facts, tasks, 1)[:2] if small else standing(facts, tasks)
    head += _listed("Files: ", _files(facts, _share(_FILES, room, small)), ", ")
    head += _listed("Commands: ", _commands(facts, _share(_COMMANDS, room, small)), " · ")
    head, room = _fitting(head, room)
    every = _holding(together(items, known_items(facts, errors)), facts)
    every = [item for item in every if budget.admits(item.text)]
    granted = budget.guarantees(every, room / PER_TOKEN, sum(len(line) + 1 for line in bound))
    picked = chosen(every, room, "\n".join(first + head), guaranteed=granted)
    words = {item.order: said(item) for item in picked}
    over = sum(len(line) + 1 for line in words.values()) - room - 1  # what marks the person's words counts
    while over > 0 and words:
        over -= len(words.popitem()[1]) + 1
    return first + head + [words[order] for order in sorted(words)]


def _holding(items: list[Item], facts: Facts) -> list[Item]:
    """Without the orders that were taken back: what replaced them is among the others."""
    gone = taken_back(facts)
    if not gone:
        return items
    found = []
    for item in items:
        said = [order for order in gone if order in item.text] if item.kind in (USER, LEAD) else []
        rest = without(item.text, said) if said else item.text
        if rest:
            found.append(item.saying(rest) if said else item)
    return found


def _fitting(head: list[str], room: int) -> tuple[list[str], int]:
    """(those for which there is room, what is left of it)."""
    kept = []
    for line in head:
        if len(line) < room:
            kept.append(line)
            room -= len(line) + 1
    return kept, room


def _share(limits: tuple, room: int, small: bool) -> int:
    usual, most, share = limits
    return int(min(most, room * share)) if small else usual


def said(item: Item) -> str:
    if item.kind == SENT:
        return (_ANOTHER + inert(item.text))[:LONGEST]
    if item.kind == SUMMARY:
        return (SUMMED_UP + inert(item.text))[:LONGEST]
    if item.kind == LEAD:
        return (FROM_LEAD + inert(item.text))[:LONGEST]
    return TYPED + item.text if item.kind == USER else not_typed(item.text)


def standing(facts: Facts, tasks: list[tuple[str, str]], commits: int = 5) -> list[str]:
    """Branch, newest commits, open tasks: one line each."""
    found = []
    if facts.branch and facts.branch != "HEAD":
        found.append(f"Branch {facts.branch}")
    found += committed(facts, commits)
    going = [subject for status, subject in tasks if status == "in_progress"]
    waiting = [subject for status, subject in tasks if status not in ("in_progress", *_DONE)]
    finished = [subject for status, subject in tasks if status == "completed"]
    found += _listed("In progress: ", going, "; ")[:_GOING]
    found += _listed("To do: ", waiting, "; ")[:3]
    found += _listed("Done: ", finished[-12:], "; ")[:2]
    return found


def committed(facts: Facts, most: int, head: str = "Commits: ") -> list[str]:
    """The newest commits and requests to merge, as few lines as it takes."""
    newest = [told(said, facts.branch)[:_COMMIT] for _, said in facts.touched.commits[-most:]]
    return _listed(head, newest, "; ")


def _files(facts: Facts, room: int) -> list[str]:
    found: dict[str, None] = {}
    for path in facts.touched.needed(facts.turns):
        name = short(path, facts.cwd)
        if name in found:
            continue
        room -= len(name) + 2
        if room < 0:
            break
        found[name] = None
    return list(found)


def _commands(facts: Facts, room: int) -> list[str]:
    found: dict[str, None] = {}
    for command in facts.touched.repeated(facts.turns):
        # Of a long way to the folder one would see nothing else.
        shown = bare(command) if command.startswith("cd /") else command
        shown = shown if len(shown) <= 48 else shown[:44] + " …"
        if shown in found:
            continue
        room -= len(shown) + 3
        if room < 0:
            break
        found[shown] = None
    return list(found)


def short(path: str, cwd: str) -> str:
    """A file as people name it: with its folder, which tells it from others of its name. What lies in the
    working folder itself has none: with that folder's name it would lead to another file, or to none."""
    inside = path.removeprefix(cwd + "/") if cwd else path
    return one_line("/".join(inside.split("/")[-2:]))


def _listed(head: str, parts: list[str], glue: str) -> list[str]:
    """On as many lines as it takes; each stands alone."""
    found: list[str] = []
    line = ""
    for part in parts:
        part = part[: LONGEST - len(head)]
        if line and len(head) + len(line) + len(glue) + len(part) > LONGEST:
            found.append(head + line)
            line = part
        else:
            line += (glue if line else "") + part
    return [*found, head + line] if line else found


def known_items(facts: Facts, errors: list[str]) -> list[Item]:
    touched, found = facts.touched, []
    for path, (_, edits, _, _, turn, symbols) in touched.files.items():
        if edits and symbols:
            names = ", ".join(symbols[::-1])
            found.append(_item(f"{short(path, facts.cwd)} changed: {names}", 0.2, facts, turn, DONE))
    for turn, path, new in [edit for edit in touched.edits if edit[2]][-_EDITS:]:  # "": lines taken out
        found.append(_item(f"Edited last: {short(path, facts.cwd)}: {new}", 0.3, facts, turn, DONE))
    for run in touched.tests()[-_CHECKS:]:
        worth, cls = (0.4, ISSUE) if run.has_failed else (-0.1, DONE)
        found.append(_item(f"{run.named[:120]} → {run.shown()}", worth, facts, run.turn, cls))
    checks = [command for command, row in touched.commands.items() if not row[4] and is_check(command)]
    for command in checks[-_CHECKS:]:
        _, turn, failed, last, *_ = touched.commands[command]
        worth, cls = (0.4, ISSUE) if failed else (-0.1, DONE)
        ended = "failed: " if failed else ""  # of `ruff check | tail` a status of 0 says nothing
        found.append(_item(f"{bare(command)[:120]} → {ended}{last}", worth, facts, turn, cls))
    for number, error in enumerate(reversed(errors)):  # the newest is what stands in the way
        found.append(_item(_both_ends(error), 0.6 if number < _OPEN else 0.4, facts, facts.turns, ISSUE))
    return found


def _both_ends(error: str) -> str:
    """What failed stands at the beginning, and why at the end."""
    if len(error) <= LONGEST:
        return error
    return f"{error[:80].rstrip()} … {error[83 - LONGEST :].lstrip()}"


def _item(text: str, worth: float, facts: Facts, turn: int, cls: str) -> Item:
    faded = 0.25 + 0.75 * 2.718 ** ((turn - facts.turns) / (8 + 0.22 * facts.turns))
    item = known(one_line(text)[:LONGEST], worth, turn, cls)
    item.worth += _log(faded)
    return item


def _log(value: float) -> float:
    """Near enough for a weight between a quarter and one."""
    return -1.45 * (1 - value) - 0.55 * (1 - value) ** 4
