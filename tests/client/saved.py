"""What checkpoints are on disk, read without any code of holdfast's, and what must hold of them all.

Files, index, its rendering and the trail are four accounts of the same thing; `Saved.check` compares them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from hooks import lines

SECTIONS = [
    "Goal",
    "What Changed",
    "Why Changed",
    "Active Issues",
    "Key Decisions",
    "Standing Instructions",
    "Plan and Workflow",
    "Next Steps",
    "Commands and Tests",
    "Agents",
]
#: The seed's schema.
SHOWN = ["id", "uid", "path", "project", "created", "trigger", "verified", "iteration", "summary"]
#: The rendering has the newest; the index has them all.
SHOWN_AT_MOST = 200
_COMMAND = re.compile(r"(?:Test run: )?`(.*)` → (?:exit (\d+))?")
_PLAIN = {"true": True, "false": False}


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    fields: dict
    sections: dict[str, list[str]]
    #: Whether the hash in it is that of its text.
    whole: bool

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        _, head, body = path.read_text().split("---\n", 2)
        fields = dict(map(_field, head.splitlines()))
        sections: dict[str, list[str]] = {}
        for line in body.splitlines():
            if line.startswith("## "):
                sections[line[3:]] = items = []
            elif line.startswith("- "):
                items.append(line[2:])
        return cls(path, fields, sections, hashlib.sha256(body.encode()).hexdigest() == fields["sha256"])

    def __getitem__(self, name: str) -> list[str]:
        """The items of a section."""
        return self.sections[name]

    @property
    def owner(self) -> tuple[str, str]:
        return self.fields["session_id"], self.fields["agent_id"]

    @property
    def commands(self) -> list[tuple[str, int]]:
        """(command, exit status) as it tells them; -1 where it does not know."""
        items = self["Commands and Tests"]
        return [(told[1], int(told[2] or -1)) for told in map(_COMMAND.match, items) if told]


def _field(line: str) -> tuple[str, object]:
    name, _, value = line.partition(": ")
    if value.startswith('"'):
        return name, json.loads(value)
    return name, _PLAIN.get(value, int(value) if value.isdecimal() else value)


@dataclass(frozen=True)
class Saved:
    """All checkpoints of one home, oldest first, and what is said of them elsewhere."""

    files: list[Checkpoint]
    index: list[dict]
    shown: list[dict]
    taken: list[dict]

    @classmethod
    def read(cls, home: Path, *projects: Path) -> Saved:
        paths = [path for project in projects for path in (project / ".claude/checkpoints").glob("*.md")]
        files = [Checkpoint.read(path) for path in paths if not path.is_symlink()]
        rendered = home / "checkpoints/index.json"
        return cls(
            sorted(files, key=lambda made: made.fields["uid"]),
            lines(home / "checkpoints/index.jsonl"),
            json.loads(rendered.read_text())["checkpoints"] if rendered.exists() else [],
            [note for note in lines(home / "events.jsonl") if note["event"] == "checkpoint.taken"],
        )

    def of(self, session: str, agent: str = "") -> list[Checkpoint]:
        return [made for made in self.files if made.owner == (session, agent)]

    @property
    def lineages(self) -> dict[str, list[Checkpoint]]:
        found = defaultdict(list)
        for made in self.files:
            found[made.fields["lineage"]].append(made)
        return dict(found)

    def check(self) -> None:
        """Each account has each checkpoint once, and they agree."""
        for made in self.files:
            assert made.whole, made.path
            assert (made.fields["verified"], made.fields["id"]) == (True, made.path.stem)
            assert list(made.sections) == SECTIONS
        uids = [made.fields["uid"] for made in self.files]
        assert len(set(uids)) == len(uids)
        assert sorted(entry["uid"] for entry in self.index) == uids
        assert [entry["uid"] for entry in self.shown] == uids[-SHOWN_AT_MOST:], "newest last"
        assert sorted(note["uid"] for note in self.taken) == uids
        entries = {entry["uid"]: entry for entry in self.index}
        for made in self.files:
            entry = entries[made.fields["uid"]]
            assert entry["path"] == str(made.path)
            assert {name: entry[name] for name in made.fields if name in entry} == {
                name: value for name, value in made.fields.items() if name in entry
            }
        for shown in self.shown:
            assert shown == {name: entries[shown["uid"]][name] for name in SHOWN}

    def check_places(self) -> None:
        """Each stands in its own project, whose counter numbers them; `latest.md` is the newest."""
        folders = defaultdict(list)
        for made in self.files:
            assert made.fields["project"] == str(made.path.parents[2].resolve())
            folders[made.path.parent].append(made)
        for folder, made in folders.items():
            numbers = sorted(one.fields["iteration"] for one in made)
            assert numbers == list(range(1, len(made) + 1))
            assert int((folder / ".checkpoint_iteration").read_text()) == len(made)
            assert (folder / "latest.md").resolve() == made[-1].path
            assert not list(folder.glob(".*.tmp"))

    def check_lineages(self, alone: bool = True) -> None:
        """Each begins where one before it in its lineage ended: with nobody beside it, the last one."""
        for made in self.lineages.values():
            assert len({(one.fields["agent_id"], one.path.parent) for one in made}) == 1
            ids = ["", *(one.fields["id"] for one in made)]
            for number, one in enumerate(made):
                before = ids[number : number + 1] if alone else ids[: number + 1]
                assert one.fields["parent"] in before, one.path
