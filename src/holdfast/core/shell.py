"""Which files a shell command shows or writes, and what it calls, as far as its words tell.

Only what is plainly written: no variables, no patterns, no scripts. A command that is not known shows
nothing, whatever it names.
"""

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
_END, _BREAK, _INTO, _FROM = "\0", ";|&\n()", ">", "<"
_IN_NAMES = frozenset("_@%+:,./~-")
_LONGEST_ENDING = 10
#: Programs that run the text they are given.
_RUN = frozenset(
    (
        *("ash", "bash", "cmd", "dash", "docker", "docker-compose", "eval", "fish", "ksh", "kubectl"),
        *("nix-shell", "podman", "powershell", "pwsh", "script", "sh", "ssh", "su", "watch", "wsl", "zsh"),
    )
)
#: What stands between words that are looked at one by one.
_APART = str.maketrans(";&|()", "     ")
_DEEPEST, _LONGEST_SUM = 8, 256


def files(command: str, folder: str) -> list[tuple[str, str]]:
    """(path, SHOWN, CHANGED or PUT), each once, in order; `folder` is where the command begins. What is put
    is written as a whole, or new."""
    found: dict[tuple[str, str], None] = {}
    place: str | None = folder
    for words, targets in _parts(command[:_LOOKED_AT]):
        found.update(dict.fromkeys((path, PUT) for path in _paths(place, targets)))
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


def called(command: str) -> str:
    """A command without what it only writes: quoted text of more than a word, the bodies of here-documents,
    comments. What is handed to a shell stays, and so does what a quoted text has put into it: $(…)."""
    return _called(command[:_LOOKED_AT] + _END, 0, 0)[0].replace(_END, "")


def _called(command: str, at: int, depth: int) -> tuple[str, int]:
    """(what is called from there on, up to the bracket that closes it, and where that is)."""
    done: list[str] = []
    pipe: list[tuple[str, str]] = []  # as it stands, without what is only written
    ends: list[tuple[str, bool]] = []  # of here-documents: the word, whether a shell is given it
    opened: list[str] = []
    while at < len(command) and not (depth and command[at] == ")"):
        start, char = at, command[at]
        at += 1
        less = char
        if char == "\\":
            at += 1
            less = command[start:at]
        elif char in "'\"":
            less, at = _quoted(command, at, char, depth, command[start - 1 : start] == "$")
        elif char == "#" and command[start - 1 : start] in ("", *" \t\n;|&("):
            at, less = _line_end(command, at), ""
        elif command.startswith("((", start):  # arithmetic: << shifts there
            end = command.find("))", at, at + _LONGEST_SUM)
            at = end + 2 if end >= 0 else at
            less = command[start:at]
        elif char == "(" and depth < _DEEPEST:
            inner, at = _called(command, at, depth + 1)
            less, at = f"({inner})", at + 1
        elif char == _FROM and command.startswith(_FROM, at):
            name, at = _here(command, at)
            less = command[start:at]
            opened += [name] if name else []
        pipe.append((command[start:at], less))
        is_both = ">" in command[start - 1 : at + 1]  # 2>&1, &>: nothing ends there
        if char in (";", "\n", _END) or (char == "&" and not is_both) or command.startswith("||", start):
            is_run = _is_run(pipe)
            done += [pair[not is_run] for pair in pipe]
            ends += [(name, is_run) for name in opened]
            pipe, opened = [], []
        while char == "\n" and ends:
            name, is_run = ends.pop(0)
            start, at = at, _after(command, at, name)
            done.append(command[start:at] if is_run else "")
    is_run = _is_run(pipe)
    return "".join([*done, *(pair[not is_run] for pair in pipe)]), at


