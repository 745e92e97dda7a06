"""The test runs in a shell command: which of its simple commands run tests, and whose exit status the
shell's is.

What a command only writes, looks for or installs (`grep pytest`, `git commit -m "run pytest"`, a
here-document) runs nothing. Programs that start others (`uv run`, `timeout 60`, `docker exec web`, `bash
-c '…'`) are followed."""

from holdfast.core import shell
from holdfast.core.runners import RUNNERS, Runner
from holdfast.core.shell import BACKGROUND, CHAIN, FUNCTION, IF, LIST, LOOP, NOT, PIPE, SIMPLE, Part
from holdfast.core.started import (
    MOST_OF_SCRIPTS,
    MOST_SCRIPTS,
    SHELLS,
    is_assigned,
    is_bare_shell,
    script_of,
    started,
)
from holdfast.core.started import first as first_of

_PYTHONS = frozenset(("python", "pypy", "py", "ipython"))
_INTERPRETERS = frozenset(
    ("node", "ruby", "php", "perl", "tsx", "ts-node", "bun", "deno", "lua", "Rscript")
)
#: Programs that run what a project calls by a name: `make test`, `npm run test:unit`, `just test`.
_TASKS = frozenset(
    "make gmake just rake task go-task mage invoke inv npm pnpm yarn bun deno mise turbo nx "
    "lerna rush moon composer ninja hatch pdm poe doit cmake earthly lein hatchling pixi grunt "
    "gulp ant waf scons meson".split()
)
#: Words of theirs before the name of a task.
_BEFORE_TASK = frozenset("run run-script r task exec tasks cmd --".split())
#: Options of theirs with a value.
_TASK_VALUES = frozenset(
    "-C -f -j -w -F --prefix --filter --workspace --dir --cwd --directory --file --makefile --project "
    "--justfile -d -p --target --build -t --scope --parallel".split()
)
_TESTING = frozenset(
    "test tests testing unittest unittests spec specs e2e unit integration smoke pytest jest vitest mocha "
    "playwright cypress nextest testall".split()
)
#: With one of these in its name a task does something else for the tests than to run them.
_NOT_TESTING = frozenset(
    "lint build compile clean fmt format types typecheck tsc install setup prepare generate gen "
    "deploy watch fixtures data server image env release publish docs list report up down db fix "
    "ruff mypy eslint flake8 style".split()
)
#: Tasks that may run tests among other things: what they print tells.
_MAY_TEST = frozenset(
    "check ci verify validate precommit pre-commit presubmit prepush pre-push check-all checks qa "
    "preflight gate".split()
)
_SCRIPTS = (
    "sh",
    "bash",
    "zsh",
    "py",
    "js",
    "ts",
    "mjs",
    "cjs",
    "rb",
    "pl",
    "php",
    "t",
    "ps1",
    "bat",
    "cmd",
)
#: Of these languages the tests are called specs.
_WITH_SPECS = frozenset(("js", "ts", "mjs", "cjs", "rb", "php", "lua"))
#: What begins with one of these makes tests, or what they need.
_MAKING = frozenset("make create write new add copy move rename update".split())
#: With one of these a runner only tells of itself.
_TELLS = frozenset(
    "--version --help -h help --list-tests --listTests --list --no-run --dry-run --init".split()
)
#: Options of interpreters with which a file is only looked at.
_CHECKS = {"node": ("--check", "-c"), "ruby": ("-c",), "php": ("-l",), "perl": ("-c",)}
_DEEPEST = 6
#: Commands within each other.
_DEEPEST_PART = 100

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Run:
    """One test run of a command. `named` is the simple command that runs it; `runner` None: of a task or
    a script of the project. `is_sure` is False of one that may run tests among other things;
    `is_instead`: it runs only if what stands before it fails; `folder`: where it runs; `into`: files that
    its output goes to, `is_diverted`: with what it prints on its standard output."""

    __slots__ = ("folder", "into", "is_diverted", "is_instead", "is_sure", "named", "runner")

    def __init__(self, runner: Runner | None, is_sure: bool, part: Part, folder: str) -> None:
        self.runner = runner
        self.named = part.text
        self.is_sure = is_sure
        self.is_instead = False
        self.folder = folder
        self.into = part.into
        self.is_diverted = part.is_diverted


