"""Whether a checkpoint holds work, and whether that work is finished, told from its sections.

Work is edits, decisions, open issues, unfinished tasks. Of a checkpoint that holds none nothing is resumed,
so that a greeting does not stand between today's work and tomorrow's. What was found out is written into
the frontmatter when a checkpoint is taken; of older ones, which do not say, it is found out when they are
read.
"""

from holdfast.core.cues import terms_of
from holdfast.core.fold import commits
from holdfast.core.outcome import tells_failure
from holdfast.core.shellfiles import SHOWN, files
from holdfast.core.smalltalk import ASKS, WANTS, kind
from holdfast.core.touched import looks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OPEN, FINISHED, TALK = STATES = "in progress", "finished", "only talk"
#: Before a prompt that is not the first, and before what was saved with it.
_THEN, _NOTE = "Then: ", "Note by whoever saved this: "
#: What says of a task how it stands, behind its name.
_DONE = ("(completed)", "(deleted)")
_TASKS, _PLANS = ("Task ", "To do "), ("Plan (", "Plan:", "Plan file:")
_TEST_RUN, _ENDED, _OK, _COMMITS = "Test run: `", "` → ", "exit 0", "Commits"
#: What a session says that decides, and what a person answered or refused.
_DECIDED = (
    *(
        "we chose ",
        "i chose ",
        "decided ",
        "decision: ",
        "settled on ",
        "opted for ",
        "going with ",
        "go with ",
    ),
    *(
        "root cause ",
        "agreed: ",
        "entschieden",
        "wir nehmen ",
        "décidé ",
        "choisi ",
        "decidimos ",
        "elegimos ",
    ),
    *("optamos ", "deciso ", "решили ", "выбрали ", "决定", "选择了", "采用", "に決め", "を採用", "결정"),
)
_ANSWERED = ("Asked: ", "Asked and answered", "The user rejected ")
#: So much of what it is about was known before: it is said again, not decided.
_KNOWN = 0.6
#: Programs that change something, whatever they are given; and what git does so.
_ACTS = frozenset("rm mv cp mkdir touch ln chmod chown tee patch rsync".split())
_GIT_ACTS = frozenset(
    "add mv rm merge rebase push stash reset revert cherry-pick tag commit apply am".split()
)
_SCRATCH = ("/dev/", "/tmp/")  # noqa: S108  only looked for in what was written
_OURS = ("holdfast ", "/holdfast")
#: What holdfast says of itself among the issues.
_OWN = ("There is no transcript to read", "Only the newest part and ", "holdfast is degraded")


def nothing() -> str:
    """What a session was told when it began, where it was told nothing."""
    return ""


def of(
    sections: dict[str, list[str]],
    is_repository: bool,
    known: "Callable[[], str]" = nothing,
    committed: int = -1,
) -> str:
    """OPEN, FINISHED or TALK. `known` gives what the session was told when it began: a decision that says
    it again is none. `committed`: the turn of its last commit, where more is known than stands there."""
    if not _holds_work(sections, known):
        return TALK
    return FINISHED if _is_finished(sections, is_repository, committed) else OPEN


def is_only_talk(sections: dict[str, list[str]], known: "Callable[[], str]") -> bool:
    """Whether it is certain that nobody wanted anything done, and nothing was."""
    if any(item.startswith(_OWN) for item in sections.get("Active Issues", [])):
        return False  # it was not read, or not all of it
    if sections.get("Standing Instructions", []):
        return False  # an order stays, whatever it was said with
    return all(kind(words) == ASKS for words, _ in _typed(sections)) and not _holds_work(sections, known)


def goal(sections: dict[str, list[str]]) -> str:
    """What the work is about, in the words of whoever wanted it: the newest that asks for something to be
    done, else the first; "" where nothing was asked for."""
    asked = [words for words, _ in _typed({"Goal": sections.get("Goal", [])}) if words]
    said = asked or [words for words, _ in _typed(sections) if words]
    wanted = [words for words in said if kind(words) == WANTS]
    unclear = [words for words in said if kind(words) != ASKS]
    return (wanted[-1:] or unclear[-1:] or said[:1] or [""])[0].split("\n")[0]