def _quoted(command: str, at: int, quote: str, depth: int, is_ansi: bool) -> tuple[str, int]:
    """(what a text calls, in its quotes, or, of one word, all of it; where what comes after it begins).
    `is_ansi`: it is one of $'…', in which a backslash says something."""
    start, calls = at, []
    while at < len(command) and command[at] != quote:
        if (quote == '"' or is_ansi) and command[at] == "\\":
            at += 1
        elif quote == '"' and command.startswith("$(", at) and depth < _DEEPEST:
            inner, at = _called(command, at + 2, depth + 1)
            calls.append(f"$({inner})")
        at += 1
    text = command[start:at]
    is_word = not calls and len(text.translate(_APART).split()) < 2
    return quote + (text if is_word else " ".join(calls)) + quote, at + 1


def _is_run(pipe: list[tuple[str, str]]) -> bool:
    """Whether one of its programs runs what it is given. What stands behind an option is its value, behind
    `>` a file."""
    before = ""
    for word in "".join(less for _, less in pipe).translate(_APART).split():
        if word.rpartition("/")[2] in _RUN and not before.startswith("--") and not before.endswith(">"):
            return True
        before = word
    return False


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


def _parts(command: str) -> list[tuple[list[str], list[str]]]:
    """(words, files written to) of each program that is called."""
    parts: list[tuple[list[str], list[str]]] = []
    words: list[str] = []
    targets: list[str] = []
    into = words
    for mark, word in _words(command):
        if word is not None:
            into.append(word)
            into = words
        elif mark == _INTO:
            into = targets
        elif mark == _FROM:
            into = []  # what is read from is shown by nobody
        else:
            parts.append((words, targets))
            words, targets = [], []
            into = words
    return parts


def _words(command: str) -> list[tuple[str, str | None]]:
    """("", word) or (mark, None), without the bodies of here-documents."""
    found: list[tuple[str, str | None]] = []
    word, quote, at = None, "", 0
    ends: list[str] = []
    command += _END
    while at < len(command):
        char = command[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"':
                word, at = (word or "") + command[at : at + 1], at + 1
            else:
                word = (word or "") + char
        elif char in "'\"":
            word, quote = word or "", char
        elif char == "\\" and command[at] == "\n":
            at += 1
        elif char == "\\":
            word, at = (word or "") + command[at : at + 1].strip(), at + 1
        elif char == "#" and word is None:
            at = _line_end(command, at)
        elif char in " \t" or char in _BREAK or char in (_INTO, _FROM, _END):
            is_number = char in (_INTO, _FROM) and (word or "x").isdigit()  # 2> file: not a word
            if word is not None and not is_number:
                found.append(("", word))
            word = None
            if char == _FROM and command.startswith(_FROM, at):
                name, at = _here(command, at)
                if name:
                    ends.append(name)
                else:
                    found.append((_FROM, None))
            elif char in (_INTO, _FROM):
                at += command.startswith(_INTO, at)
                if command.startswith("&", at):  # 2>&1: no file
                    at += 2
                else:
                    found.append((char, None))
            elif char not in " \t":
                found.append((_BREAK, None))
                while char == "\n" and ends:
                    at = _after(command, at, ends.pop(0))
        else:
            word = (word or "") + char
    return found


def _line_end(command: str, at: int) -> int:
    end = command.find("\n", at)
    return len(command) - 1 if end < 0 else end


def _here(command: str, at: int) -> tuple[str, int]:
    """The word that ends a here-document, and where what comes after it begins. No word, where there is no
    such document: a string follows (<<<), or a number is shifted."""
    at += 1
    if command.startswith(_FROM, at):
        return "", at + 1
    while command[at] in "- \t":
        at += 1
    start = at
    if not (command[at].isalpha() or command[at] in "_'\"\\"):
        return "", at
    while command[at] not in " \t\n;|&)>" + _END:
        at += 1
    return command[start:at].strip("'\"\\"), at


def _after(command: str, at: int, name: str) -> int:
    """Where the line after a here-document begins; the end, where nothing ends it."""
    while at < len(command):
        line, found, _ = command[at:].partition("\n")
        at += len(line) + 1
        if line.strip().rstrip(_END) == name or not found:
            break
    return min(at, len(command))


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