class Status:
    """What an exit status says: if it is 0, that the runs of `good` ended with 0; if it is not, that a
    run did not (`tells_bad`). Whether it can be 0, or anything else."""

    __slots__ = ("good", "may_be_bad", "may_be_good", "tells_bad")

    def __init__(
        self, good: "set[int]", tells_bad: bool, may_be_good: bool = True, may_be_bad: bool = True
    ):
        self.good = good
        self.tells_bad = tells_bad
        self.may_be_good = may_be_good
        self.may_be_bad = may_be_bad

    @property
    def blames(self) -> bool:
        """Whether no other program can be the reason for a status that is not 0."""
        return self.tells_bad or not self.may_be_bad


class Echo:
    """A line that the command prints of a status: `before`, the number (unless `is_word`), `after`."""

    __slots__ = ("after", "before", "is_bad", "is_word", "status")

    def __init__(
        self, status: Status, before: str, after: str = "", is_word: bool = False, is_bad: bool = False
    ):
        self.status = status
        self.before = before
        self.after = after
        self.is_word = is_word
        self.is_bad = is_bad


class Runs:
    """The test runs of a command, and what is known of the status that the shell hands on. `is_cut`: not
    all of the command was read; `lines`: no more of what they print is shown; `is_filtered`: only lines
    that were asked for; `hides_bad`: and lines that say what failed may be missing; `is_silent`: nothing
    that is shown is theirs; `shows_files`: it shows files besides."""

    def __init__(self, command: str) -> None:
        self.found: list[Run] = []
        self.echoes: list[Echo] = []
        self.lines = 0
        self.is_filtered = self.hides_bad = self.hides_words = self.is_silent = self.is_piped = False
        self.shows_files = False
        self._behind: set[int] = set()  # members of pipes that are given what the tests print
        self._is_hushed = False  # what a program says of a failure may not be shown
        self._is_pipefail = self._is_errexit = False
        self._folder, self._depth = "", 0
        self._known: dict[str, Status] = {}
        self._firsts: dict[int, Status] = {}  # of each pipe the status of its first member
        self._scripts, self._left = MOST_SCRIPTS, MOST_OF_SCRIPTS
        whole = shell.read(command)
        self.is_cut = whole.is_cut
        self.status = self._of(whole)
        if self.is_cut:
            self.status, self.echoes = Status(set(), False), []
        if self.found:
            self._look_for_files(whole)

    @property
    def required(self) -> set[int]:
        """Those that must have passed: of one that is run again the last."""
        last = {
            (run.folder, run.named): number for number, run in enumerate(self.found) if not run.is_instead
        }
        return {*last.values()} or {*range(len(self.found))}

    def _of(self, part: Part) -> Status:
        kind = part.kind
        if kind == SIMPLE:
            return self._simple(part)
        if self._depth == _DEEPEST_PART:
            self.is_cut = True
            return Status(set(), False)
        self._depth += 1
        was_hushed = self._is_hushed
        self._is_hushed |= bool(part.into)
        is_apart = part.is_apart or kind in (BACKGROUND, FUNCTION)
        first = len(self.found)
        ended = self._aside(part, self._compound) if is_apart else self._compound(part)
        self._divert(first, part)
        self._depth -= 1
        self._is_hushed = was_hushed
        return ended

    def _divert(self, first: int, part: Part) -> None:
        """What the runs in it print goes where it sends that."""
        for run in self.found[first:] if part.into else ():
            run.into = [*run.into, *part.into]
            run.is_diverted |= part.is_diverted

    def _aside(self, part: Part, of: "Callable[[Part], Status]") -> Status:
        """Of what runs in a shell of its own, or not where it stands: nothing that it sets is left."""
        before = self._is_pipefail, self._is_errexit, self._folder
        ended = of(part)
        self._is_pipefail, self._is_errexit, self._folder = before
        return ended

    def _checked(self, part: Part) -> Status:
        """Of what may fail: in a condition `set -e` does not hold, however deep."""
        before = self._is_errexit
        self._is_errexit = before and part.kind == SIMPLE
        ended = self._of(part)
        if part.kind != SIMPLE:
            self._is_errexit = before
        return ended

    def _compound(self, part: Part) -> Status:
        kind = part.kind
        if kind == LIST:
            return self._list(part.parts)
        if kind == PIPE:
            return self._pipe(part)
        if kind == CHAIN:
            return self._chain(part)
        if kind == BACKGROUND:
            self._list(part.parts)
            return Status(set(), False, may_be_bad=False)
        before = self._is_pipefail, self._is_errexit
        inner = [
            self._checked(one) if kind == NOT or (at == 0 and kind in (IF, LOOP)) else self._of(one)
            for at, one in enumerate(part.parts)
        ]
        if kind in (IF, LOOP):  # it may not have been run
            self._is_pipefail &= before[0]
            self._is_errexit &= before[1]
        if kind in (NOT, FUNCTION):
            return Status(set(), False)
        bodies = inner[1:] if kind == IF else inner  # a condition's status is nobody's
        if kind == IF and len(part.parts) > 1:
            self._hear(part.parts[1], inner[0], is_bad=False)
            if len(part.parts) == 3:
                self._hear(part.parts[2], inner[0], is_bad=True)
        return Status(
            set(),
            all(one.blames for one in bodies) and any(one.tells_bad for one in bodies),
            may_be_bad=True,
        )

    def _list(self, parts: list[Part]) -> Status:
        ended = Status(set(), False, may_be_bad=False)
        sure: set[int] = set()
        blames = True
        for at, part in enumerate(parts):
            before = ended
            if part.kind == SIMPLE and part.words:
                handed = self._handed_on(part, before, parts[at - 1] if at else None)
                if handed:
                    ended = handed
                    break
            ended = self._of(part)
            if self._stops(part):
                sure |= ended.good
                blames = blames and ended.blames
        good = sure | ended.good
        return Status(good, ended.tells_bad and blames, ended.may_be_good, ended.may_be_bad or bool(sure))

    def _stops(self, part: Part) -> bool:
        """Whether the list ends there if that fails: `pytest || exit 1`, or after `set -e`."""
        if part.kind == CHAIN:
            last = part.parts[-1]
            ends = last.parts[-1] if last.kind == LIST and last.parts else last
            return part.marks[-1] == "||" and first_of(ends) in ("exit", "return")
        return self._is_errexit and part.kind in (SIMPLE, PIPE)

    def _chain(self, part: Part) -> Status:
        ended = self._checked(part.parts[0])
        before = self._is_pipefail, self._is_errexit
        for mark, one in zip(part.marks, part.parts[1:], strict=True):
            self._hear(one, ended, is_bad=mark == "||")
            first = len(self.found)
            nxt = self._of(one) if one is part.parts[-1] else self._checked(one)
            for run in self.found[first:] if mark == "||" else ():
                run.is_instead = True
            if mark == "&&":
                ended = Status(
                    ended.good | nxt.good,
                    ended.blames and nxt.blames and (ended.tells_bad or nxt.tells_bad),
                    ended.may_be_good and nxt.may_be_good,
                    ended.may_be_bad or nxt.may_be_bad,
                )
            else:
                ended = Status(
                    ended.good & nxt.good if nxt.may_be_good else ended.good,
                    ended.tells_bad or nxt.tells_bad,
                    True,
                    ended.may_be_bad and nxt.may_be_bad,
                )
        self._is_pipefail &= before[0]  # what stands behind the first may not have been run
        self._is_errexit &= before[1]
        return ended

    def _pipe(self, part: Part) -> Status:
        given = ""
        inner = []
        first = len(self.found)
        for one in part.parts:
            if len(self.found) > first:
                self._pass_through(one)
                self._behind.add(id(one))
            if one.kind == SIMPLE and given and is_bare_shell(one):
                inner.append(self._script(given))
            else:
                inner.append(self._aside(one, self._of))
            given = one.given if one.kind == SIMPLE and first_of(one) == "cat" else ""
        self._firsts[id(part)] = inner[0]
        if part.parts[-1].kind == SIMPLE:
            self._divert(first, part.parts[-1])
        if not self._is_pipefail:
            return inner[-1]
        passes_on = [
            Status(set(), False, may_be_bad=False) if first_of(one) in _PASSES_ON else status
            for one, status in zip(part.parts, inner, strict=True)
        ]
        return Status(
            set().union(*(one.good for one in inner)),
            all(one.blames for one in passes_on) and any(one.tells_bad for one in passes_on),
        )

    def _simple(self, part: Part) -> Status:
        for word in part.words:
            inside = [self._aside(one, self._checked) for one in word.inside]
            if inside and len(part.words) == 1 and is_assigned(word.value):
                return inside[-1]  # the status of a mere assignment is that of what it runs
        values = [word.value for word in part.words]
        self._set(values)
        if not values:
            return Status(set(), False, may_be_bad=False)
        if values[0] in ("cd", "pushd", "popd"):
            to = "".join(word for word in values[1:2] if word != "-")
            self._folder = to if to[:1] == "/" else f"{self._folder}/{to}"
            if self._is_hushed or part.into:
                return Status(set(), False)
        return self._program(values, part, 0)

    def _program(self, values: list[str], part: Part, depth: int) -> Status:
        script = script_of(values, depth > 0) or (part.given if part.given and is_bare_shell(part) else "")
        if script and self._scripts and len(script) <= self._left:
            self._scripts -= 1
            self._left -= len(script)
            known = len(self.found)
            ended = self._script(script, values, part.text if script is not part.given else "")
            self._divert(known, part)
            return ended
        rest = started(values)
        if rest and depth < _DEEPEST and script_of(rest, is_started=True):
            return self._program(rest, part, depth + 1)
        run = run_of(values)
        if run:
            runner, is_sure = run
            self.found.append(Run(runner, is_sure, part, self._folder))
            return Status({len(self.found) - 1}, True)
        first = values[0].rpartition("/")[2]
        if first in ("exit", "return", "false"):
            code = "1" if first == "false" else values[1] if len(values) > 1 else ""
            if code.isdigit():
                return Status(set(), False, may_be_good=code == "0", may_be_bad=code != "0")
        return Status(set(), False, may_be_bad=first not in _NEVER_FAIL and not is_assigned(values[0]))

    def _script(self, script: str, values: "list[str] | None" = None, named: str = "") -> Status:
        """Of what is handed to a shell. `named`: by what its runs are called again."""
        before = self._is_pipefail, self._is_errexit, self._folder
        self._set(["set", *(values or [])[1:3]])
        first = len(self.found)
        whole = shell.read(script)
        self.is_cut |= whole.is_cut
        ended = self._of(whole)
        self._is_pipefail, self._is_errexit, self._folder = before
        for run in self.found[first:] if named else ():
            run.named = named
        return ended

    def _set(self, values: list[str]) -> None:
        """`set -euo pipefail`, and what takes it back."""
        if values[:1] not in (["set"], ["setopt"]):
            return
        for at, word in enumerate(values[1:], 1):
            if word[:1] in "-+" and word[:2] != "--" and "e" in word.partition("o")[0]:
                self._is_errexit = word[0] == "-"
            if word == "pipefail":
                self._is_pipefail = values[at - 1][:1] != "+"

    def _handed_on(self, part: Part, before: Status, last: "Part | None") -> "Status | None":
        """A status that is kept in a name, printed, or handed on as the command's own."""
        first, *rest = [word.value for word in part.words]
        if first_of(part) in ("echo", "printf", "print"):
            said = " ".join(word for word in rest if word not in ("-e", "-n", "-E"))
            self._echo(said, before, last)
            return None
        name, equals, value = first.partition("=")
        if equals and not rest:
            status = self._named(value, before, last)
            if status:
                self._known[name] = status
        elif first in ("exit", "return") and rest:
            return self._named(rest[0], before, last)
        return None

    def _named(self, value: str, before: Status, last: "Part | None") -> "Status | None":
        value = value.replace("{", "").replace("}", "")
        if value == "$?":
            return before
        if value in ("$PIPESTATUS[0]", "$pipestatus[1]") and last is not None and last.kind == PIPE:
            return self._firsts.get(id(last))
        return self._known.get(value[1:]) if value[:1] == "$" else None

    def _echo(self, said: str, before: Status, last: "Part | None") -> None:
        """`echo "exit: $?"`: the line it prints says how the tests ended."""
        at = said.find("$")
        if at < 0 or said.find("$", at + 1) >= 0:
            return
        end = at + 1
        if said[end : end + 1] == "{":
            end = said.find("}", end) + 1
        elif said[end : end + 1] == "?":
            end += 1
        else:
            while end < len(said) and (said[end].isalnum() or said[end] in "_[]"):
                end += 1
        status = self._named(said[at:end], before, last)
        if status and (status.good or status.tells_bad):
            self.echoes.append(Echo(status, said[:at].strip(), said[end:].replace("\\n", "").strip()))

    def _hear(self, part: Part, before: Status, is_bad: bool) -> None:
        """`pytest && echo good || echo bad`: which of the two was printed says how it ended."""
        while part.kind == LIST and part.parts:
            part = part.parts[0]
        words = [word.value for word in part.words]
        said = " ".join(words[1:])
        if (
            words[:1] == ["echo"]
            and said
            and "$" not in said
            and (before.tells_bad if is_bad else before.good)
        ):
            self.echoes.append(Echo(before, said, is_word=True, is_bad=is_bad))

    def _pass_through(self, part: Part) -> None:
        """What a program behind the tests leaves of what they print."""
        first, words = first_of(part), [word.value for word in part.words[1:]]
        self.is_piped |= first not in ("cat", "tee")
        if first == "head" or (first == "sed" and words and words[-1][-1:] in "pq"):
            lines = _number_in(words)
            self.lines = min(self.lines or lines, lines)
        if first in ("grep", "egrep", "rg", "ag", "awk"):
            sought = " ".join(words).lower()
            is_without = any(word[:1] == "-" and word[:2] != "--" and "v" in word for word in words)
            self.is_filtered = True
            self.hides_bad |= ("fail" in sought) == is_without and first != "awk"
            self.hides_words |= any(word[:1] == "-" and word[:2] != "--" and "o" in word for word in words)

    def _look_for_files(self, whole: Part) -> None:
        """Whether what is shown is that of the tests: it is not, where that went to a file which nothing
        shows."""
        into = {
            path for run in self.found for path in run.into if path not in ("/dev/stderr", "/dev/stdout")
        }
        names = {path.rpartition("/")[2] for path in into}
        parts = shell.simple(whole)
        if into and all(run.is_diverted for run in self.found):
            shown = {word.value.rpartition("/")[2] for one in parts for word in one.words}
            self.is_silent = not names & shown
        for part in parts:
            if id(part) not in self._behind and not part.is_diverted:
                files = files_shown(part)
                self.shows_files |= bool(files) and not names & {path.rpartition("/")[2] for path in files}


