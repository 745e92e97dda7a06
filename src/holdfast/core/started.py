"""What a program starts: `uv run`, `timeout 60`, `docker exec web`, `bash -c '…'`, `ssh host '…'`."""

from holdfast.core import shell
from holdfast.core.shell import SIMPLE, Part

#: Programs that start the one behind them: how many words of their own come first, and their options with a
#: value. Of two words: a program and its subcommand.
_STARTS: dict[str, tuple[int, str]] = {
    "arch": (0, ""),
    "builtin": (0, ""),
    "bundle exec": (0, ""),
    "bunx": (0, "-p --package"),
    "c8": (0, "-r --reporter -o -x -n --include --exclude"),
    "caffeinate": (0, "-t -w"),
    "chronic": (0, ""),
    "chrt": (1, ""),
    "command": (0, ""),
    "conda run": (0, "-n -p --name --prefix --cwd"),
    "coverage run": (0, "--source --omit --include --rcfile --data-file --concurrency --context"),
    "cross-env": (0, ""),
    "direnv exec": (1, ""),
    "docker compose exec": (1, "-e -u -w --env --user --workdir --index"),
    "docker compose run": (1, "-e -u -w -v -p --env --user --workdir --name --volume --entrypoint"),
    "docker exec": (1, "-e -u -w --env --user --workdir --env-file"),
    "docker run": (
        1,
        "-e -u -w -v -p --env --user --workdir --name --volume --network --entrypoint --mount",
    ),
    "docker-compose exec": (1, "-e -u -w --env --user --workdir --index"),
    "docker-compose run": (1, "-e -u -w -v -p --env --user --workdir --name --volume --entrypoint"),
    "doas": (0, "-u"),
    "doppler run": (0, "-p -c"),
    "dotenv": (0, "-e -f"),
    "dotenvx run": (0, "-f"),
    "env": (0, "-u -C -S --unset --chdir"),
    "exec": (0, "-a"),
    "gtimeout": (1, "-s -k --signal --kill-after"),
    "ionice": (0, "-c -n"),
    "kubectl exec": (1, "-n -c --namespace --container"),
    "mise exec": (0, ""),
    "mise x": (0, ""),
    "nice": (0, "-n --adjustment"),
    "nix develop": (0, ""),
    "nix shell": (1, ""),
    "noglob": (0, ""),
    "nohup": (0, ""),
    "npm exec": (0, "-p --package -w --workspace"),
    "npx": (0, "-p --package -w --workspace"),
    "nyc": (0, "-r --reporter"),
    "op run": (0, "--env-file"),
    "pdm run": (0, "-p --project"),
    "pipenv run": (0, ""),
    "pipx run": (0, "--spec --python"),
    "pixi run": (0, "-e --environment --manifest-path"),
    "pnpm dlx": (0, "--package"),
    "pnpm exec": (0, "--filter -F -C --dir"),
    "podman exec": (1, "-e -u -w --env --user --workdir"),
    "podman run": (1, "-e -u -w -v -p --env --user --workdir --name --volume"),
    "poetry run": (0, "-C -P --directory --project"),
    "rtk": (0, ""),
    "rye run": (0, ""),
    "setsid": (0, ""),
    "stdbuf": (0, "-i -o -e"),
    "strace": (0, "-e -o -p"),
    "sudo": (0, "-u -g -C -D -h -p"),
    "time": (0, "-o -f"),
    "timeout": (1, "-s -k --signal --kill-after"),
    "unbuffer": (0, ""),
    "uv run": (
        0,
        "--with --with-editable --with-requirements --extra --group --only-group --no-group --python -p "
        "--package --env-file --directory --project --index --no-extra",
    ),
    "uv tool run": (0, "--with --from --python -p"),
    "uvx": (0, "--with --from --python -p"),
    "valgrind": (0, ""),
    "xargs": (0, "-n -I -P -L -a -d"),
    "xvfb-run": (0, "-s -n -e -f"),
    "yarn dlx": (0, "-p --package"),
    "yarn exec": (0, ""),
}
#: Package managers that also start the programs of a project by name alone: `pnpm vitest`.
_ALSO_START = frozenset(("pnpm", "yarn", "bun", "hatch", "pdm", "nx", "lerna", "turbo"))
SHELLS = frozenset(
    ("bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "pwsh", "powershell", "nix-shell", "su")
)
#: Options with which a program starts nothing, or goes on before that has ended.
_DETACHED = "-d --detach"
_STARTS_NOTHING: dict[str, str] = {
    "command": "-v -V",
    "sudo": "-l --list -v --validate -e --edit -b --background",
    "setsid": "-f --fork",
    "time": "-V",
    "docker": _DETACHED,
    "docker-compose": _DETACHED,
    "podman": _DETACHED,
}
_ONLY_TELLS = ("--help", "--version")
#: They hand the rest of their words to a shell, behind so many of their own.
_HAND_ON = {"eval": 0, "ssh": 1, "watch": 0, "wsl": 0}
_SSH_VALUES = frozenset("-p -i -o -l -F -J -L -R -D -E -b -c -m -S -W -w".split())
_DEEPEST = 6
#: Scripts within each other, and beside each other, that are read for one command.
MOST_SCRIPTS = 16
#: Characters of them in all.
MOST_OF_SCRIPTS = 1 << 16


def calls(command: str) -> list[list[str]]:
    """The words of every program that a command calls, in order, with those that others start."""
    found: list[list[str]] = []
    _gather(command, found, [MOST_SCRIPTS, MOST_OF_SCRIPTS])
    return found


def _gather(command: str, found: list[list[str]], left: list[int]) -> None:
    given = ""
    for part in shell.simple(shell.read(command)):
        words = [word.value for word in part.words]
        said = part.given or given
        given = part.given if first(part) == "cat" else ""
        for number in range(_DEEPEST):
            if not words:
                break
            script = script_of(words, number > 0) or (said if said and is_bare_shell(part) else "")
            if script and left[0] and len(script) <= left[1]:
                left[0] -= 1
                left[1] -= len(script)
                _gather(script, found, left)
                break
            found.append(words)
            words = started(words)


def script_of(values: list[str], is_started: bool = False) -> str:
    """What a shell is handed to run: `bash -c '…'`, `ssh host '…'`, `eval …`; or, where another program
    starts it, as one word: `docker run image 'cd x && …'`."""
    program = values[0].rpartition("/")[2]
    if program in _HAND_ON:
        rest: list[str] = []
        skip, own = False, _HAND_ON[program]
        for word in values[1:]:
            if skip:
                skip = False
            elif not rest and word.startswith("-"):
                skip = program == "ssh" and word in _SSH_VALUES
            elif not rest and own:
                own -= 1
            else:
                rest.append(word)
        return " ".join(rest)
    if program in SHELLS:
        for at, word in enumerate(values[1:-1], 1):
            if word in ("--run", "--command", "-Command") or (
                word[:1] == "-" and word[:2] != "--" and "c" in word
            ):
                return values[at + 1]
            if word[:1] != "-" and values[at - 1][:2] not in ("-o", "-e"):
                break
    return values[0] if is_started and len(values) == 1 and len(values[0].split()) > 1 else ""


def started(values: list[str]) -> list[str]:
    """What a program starts, without its own words: of `timeout 60 uv run pytest -q` `uv run pytest -q`.
    []: it starts nothing."""
    if is_assigned(values[0]):
        return values[1:]
    program = values[0].rpartition("/")[2]
    if (
        program in ("docker", "podman", "kubectl", "uv")
        or program in _ALSO_START
        or f"{program} exec" in _STARTS
    ):
        words = [word for word in values[1:] if word[:1] != "-"][:2]
    else:
        words = values[1:2]
    for many in (2, 1, 0):
        key = " ".join([program, *words[:many]])
        if key in _STARTS and (many == 0 or len(words) >= many):
            own, valued = _STARTS[key]
            at = 1 + (values.index(words[many - 1], 1) if many else 0)
            return _behind(values, at, own, valued.split())
    if program in _ALSO_START:
        return _behind(values, 1, 0, ["--filter", "-F", "-C", "--dir", "-w", "--workspace", "--cwd"])
    return []


def _behind(values: list[str], at: int, own: int, valued: list[str]) -> list[str]:
    idle = _STARTS_NOTHING.get(values[0].rpartition("/")[2], "").split()
    while at < len(values):
        word = values[at]
        if word in _ONLY_TELLS or word in idle or (word[:2] not in valued and _holds(word, idle)):
            return []
        if word == "-m" or word == "--module":  # uv run -m pytest, coverage run -m pytest
            return ["python", *values[at:]]
        if word in valued or (word == "-c" and "-c" in valued):
            at += 2
        elif word == "--" or word.startswith("-") or (is_assigned(word) and not own):
            at += 1
        elif own:
            own, at = own - 1, at + 1
        else:
            break
    return values[at:]


def _holds(word: str, options: list[str]) -> bool:
    """Whether one of them is among several that are written as one: `-nl`."""
    return word[:1] == "-" and word[1:].isalpha() and any("-" + letter in options for letter in word[1:])


def is_assigned(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.rstrip("+").isidentifier()


def first(part: Part) -> str:
    """The program of a simple command."""
    for word in part.words if part.kind == SIMPLE else ():
        if not is_assigned(word.value):
            return word.value.rpartition("/")[2]
    return ""


def is_bare_shell(part: Part) -> bool:
    """`bash`, `sh -s`, `ssh host`: what it runs comes from its standard input."""
    words = [word.value for word in part.words]
    words = started(words) or words if words and words[0] != "ssh" else words
    program = words[0].rpartition("/")[2] if words else ""
    plain = [word for word in words[1:] if word[:1] != "-"]
    return (program in SHELLS and not plain) or (program == "ssh" and len(plain) == 1)
