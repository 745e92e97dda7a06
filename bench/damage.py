"""A small world of checkpoints, and all that may happen to it: the index, its rendering, the heads, whole
folders and the checkpoint files, damaged in one way at a time. `repair.py` says what must hold then."""

# ruff: noqa: ARG001, ARG005  (all damages have one form, whether they need dice or not)
from __future__ import annotations

import json
import os
import posix
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agents import draft
from holdfast.app import Holdfast
from holdfast.clock import new_id, now, rfc3339
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.core.state import State
from holdfast.disk import checkpoints, index, marks, retention, sessions
from holdfast.ops import integrity

#: What `check` may call damage to the index, and to a file; what is left for a person to decide.
INDEX = frozenset(("index", "orphan", "phantom", "outdated"))
FILE = frozenset(("damaged", "edited", "misnamed", "unsafe"))
PERSONS = frozenset(("edited", "misnamed", "unsafe", "duplicate", "foreign"))


@contextmanager
def hasty() -> Iterator[None]:
    """Without waiting for the disk: what is tried here is not whether it is safe from a power cut."""
    real = posix.fsync, posix.fdatasync
    posix.fsync = posix.fdatasync = lambda fd: None
    try:
        yield
    finally:
        posix.fsync, posix.fdatasync = real


class World:
    def __init__(self, folder: Path, number: int = 48) -> None:
        self.folder = folder / "world"
        self.template = folder / "template"
        self.projects = [self.folder / name for name in ("tidegate", "lantern", "moor")]
        self.away = self.folder / "away"  # cannot be made: a file stands there
        environ = {"HOLDFAST_HOME": str(self.folder / "home"), "HOME": str(self.folder)}
        self.app = Holdfast.open({**environ, "CLAUDE_CONFIG_DIR": str(self.folder / "client")})
        self.home = self.app.home
        self.dice = random.Random(number)
        self.entries: dict[str, dict] = {}
        for place in self.projects:
            place.mkdir(parents=True)
        self.away.write_bytes(b"")
        self.at = now() - 2 * 24 * 3600 * 1000
        with hasty(), bare():
            for turn in range(number):
                self.take((*self.projects, self.away)[turn % 4])
        with hasty():
            self._strangers()
            for place in (*self.projects, self.away):
                self._session(place)
            integrity.repair(self.app)
        found = integrity.check(self.app)
        assert [finding.kind for finding in found.findings] == ["foreign"], found.findings
        shutil.copytree(self.folder, self.template, symlinks=True)

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder, symlinks=True)

    def take(self, project: Path, at: int = 0) -> dict:
        self.at += 61_000
        made = draft((new_id(at or self.at), at or self.at), str(project), "s1", self.dice)
        if len(self.entries) % 5 == 4:  # an agent's, in the same project
            made.fields.update(agent_id="a1", lineage=sha256_hex(f"{project} a1".encode())[:16])
        entry = checkpoints.take(self.home, made)
        self.entries[entry["uid"]] = entry
        return entry

    def _strangers(self) -> None:
        """One that was approved, and one that was not."""
        for place, seconds in ((self.projects[1], 1), (self.projects[2], 2)):
            fields, path, data = self.strange(place, self.at + seconds * 1000)
            path.write_bytes(data)
            if seconds == 1:
                marks.add(self.home, "approve", fields["uid"], sha256_hex(data))
                self.entries[fields["uid"]] = index.entry(fields, str(path), "project")
        pinned = next(iter(self.entries.values()))
        marks.add(self.home, "pin", pinned["uid"], sha256_hex(Path(pinned["path"]).read_bytes()))

    def strange(self, place: Path, at: int) -> tuple[dict, Path, bytes]:
        """(frontmatter, path, bytes) of a checkpoint that somebody else's holdfast made."""
        made, stem = draft((new_id(at), at), str(place), "other", self.dice), checkpoints.stem_at(at)
        fields = {**made.fields, "id": stem, "uid": made.uid, "created": rfc3339(at), "iteration": 7}
        data = checkpoint.render(fields, made.body, b"not the key of this home, indeed")
        return checkpoint.parse(data, stem).fields, folder_of(place) / f"{stem}.md", data

    def _session(self, place: Path) -> None:
        mine = [entry for entry in self.entries.values() if entry["project"] == str(place)]
        state = State(f"s-{place.name}")
        state.heard.cwd = state.heard.project = str(place)
        state.heard.saved = {name: mine[-1][name] for name in ("uid", "id", "path")}
        with sessions.lock(self.home.session(state.session)):
            sessions.save(self.home, state)

    def newest(self) -> dict[str, str]:
        """uid by lineage."""
        found: dict[str, str] = {}
        for uid, entry in sorted(self.entries.items()):
            found[entry["lineage"]] = uid
        return found