#: Programs that show a file, and how many words that name none stand before it.
SHOW_FILES = {
    **dict.fromkeys("cat head tail less more bat nl tac zcat".split(), 0),
    **dict.fromkeys("sed awk grep egrep fgrep rg ag".split(), 1),
}


#: An option with which they show nothing: the file is changed, or only asked.
_SHOWS_NONE = {
    "sed": ("-i", "--in-place"),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), ("-q", "--quiet")),
}


def files_shown(part: Part) -> list[str]:
    """Those that a simple command shows, as it names them."""
    program = first_of(part)
    if program not in SHOW_FILES:
        return []
    words = [word.value for word in part.words]
    at = next(at for at, word in enumerate(words) if word.rpartition("/")[2] == program)
    if any(word.startswith(_SHOWS_NONE.get(program, "--quiet")) for word in words[at + 1 :]):
        return []
    plain = [word for word in words[at + 1 :] if word[:1] not in ("-", "+") and not word.isdigit()]
    return plain[SHOW_FILES[program] :]


def _number_in(words: list[str]) -> int:
    """Of `head -50`, `head -n 50`, `sed -n 1,50p`."""
    for word in words:
        digits = word.rpartition(",")[2].strip("-=npq{;}")
        if digits.isdigit() and len(digits) < 9:
            return 1 if "c" in "".join(words[:1]) else int(digits)
    return 10


