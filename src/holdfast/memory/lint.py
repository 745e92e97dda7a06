"""What is wrong with a project's memory, and what of it can be mended without asking anybody."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from holdfast.core.plain import one_line
from holdfast.disk import worktree
from holdfast.disk.git import ALONE
from holdfast.memory.conflicts import claim, conflict
from holdfast.memory.topics import (
    INDEX,
    LARGE,
    LONGEST_LINE,
    MOST_CHARACTERS,
    MOST_LINES,
    TYPES,
    Memory,
    Topic,
    entries,
    heading,
    line_for,
    parsed,
    with_line,
    without,
)

#: So much of the words of two topics is the same when one of them is a copy.
_ALIKE, _LEAST_WORDS = 0.85, 12
_MOST_CLAIMS, _MOST_NAMED, _GIT_S = 1500, 200, 5
_WORDS = re.compile(r"\w+")
_PATH = re.compile(r"`((?:\./)?[\w.@+-]+(?:/[\w.@+-]+)+\.\w{1,8})(?::\d+)?`")
_BRANCH = re.compile(r"\bbranch `([\w./-]{2,80})`", re.I)
_COMMIT = re.compile(r"\bcommit `?([0-9a-f]{7,40})\b", re.I)


@dataclass(frozen=True)
class Finding:
    """`fix`: what `memory fix` does about it; "": only a person can tell."""

    kind: str
    where: str
    what: str
    fix: str


def findings(memory: Memory, project: str) -> list[Finding]:
    found = [*_of_index(memory), *_of_topics(memory), *_of_pairs(memory), *_stale(memory, project)]
    return sorted(found, key=lambda one: (one.where, one.kind))


def _of_index(memory: Memory) -> Iterator[Finding]:
    lines, size = len(memory.index.splitlines()), len(memory.index)
    if lines > MOST_LINES or size > MOST_CHARACTERS:
        what = f"{lines} lines, {size:,} characters; the client loads {MOST_LINES}, {MOST_CHARACTERS:,}"
        yield Finding("index too long", INDEX, what, "")
    known, seen = {one.file for one in memory.topics}, set()
    for entry in memory.entries:
        where = f"{INDEX}:{entry.number}"
        if entry.file not in known:
            mended = "the line is taken out" if _is_inside(entry.file) else ""
            what = f"{entry.file} is not there" if mended else f"{entry.file} leads out of the folder"
            yield Finding("dead link", where, what, mended)
        elif (entry.file, entry.line) in seen:
            yield Finding(
                "line twice",
                where,
                f"{entry.file} is named by the same line above",
                "the line is taken out",
            )
        if len(entry.line) > 2 * LONGEST_LINE:
            what = f"{len(entry.line)} characters; what a topic says belongs into its file"
            yield Finding("line too long", where, what, "")
        seen.add((entry.file, entry.line))


def _of_topics(memory: Memory) -> Iterator[Finding]:
    named = {entry.file for entry in memory.entries}
    for topic in memory.topics:
        if topic.problem:
            kind = "frontmatter" if topic.text else "not read"
            mended = "one is made from its name" if mended_front(topic) else ""
            yield Finding(kind, topic.file, topic.problem, mended)
        elif topic.size > LARGE:
            yield Finding("too large", topic.file, f"{topic.size:,} bytes; a topic holds one fact", "")
        if topic.file not in named:
            mended = "a line is added" if not topic.problem else ""
            yield Finding("not in the index", topic.file, f"no line of {INDEX} leads to it", mended)


def _of_pairs(memory: Memory) -> Iterator[Finding]:
    usable = [one for one in memory.topics if one.text]
    words = {one.file: set(map(str.lower, _WORDS.findall(one.body[:LARGE]))) for one in usable}
    for one, other in combinations(usable[:400], 2):
        if one.name and one.name.lower() == other.name.lower():
            yield Finding("same name", other.file, f"{one.file} is called {one.name!r}, too", "")
        mine, theirs = words[one.file], words[other.file]
        enough = min(len(mine), len(theirs)) >= _LEAST_WORDS
        if enough and len(mine & theirs) >= _ALIKE * len(mine | theirs):
            yield Finding("duplicate", other.file, f"it says nearly what {one.file} says", "")
    claims = [
        (claim(one_line(line).lstrip("#-*+> ")), one.file)
        for one in usable
        for line in one.body.splitlines()[:200]
        if line.strip()
    ][:_MOST_CLAIMS]
    for (one_says, file), (other_says, other_file) in combinations(claims, 2):
        why = conflict(one_says, other_says) if file != other_file else ""
        if why:
            what = f"{why}: {one_says.text[:80]!r} in {file}, here {other_says.text[:80]!r}"
            yield Finding("contradiction", other_file, what, "")


def _stale(memory: Memory, project: str) -> Iterator[Finding]:
    """What names a file, branch or commit of this project that is gone. Only where it is plain that it is
    meant: a path between backquotes whose first folder is there, a word beside a branch or commit."""
    asked: dict[str, list[tuple[str, str]]] = {}
    for topic in memory.topics:
        for path in dict.fromkeys(_PATH.findall(topic.body)):
            first = path.removeprefix("./").partition("/")[0]
            if os.path.isdir(f"{project}/{first}") and not os.path.lexists(f"{project}/{path}"):
                yield Finding("stale", topic.file, f"`{path}` is gone", "")
        for kind, pattern in (("branch", _BRANCH), ("commit", _COMMIT)):
            for name in dict.fromkeys(pattern.findall(topic.body)):
                asked.setdefault(name, []).append((topic.file, kind))
    gone = _gone(project, list(asked)[:_MOST_NAMED]) if asked else set()
    for name in gone:
        for file, kind in asked[name]:
            yield Finding("stale", file, f"{kind} {name} is gone", "")


def _gone(project: str, names: list[str]) -> set[str]:
    """Those git does not know, neither here nor of a remote; none where git cannot be asked."""
    if worktree.find(project) is None:
        return set()
    command = ["git", "--no-optional-locks", "-C", project, "cat-file", "--batch-check"]
    spelled = [f"{where}{name}" for name in names for where in ("", "refs/remotes/origin/")]
    alone = {**os.environ, **ALONE}  # a partial clone would ask its server
    try:
        done = subprocess.run(  # noqa: S603
            command,
            input="\n".join(spelled) + "\n",
            capture_output=True,
            text=True,
            timeout=_GIT_S,
            check=True,
            env=alone,
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    missing = {line.rpartition(" ")[0] for line in done.stdout.splitlines() if line.endswith(" missing")}
    return {name for name in names if name in missing and f"refs/remotes/origin/{name}" in missing}


def mended_front(topic: Topic) -> str:
    """The text with a frontmatter, for a topic that has none and whose file says of which type it is."""
    kind = next((one for one in TYPES if os.path.basename(topic.file).startswith(f"{one}_")), "")
    first = next((one_line(line).lstrip("#-*> ") for line in topic.text.splitlines() if line.strip()), "")
    if not kind or not first or topic.text.startswith("---"):
        return ""
    stem = os.path.basename(topic.file).removesuffix(".md").removeprefix(f"{kind}_")
    return heading(stem.replace("_", "-"), first[:120], kind) + "\n" + topic.text


def mended_index(index: str, memory: Memory) -> str:
    """Without lines that lead nowhere or say the same again, and with one for each topic that has none."""
    known = {one.file: one for one in memory.topics}
    there = list(entries(index))
    seen: set[str] = set()
    gone = set()
    for entry in there:
        if (entry.file not in known and _is_inside(entry.file)) or entry.line in seen:
            gone.add(entry.number)
        seen.add(entry.line)
    made = without(index, gone)
    named = {entry.file for entry in there}
    for topic in memory.topics:
        front = mended_front(topic) if topic.problem else ""
        whole = parsed(topic.file, front, topic.size) if front else topic
        added = with_line(made, line_for(whole))
        fits = len(added.splitlines()) <= MOST_LINES and len(added) <= MOST_CHARACTERS
        if topic.file not in named and not whole.problem and fits:
            made = added
    return made


def _is_inside(file: str) -> bool:
    return not file.startswith(("/", "~")) and ".." not in file.split("/")