def changed(sections: dict[str, list[str]]) -> list[str]:
    """The files that were changed, as they are named there."""
    found = (item[1:].partition("] - ")[0].rpartition(":")[0] for item in sections.get("What Changed", []))
    return list(dict.fromkeys(filter(None, found)))


def edits(sections: dict[str, list[str]], project: str) -> list[list]:
    """`[turn, path, a line that was written]` of each file that was changed, as far as it stands there."""
    found = []
    for item in sections.get("What Changed", []):
        place, _, what = item[1:].partition("] - ")
        path, line = place.rpartition(":")[0], what.partition("`")[2].rpartition("`")[0]
        if path and line and not line.startswith("− "):
            found.append([_turn(item), path if path[0] == "/" else f"{project}/{path}", line])
    return found


def closes(later: dict[str, list[str]], earlier: dict[str, list[str]]) -> bool:
    """Whether work that was finished later is a continuation of the earlier: all of its files; or some, and
    the same goal or none of its own. One file in common says nothing: much work is in the change log."""
    then, now = set(changed(earlier)), set(changed(later))
    if then and (then <= now or then.isdisjoint(now)):
        return then <= now
    was, aim = goal(earlier), goal(later)
    is_known = _overlap(was, _terms(aim)) >= _KNOWN
    if not then:
        return is_known
    said = _overlap(aim, _terms(was))  # with no other files a word of it is enough
    return is_known or said >= _KNOWN or (now <= then and said > 0) or kind(aim) != WANTS


# How it stands


def _holds_work(sections: dict[str, list[str]], known: "Callable[[], str]") -> bool:
    return bool(
        sections.get("What Changed", [])
        or any(item.startswith((*_TASKS, *_PLANS)) for item in sections.get("Plan and Workflow", []))
        or _failing(sections)
        or _is_unread(sections)
        or any(_acts(command) for command, ended in _commands(sections) if ended.startswith(_OK))
        or any(kind(words) == WANTS for words, _ in _typed(sections))
        or any(kind(without_place(said)) != ASKS for said in sections.get("Standing Instructions", []))
        or _decisions(sections, known)
    )


def _is_unread(sections: dict[str, list[str]]) -> bool:
    """Whether tools were used of which there is no transcript: then nobody knows what for."""
    issues = sections.get("Active Issues", [])
    return any(item.startswith(_OWN[0]) and "(0 tool calls" not in item for item in issues)


def _is_finished(sections: dict[str, list[str]], is_repository: bool, committed: int) -> bool:
    marked = any(item.startswith("[") for item in sections.get("Active Issues", []))  # in a file: TODO
    if marked or _failing(sections) or _open_tasks(sections):
        return False
    ran = sections.get("Commands and Tests", [])
    edited = [_turn(item) for item in (*sections.get("What Changed", []), *filter(_is_write, ran))]
    if not is_repository:
        return bool(sections.get("What Changed", [])) and _has_tasks(sections)
    committed = max([committed, *(_turn(item) for item in ran if _is_commit(item))])
    wanted = max((turn for words, turn in _typed(sections) if kind(words) != ASKS), default=0)
    return committed >= max([0, wanted, *edited])


def _open_tasks(sections: dict[str, list[str]]) -> bool:
    return any(
        item.startswith(_TASKS) and not any(state in item.partition(": ")[0] for state in _DONE)
        for item in sections.get("Plan and Workflow", [])
    )


def _has_tasks(sections: dict[str, list[str]]) -> bool:
    steps = [*sections.get("Plan and Workflow", []), *sections.get("Next Steps", [])]
    return any(item.startswith((*_TASKS, "[x] ")) for item in steps)


def _failing(sections: dict[str, list[str]]) -> bool:
    """Tests that failed last, and commands that failed and were not seen to succeed since."""
    last = dict(_commands(sections, tests=True))
    if any(map(_tells_failure, last.values())):
        return True
    issues = [item for item in sections.get("Active Issues", []) if not item.startswith(_OWN)]
    failed = [item[1:].partition("`: ")[0] for item in issues if item.startswith("`") and "`: " in item]
    return any(not looks(command) and not _is_ours(command) for command in failed)