#: Programs that fail only where nothing works any more.
_NEVER_FAIL = frozenset(
    ": cat cd clear date echo export local mkdir popd print printf pushd pwd set setopt shopt sleep source "
    ". tail tee true trap ulimit umask unset alias declare readonly head sort uniq wc sync".split()
)
#: In a pipe they hand on what they are given, and do not fail.
_PASSES_ON = frozenset("cat tail tee sort uniq head wc less more nl ts tr cut strings sed awk".split())


def run_of(values: list[str], left: int = _DEEPEST) -> "tuple[Runner | None, bool] | None":
    """(the runner that these words call, whether they are sure to run tests); None: they run none.
    `left`: how many programs that start others are followed."""
    for number in range(left):
        if not values:
            return None
        known = _known(values, left - number - 1)
        if known is not None:
            return known or None
        rest = started(values)
        if not rest or len(rest) >= len(values):
            break
        values = rest
    return None


def _known(values: list[str], left: int) -> "tuple | None":
    """() of a call of a runner that runs nothing; None: it may be something else, that starts another."""
    program = values[0].replace("\\", "/").rpartition("/")[2]
    for ending in (".exe", ".cmd", ".phar", ".bat"):
        program = program.removesuffix(ending)
    rest = values[1:]
    if program.rstrip("0123456789.") in _PYTHONS or (program[:1] == "$" and "-m" in rest[:3]):
        return _by_python(rest, left)
    if program[:1] == "$":
        return None
    for words, runner in _calls().get(program, ()):
        if _is_call(words, rest):
            without = runner.without.split()
            return (
                ()
                if _TELLS & {*rest} or any(word in without for word in rest) or _is_no_test(program, rest)
                else (
                    runner,
                    runner.name not in _MANY_THINGS or any("test" in word.lower() for word in rest),
                )
            )
    if program in _TASKS:
        task = _task(program, rest)
        if task is not None:
            return task
    if program in _INTERPRETERS or program in SHELLS:
        return _script(program, rest, left)
    if "/" in values[0] or values[0].endswith((".sh", ".py")):
        return _by_name(values[0], rest)
    return None