def folder_of(project: Path) -> Path:
    return project / ".claude" / "checkpoints"


@contextmanager
def bare() -> Iterator[None]:
    """Without what follows a checkpoint and grows with their number."""
    real = retention.prune_folder, index.show
    retention.prune_folder, index.show = lambda *args, **named: [], lambda home: None
    try:
        yield
    finally:
        retention.prune_folder, index.show = real


# What is done to it


class Effect(NamedTuple):
    any: frozenset[str]  # what `check` must find: at least one of these
    also: frozenset[str] = frozenset()  # what it may find besides
    gone: frozenset[str] = frozenset()  # uids that no index can name any more
    left: frozenset[str] = frozenset()  # what `repair` leaves for a person
    harmless: bool = False  # nothing is wrong: `check` says so
    hooks: bool = False  # also run hooks while it lasts
    nobody: bool = False  # as a user to whom modes mean something


class Damage(NamedTuple):
    name: str
    do: Callable[[World, random.Random], Effect]


def damages(number: int, seed: int) -> list[tuple[Damage, int]]:
    """Each once, then those that depend on a place in a file, at other places. With the seed of each."""
    rest = number - len(FIXED)
    chosen = [*FIXED, *(SEEDED[turn % len(SEEDED)] for turn in range(rest))]
    return [(damage, seed * 100_000 + turn) for turn, damage in enumerate(chosen[:number])]


def of_index(name: str, change: Callable[[bytes, random.Random], bytes], **more: bool) -> Damage:
    def do(world: World, dice: random.Random) -> Effect:
        path = Path(world.home.index)
        path.write_bytes(change(path.read_bytes(), dice))
        return Effect(INDEX, **more)

    return Damage(f"index: {name}", do)


def of_lines(
    name: str, change: Callable[[list[bytes], random.Random], list[bytes]], **more: bool
) -> Damage:
    def whole(data: bytes, dice: random.Random) -> bytes:
        return b"".join(line + b"\n" for line in change(data.split(b"\n")[:-1], dice))

    return of_index(name, whole, **more)


def said(raw: bytes) -> dict:
    found = index._read(raw)
    assert found is not None
    return found


def flip(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ dice.randrange(1, 256)]) + data[at + 1 :]


