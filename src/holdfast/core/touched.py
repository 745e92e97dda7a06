"""What was worked with: files and what was changed in them, commands and how they ended, commits.

A file that was only named in passing (in a listing, in an error) counts a little: half of the files an
agent needs after a compaction it has never opened before it.
"""

from holdfast.core.outcome import FAILED, UNKNOWN, Outcome, named
from holdfast.core.plain import excerpt, one_line
from holdfast.core.redact import is_key_file

#: Worth of one mention, by how it was mentioned.
EDITED, READ, TYPED, SAID = 3.0, 1.5, 1.5, 1.0
#: After how many turns a mention counts a third of what it did; and what of it never fades.
_FADES, _STAYS = 60.0, 0.15
_MOST_FILES, _MOST_COMMANDS, _MOST_COMMITS, _MOST_EDITS, _MOST_SYMBOLS = 160, 48, 6, 4, 8
_LONGEST_COMMAND = 400
_SHORTEST_PLACE, _MOST_WAITING = 5, 8
#: Columns of a row of `commands` before it said anything of tests.
_BEFORE_TESTS = 4
_HEX, _SHORTEST_COMMIT = frozenset("0123456789abcdef"), 7
_LOOKED_AT = 60_000
_APART = str.maketrans(dict.fromkeys("\"'`(),;<>[]{}|*", " "))
_CODE = str.maketrans(dict.fromkeys("`'\"()[]{}<>,;:!?*|=+&%$~^@.\\/-#\t", " "))
DEFINES = frozenset(
    "func def class type const var interface struct enum fn let function trait module fun val sub".split()
)
#: What looks at the work without running tests: it will be run again, too.
_CHECKS = frozenset(
    "lint build vet fmt tsc check typecheck ruff mypy eslint clippy validate compile".split()
)
_LOOKS = frozenset(
    "cat ls grep rg find sed awk echo cd head tail wc which pwd sleep mkdir rm cp mv for tree less".split()
)
_NOISE = (" 2>&1", " | tail", " | head")
#: How a request to merge is made, and what its address has in it.
_REQUESTING, _REQUESTS = (" pr create", " mr create"), ("/pull/", "/merge_requests/", "/pulls/")
OPENED = "opened "
#: What they name is defined elsewhere.
_PROSE = (".md", ".txt", ".rst")


#: What a brief names of holdfast's own, and has been looked at for that.
_CHECKPOINTS, _SESSIONS, _OVERFLOW = "/.claude/checkpoints/", "/sessions/", "/overflow.md"


def _row() -> list:
    return [0, 0, 0.0, 0.0, 0, []]


class TestRun:
    """The last run of some tests: `named` is the command that runs them, `ended` as in `outcome`, `said`
    what is told of it, `last` the words it ended with."""

    __slots__ = ("command", "ended", "last", "named", "said", "turn")

    def __init__(self, command: str, row: list) -> None:
        _, self.turn, _, self.last, self.named, self.ended, self.said = row
        self.command = command

    @property
    def has_failed(self) -> bool:
        return bool(self.ended == FAILED)

    def shown(self) -> str:
        """How it ended, and the words it ended with, unless they say no more."""
        return (
            self.said if not self.last or self.last.startswith(self.said) else f"{self.said}: {self.last}"
        )