#: Their goals build and check as well: only one that names tests is sure to run some.
_MANY_THINGS = frozenset(("gradle", "automake"))


def _is_no_test(program: str, rest: list[str]) -> bool:
    """`tox -e lint`, `nox -s mypy`, `gradle build -x test`."""
    if program in _SHOWS:
        return _only_shows(program, rest)
    if program in ("gradle", "gradlew"):
        return any(one == "-x" and two.endswith("test") for one, two in _pairs(rest))
    for word, behind in _pairs([*rest, ""]) if program in ("tox", "nox") else ():
        option, equals, value = word.partition("=")
        if word[:1] == "-" and word[1:2] in ("e", "s") and len(word) > 2:
            option, value = word[:2], word[2:].removeprefix("=")
        if option in ("-e", "-s", "--session", "--sessions", "--env"):
            named = (value or ("" if equals else behind)).split(",")
            return all(_NOT_TESTING & {*_apart(one)} for one in named)
    return False


def _pairs(words: list[str]) -> "list[tuple[str, str]]":
    return list(zip(words, words[1:], strict=False))  # noqa: RUF007  itertools is too dear


#: Options, and words of its own, with which a program that runs tasks runs none, and only shows some.
_SHOWS = {
    "rake": "-T --tasks -P --prereqs -D --describe -W --where -n --dry-run",
    "make": "-q --question -t --touch -n --just-print --recon --dry-run",
    "gmake": "-q --question -t --touch -n --just-print --recon --dry-run",
    "ninja": "-t -n",
    "just": "-s --show --evaluate --dump --summary -n --dry-run",
    "turbo": "login logout link unlink prune gen ls query scan daemon info telemetry completion config "
    "boundaries devtools --dry --dry-run --graph",
}