def zero(data: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(0, len(data), 512)
    return data[:start] + b"\0" * len(data[start : start + 512]) + data[start + 512 :]


def cut_512(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(0, len(data), 512)]


def shuffled(items: list[bytes], dice: random.Random) -> list[bytes]:
    return dice.sample(items, len(items))


def doubled(items: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(items))
    return [*items[: at + 1], *items[at:]]


def without_one(items: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(items))
    return items[:at] + items[at + 1 :]


def half_a_line(items: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(items))
    return [*items[:at], items[at][: dice.randrange(1, len(items[at]))], *items[at + 1 :]]


def joined(items: list[bytes], dice: random.Random) -> list[bytes]:
    at = dice.randrange(len(items) - 1)
    return [*items[:at], items[at] + items[at + 1], *items[at + 2 :]]


def with_line(*lines: bytes) -> Callable[[list[bytes], random.Random], list[bytes]]:
    def change(items: list[bytes], dice: random.Random) -> list[bytes]:
        at = dice.randrange(len(items))
        return [*items[:at], *lines, *items[at:]]

    return change


def retold(**changed: object) -> Callable[[list[bytes], random.Random], list[bytes]]:
    """A line that says something else, with a checksum that fits."""

    def change(items: list[bytes], dice: random.Random) -> list[bytes]:
        at = dice.randrange(len(items))
        other = index.line({**said(items[at]), **changed})
        return [*items[:at], other.replace(b'{"v":1,"v":1', b'{"v":1'), *items[at + 1 :]]

    return change


def gone_line(items: list[bytes], dice: random.Random) -> list[bytes]:
    return [*items, index.line({"gone": said(dice.choice(items))["uid"], "at": "x"})]


def made_up(items: list[bytes], dice: random.Random) -> list[bytes]:
    entry = {**said(items[0]), "uid": new_id(now()), "path": said(items[0])["path"] + "x.md"}
    return [*items, index.line(entry)]


def in_place(name: str, where: str, put: Callable[[Path], None], any_: frozenset[str] = INDEX) -> Damage:
    """Something that is no file, where one of ours should be."""

    def do(world: World, dice: random.Random) -> Effect:
        path = Path(world.home.checkpoints, where)
        if where == "heads":
            path = sorted(path.iterdir())[0]
        path.unlink(missing_ok=True)
        put(path)
        return Effect(any_, hooks=True)

    return Damage(f"{where}: {name}", do)


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "precious").write_text("not ours")


def a_link(to: str) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        target = path.parent / to
        if to == "elsewhere":
            target.write_text("somebody's file\n")
        path.symlink_to(target)

    return put


def unreadable(world: World, dice: random.Random) -> Effect:
    os.chmod(world.home.index, 0)
    return Effect(INDEX, nobody=True)


def unreadable_file(world: World, dice: random.Random) -> Effect:
    entry = victim(world, dice)
    os.chmod(entry["path"], 0)
    return Effect(FILE, gone=frozenset((entry["uid"],)), left=FILE, nobody=True)


def of_shown(name: str, change: Callable[[bytes, random.Random], bytes]) -> Damage:
    def do(world: World, dice: random.Random) -> Effect:
        path = Path(world.home.checkpoints, "index.json")
        data = path.read_bytes()
        end = data.rindex(b'"last_updated"')  # what is wrong with a time, nobody can know
        path.write_bytes(change(data[:end], dice) + data[end:])
        return Effect(INDEX)

    return Damage(f"index.json: {name}", do)


def of_head(name: str, change: Callable[[bytes, random.Random], bytes]) -> Damage:
    def do(world: World, dice: random.Random) -> Effect:
        path = dice.choice(sorted(Path(world.home.checkpoints, "heads").iterdir()))
        path.write_bytes(change(path.read_bytes().rstrip(), dice))
        return Effect(INDEX)

    return Damage(f"head: {name}", do)


def older_head(data: bytes, dice: random.Random) -> bytes:
    return json.dumps({**json.loads(data), "uid": "00000000000000000000000000"}).encode()


def later_head(data: bytes, dice: random.Random) -> bytes:
    return json.dumps({**json.loads(data), "uid": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}).encode()


def no_heads(world: World, dice: random.Random) -> Effect:
    shutil.rmtree(world.home.checkpoints + "/heads")
    return Effect(INDEX)


def no_home(world: World, dice: random.Random) -> Effect:
    """All but `kept`. What people decided is gone with it: the stranger's file is strange again."""
    for path in Path(world.home.checkpoints).iterdir():
        if path.name != "kept":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    approved = [uid for uid, entry in world.entries.items() if entry["session_id"] == "other"]
    return Effect(INDEX, frozenset(("foreign",)), frozenset(approved), PERSONS)


def no_index_no_heads(world: World, dice: random.Random) -> Effect:
    os.unlink(world.home.index)
    return no_heads(world, dice)


def shown_missing(world: World, dice: random.Random) -> Effect:
    os.unlink(world.home.checkpoints + "/index.json")
    return Effect(INDEX)


