"""Which files a shell command shows or writes, as far as its words tell.

Only what is plainly written: no variables, no patterns, no scripts. A command that is not known shows
nothing, whatever it names.
"""

from holdfast.core import shell

#: Programs that print what is in the files they name.
_SHOW = frozenset(
    (
        *("awk", "bat", "cat", "diff", "egrep", "fgrep", "grep", "head"),
        *("jq", "less", "nl", "rg", "sed", "tail", "yq"),
    )
)
#: Of those, the ones whose first word is what they look for or do: (options with a value, options which say
#: that instead).
_GREP = ("ABCm", "ef")
_SAYS_FIRST = {
    "awk": ("Fv", "f"),
    "egrep": _GREP,
    "fgrep": _GREP,
    "grep": _GREP,
    "jq": ("", "f"),
    "rg": ("ABCMTgmt", "ef"),
    "sed": ("l", "ef"),
    "yq": ("", "f"),
}
_INSTEAD = ("--expression", "--file", "--from-file", "--regexp")
#: Words before a program.
_BEFORE = frozenset(("!", "(", "{", "command", "do", "if", "sudo", "then", "time"))
#: More of a command is not looked at.
_LOOKED_AT = 1 << 14
#: What a command does with a file.
SHOWN, CHANGED, PUT = "shown", "changed", "put"
_IN_NAMES = frozenset("_@%+:,./~-")
_LONGEST_ENDING = 10


def files(command: str, folder: str) -> list[tuple[str, str]]:
    """(path, SHOWN, CHANGED or PUT), each once, in order; `folder` is where the command begins. What is put
    is written as a whole, or new."""
    found: dict[tuple[str, str], None] = {}
    place: str | None = folder
    for part in shell.simple(shell.read(command[:_LOOKED_AT])):
        words = [word.value for word in part.words]
        found.update(dict.fromkeys((path, PUT) for path in _paths(place, part.into)))
        while words and (words[0] in _BEFORE or "=" in words[0]):
            del words[0]
        program = words[0].rpartition("/")[2] if words else ""
        if program == "cd" and len(words) == 2:
            place = _joined(place, words[1]) if _is_plain(words[1]) and words[1] != "-" else None
        elif program in _SHOW:
            in_place = program == "sed" and any(word.startswith(("-i", "--in-place")) for word in words)
            how = CHANGED if in_place else SHOWN
            found.update(dict.fromkeys((path, how) for path in _paths(place, _given(program, words[1:]))))
    return list(found)


def _given(program: str, words: list[str]) -> list[str]:
    """Its words, without options, their values, and what it looks for."""
    if program not in _SAYS_FIRST:
        return words
    valued, instead = _SAYS_FIRST[program]
    is_said, is_value = False, False
    found = []
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("--"):
            name, equals, _ = word.partition("=")
            is_value = name in _INSTEAD and not equals
            is_said |= name in _INSTEAD
        elif word.startswith("-"):
            at = next((at for at, char in enumerate(word) if char in valued or char in instead), 0)
            is_said |= word[at] in instead
            is_value = at == len(word) - 1 and at > 0
        else:
            found.append(word)
    return found if is_said else found[1:]


def _paths(folder: str | None, names: list[str]) -> list[str]:
    """Of those that are files; none below a folder that is not known."""
    return [path for name in names if _is_file(name) and (path := _joined(folder, name)) is not None]


def _is_file(word: str) -> bool:
    name = word.rpartition("/")[2]
    ending = name.rpartition(".")[2]
    return (
        "." in name
        and "//" not in word
        and word[0] != "-"
        and 0 < len(ending) <= _LONGEST_ENDING
        and ending[0].isalpha()
        and ending.isalnum()
        and _is_plain(word)
    )


def _is_plain(word: str) -> bool:
    return all(char.isalnum() or char in _IN_NAMES for char in word)


def _joined(folder: str | None, name: str) -> str | None:
    if folder is None and not name.startswith(("/", "~")):
        return None
    whole = name if name.startswith(("/", "~")) else f"{folder}/{name}"
    steps: list[str] = []
    for step in whole.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    path = "/".join(steps)
    return path if whole.startswith("~") else f"/{path}"