def _only_shows(program: str, rest: list[str]) -> bool:
    """`rake -T test`, `turbo login`: the words are those before the first that is a task's."""
    shows = _SHOWS.get(program, "").split()
    first = next((word for word in rest if word[:1] != "-"), "")
    return first in shows or any(word[:1] == "-" and word.partition("=")[0] in shows for word in rest)


def _by_python(rest: list[str], left: int) -> "tuple | None":
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at] not in ("-m", "-c", "-"):
        at += 2 if rest[at] in ("-W", "-X", "--check-hash-based-pycs") else 1
    if at == len(rest) or rest[at] in ("-c", "-"):
        return ()
    if rest[at] == "-m":
        module, given = rest[at + 1 : at + 2], rest[at + 2 :]
        if module == ["coverage"] and given[:1] == ["run"]:
            return run_of(["coverage", *given], left) or ()
        for words, runner in _calls().get("-m", ()):
            if [*module, *given][: len(words)] == words:
                return () if _TELLS & {*given} or {*runner.without.split()} & {*given} else (runner, True)
        return run_of([*module, *given], left) or () if module and module[0] in ("nox", "tox") else ()
    name = rest[at].rpartition("/")[2]
    for words, runner in _calls().get(name, ()):
        if rest[at + 1 : at + 1 + len(words)] == words:
            return runner, True
    if name in _calls() and not name.endswith(".py"):  # python .venv/bin/pytest
        return run_of([name, *rest[at + 1 :]], left) or ()
    return _by_name(rest[at], rest[at + 1 :]) or ()