def latest_leads(to: str) -> Callable[[World, random.Random], Effect]:
    def do(world: World, dice: random.Random) -> Effect:
        path = folder_of(world.projects[0]) / "latest.md"
        oldest = min(path.parent.glob("2*.md")).name
        path.unlink()
        path.symlink_to(to or oldest)
        return Effect(frozenset(("latest",)))

    return do


def index_missing(world: World, dice: random.Random) -> Effect:
    os.unlink(world.home.index)
    return Effect(INDEX)


# ... and to the checkpoints themselves. The middle project stays whole: there the work goes on.


def victim(world: World, dice: random.Random) -> dict:
    places = [str(world.projects[0]), str(world.projects[2])]
    return dice.choice([entry for _, entry in sorted(world.entries.items()) if entry["project"] in places])


def of_file(
    name: str,
    change: Callable[[bytes, random.Random], bytes],
    any_: frozenset[str] = FILE,
    left: frozenset[str] = FILE,
) -> Damage:
    def do(world: World, dice: random.Random) -> Effect:
        entry = victim(world, dice)
        path = Path(entry["path"])
        path.write_bytes(change(path.read_bytes(), dice))
        return Effect(any_, frozenset(("phantom",)), frozenset((entry["uid"],)), left)

    return Damage(f"checkpoint: {name}", do)


def of_path(
    name: str,
    change: Callable[[Path, World], None],
    any_: frozenset[str],
    gone: bool = True,
    left: frozenset[str] = PERSONS,
) -> Damage:
    def do(world: World, dice: random.Random) -> Effect:
        entry = victim(world, dice)
        change(Path(entry["path"]), world)
        return Effect(
            any_,
            frozenset(("phantom",)),
            frozenset((entry["uid"],) if gone else ()),
            left,
            hooks="FIFO" in name,
        )

    return Damage(f"checkpoint: {name}", do)


def edit(data: bytes, dice: random.Random) -> bytes:
    return data.replace(b"## Next Steps\n\n", b"## Next Steps\n\n- [ ] by hand (turn 3)\n")


def forge(data: bytes, dice: random.Random) -> bytes:
    """Changed, with a hash that fits; only the seal tells."""
    changed = edit(data, dice)
    text = changed.partition(b"\n---\n")[2]
    lines = changed.partition(b"\n---\n")[0].split(b"\n")
    head = [b"sha256: " + sha256_hex(text).encode() if x.startswith(b"sha256: ") else x for x in lines]
    return b"\n".join(head) + b"\n---\n" + text


def retitled(field: bytes, value: bytes) -> Callable[[bytes, random.Random], bytes]:
    def change(data: bytes, dice: random.Random) -> bytes:
        head, _, text = data.partition(b"\n---\n")
        lines = [field + b": " + value if x.startswith(field + b": ") else x for x in head.split(b"\n")]
        return b"\n".join(lines) + b"\n---\n" + text

    return change


def to_other_project(path: Path, world: World) -> None:
    """A copy that is found before the original: projects are looked at in the order of their names."""
    other = "moor" if "tidegate" in str(path) else "tidegate"
    shutil.copy(path, folder_of(world.folder / other) / path.name)


def linked_twice(path: Path, world: World) -> None:
    os.link(path, world.folder / "another-name")


def as_link(path: Path, world: World) -> None:
    path.rename(path.with_suffix(".was"))
    path.symlink_to(path.with_suffix(".was"))


def as_fifo(path: Path, world: World) -> None:
    path.rename(path.with_suffix(".was"))
    os.mkfifo(path)


def as_folder(path: Path, world: World) -> None:
    path.rename(path.with_suffix(".was"))
    path.mkdir()


def project_gone(world: World, dice: random.Random) -> Effect:
    shutil.rmtree(world.projects[2])
    gone = [uid for uid, entry in world.entries.items() if entry["project"] == str(world.projects[2])]
    return Effect(frozenset(("phantom",)), gone=frozenset(gone))


def folder_swapped(world: World, dice: random.Random) -> Effect:
    """A link where a project's folder was: what is behind it is not looked at."""
    folder = folder_of(world.projects[2])
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")
    gone = [uid for uid, entry in world.entries.items() if entry["project"] == str(world.projects[2])]
    return Effect(frozenset(("phantom", "unsafe")), gone=frozenset(gone), left=PERSONS)


