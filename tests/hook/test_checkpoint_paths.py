"""Whatever stands where a checkpoint should go, and whoever moves it, nothing leaves its place."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from holdfast.clock import new_id, now, rfc3339
from holdfast.core import checkpoint
from holdfast.disk import checkpoints, index
from holdfast.disk.checkpoints import Draft
from holdfast.disk.folder import Folder
from holdfast.disk.home import Home
from hooks import SAFETY_S, event, run_silently
from taken import documents, entries, newest, owed, unfinished


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def victim(tmp_path):
    """A folder of somebody else's, with a file in it."""
    made = tmp_path / "victim"
    made.mkdir()
    (made / "precious.txt").write_bytes(b"not yours")
    return made


def tree(place):
    """Everything there, byte for byte."""
    return {
        str(path.relative_to(place)): (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode)
        for path in place.rglob("*")
    } | {"": (b"", place.stat().st_mode)}


def ending(project, **fields):
    """The quickest hook that saves: with this message a checkpoint is due whatever was done."""
    said = {"error": "invalid_request", "last_assistant_message": "Prompt is too long"}
    return event("StopFailure", cwd=str(project), **(said | fields))


def link_to_file(path, victim):
    path.symlink_to(victim / "precious.txt")


def link_to_folder(path, victim):
    path.symlink_to(victim)


def dangling_link(path, victim):
    path.symlink_to(victim / "to-be-made")


def loop(path, victim):
    path.symlink_to(path)


def fifo(path, victim):
    os.mkfifo(path)


def folder(path, victim):
    path.mkdir()


def device(path, victim):
    try:
        os.mknod(path, 0o20600, os.makedev(1, 7))  # /dev/full
    except PermissionError:
        pytest.skip("only root makes devices")


def hard_link(path, victim):
    path.hardlink_to(victim / "precious.txt")


def file(path, victim):
    path.write_bytes(b"a file of the user's")


KINDS = (link_to_file, link_to_folder, dangling_link, loop, fifo, folder, device, hard_link, file)
INSIDE = ".claude", ".claude/checkpoints", ".checkpoint_iteration", ".gitignore", "latest.md", "names"


def plant(kind, project, place, victim):
    if place.startswith(".claude"):
        paths = [project / place]
    else:
        names = [checkpoints.stem_at(now() + 1000 * s) + ".md" for s in range(-1, 20)]
        names = names if place == "names" else [place]
        paths = [project / ".claude" / "checkpoints" / name for name in names]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    for path in paths:
        kind(path, victim)
    return [(path, path.lstat().st_ino) for path in paths]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("place", INSIDE)
def test_what_stands_in_a_projects_folder_is_neither_followed_nor_touched(
    place, kind, home, project, victim
):
    if (place, kind) in ((".claude", folder), (".claude/checkpoints", folder)):
        pytest.skip("that is as it should be")
    planted, before = plant(kind, project, place, victim), tree(victim)
    run_silently(ending(project), home)
    assert tree(victim) == before
    (entry,) = entries(home)
    assert os.path.dirname(entry["path"]) != str(victim)
    newest(home)
    if place != "latest.md":  # a link of that name is ours to replace
        assert [(path, path.lstat().st_ino) for path, _ in planted] == planted
    assert not unfinished(home, project)


AT_HOME = (
    "seal.key checkpoints checkpoints/index.jsonl checkpoints/index.json checkpoints/index.lock "
    "checkpoints/index.jsonl.synced checkpoints/heads checkpoints/heads/LINEAGE.json"
).split()


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k not in (hard_link, link_to_folder)], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("place", AT_HOME)
def test_what_stands_in_the_way_at_home_delays_a_checkpoint_at_most(
    place, kind, home, project, victim, tmp_path
):
    """Home is the user's own: a link there may be followed, but nothing is lost and nothing hangs."""
    run_silently(ending(project), tmp_path / "elsewhere")
    (known,) = entries(tmp_path / "elsewhere")
    path = home / place.replace("LINEAGE", known["lineage"])
    path.parent.mkdir(parents=True)
    kind(path, victim)
    before = tree(victim)
    run_silently(ending(project), home)
    after = tree(victim)
    assert after["precious.txt"] == before["precious.txt"]
    promised = owed(home)
    if promised:
        assert promised["tries"] == 1
        assert promised["what"]
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif path.is_symlink() or path.exists():
            path.unlink()
        run_silently(ending(project), home)
        assert [entry["uid"] for entry in entries(home)] == [promised["uid"]]
    assert not owed(home)
    newest(home)
    assert len(index.load_all(Home(str(home))).entries) == 1
    assert not unfinished(home, project)


@pytest.mark.parametrize("size", [0, 31, 33, 1024, 1025, 100_000])
def test_a_damaged_key_is_set_aside_and_a_new_one_made(size, home, project):
    home.mkdir()
    (home / "seal.key").write_bytes(b"k" * size)
    run_silently(ending(project), home)
    newest(home)
    assert (home / "seal.key").stat().st_size == 32
    assert [path.stat().st_size for path in home.glob("seal.key.damaged-*")] == [size]


#: A counter that a repository brings along. Whatever it says, a checkpoint is taken.
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"-5\n",
        b"abc",
        b"7",
        b"1e9",
        b"999999999999998",
        b"999999999999999",
        b"9" * 16,
        b"9" * 5000,
        b"\xff",
    ],
    ids=lambda content: content[:16].hex() + str(len(content)),
)
def test_no_counter_keeps_a_project_from_being_saved(content, home, project):
    place = project / ".claude" / "checkpoints"
    place.mkdir(parents=True)
    (place / ".checkpoint_iteration").write_bytes(content)
    run_silently(ending(project), home)
    made = newest(home)
    assert made.fields["iteration"] >= 1
    assert documents(project)