def _script(program: str, rest: list[str], left: int) -> "tuple | None":
    """An interpreter, or a shell, that is given a file."""
    if program == "perl" and any(word in ("-e", "-E", "-ne", "-pe") for word in rest):
        return ()
    if program in SHELLS:  # `bash -eo pipefail tests.sh`
        set_to = [two for one, two in _pairs(rest) if one[:1] in ("-", "+") and one[-1:] == "o"]
        rest = [word for word in rest if word not in set_to]
    if program == "bun" or program == "deno":
        rest = rest[1:] if rest[:1] == ["run"] else []
    files = [word for word in rest if word[:1] != "-"]
    options = rest[: rest.index(files[0])] if files else rest
    if any(word in _CHECKS.get(program, ()) for word in options):
        return ()
    if program in SHELLS and any(word[:1] == "-" and word[1:2] != "-" and "n" in word for word in options):
        return ()  # it is only read
    if not files:
        return () if program in SHELLS else None
    if files[0].rpartition("/")[2] in _calls():  # php vendor/bin/phpunit
        return run_of(files, left) or ()
    return _by_name(files[0], rest) or ()


def _by_name(path: str, rest: list[str]) -> "tuple | None":
    """A script or program whose name says that it tests."""
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    stem = stem if dot else name
    if (dot and ending not in _SCRIPTS) or _TELLS & {*rest}:
        return None
    parts = _apart(stem)
    testing = _TESTING - {"unit", "integration", "smoke"}
    if ending not in _WITH_SPECS:  # elsewhere a spec describes what is to be built
        testing -= {"spec", "specs"}
    if not {*parts} & testing or _NOT_TESTING & {*parts} or (parts[0] in _MAKING and "." not in stem):
        return None
    is_own = not path.startswith(("/tmp/", "/private/tmp/", "/var/"))  # noqa: S108  it is named, not written
    is_test = dot or parts[0] in _TESTING or parts[0] in ("run", "unit") or parts[-1] in ("tests", "specs")
    return None, bool(is_own and is_test)