_PHANTOM = frozenset(("phantom",))
_FAR = b"2020-01-01-000000"
_FAR_NAME = "2020-01-01-000000.md"
FIXED = [
    Damage("index: deleted", index_missing),
    of_index("emptied", lambda data, dice: b""),
    of_index("one byte", lambda data, dice: data[:1]),
    of_index("without its last byte", lambda data, dice: data[:-1]),
    of_index("all NUL", lambda data, dice: b"\0" * len(data)),
    of_index("NULs at its end", lambda data, dice: data + b"\0" * 4096, harmless=True),
    of_index("NULs at its end, a line", lambda data, dice: data + b"\0" * 4096 + b"\n"),
    of_index("half a line at its end", lambda data, dice: data + data[:100], harmless=True),
    of_index("a huge line", lambda data, dice: b"x" * (2 << 20) + b"\n" + data),
    of_index("CRLF", lambda data, dice: data.replace(b"\n", b"\r\n")),
    of_index("no newlines", lambda data, dice: data.replace(b"\n", b" ")),
    of_index("somebody's text", lambda data, dice: b"# Notes\n\nbuy milk\n"),
    of_index("upper case", lambda data, dice: data.upper()),
    of_index("a BOM", lambda data, dice: b"\xef\xbb\xbf" + data),
    of_index("UTF-16", lambda data, dice: data.decode().encode("utf-16")),
    of_index("twice", lambda data, dice: data + data),
    of_lines("backwards", lambda items, dice: items[::-1], harmless=True),
    of_lines("blank lines", with_line(b"", b"")),
    of_lines("a foreign line", with_line(b'{"level":"info","msg":"hello"}')),
    of_lines("deep nesting", with_line(b'{"v":1,"sum":1,' + b"[" * 50_000)),
    of_lines("another version", with_line(b'{"v":2,"sum":1,"uid":"x"}')),
    of_lines("not UTF-8", with_line(b'{"v":1,"sum":1,"\xff\xfe"}')),
    of_lines("one that never was", made_up),
    of_lines("said to be gone", gone_line),
    of_lines("another path", retold(path="/nowhere/.claude/checkpoints/2026-01-01-000000.md")),
    of_lines("another summary", retold(summary="something else")),
    of_lines("a uid that is a list", retold(uid=["x"])),
    of_lines("a uid that is a number", retold(uid=5)),
    of_lines("a path that is a number", retold(path=7)),
    of_lines("a path with NUL", retold(path="/a\0b/c.md")),
    of_lines("a lineage with ..", retold(lineage="../../../x")),
    of_lines("gone, as a list", with_line(index.line({"gone": ["x"], "at": "x"}))),
    of_lines("gone, as an object", with_line(index.line({"gone": {}, "at": "x"}))),
    in_place("a folder", "index.jsonl", a_folder),
    in_place("an empty folder", "index.jsonl", Path.mkdir),
    in_place("a FIFO", "index.jsonl", os.mkfifo),
    in_place("a dangling link", "index.jsonl", a_link("nothing")),
    in_place("a link to a file", "index.jsonl", a_link("elsewhere")),
    in_place("a link to itself", "index.jsonl", a_link("index.jsonl")),
    in_place("a folder where its temporary file goes", "index.jsonl.tmp", a_folder, INDEX | {"nothing"}),
    Damage("index: mode 000", unreadable),
    Damage("index.json: deleted", shown_missing),
    of_shown("half of it gone", lambda data, dice: data[: len(data) // 2]),
    of_shown("nothing but a time", lambda data, dice: b"{"),
    of_shown("an empty one", lambda data, dice: b'{"version":"1.0","checkpoints":[],'),
    in_place("emptied", "index.json", Path.touch),
    in_place("a folder", "index.json", a_folder),
    in_place("a FIFO", "index.json", os.mkfifo),
    in_place("a link to a file", "index.json", a_link("elsewhere")),
    in_place("a folder", "index.lock", a_folder, INDEX | {"nothing"}),
    in_place("a folder", "index.jsonl.synced", a_folder, INDEX | {"nothing"}),
    in_place("a folder", "heads", a_folder),
    in_place("a FIFO", "heads", os.mkfifo),
    in_place("a link to a file", "heads", a_link("elsewhere")),
    Damage("heads: deleted", no_heads),
    of_head("emptied", lambda data, dice: b""),
    of_head("an older one", older_head),
    of_head("one that is never superseded", later_head),
    Damage("latest.md: to nothing", latest_leads("2031-01-01-000000.md")),
    Damage("latest.md: to an older one", latest_leads("")),
    Damage("latest.md: to elsewhere", latest_leads("../../../home/seal.key")),
    Damage("index and heads: deleted", no_index_no_heads),
    Damage("home/checkpoints: deleted but for kept", no_home),
    Damage("project: deleted", project_gone),
    Damage("project: its folder swapped for a link", folder_swapped),
    of_path("deleted", lambda path, world: path.unlink(), _PHANTOM, left=frozenset()),
    of_path("renamed to another time", lambda p, w: p.rename(p.parent / _FAR_NAME), FILE),
    of_path("renamed to no checkpoint's name", lambda p, w: p.rename(p.with_name("mine.md")), _PHANTOM),
    of_path("copied beside itself", lambda p, w: shutil.copy(p, p.with_name(_FAR_NAME)), FILE, False),
    of_path("copied to another project", to_other_project, frozenset(("duplicate",)), False),
    of_path("another name elsewhere", linked_twice, frozenset(("unsafe",))),
    of_path("a link in its place", as_link, frozenset(("unsafe",))),
    of_path("a FIFO in its place", as_fifo, frozenset(("unsafe",))),
    of_path("a folder in its place", as_folder, frozenset(("unsafe",))),
    Damage("checkpoint: mode 000", unreadable_file),
    of_file("emptied", lambda data, dice: b"", frozenset(("damaged",))),
    of_file("all NUL", lambda data, dice: b"\0" * len(data), frozenset(("damaged",))),
    of_file("too large", lambda data, dice: data + b"x" * (3 << 20)),
    of_file("CRLF", lambda data, dice: data.replace(b"\n", b"\r\n"), frozenset(("damaged",))),
    of_file("not UTF-8", lambda data, dice: data + b"\xff", frozenset(("damaged",))),
    of_file("edited by hand", edit, frozenset(("edited",))),
    of_file("forged: right hash, no seal", forge, frozenset(("edited",))),
    of_file("another uid", retitled(b"uid", b"01ARZ3NDEKTSV4RRFFQ69G5FAV")),
    of_file("another id", retitled(b"id", _FAR), frozenset(("misnamed", "edited"))),
    of_file("another seal", retitled(b"seal", b"0" * 32), frozenset(("edited",))),
    of_file("another lineage", retitled(b"lineage", b"../../x"), frozenset(("edited",))),
    of_file("a number that is none", retitled(b"iteration", b"-1"), frozenset(("damaged",))),
    of_file("no frontmatter", lambda data, dice: data.partition(b"\n---\n")[2], frozenset(("damaged",))),
    of_file("a section gone", lambda d, _: d.replace(b"## Key", b"Key"), frozenset(("damaged",))),
]  # fmt: skip
SEEDED = [
    of_index("a byte flipped", flip),
    of_index("a byte flipped", flip),
    of_index("cut at 512 bytes", cut_512),
    of_index("512 bytes of NUL", zero),
    of_lines("a line twice", doubled),
    of_lines("a line gone", without_one),
    of_lines("half a line", half_a_line),
    of_lines("two lines joined", joined),
    of_lines("shuffled", shuffled, harmless=True),
    of_shown("a byte flipped", flip),
    of_shown("512 bytes of NUL", zero),
    of_head("a byte flipped", flip),
    of_head("512 bytes of NUL", zero),
    of_file("a byte flipped", flip),
    of_file("a byte flipped", flip),
    of_file("cut at 512 bytes", cut_512),
    of_file("512 bytes of NUL", zero),
]