class Touched:
    def __init__(self) -> None:
        self.files: dict = {}  # path -> [opened, edits, lasting, fading, turn, symbols]
        # command -> [runs, turn, failed, last words, and of tests: what runs them, how that ended, what
        # is said]
        self.commands: dict = {}
        self.waiting: dict = {}  # file, or id in the background -> [command in `commands`, as it was given]
        self.commits: list = []  # [turn, what git said]
        self.edits: list = []  # [turn, path, what is new]

    # Files

    def mention(self, path: str, weight: float, turn: int) -> list:
        if _CHECKPOINTS in path or (path.endswith(_OVERFLOW) and _SESSIONS in path):
            return _row()
        row: list = self.files.pop(path, None) or _row()
        row[3] = row[3] * 2.718 ** ((row[4] - turn) / _FADES) + weight
        row[2] += weight * _STAYS
        row[4] = turn
        self.files[path] = row  # newest last
        if len(self.files) > 2 * _MOST_FILES:
            kept = set(self.needed(turn)[:_MOST_FILES])
            self.files = {one: row for one, row in self.files.items() if one in kept}
        return row

    def mentions(self, found: list[str], turn: int, cwd: str, weight: float = 0.0) -> None:
        """The paths in a text. In a listing one of five says more than one of five hundred."""
        for path in found:
            whole = path if path[0] == "/" or not cwd else f"{cwd}/{path.removeprefix('./')}"
            self.mention(whole, weight or 1 / (1 + len(found) / 4), turn)

    def edited(self, path: str, old: str, new: str, turn: int) -> None:
        row = self.mention(path, EDITED, turn)
        row[0] = 1
        row[1] += 1
        if is_key_file(path):
            return
        fresh = [] if path.endswith(_PROSE) else symbols(new[:_LOOKED_AT], old[:_LOOKED_AT])
        row[5] = ([one for one in row[5] if one not in fresh] + fresh[::-1])[-_MOST_SYMBOLS:]
        before = set(old.split("\n"))
        lines = [line for line in new[:_LOOKED_AT].split("\n") if line.strip() and line not in before]
        self.edits = [*self.edits[1 - _MOST_EDITS :], [turn, path, excerpt(" ⏎ ".join(lines[:6]), 200)]]

    def opened(self, path: str, turn: int) -> None:
        self.mention(path, READ, turn)[0] = 1

    def needed(self, turn: int) -> list[str]:
        """The files, most needed first: by how they were mentioned, and by what they have in common
        with those that were worked on."""
        folders: dict[str, float] = {}
        kinds: dict[str, float] = {}
        stems: dict[str, float] = {}
        parts: dict[str, float] = {}
        for path, row in self.files.items():
            if row[0]:
                near = (1.0 if row[1] else 0.5) * (0.3 + 2.718 ** ((row[4] - turn) / _FADES))
                folder, _, name = path.rpartition("/")
                for table, key in (
                    (folders, folder),
                    (kinds, name.rpartition(".")[2]),
                    (stems, _stem(name)),
                ):
                    table[key] = table.get(key, 0.0) + near
                for part in _parts(name):
                    parts[part] = parts.get(part, 0.0) + near
        most_folder = max(folders.values(), default=1.0)
        most_kind = max(kinds.values(), default=1.0)
        most_part = max(parts.values(), default=1.0)

        def worth(path: str) -> float:
            row = self.files[path]
            folder, _, name = path.rpartition("/")
            said = (row[2] + row[3] * 2.718 ** ((row[4] - turn) / _FADES)) ** 0.7
            kin = 1 + folders.get(folder, 0.0) / most_folder
            kin += 0.5 * kinds.get(name.rpartition(".")[2], 0.0) / most_kind
            kin += 0.5 * max((parts.get(part, 0.0) for part in _parts(name)), default=0.0) / most_part
            if not row[0]:
                kin += min(1.0, stems.get(_stem(name), 0.0))  # the test of a file that was edited
            return float(said * kin * (0.5 if "/." in path else 1.0))

        return sorted(self.files, key=worth, reverse=True)

    # Commands

    def ran(self, command: str, failed: bool, said: str, turn: int, tests: "Outcome | None" = None) -> None:
        """`failed`: its exit status says so, whoever's that is. Of a long one that runs `tests` what runs
        them is kept."""
        named = one_line(tests.named) if tests else ""
        if len(command) > _LONGEST_COMMAND:
            command = named
        if not 0 < len(command) <= _LONGEST_COMMAND:
            return
        row = self.commands.pop(command, None) or [0]
        tested = [named, tests.ended, tests.said()] if tests else ["", "", ""]
        failed = tests.ended == FAILED if tests else failed
        self.commands[command] = [row[0] + 1, turn, 1 if failed else 0, said, *tested]
        if len(self.commands) > 2 * _MOST_COMMANDS:
            kept = set(self.repeated(turn)[:_MOST_COMMANDS])
            self.commands = {one: row for one, row in self.commands.items() if one in kept}

    def wait_for(self, command: str, tests: Outcome) -> None:
        """Its tests go on, or what they print is elsewhere: it may be looked at later."""
        kept = one_line(command)
        key = kept if len(kept) <= _LONGEST_COMMAND else one_line(tests.named)
        for place in tests.elsewhere:
            if len(place) > _SHORTEST_PLACE and place != "/dev/null":
                self.waiting[place] = [key, command]
        self.waiting = dict(list(self.waiting.items())[-_MOST_WAITING:])

    def ended_later(self, place: str, key: str, tests: Outcome) -> None:
        del self.waiting[place]
        row = self.commands.get(key)
        if row and row[5] == UNKNOWN:
            row[2], row[5], row[6] = 1 if tests.ended == FAILED else 0, tests.ended, tests.said()

    def tests(self, order: "list[str] | None" = None) -> list[TestRun]:
        """The last run of each that runs tests, in the order of these commands, or that in which they
        were run."""
        runs = [TestRun(command, row) for command, row in self.commands.items() if row[4]]
        last = {run.named: run for run in runs}  # the newest stands last
        named = [self.commands[command][4] for command in order] if order else [run.named for run in runs]
        newest = dict.fromkeys(named if order else reversed(named))
        found = [last[name] for name in newest if name]
        return found if order else found[::-1]

    def repeated(self, turn: int) -> list[str]:
        """The commands, those first that will be run again: tests and checks, what was run often, what
        was short."""

        def worth(command: str) -> float:
            runs, ran, _, _, named, *_ = self.commands[command]
            fresh = 0.15 + 2.718 ** ((ran - turn) / _FADES)
            looks = command.partition(" ")[0] in _LOOKS
            return float(
                runs**0.6
                * fresh
                * (2.0 if named or is_check(command) else 1.0)
                * (1.3 if len(command) < 40 else 1.0)
                * (0.2 if looks else 1.0)
            )

        return sorted(self.commands, key=worth, reverse=True)

    def committed(self, said: str, turn: int) -> None:
        self.commits = [*self.commits[1 - _MOST_COMMITS :], [turn, said]]

    def requested(self, words: str, turn: int) -> None:
        """The address of the request, which is the last thing that is printed."""
        for word in reversed(words.split()):
            if word.startswith("https://") and any(path in word for path in _REQUESTS):
                self.committed(OPENED + word[:120], turn)
                break

    def stands(self, said: str, turn: int) -> None:
        """What git showed as the newest commit: one that somebody else made is news."""
        commit = said[:_SHORTEST_COMMIT]
        is_commit = len(commit) == _SHORTEST_COMMIT and _HEX.issuperset(commit)
        if is_commit and not any(commit in known for _, known in self.commits):
            self.committed(said, turn)


