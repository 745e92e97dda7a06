"""Real work for a scripted model: a small repository, and tool calls whose results are true.

One area of the repository belongs to one session, so that two of them at once do not edit each other's
files. `Work` knows what stands in its files: an edit names what is really there.
"""

from __future__ import annotations

import random
from pathlib import Path

from client.prose import Failure
from client.scenario import commit

_LINES = 60
_FILES = 10
_PLACES = "north gate, south gate, old pier, new pier, lock, weir, harbour, ferry".split(", ")
#: What the scripts of the repository do: print what is said of a name in their list and fail, complain of
#: a fixture that is broken, or be content.
_TOOL = """#!/bin/sh
here=$(dirname "$0")
found=$(grep "^$1|" "$here/cases" 2>/dev/null)
if [ -n "$found" ]; then
    rest=${found#*|}
    printf '%b\\n' "${rest#*|}" >&2
    exit "${rest%%|*}"
fi
if grep -q broken "$here/../$1" 2>/dev/null; then
    echo "FAIL $1: it is broken" >&2
    exit 1
fi
echo "ok $1: 12 passed"
"""


class Area:
    """The files of one session in a repository."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files = {
            f"src/{name}_{number}.py": [_line(at, number * 100 + at) for at in range(_LINES)]
            for number in range(_FILES)
        }
        self.begun = {path: "\n".join(lines) + "\n" for path, lines in self.files.items()}


def _line(at: int, level: int) -> str:
    return f"level_{at} = {level}  # {_PLACES[at % len(_PLACES)]}, as the gauge there says"


def lay_out(project: Path, areas: list[Area], failures: list[Failure]) -> None:
    """The repository that the work is done in, with one commit."""
    for folder in ("src", "tools", "fixtures", "notes"):
        (project / folder).mkdir(parents=True)
    files = {path: text for area in areas for path, text in area.begun.items()}
    tools = {f"tools/{name}": _TOOL for name in ("check", "build", "lint", "replay")}
    cases = "".join(f"{one.name}|{one.status}|{one.prints}\n" for one in failures)
    readme = "# Tide tables\n\nReads gauges, writes tables.\n"
    commit(project, {"README.md": readme, "tools/cases": cases, **files, **tools})


class Work:
    """What one agent does next in its area, a call or a few at a time."""

    def __init__(self, who: str, area: Area, project: Path, chance: random.Random) -> None:
        self.who = who
        self.area = area
        self.project = project
        self.random = chance
        self._coming: list[dict] = []
        self._made = 0

    @property
    def settled(self) -> bool:
        """Nothing has been begun that only makes sense with what comes next."""
        return not self._coming

    def turn(self) -> dict:
        """The calls of one answer."""
        if not self._coming:
            self._coming = self._begin()
        return self._coming.pop(0)

    def browse(self) -> dict:
        """Much to read. When the API refuses, the client keeps the newest few thousand tokens as they are:
        what was said before this is not among them."""
        return {"run": f"cat {' '.join(self.random.sample(list(self.area.files), 6))}"}

    def _begin(self) -> list[dict]:
        kinds = (self._look, self._several, self._edit, self._note, self._repair)
        (begin,) = self.random.choices(kinds, weights=(10, 5, 5, 2, 1))
        begun = begin()
        return begun if isinstance(begun, list) else [begun]

    def file(self) -> str:
        return self.random.choice(list(self.area.files))

    def _read(self, path: str) -> dict:
        return {"call": "Read", "input": {"file_path": str(self.project / path)}}

    def _look(self) -> dict:
        path = self.file()
        number = self.random.randrange(20, _LINES)
        commands = (
            f"grep -n 'gate' {path}",
            f"head -{number} {path}",
            f"tail -{number} {path}",
            f"sed -n '5,{number}p' {path}",
            f"git diff --stat; cat {path}",
            f"sh tools/check {path}; git log --oneline -3 -- {path}",
            f"ls -l src; wc -l {path}",
        )
        return self._read(path) if self.random.random() < 0.2 else {"run": self.random.choice(commands)}

    def _several(self) -> dict:
        return {"calls": [self._look() for _ in range(self.random.choice((2, 2, 3)))]}

    def _edit(self) -> list[dict]:
        """The client wants a file read before it is edited."""
        path = self.file()
        lines = self.area.files[path]
        at = self.random.randrange(len(lines))
        old, lines[at] = lines[at], _line(at, self.random.randrange(1000, 9999))
        given = {"file_path": str(self.project / path), "old_string": old, "new_string": lines[at]}
        edit = {"call": "Edit", "input": given}
        return [self._read(path), edit] if old != lines[at] else [self._read(path)]

    def _note(self) -> dict:
        self._made += 1
        place = self.project / f"notes/{self.area.name}_{self.who}_{self._made}.md"
        text = f"# Note {self._made}\n\nLevels of {self.file()} were looked at.\n"
        return {"call": "Write", "input": {"file_path": str(place), "content": text}}

    def _repair(self) -> list[dict]:
        """A check that fails, and passes after an edit: an error, but not an open one."""
        self._made += 1
        name = f"fixtures/{self.area.name}_{self.who}_{self._made}"
        place = str(self.project / name)
        mend = {"file_path": place, "old_string": "broken", "new_string": "whole"}
        return [
            {"call": "Write", "input": {"file_path": place, "content": "gauge = broken\n"}},
            {"run": f"sh tools/check {name}"},
            {"call": "Edit", "input": mend},
            {"run": f"sh tools/check {name}"},
        ]