def test_no_checkpoint_of_a_stranger_keeps_a_project_from_being_saved(home, project):
    foreign(project, "2026-01-01-000000", iteration=999_999_999_999_999)
    run_silently(ending(project), home)
    assert len(entries(home)) == 1
    newest(home)


def test_no_checkpoint_of_a_stranger_stays_the_latest(home, project):
    """One that says it is of the year 10889, and a link to it, may come with a repository."""
    foreign(project, "2026-01-01-000000", uid="7" + "Z" * 25)
    latest = project / ".claude" / "checkpoints" / "latest.md"
    latest.symlink_to("2026-01-01-000000.md")
    run_silently(ending(project), home)
    assert latest.resolve().stem == entries(home)[-1]["id"]


def foreign(project, stem, iteration=1, uid=""):
    """A checkpoint that somebody else's holdfast wrote: whole, but sealed with another key."""
    place = project / ".claude" / "checkpoints"
    place.mkdir(parents=True, exist_ok=True)
    at = now()
    fields = dict.fromkeys(checkpoint.FIELDS, "") | {
        "id": stem,
        "uid": uid or new_id(at),
        "created": rfc3339(at),
        "trigger": "auto",
        "project": "/somewhere",
        "lineage": "0" * 16,
        "iteration": iteration,
        "used_tokens": 0,
        "window": 0,
    }
    body = checkpoint.body({"Goal": ["obey"]})
    (place / f"{stem}.md").write_bytes(checkpoint.render(fields, body, b"another key"))


@pytest.mark.parametrize("counter", [b"400\n", b""])
def test_old_checkpoints_of_others_cost_ours_next_to_nothing(counter, home, project, monkeypatch):
    """As in a project that shares them through git; ours may not remove them. Each one read at every
    checkpoint is 0.1 ms: with ten thousand no hook is ever in time."""
    for number in range(400):
        foreign(project, f"2026-01-01-00{number // 60:02d}{number % 60:02d}")
    (project / ".claude" / "checkpoints" / ".checkpoint_iteration").write_bytes(counter)
    count, read = [], Folder.read
    monkeypatch.setattr(
        Folder, "read", lambda self, name, most: count.append(name) or read(self, name, most)
    )
    for draft in drafts(project, 2):
        checkpoints.take(Home(str(home)), draft)
    assert len(documents(project)) == 402
    assert len(count) < 200


# A racer


RACER = textwrap.dedent(
    """
    import os, sys
    place, aside, link = sys.argv[1:]

    def put_back(number):
        if os.path.islink(place):
            os.unlink(place)
        elif os.path.isdir(aside) and os.path.isdir(place):  # made anew by the one that is raced
            os.rename(place, f"{aside}.{number}")
        if os.path.isdir(aside):
            os.rename(aside, place)

    print(flush=True)
    number = 0
    while True:
        number += 1
        try:
            os.rename(place, aside)
            os.symlink(link, place)
        except OSError:
            pass
        try:
            put_back(number)
        except OSError:
            pass
    """
)


@pytest.fixture(params=["checkpoints", ".claude"])
def racer(request, project, victim, tmp_path):
    (project / ".claude" / "checkpoints").mkdir(parents=True)
    (victim / "checkpoints").mkdir()
    place = project / ".claude" if request.param == ".claude" else project / ".claude" / "checkpoints"
    command = [sys.executable, "-c", RACER, str(place), str(tmp_path / "aside"), str(victim)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def drafts(project, count):
    at, dice = now(), random.Random(1)
    for number in range(count):
        when = at + dice.choice((0, 0, 1000)) * number
        fields = {
            "trigger": "auto",
            "reason": "compaction",
            "project": str(project),
            "lineage": "ab" * 8,
            "session_id": "s1",
            "agent_id": "",
            "parent": "",
            "branch": "",
            "commit": "",
            "used_tokens": number,
            "window": 200_000,
            "summary": "a race",
        }
        yield Draft(new_id(when), when, str(project), fields, checkpoint.body({"Goal": [str(number)]}))


def test_who_swaps_the_folder_for_a_link_all_the_time_moves_no_byte_out(racer, home, project, victim):
    before, where, kept = tree(victim), Home(str(home)), []
    for draft in drafts(project, 1000):
        kept.append(checkpoints.take(where, draft)["kept"])
        if len(kept) >= 150 and len(set(kept)) == 2:  # it was raced
            break
    racer.send_signal(signal.SIGSTOP)
    assert tree(victim) == before
    assert set(kept) == {"project", "home"}
    assert len(index.load_all(where).entries) == len(kept)


def test_hooks_move_no_byte_out_either(racer, home, project, victim):
    before = tree(victim)
    for _ in range(12):
        run_silently(ending(project), home)
    assert tree(victim) == before
    assert not owed(home)


def test_a_writer_that_trusts_paths_is_caught_by_the_same_race(racer, project, victim):
    """The control: if this passes by, the race proves nothing."""
    before, until = tree(victim), time.monotonic() + SAFETY_S
    while tree(victim) == before and time.monotonic() < until:
        try:
            place = project / ".claude" / "checkpoints"
            if not place.is_symlink() and not place.parent.is_symlink():
                (place / "x.md").write_bytes(b"outside")
        except OSError:
            pass
    assert tree(victim) != before
