"""The client's own memory of a project: look at it, change it, see what is wrong with it, mend it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial

from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.digest import sha256_hex
from holdfast.core.plain import excerpt
from holdfast.disk import files
from holdfast.errors import BadInput
from holdfast.material import redactor_of
from holdfast.memory import topics
from holdfast.memory.lint import Finding, findings, mended_front, mended_index
from holdfast.memory.place import memory_of, project_of
from holdfast.memory.topics import INDEX, LARGE, TYPES, Memory, Topic

_LONGEST_NAME, _LONGEST_DESCRIPTION = 80, 300


@dataclass(frozen=True)
class TopicRow:
    name: str
    type: str
    description: str
    file: str
    bytes: int
    indexed: bool
    problem: str


@dataclass(frozen=True)
class Topics:
    """`lines` and `characters` are those of the index, of which the client loads 200 and 25,000."""

    folder: str
    lines: int
    characters: int
    topics: list[TopicRow]


@dataclass(frozen=True)
class TopicText:
    name: str
    type: str
    description: str
    file: str
    text: str
    problem: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Written:
    """`diff`: what changed, file by file."""

    done: str
    file: str
    diff: str

    def __str__(self) -> str:
        return f"{self.done}: {self.file}\n{self.diff}".rstrip()


@dataclass(frozen=True)
class Linted:
    folder: str
    findings: list[Finding]

    @property
    def exit_code(self) -> int:
        return 1 if self.findings else 0


@dataclass(frozen=True)
class Fixed:
    """`backups`: the files as they were; `left`: what only a person can mend."""

    folder: str
    diff: str
    backups: list[str]
    left: list[Finding]

    def __str__(self) -> str:
        kept = "".join(f"\nas it was: {path}" for path in self.backups)
        left = f"\n{len(self.left)} left that only you can mend: holdfast memory lint" if self.left else ""
        return (self.diff or "nothing to mend that is safe to mend") + kept + left


def list_all(app: Holdfast, *, type: str | None = None, project: str | None = None) -> Topics:  # noqa: A002
    """Every topic the client remembers of a project.

    Parameters
    ----------
    type
        Only those of this type: user, feedback, project or reference.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    kind = _type(type) if type is not None else ""
    memory = _memory(app, project)[0]
    named = {entry.file for entry in memory.entries}
    found = [
        TopicRow(one.name, one.type, one.description, one.file, one.size, one.file in named, one.problem)
        for one in memory.topics
        if not kind or one.type == kind
    ]
    return Topics(memory.folder, len(memory.index.splitlines()), len(memory.index), found)


def show(app: Holdfast, name: str = INDEX, *, project: str | None = None) -> TopicText:
    """One topic, or the index itself.

    Parameters
    ----------
    name
        The topic's name, or its file, or how one of them begins.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    memory = _memory(app, project)[0]
    if name == INDEX:
        return TopicText(INDEX, "", "", INDEX, _shown(memory.index), "")
    one = memory.named(name)
    if not one.text and one.problem:
        raise BadInput(f"{memory.path(one.file)}: {one.problem}")
    return TopicText(one.name, one.type, one.description, one.file, _shown(one.text), one.problem)


def lint(app: Holdfast, *, project: str | None = None) -> Linted:
    """What is wrong with the memory: dead links, duplicates, contradictions, stale facts; exit code 0 or 1.

    Parameters
    ----------
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    memory, folder = _memory(app, project)
    return Linted(memory.folder, findings(memory, folder))


