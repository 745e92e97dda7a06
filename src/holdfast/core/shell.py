"""A shell command, read as the shell reads it: simple commands, pipes, lists, groups, here-documents.

`read` gives a tree of `Part`. Nothing is expanded: a variable stays as it is written. Damaged or odd text
gives what can be read of it. More than `LOOKED_AT` characters or `_MOST_TOKENS` words and marks are not
looked at: then the whole `is_cut`."""

LOOKED_AT = 1 << 17
#: What a `Part` is. A simple command; commands joined by `|`; by `&&` and `||`; one after the other; `!`
#: before one; one with `&` behind it; one that runs only if something holds; one that runs any number of
#: times; the body of a function, which is not run where it stands.
SIMPLE, PIPE, CHAIN, LIST, NOT, BACKGROUND, IF, LOOP, FUNCTION = range(9)
_WORD, _MARK, _TARGET = range(3)
#: Brackets and quotes within each other are followed so deep, and no deeper.
_DEEPEST = 24
_BLANK, _SPECIAL = " \t\r", " \t\r\n;|&()<>'\"\\$`"
#: Words that begin or end a compound command, where a command may begin.
_ENDS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
_MARKS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "|", "&", "(", ")")
_LONGEST_SUM = 256
_MOST_TOKENS = 1 << 13


class Word:
    """`value` is without its quotes; `inside` holds what `$(…)`, backticks and `<(…)` in it run."""

    __slots__ = ("end", "inside", "is_quoted", "start", "value")

    def __init__(self, value: str, start: int, end: int, is_quoted: bool, inside: "list[Part]"):
        self.value = value
        self.start = start
        self.end = end
        self.is_quoted = is_quoted
        self.inside = inside


class Part:
    """`parts` are the commands it is made of; `marks` what joins those of a chain. Of a simple command: its
    `words`, the files it writes (`into`), what it is given on its standard input (`given`), and how it is
    written, without redirections (`text`). `is_apart`: it runs in a shell of its own, `( … )`;
    `is_diverted`: what it prints on its standard output goes to one of those files."""

    __slots__ = (
        "given",
        "into",
        "is_apart",
        "is_cut",
        "is_diverted",
        "kind",
        "marks",
        "parts",
        "text",
        "words",
    )

    def __init__(self, kind: int, parts: "list[Part] | None" = None) -> None:
        self.kind = kind
        self.parts = parts or []
        self.marks: list[str] = []
        self.words: list[Word] = []
        self.into: list[str] = []
        self.given = ""
        self.text = ""
        self.is_apart = self.is_cut = self.is_diverted = False

    def write(self, mark: str, path: str) -> None:
        if path:
            self.into.append(path)
            self.is_diverted |= mark.startswith((">", "&>", "1>"))


def read(command: str) -> Part:
    lexer = _Lexer(command[:LOOKED_AT], 0)
    tokens, _ = lexer.tokens(0, is_inner=False)
    whole = _Parser(lexer.text, tokens).whole()
    whole.is_cut = len(command) > LOOKED_AT or lexer.left <= 0
    return whole


def simple(part: Part) -> list[Part]:
    """Every simple command in it, in the order in which they stand, with those inside of words."""
    found: list[Part] = []
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if one.kind == SIMPLE:
            found.append(one)
            waiting += [inner for word in reversed(one.words) for inner in reversed(word.inside)]
        else:
            waiting += reversed(one.parts)
    return found