def _apart(name: str) -> list[str]:
    for mark in ":_./+@=":
        name = name.replace(mark, "-")
    return [part for part in name.lower().split("-") if part]


def _task(program: str, rest: list[str]) -> "tuple | None":
    """Of `make lint test`, `npm run test:unit`, `mise run test ./...`: the name of a task says what it
    does."""
    if _only_shows(program, rest):
        return ()
    names: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word in _TASK_VALUES:
            skip = True
            if word in ("--target", "-t"):
                names.append(rest[rest.index(word) + 1] if rest.index(word) + 1 < len(rest) else "")
        elif word in ("-n", "--dry-run", "--version", "--help", "-h", "--list", "-l"):
            return ()
        elif word[:1] == "-" or is_assigned(word):
            continue
        elif word not in _BEFORE_TASK:
            names.append(word)
    names = names[:8] if program in ("make", "gmake", "just", "rake", "turbo", "ninja") else names[:1]
    if program == "turbo" or program == "nx":
        names = [name.rpartition(":")[2] for name in names]
    sure = [name for name in names if _is_testing(name)]
    if sure:
        runner = next((one for words, one in _calls().get(program, ()) if words == sure[:1]), None)
        return runner, True
    return (None, False) if any(name in _MAY_TEST for name in names) else None


def _is_testing(name: str) -> bool:
    parts = _apart(name)
    return bool({*parts} & _TESTING) and not {*parts} & _NOT_TESTING and parts[0] not in ("pre", "post")


def _is_call(words: list[str], rest: list[str]) -> bool:
    """Whether the words of a call are the first of these that are no options; `..`: any words come
    between."""
    if not words:
        return True
    if words[0] == "..":
        goal = words[-1]
        return any(word == goal or word.rpartition(":")[2] == goal for word in rest)
    plain = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word[:1] == "-" and word not in words:
            skip = word in _TASK_VALUES or word in ("--manifest-path", "--color", "--package")
        elif word[:1] != "+" and not is_assigned(word):
            plain.append(word)
        if len(plain) == len(words):
            break
    return plain == words


_CALLS: dict[str, list] = {}


def _calls() -> dict[str, list]:
    """program -> [(the words behind it, runner)], the longest first."""
    if not _CALLS:
        for runner in RUNNERS:
            for call in filter(None, runner.calls.split("|")):
                program, *words = call.split()
                _CALLS.setdefault(program.rpartition("/")[2], []).append((words, runner))
        for found in _CALLS.values():
            found.sort(key=lambda call: -len(call[0]))
    return _CALLS


def shortened(command: str, most: int) -> str:
    """Without the here-documents that it only writes, where it is longer."""
    for part in shell.simple(shell.read(command)) if len(command) > most else ():
        if part.given and not is_bare_shell(part):
            command = command.replace(part.given, "", 1)
    return command


def runs_tests(command: str) -> bool:
    """Whether it may: a task like `check` is sure to only once it has printed so."""
    return bool(Runs(command).found)