def write(
    app: Holdfast,
    name: str,
    text: str,
    *,
    description: str,
    type: str = "project",  # noqa: A002
    project: str | None = None,
) -> Written:
    """A new topic, and its line in the index.

    Parameters
    ----------
    name
        What it is called; no other topic is.
    text
        What is to be remembered.
    description
        One line that says when it matters.
    type
        user, feedback, project or reference.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    kind = _type(type)
    with _changing(app, project) as (memory, folder):
        redact = redactor_of(app, folder).text
        title, said = (
            excerpt(redact(name), _LONGEST_NAME),
            excerpt(redact(description), _LONGEST_DESCRIPTION),
        )
        body = _body(redact(text))
        if not title or not said:
            raise BadInput("a topic needs a name and a description")
        if any(one.name.lower() == title.lower() for one in memory.topics):
            raise BadInput(
                f"there is a topic called {title!r}; change it: holdfast memory update {title!r}"
            )
        file = topics.file_for(title, kind, {one.file for one in memory.topics})
        whole = topics.rendered(title, said, kind, body)
        line = topics.line_for(topics.parsed(file, whole, len(whole)))
        topics.check_limits(topics.with_line(memory.index, line))
        changes = [topics.edit(memory, file, lambda there: _only_new(there, whole, file))]
        changes.append(topics.edit(memory, INDEX, lambda index: _added(index, line)))
        return Written("remembered", memory.path(file), _diff([file, INDEX], changes))


def update(
    app: Holdfast,
    name: str,
    *,
    text: str | None = None,
    append: str | None = None,
    description: str | None = None,
    project: str | None = None,
) -> Written:
    """Change what a topic says; what is not given stays to the byte.

    Parameters
    ----------
    name
        The topic's name, or its file, or how one of them begins.
    text
        What it says from now on.
    append
        What is added at its end.
    description
        The line that says when it matters.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    if text is None and append is None and description is None:
        raise BadInput("what shall change? Give --text, --append or --description")
    with _changing(app, project) as (memory, folder):
        one = _usable(memory, name)
        redact = redactor_of(app, folder).text
        said = None if description is None else excerpt(redact(description), _LONGEST_DESCRIPTION)
        new = None if text is None else _body(redact(text))
        more = None if append is None else _body(redact(append))

        def change(there: str | None) -> str:
            topic = _still(there, one)
            if said is not None:
                topic = topics.parsed(one.file, topics.changed(topic, "description", said), 0)
            end = "\r\n" if "\r\n" in topic.front else "\n"
            body = topic.body if new is None else f"{end}{new}{end}"
            if more is not None:
                body = f"{body.rstrip()}{end}{more}{end}"
            return topic.front + body

        changes = [topics.edit(memory, one.file, change)]
        if said:
            changes.append(topics.edit(memory, INDEX, lambda index: _rehooked(index, one, said)))
        return Written("changed", memory.path(one.file), _diff([one.file, INDEX], changes))


def move(app: Holdfast, name: str, type: str, *, project: str | None = None) -> Written:  # noqa: A002
    """Give a topic another type. Its file keeps its name, so that links still lead to it.

    Parameters
    ----------
    name
        The topic's name, or its file, or how one of them begins.
    type
        user, feedback, project or reference.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    kind = _type(type)
    with _changing(app, project) as (memory, _):
        one = _usable(memory, name)
        change = topics.edit(
            memory, one.file, lambda there: topics.changed(_still(there, one), "type", kind)
        )
        return Written("moved", memory.path(one.file), _diff([one.file], [change]))


def forget(app: Holdfast, name: str, *, project: str | None = None) -> Written:
    """Remove a topic and the lines of the index that lead to it. It is gone.

    Parameters
    ----------
    name
        The topic's name, or its file, or how one of them begins.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    with _changing(app, project) as (memory, _):
        one = memory.named(name)
        changes = [topics.edit(memory, INDEX, lambda index: _unlinked(index, one.file))]
        path = memory.path(one.file)
        if (
            one.problem and not one.text
        ):  # a link, something huge, or no text: nothing that could be compared
            os.unlink(path)
        else:
            topics.edit(memory, one.file, lambda _: None)
        return Written("forgotten", path, _diff([INDEX], changes))