def paths(words: str) -> list[str]:
    """Everything in a text that looks like the path of a file."""
    found: dict[str, None] = {}
    if len(words) > _LOOKED_AT:  # half a path may hold half a secret
        words = "".join(words[:_LOOKED_AT].rsplit(None, 1)[:1])
    for word in words.translate(_APART).split():
        if "/" in word and "." in word and "=" not in word and len(word) < 200:
            path = word.partition(":")[0].strip("!?+&%$~^").rstrip(".")
            name = path.rpartition("/")[2]
            kind, dashed, _ = name.rpartition(".")[2].partition("-")
            if dashed:  # grep's way of showing the lines around a match: file.go-63-
                name = name[: name.rfind(".") + 1] + kind
                path = path[: path.rfind("/") + 1] + name
            is_kind = "." in name[1:] and kind.isalnum() and kind[0].isalpha() and len(kind) <= 8
            if is_kind and "//" not in path and path[0] not in "@-":
                found[path] = None
    return list(found)


def is_check(command: str) -> bool:
    """Whether it lints, checks types or builds."""
    words = bare(command).split()
    if not words or words[0].rpartition("/")[2] in _LOOKS or words[0] == "git":
        return False
    return any(word.rpartition("/")[2].strip("'\"") in _CHECKS for word in words[:6])


def shows_head(command: str) -> bool:
    """`git log -3 --oneline`, but not of a file, a range or another branch."""
    words = bare(command).split()
    return words[:2] == ["git", "log"] and all(word[0] == "-" or word.isdecimal() for word in words[2:])


def opens_request(command: str) -> bool:
    return any(words in command for words in _REQUESTING)


def told(commit: str, branch: str) -> str:
    """`[main 1a2b3c4] Say it` without the branch, where that is said already."""
    return commit[len(branch) + 2 :].replace("] ", " ", 1) if commit.startswith(f"[{branch} ") else commit


def looks(command: str) -> bool:
    """Whether it only looks: that it failed then means that there was nothing to see."""
    return bare(command).partition(" ")[0].rpartition("/")[2] in _LOOKS


def bare(command: str) -> str:
    """Without the way to the folder and what only shortens the output."""
    while command.startswith("cd "):
        ends = [(at, len(end)) for end in ("&&", ";", "\n") if (at := command.find(end)) >= 0]
        if not ends or not command[sum(min(ends)) :].strip():
            break
        command = command[sum(min(ends)) :].lstrip()
    command = one_line(command)
    for noise in _NOISE:
        kept = command.partition(noise)[0]
        command = kept if len(kept) > 6 else command
    return command


def _stem(name: str) -> str:
    stem = name.rpartition(".")[0].lower()
    for mark in ("_test", ".test", "test_", ".spec", "_spec", "-test"):
        stem = stem.replace(mark, "")
    return stem


def _parts(name: str) -> list[str]:
    return _stem(name).replace("-", "_").split("_")


def symbols(new: str, old: str) -> list[str]:
    """What a change brings in: what it defines first, then other names that were not there."""
    before = set(old.translate(_CODE).split())
    defined: dict[str, None] = {}
    others: dict[str, int] = {}
    for line in new.split("\n")[:400]:
        words = line.translate(_CODE).split()
        remark = line.lstrip()[:2] in ("//", "# ", "* ", "--")
        for at, word in enumerate(words[:24]):
            if len(word) < 4 or word in before or not (word[0].isalpha() or word[0] == "_"):
                continue
            if 0 < at < 4 and words[at - 1] in DEFINES and not remark:
                defined[word] = None
            elif "_" in word or (word[1:] != word[1:].lower() and word != word.upper()):
                others[word] = others.get(word, 0) + 1
    rest = sorted(others, key=lambda word: others[word], reverse=True)
    return [*defined, *(word for word in rest if word not in defined)][:_MOST_SYMBOLS]


def restored(commands: dict) -> dict:
    """The rows with what those lack that were written before it was noted which run tests: how these
    ended is not known."""
    for command, row in commands.items():
        if len(row) == _BEFORE_TESTS:
            tests = named(command)
            row += [tests, UNKNOWN, "result not known"] if tests else ["", "", ""]
    return commands