class _Lexer:
    """Makes tokens of a text: (kind, word or mark, where a redirection leads, what a here-document
    says)."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.depth = depth
        self.left = _MOST_TOKENS

    def tokens(self, at: int, is_inner: bool) -> tuple[list, int]:
        """`is_inner`: up to the bracket that closes it. What is returned with them is where they end."""
        text, end = self.text, len(self.text)
        found: list = []
        bodies: list = []  # [token, word that ends its here-document]
        open_brackets = 0
        while at < end and self.left:
            char = text[at]
            self.left -= char not in _BLANK
            if char in _BLANK:
                at += 1
            elif char == "\n":
                found.append((_MARK, "\n"))
                at += 1
                for token, name in bodies:
                    start, at = at, _after(text, at, name)
                    token[3] = text[start:at].rpartition(name)[0] or text[start:at]
                bodies = []
            elif char == "\\" and text.startswith("\n", at + 1):
                at += 2
            elif char == "#":
                at = _find(text, "\n", at)
            elif char == ")" and is_inner and not open_brackets:
                return found, at + 1
            elif text.startswith("((", at) and (close := text.find("))", at, at + _LONGEST_SUM)) > 0:
                found.append((_WORD, Word(text[at : close + 2], at, close + 2, True, [])))
                at = close + 2
            elif char in "<>" or text.startswith(("&>", ">&"), at):
                at = self._redirection(at, found, bodies)
            elif char in ";|&()":
                mark = next(mark for mark in _MARKS if text.startswith(mark, at))
                open_brackets += (mark == "(") - (mark == ")")
                found.append((_MARK, mark))
                at += len(mark)
            else:
                word, at = self.word(at)
                is_number = word.value.isdigit() and text[at : at + 1] in ("<", ">")
                if is_number and not word.is_quoted:
                    at = self._redirection(at, found, bodies, word.value)
                else:
                    found.append((_WORD, word))
        return found, end

    def _redirection(self, at: int, found: list, bodies: list, number: str = "") -> int:
        """`number`: what stands before the mark, `2` of `2>file`."""
        text, start = self.text, at
        if text[at : at + 2] in ("<(", ">(") and self.depth < _DEEPEST:
            inner, at = self.inside(at + 2)
            found.append((_WORD, Word(text[start:at], start, at, True, [inner])))
            return at
        while text[at : at + 1] in ("<", ">", "&", "|") and at < start + 3:
            at += 1
        mark = text[start:at]
        if mark.endswith("|") and mark not in (">|", "<>|"):  # `>|` only: `>a|b` ends before the pipe
            at -= 1
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        is_here = mark.startswith("<<") and not mark.startswith("<<<")
        if is_here and text[at : at + 1] == "-":
            at += 1
            while text[at : at + 1] in (" ", "\t"):
                at += 1
        if text[at : at + 1] in ("", "\n", ";", "|", "&", ")", "("):
            return at
        word, at = self.word(at)
        if is_here:
            token = [_TARGET, "<<", word, ""]
            bodies.append((token, word.value))
            found.append(token)
        elif mark.startswith("<<<"):
            found.append([_TARGET, "<<", word, word.value])
        elif not (mark.endswith("&") and mark[0] in "<>" and word.value.rstrip("-").isdigit()):
            found.append([_TARGET, mark if mark == "<" else number + mark, word, ""])
        return at

    def word(self, at: int) -> tuple[Word, int]:
        text, end, start = self.text, len(self.text), at
        value: list[str] = []
        inside: list[Part] = []
        is_quoted = False
        while at < end:
            char = text[at]
            if char not in _SPECIAL:
                begin = at
                while at < end and text[at] not in _SPECIAL:
                    at += 1
                value.append(text[begin:at])
            elif char == "'":
                close = _find(text, "'", at + 1)
                value.append(text[at + (close < end) : close])  # one that nothing closes is no quote
                at, is_quoted = close + 1, True
            elif char == '"':
                said, at = self._quoted(at + 1, inside)
                value.append(said)
                is_quoted = True
            elif char == "\\":
                value.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2] or "\\")
                at, is_quoted = at + 2, True
            elif text.startswith("$'", at):
                said, at = _ansi(text, at + 2)
                value.append(said)
                is_quoted = True
            elif char == "$" or char == "`":
                said, at = self._expansion(at, inside)
                value.append(said)
            else:
                break
        at = min(at, end)
        return Word("".join(value), start, at, is_quoted, inside), at

    def _quoted(self, at: int, inside: "list[Part]") -> tuple[str, int]:
        """A text in double quotes, from behind the first of them."""
        text, end = self.text, len(self.text)
        said: list[str] = []
        while at < end and text[at] != '"':
            char = text[at]
            if char == "\\":
                escaped = text[at + 1 : at + 2]
                said.append("" if escaped == "\n" else escaped if escaped in '"\\$`' else "\\" + escaped)
                at += 2
            elif char == "$" or char == "`":
                expanded, at = self._expansion(at, inside)
                said.append(expanded)
            else:
                begin = at
                while at < end and text[at] not in '"\\$`':
                    at += 1
                said.append(text[begin:at])
        return "".join(said), at + 1

    def _expansion(self, at: int, inside: "list[Part]") -> tuple[str, int]:
        """What `$…` or a backtick says: as it is written, since nothing is known of what it will be."""
        text, start = self.text, at
        if text.startswith("$((", at) and (close := text.find("))", at, at + _LONGEST_SUM)) > 0:
            return text[start : close + 2], close + 2
        if text.startswith("$(", at) and self.depth < _DEEPEST:
            inner, at = self.inside(at + 2)
            inside.append(inner)
            return text[start:at], at
        if text.startswith("${", at):
            at = _find(text, "}", at + 2) + 1
            return text[start:at], at
        if text[at] == "`" and self.depth < _DEEPEST:
            close = _find(text, "`", at + 1)
            lexer = _Lexer(text[at + 1 : close], self.depth + 1)
            lexer.left = self.left
            tokens, _ = lexer.tokens(0, is_inner=False)
            self.left = lexer.left
            inside.append(_Parser(lexer.text, tokens).whole())
            return text[start : close + 1], close + 1
        return text[at], at + 1

    def inside(self, at: int) -> tuple[Part, int]:
        self.depth += 1
        tokens, at = self.tokens(at, is_inner=True)
        self.depth -= 1
        return _Parser(self.text, tokens).whole(), at


class _Parser:
    def __init__(self, text: str, tokens: list) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.tokens):
            parts += self.commands(()).parts
            self.at += 1  # what ends something that was not begun
        return Part(LIST, parts)

    def mark(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == _MARK:
            return str(self.tokens[self.at][1])
        return ""

    def keyword(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == _WORD:
            word = self.tokens[self.at][1]
            return "" if word.is_quoted else word.value
        return ""

    def commands(self, until: tuple) -> Part:
        """Up to one of these words, or a bracket that closes."""
        parts: list[Part] = []
        while self.at < len(self.tokens):
            mark = self.mark()
            if mark in (";", "\n", "&"):
                self.at += 1
            elif mark == ")" or mark[:2] in (";;", ";&") or self.keyword() in until or self._is_stray():
                break
            else:
                part = self._chain()
                if self.mark() == "&":
                    part = Part(BACKGROUND, [part])
                parts.append(part)
        return Part(LIST, parts)

    def _is_stray(self) -> bool:
        return self.keyword() in _ENDS and self.keyword() != "}"

    def _chain(self) -> Part:
        """Commands joined by && and ||, which bind alike."""
        first = self._pipe()
        chain = Part(CHAIN, [first])
        while self.mark() in ("&&", "||"):
            chain.marks.append(self.mark())
            self._pass_on()
            chain.parts.append(self._pipe())
        return chain if chain.marks else first

    def _pass_on(self) -> None:
        self.at += 1
        while self.mark() == "\n":
            self.at += 1

    def _pipe(self) -> Part:
        is_not = False
        while self.keyword() == "!":
            self.at += 1
            is_not = not is_not
        parts = [self._command()]
        while self.mark() in ("|", "|&"):
            self._pass_on()
            parts.append(self._command())
        whole = parts[0] if len(parts) == 1 else Part(PIPE, parts)
        return Part(NOT, [whole]) if is_not else whole

    def _command(self) -> Part:
        if self.depth >= _DEEPEST:
            return self._simple()
        self.depth += 1
        try:
            part = self._compound()
        finally:
            self.depth -= 1
        return part

    def _compound(self) -> Part:
        keyword = self.keyword()
        if self.mark() == "(":
            self.at += 1
            part = self._body((), ")")
            part.is_apart = True
        elif keyword == "{":
            self.at += 1
            part = self._body(("}",))
        elif keyword == "if":
            part = self._until("fi", IF)
        elif keyword in ("while", "until"):
            part = self._until("done", LOOP)
        elif keyword in ("for", "select"):
            while self.at < len(self.tokens) and self.keyword() != "do":
                self.at += 1
            part = self._until("done", LOOP)
        elif keyword == "case":
            part = self._case()
        elif keyword == "function" or self._is_function():
            while self.at < len(self.tokens) and self.keyword() != "{" and self.mark() != "\n":
                self.at += 1
            part = Part(FUNCTION, [self._command()])
        else:
            return self._simple()
        while self.at < len(self.tokens) and self.tokens[self.at][0] == _TARGET:
            _, mark, word, _ = self.tokens[self.at]
            if ">" in mark:
                part.write(mark, word.value)
            self.at += 1
        return part

    def _is_function(self) -> bool:
        """`name() {`"""
        ahead = [token[1] for token in self.tokens[self.at + 1 : self.at + 3] if token[0] == _MARK]
        return bool(self.keyword()) and ahead == ["(", ")"]

    def _body(self, until: tuple, closing: str = "") -> Part:
        part = self.commands(until)
        if (closing and self.mark() == closing) or (self.keyword() in until and until):
            self.at += 1
        return part

    def _until(self, last: str, kind: int) -> Part:
        parts: list[Part] = []
        while self.at < len(self.tokens) and self.keyword() != last:
            self.at += 1  # if, then, do …
            start = self.at
            parts.append(self.commands((last, "then", "elif", "else", "do")))
            if self.at == start and self.keyword() not in ("then", "elif", "else", "do", last):
                break
        if self.keyword() == last:
            self.at += 1
        return Part(kind, parts)

    def _case(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.tokens) and self.keyword() != "esac":
            while self.at < len(self.tokens) and self.mark() != ")" and self.keyword() != "esac":
                self.at += 1
            if self.mark() == ")":
                self.at += 1
                parts.append(self.commands(("esac",)))
                self.at += self.mark()[:2] in (";;", ";&")
        self.at += 1
        return Part(LOOP, parts)  # any of them, or none, and there is no condition

    def _simple(self) -> Part:
        part = Part(SIMPLE)
        while self.at < len(self.tokens):
            kind, *rest = self.tokens[self.at]
            if kind == _WORD:
                part.words.append(rest[0])
            elif kind == _TARGET:
                mark, word, said = rest
                if mark == "<<":
                    part.given = said
                elif mark != "<":
                    part.write(mark, word.value)
            elif rest[0] == "(" and part.words:  # a list: a=(b c)
                while self.at < len(self.tokens) and self.mark() != ")":
                    self.at += 1
            elif rest[0] not in "()" or self.depth < _DEEPEST:
                break
            self.at += 1
        if part.words:
            part.text = self._written(part.words)
        return part

    def _written(self, words: "list[Word]") -> str:
        """The words as they stand, without what stands between them that is none: a redirection."""
        said, end = [], words[0].start
        for word in words:
            gap = self.text[end : word.start]
            said.append(gap if not gap.strip("\\\r\n \t") else " ")
            said.append(self.text[word.start : word.end])
            end = word.end
        return "".join(said).strip()


def _find(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found


def _ansi(text: str, at: int) -> tuple[str, int]:
    """A text of the form $'…', in which a backslash says something."""
    start = at
    while at < len(text) and text[at] != "'":
        at += 1 + (text[at] == "\\")
    return text[start:at], min(at + 1, len(text))


def _after(text: str, at: int, name: str) -> int:
    """Where the line after a here-document begins; the end, where nothing ends it."""
    while at < len(text):
        end = _find(text, "\n", at)
        is_last = text[at:end].strip() in (name, name + ")")
        at = min(end + 1, len(text))
        if is_last:
            break
    return at