def fix(app: Holdfast, *, dry_run: bool = False, project: str | None = None) -> Fixed:
    """Mend what is safe to mend: lines of the index that lead nowhere, topics without line or frontmatter.

    Parameters
    ----------
    dry_run
        Only show what would change.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    with _changing(app, project) as (memory, folder):
        wanted = {one.file: made for one in memory.topics if one.problem and (made := mended_front(one))}
        index = mended_index(memory.index, memory)
        if index != memory.index:
            wanted[INDEX] = index
        names = list(wanted)
        before = {**{one.file: one.text for one in memory.topics}, INDEX: memory.index}
        if dry_run:
            return Fixed(memory.folder, _diff(names, [(before[n], wanted[n]) for n in names]), [], [])
        backups = [_backup(app, before[name]) for name in names if before[name]]
        changes = [topics.edit(memory, name, partial(_mended, name, memory)) for name in names]
        left = [one for one in findings(Memory(memory.folder), folder) if not one.fix]
        return Fixed(memory.folder, _diff(names, changes), backups, left)


def _mended(name: str, memory: Memory, there: str | None) -> str | None:
    """Of what stands there now: somebody may have written since it was looked at."""
    if name == INDEX:
        return mended_index(there or "", Memory(memory.folder))
    one = topics.parsed(name, there or "", len(there or ""))
    return (mended_front(one) if one.problem else "") or there


def _memory(app: Holdfast, project: str | None) -> tuple[Memory, str]:
    folder = project_of(app, project)
    return Memory(memory_of(app, folder)), folder


@contextmanager
def _changing(app: Holdfast, project: str | None) -> Iterator[tuple[Memory, str]]:
    """Alone among ourselves; against the client each file is compared before it is replaced."""
    files.make_dir(app.home.root)
    with files.Lock(app.home.root + "/memory.lock"):
        memory, folder = _memory(app, project)
        os.makedirs(memory.folder, mode=0o700, exist_ok=True)
        yield memory, folder


def _type(given: str) -> str:
    if given not in TYPES:
        raise BadInput(f"there is no type {given[:40]!r}; there are {', '.join(TYPES)}")
    return given


def _body(words: str) -> str:
    words = words.encode("utf-8", "replace").decode().replace("\0", "")  # a file of text stays one
    if not words.strip():
        raise BadInput("there is nothing to remember: the text is empty")
    if len(words) > LARGE:
        raise BadInput(f"the text has {len(words):,} characters; a topic holds one fact, {LARGE:,} at most")
    return words.strip("\n")


def _usable(memory: Memory, name: str) -> Topic:
    one = memory.named(name)
    if one.problem and not one.front:
        raise BadInput(
            f"{memory.path(one.file)} cannot be changed: {one.problem}; see `holdfast memory fix`"
        )
    return one


def _still(there: str | None, one: Topic) -> Topic:
    """The topic as it is now."""
    if there is None:
        raise BadInput(f"{one.file} has been removed meanwhile")
    topic = topics.parsed(one.file, there, len(there))
    if not topic.front:
        raise BadInput(f"{one.file} has been changed meanwhile: {topic.problem}")
    return topic


def _only_new(there: str | None, whole: str, file: str) -> str:
    if there is not None:
        raise BadInput(f"{file} has been made by somebody else meanwhile; see `holdfast memory list`")
    return whole


def _added(index: str | None, line: str) -> str:
    made = topics.with_line(index or "", line)
    topics.check_limits(made)
    return made


def _rehooked(index: str | None, one: Topic, said: str) -> str:
    """The line of a topic, unless somebody has put it in their own words."""
    old = topics.line_for(one)
    new = topics.line_for(topics.parsed(one.file, topics.changed(one, "description", said), 0))
    return "".join(
        line.replace(old, new) if line.strip() == old else line for line in (index or "").splitlines(True)
    )


def _unlinked(index: str | None, file: str) -> str | None:
    gone = {entry.number for entry in topics.entries(index or "") if entry.file == file}
    return topics.without(index, gone) if index is not None else None


def _diff(names: list[str], changes: list[tuple[str, str]]) -> str:
    found = [
        "".join(unified_diff(_lines(before), _lines(after), f"{name} (before)", name, n=1))
        for name, (before, after) in zip(names, changes, strict=False)
    ]
    return "".join(found).rstrip("\n")


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in _shown(text).splitlines()]


def _shown(text: str) -> str:
    """As a terminal and JSON can carry it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _backup(app: Holdfast, text: str) -> str:
    folder = app.home.root + "/backups"
    files.make_dir(folder)
    data = text.encode("utf-8", "surrogateescape")
    path = f"{folder}/memory-{rfc3339(now()).replace(':', '')}-{sha256_hex(data)[:12]}.md"
    files.replace(path, data, durable=True)
    return path
