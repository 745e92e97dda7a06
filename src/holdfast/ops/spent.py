"""How many tokens sessions have used, by session, file and model."""

from __future__ import annotations

import os

from holdfast.app import Holdfast
from holdfast.clock import rfc3339
from holdfast.core.plain import one_line
from holdfast.errors import NotFound
from holdfast.ops.progress import Bar
from holdfast.ops.tally import Scan, scan
from holdfast.ops.words import ago, many, model_of, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_COUNTED = {
    "responses": "responses",
    "input": "input",
    "cache_read": "cache read",
    "cache_creation": "cache written",
    "output": "output",
}


class Tokens:
    """What responses read and wrote, as the API counted it."""

    __slots__ = tuple(_COUNTED)
    responses: int
    input: int
    cache_read: int
    cache_creation: int
    output: int

    def __init__(self, counted: Iterable[list[int]]) -> None:
        self.responses = self.input = self.cache_read = self.cache_creation = self.output = 0
        for responses, given, read, made, output in counted:
            self.responses += responses
            self.input += given
            self.cache_read += read
            self.cache_creation += made
            self.output += output


class Spent:
    """Of one session, with its subagents' files."""

    __slots__ = ("session", "project", "last", "tokens", "models", "files")  # noqa: RUF023
    session: str
    project: str
    last: str
    tokens: Tokens
    models: list[str]
    files: dict[str, Tokens]

    def __init__(
        self, project: str, session: str, changed: int, models: list[str], files: dict[str, list[int]]
    ) -> None:
        self.session = session
        self.project = project
        self.last = rfc3339(changed // 1_000_000)
        self.tokens = Tokens(files.values())
        self.models = models
        self.files = {name: Tokens([counted]) for name, counted in files.items()}


class Spending:
    """Of all sessions below a folder; `read` are the bytes that were new."""

    __slots__ = (
        *("folder", "files", "bytes", "read"),
        *("tokens", "models", "sessions", "problems"),
    )
    folder: str
    files: int
    bytes: int
    read: int
    tokens: Tokens
    models: dict[str, Tokens]
    sessions: list[Spent]
    problems: list[str]

    def __init__(self, folder: str, made: Scan) -> None:
        self.folder = folder
        self.files = made.files
        self.bytes = made.bytes
        self.read = made.read
        self.tokens = Tokens(made.models.values())
        self.models = {model: Tokens([counted]) for model, counted in made.models.items()}
        self.sessions = [Spent(*row) for row in made.sessions]
        self.problems = made.problems

    def __str__(self) -> str:
        """A table, without the library that could draw it: to load that takes longer than most scans."""
        rows = [["session", *_COUNTED.values(), "models", "last"]]
        for one in self.sessions:
            models = one_line(", ".join(map(model_of, one.models)))
            rows.append([short(one_line(one.session)), *_figures(one.tokens), models, ago(one.last)])
        if len(self.models) > 1:
            rows.append([""] * len(rows[0]))
            rows += [["", *_figures(tokens), model_of(model), ""] for model, tokens in self.models.items()]
        rows.append([f"all, in {many(self.files, 'file')}", *_figures(self.tokens), "", ""])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(_padded, row, widths, range(len(row)))).rstrip() for row in rows]
        return "\n".join(
            [one_line(self.folder), *lines, *(f"! {one_line(what)}" for what in self.problems)]
        )


def _figures(tokens: Tokens) -> list[str]:
    return [f"{getattr(tokens, name):,}" for name in _COUNTED]


def _padded(cell: str, width: int, place: int) -> str:
    return cell.rjust(width) if 1 <= place <= len(_COUNTED) else cell.ljust(width)


def spending(app: Holdfast, folder: str | None, limit: int) -> Spending:
    """Of every session below a folder, of the client's own without one; the newest are listed."""
    root = os.path.abspath(folder if folder is not None else app.client_dir + "/projects")
    if not os.path.isdir(root):
        raise NotFound(f"{root} is not a folder; name the one that holds the transcripts")
    with Bar("reading transcripts") as bar:
        return Spending(root, scan(app.home, root, bar.show, limit))