def _tells_failure(ended: str) -> bool:
    """Of a test run: where its result is not known, nobody can say that it failed."""
    status = ended.startswith("exit ") and not ended.startswith(_OK)
    return status or ended.startswith("failed") or tells_failure(_ENDED + ended)


def _decisions(sections: dict[str, list[str]], known: "Callable[[], str]") -> bool:
    lines = [line for item in sections.get("Key Decisions", []) for line in item.split("\n")]
    found = [without_place(line) for line in lines if _decides(line)]
    there = _terms(known()) if found else set()
    return any(_overlap(words, there) < _KNOWN for words in found)


def _decides(line: str) -> bool:
    low = f"{line.lower()} "
    return line.startswith(_ANSWERED) or any(sign in low for sign in _DECIDED)


def _typed(sections: dict[str, list[str]]) -> list[tuple[str, int]]:
    """(what a person typed, its turn), as far as it stands there, oldest first."""
    found = []
    for name in ("Goal", "Standing Instructions"):
        for item in sections.get(name, []):
            said = item.removeprefix(_THEN).removeprefix(_NOTE)
            found.append((without_place(said), _turn(item)))
    return sorted(found, key=lambda one: one[1])


# Commands


def _commands(sections: dict[str, list[str]], tests: bool = False) -> list[tuple[str, str]]:
    """(command, how it ended), oldest first."""
    found = []
    for item in sections.get("Commands and Tests", []):
        if item.startswith("`") and not tests:
            command, _, ended = item[1:].partition(_ENDED)
        elif item.startswith(_TEST_RUN):
            command, _, ended = item.removeprefix(_TEST_RUN).partition(_ENDED)
        else:
            continue
        found.append((command, without_place(ended)))
    return found


def _is_commit(item: str) -> bool:
    command, _, ended = item.removeprefix("`").partition(_ENDED)
    return item.startswith("`") and ended.startswith(_OK) and commits(command)


def _is_write(item: str) -> bool:
    command, _, ended = item.removeprefix("`").partition(_ENDED)
    return item.startswith("`") and ended.startswith(_OK) and not commits(command) and _writes(command)


def _acts(command: str) -> bool:
    """Whether it changes something in the project, as far as its words tell."""
    if _is_ours(command):
        return False
    words = command.split()
    is_git = any(
        word == "git" and not _GIT_ACTS.isdisjoint(words[at + 1 : at + 2]) for at, word in enumerate(words)
    )
    return is_git or commits(command) or _writes(command)


def _writes(command: str) -> bool:
    """Whether it writes, moves or removes files outside of the folders for what is thrown away."""
    if any(how != SHOWN and not path.startswith(_SCRATCH) for path, how in files(command, "/work")):
        return True
    for part in command.replace("&&", ";").replace("|", ";").split(";"):
        program, *given = [word for word in part.split() if word != "sudo"] or [""]
        places = [word for word in given if word[0] != "-"]
        if program.rpartition("/")[2] in _ACTS and not all(one.startswith(_SCRATCH) for one in places):
            return True
    return False


def _is_ours(command: str) -> bool:
    return command.lstrip().startswith(_OURS)


# Words


def without_place(item: str) -> str:
    """Without where it was said."""
    words, found, place = item.rpartition(" (")
    is_place = place.endswith(")") and place.startswith(
        ("turn ", "entry ", "told to a hook", "under_pressure")
    )
    return words if found and is_place else item


def _turn(item: str) -> int:
    digits = item.rpartition(" (turn ")[2].partition(",")[0].rstrip(")")
    return int(digits) if digits.isdecimal() and len(digits) < 9 else 0


def _terms(words: str) -> set[str]:
    names, topics = terms_of(words)
    return {*names, *topics}


def _overlap(words: str, there: set[str]) -> float:
    said = _terms(words)
    return len(said & there) / len(said) if said else 0.0
