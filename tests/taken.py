"""Checkpoints that hooks have left behind, looked at with our own readers."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from holdfast.core import checkpoint
from holdfast.core.checkpoint import Checkpoint
from holdfast.disk import index
from holdfast.disk.home import Home
from hooks import Transcript, event, run_silently, state

PLACE = (".claude", "checkpoints")


def entries(home: Path) -> list[dict]:
    """What the index says, oldest first."""
    return list(index.load_all(Home(str(home))).entries.values())


def reasons(home: Path) -> list[str]:
    return [entry["reason"] for entry in entries(home)]


def documents(folder: Path) -> list[Path]:
    """All files of a folder (or, given a project, of its folder) that are checkpoints by their name."""
    place = folder.joinpath(*PLACE)
    return sorted(
        path for path in (place if place.exists() else folder).glob("*.md") if not path.is_symlink()
    )


def kept(home: Path) -> list[Path]:
    """Those of projects that could not be written."""
    found = (home / "checkpoints" / "kept").glob("*/*.md")
    return sorted(path for path in found if not path.is_symlink())


def verified(path: Path, home: Path | None = None) -> Checkpoint:
    data = path.read_bytes()
    assert checkpoint.problems(data, path.stem) == []
    if home:
        assert checkpoint.is_sealed(data, (home / "seal.key").read_bytes())
    made = checkpoint.parse(data, str(path))
    assert tuple(made.sections) == checkpoint.SECTIONS
    headings = [line for line in data.decode().split("\n") if line.startswith("#")]
    assert headings == [f"## {name}" for name in checkpoint.SECTIONS]
    assert_visible(data.decode())
    return made


def assert_visible(words: str) -> None:
    """No control or format characters but the ends of lines, and none of the tag block."""
    odd = {c for c in words if c != "\n" and unicodedata.category(c) in ("Cf", "Cc", "Cs", "Zl", "Zp")}
    odd |= {c for c in words if 0xE0000 <= ord(c) <= 0xE0FFF}
    assert not odd, sorted(hex(ord(c)) for c in odd)


def newest(home: Path) -> Checkpoint:
    """The last one that was taken, as its file has it."""
    return verified(Path(entries(home)[-1]["path"]), home)


def assert_exact(home: Path, *folders: Path) -> None:
    """What the index names is there and verifies, once; what is there is named in it; nothing is
    left unfinished."""
    named = [entry["path"] for entry in entries(home)]
    assert len(set(named)) == len(named)
    found = [path for folder in folders for path in documents(folder)] + kept(home)
    assert sorted(named) == sorted(map(str, found))
    for path in found:
        verified(path, home)
    assert not unfinished(home, *folders)


def unfinished(*places: Path) -> list[Path]:
    return [path for place in places for path in place.rglob(".*.tmp")]


def owed(home: Path, session: str = "s1", agent: str = "") -> dict:
    return state(home, session, agent)["heard"].get("owed", {})


def saved(home: Path, session: str = "s1", agent: str = "") -> dict:
    return state(home, session, agent)["heard"].get("saved", {})


class Session:
    """A session that works in a project; `hook` runs one of its hooks."""

    def __init__(self, home: Path, project: Path, path: Path) -> None:
        self.home = home
        self.project = project
        self.transcript = Transcript(path)
        self.transcript.prompt("fix the parser")
        self.turns = 0

    def turn(self, context: int = 50_000, times: int = 1) -> None:
        for _ in range(times):
            self.turns += 1
            self.transcript.answer(context + 10 * self.turns, text="make", call=f"toolu_{self.turns}")
            self.transcript.result(f"toolu_{self.turns}", "done")

    def event(self, name: str, **fields: object) -> dict:
        return event(name, transcript=self.transcript.path, **({"cwd": str(self.project)} | fields))

    def hook(self, name: str, **fields: object) -> None:
        run_silently(self.event(name, **fields), self.home)

    def compact(self) -> None:
        self.transcript.boundary(167_000, 9_000)
        self.transcript.summary("it was about the parser")
