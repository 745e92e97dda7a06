"""A disk or a clock that fails while a checkpoint is taken: the session goes on, and nothing is lost."""

import functools
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import index
from holdfast.disk.home import Home
from holdfast.ops.upkeep import status
from hooks import (
    SAFETY_S,
    bound_by_modes,
    command,
    copy_package,
    edit,
    encode,
    environ,
    event,
    hold,
    notes,
    own_mounts,
    patient,
    run_hook,
    run_silently,
)
from taken import assert_exact, documents, entries, kept, owed, reasons, unfinished, verified


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


def compacting(project, **fields):
    return event("PreCompact", cwd=str(project), **fields)


def ending(project, **fields):
    """The quickest hook that saves: with this message a checkpoint is due whatever was done."""
    said = {"error": "invalid_request", "last_assistant_message": "Prompt is too long"}
    return event("StopFailure", cwd=str(project), **(said | fields))


def said_by_status(home):
    """What `holdfast status` finds wrong."""
    found = status(Holdfast.open(environ(home)))
    return " | ".join(check.what for check in found.checks if not check.ok)


# A project that cannot be written


def read_only(project):
    project.chmod(0o500)


def read_only_below(project):
    (project / ".claude" / "checkpoints").mkdir(parents=True)
    (project / ".claude" / "checkpoints").chmod(0o500)


def vanished(project):
    project.rmdir()


def a_file(project):
    project.rmdir()
    project.write_bytes(b"of the user's")


def a_dangling_link(project):
    project.rmdir()
    project.symlink_to(project.parent / "gone")


@pytest.mark.parametrize(
    "kind", [read_only, read_only_below, vanished, a_file, a_dangling_link], ids=lambda kind: kind.__name__
)
def test_a_project_that_cannot_be_written_is_saved_at_home(kind, home, project):
    kind(project)
    for _ in range(2):
        run_silently(ending(project), home, before=bound_by_modes())
    assert [entry["kept"] for entry in entries(home)] == ["home", "home"]
    assert {entry["project"] for entry in entries(home)} == {str(project)}
    assert [entry["iteration"] for entry in entries(home)] == [1, 2]
    assert len(kept(home)) == 2
    assert (kept(home)[0].parent / "latest.md").resolve().stem == entries(home)[1]["id"]
    assert not unfinished(home)
    assert not notes(home)


def test_a_project_that_can_be_written_again_is_saved_there_again(home, project):
    project.chmod(0o500)
    run_silently(ending(project), home, before=bound_by_modes())
    project.chmod(0o700)
    run_silently(ending(project), home, before=bound_by_modes())
    first, second = entries(home)
    assert [first["kept"], second["kept"]] == ["home", "project"]
    assert second["parent"] == first["id"]
    assert_exact(home, project)


def test_nobody_else_can_read_what_is_saved_whatever_the_umask(home, project):
    run_silently(ending(project), home, preexec_fn=lambda: os.umask(0))
    run_silently(ending(project / "gone"), home, preexec_fn=lambda: os.umask(0))
    ours = [home, *home.rglob("*"), *(project / ".claude" / "checkpoints").rglob("*")]
    ours = [path for path in ours if not path.is_symlink()]
    assert {
        path.name: oct(path.stat().st_mode & 0o077) for path in ours if path.stat().st_mode & 0o077
    } == {}
    assert (project / ".claude").stat().st_mode & 0o022 == 0


# A full disk


#: Takes checkpoints before, while and after the disk of $FULL is full: argv is where to put what it holds,
#: the payload's file, and the hook's command.
_ON_A_SMALL_DISK = r"""
set -e
out=$1 payload=$2; shift 2
mkdir -p "$FULL"
mount -t tmpfs -o size=${SIZE}k none "$FULL"
cp -r "$PROJECT.first/." "$PROJECT"
# Whoever it left something to has the pipe open, too, and is waited for.
run() { { "$@" <"$payload" >>"$out/stdout" 2>>"$out/stderr"; echo $? >>"$out/codes"; } 9>&1 | cat; }
keep() { mkdir -p "$HOLDFAST_HOME"; cp -r "$HOLDFAST_HOME" $out/$1-home; cp -r "$PROJECT" $out/$1-project; }
[ "$FIRST" = no ] || run "$@"; keep before
dd if=/dev/zero of="$FULL/ballast" bs=1k 2>/dev/null || true
dd if=/dev/zero of="$FULL/ballast2" bs=1 2>/dev/null || true
run "$@"; run "$@"; keep during
rm "$FULL/ballast" "$FULL/ballast2"
run "$@"; keep after
"""


def on_a_small_disk(full, home, project, tmp_path, first="yes"):
    if not own_mounts():
        pytest.skip("mounting a small disk needs root or user namespaces")
    out = tmp_path / "out"
    out.mkdir()
    shutil.copytree(project, tmp_path / "project.first")
    payload = tmp_path / "payload"
    payload.write_bytes(encode(ending(project)))
    where = {"FULL": str(full), "PROJECT": str(project), "SIZE": "128", "FIRST": first}
    subprocess.run(
        [*own_mounts(), "sh", "-c", _ON_A_SMALL_DISK, "sh", out, payload, *command(package=patient())],
        env={**environ(home), **where},
        check=True,
        timeout=SAFETY_S,
        capture_output=True,
    )
    assert set((out / "codes").read_text().split()) == {"0"}
    assert (out / "stdout").read_bytes() == b""
    return {name: (out / f"{name}-home", out / f"{name}-project") for name in ("before", "during", "after")}


@pytest.mark.parametrize("first", ["yes", "no"])
def test_while_the_projects_disk_is_full_checkpoints_go_home(first, home, project, tmp_path):
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    found = on_a_small_disk(project, home, project, tmp_path, first)
    during, after = entries(found["during"][0]), entries(found["after"][0])
    assert [entry["kept"] for entry in after[-3:]] == ["home", "home", "project"]
    assert during == after[:-1]
    assert [entry["iteration"] for entry in after] == list(range(1, len(after) + 1)), "wherever it is kept"
    assert [entry["parent"] for entry in after[1:]] == [entry["id"] for entry in after[:-1]]
    for path in kept(found["after"][0]):
        verified(path, found["after"][0])
    assert not unfinished(*found["during"], *found["after"])
    last = found["after"][1]
    verified(last / ".claude" / "checkpoints" / Path(after[-1]["path"]).name)
    git = ["git", "-c", "safe.directory=*", "-C", last, "status", "--porcelain", "-uall", "--", ".claude"]
    assert subprocess.run(git, capture_output=True, check=True).stdout == b""


def test_while_homes_disk_is_full_nothing_is_taken_and_nothing_is_half(home, project, tmp_path):
    found = on_a_small_disk(home, home, project, tmp_path)
    before, during, after = (entries(found[name][0]) for name in ("before", "during", "after"))
    assert len(before) == 1
    assert during[:1] == before
    assert len(after) > len(during)
    assert not owed(found["after"][0])
    listed = index.load_all(Home(str(found["after"][0]))).entries
    assert {Path(entry["path"]).name for entry in listed.values()} == {
        path.name for path in documents(found["after"][1])
    }


# A disk that fails


@functools.cache
def traced(what):
    """A command that runs another one whose system calls fail; () where that is not possible."""
    if not shutil.which("strace"):
        return ()
    call = what.partition(":")[0]
    before = ("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={what}")
    works = subprocess.run([*before, "true"], capture_output=True, check=False).returncode == 0
    return before if works else ()


def failing(what):
    before = traced(what)
    if not before:
        pytest.skip("making system calls fail needs strace, and to be allowed to trace")
    return before


FAILING = [
    *(f"fsync:error=EIO:when={number}" for number in range(1, 8)),
    "fsync:error=EIO",
    "fdatasync:error=EIO",
    *(
        f"linkat:error={error}:when={number}"
        for error in ("EIO", "EPERM", "EOPNOTSUPP")
        for number in (1, 2)
    ),
    *(f"rename:error=EIO:when={number}" for number in (1, 2, 3)),
    "renameat:error=EIO",
    *(f"write:error=ENOSPC:when={number}" for number in range(1, 8)),
    *(f"pwrite64:error=ENOSPC:when={number}" for number in (1, 2)),
    *(f"mkdirat:error={error}:when={number}" for error in ("ENOSPC", "EROFS") for number in (1, 2)),
    "unlinkat:error=EIO:when=1",
    "symlinkat:error=EPERM",
    "ftruncate:error=EIO",
]


@pytest.mark.parametrize("what", FAILING)
def test_one_call_that_fails_costs_no_checkpoint(what, home, project):
    before = failing(what)
    result = run_hook(ending(project), home, before=before)
    assert (result.returncode, result.stdout) == (0, b"")
    assert not unfinished(home, project)
    run_silently(ending(project), home)
    listed = index.load_all(Home(str(home)))
    assert not listed.damaged
    found = documents(project) + kept(home)
    assert sorted(entry["path"] for entry in listed.entries.values()) == sorted(map(str, found))
    assert [verified(path, home).fields["uid"] in listed.entries for path in found] == [True] * len(found)
    assert len(found) in (1, 2)
    assert not owed(home)
    for ignoring in [*project.rglob(".gitignore"), *home.rglob(".gitignore")]:
        assert ignoring.read_bytes() == b"*\n"


def test_what_is_owed_and_why_is_said(home, project):
    run_hook(compacting(project), home, before=failing("fsync:error=EIO"))
    promised = owed(home)
    assert (promised["why"], promised["tries"]) == ("compaction", 1)
    said = said_by_status(home)
    assert "compaction" in said
    assert "Input/output error" in said
    run_silently(compacting(project), home)
    assert "a checkpoint is owed" not in said_by_status(home)


def test_what_an_agent_is_owed_is_said_too(home, project):
    run_hook(event("SubagentStop", cwd=str(project)), home, before=failing("fsync:error=EIO"))
    assert owed(home, agent="a1")
    assert "agent finished" in said_by_status(home)


def test_a_disk_that_refuses_is_not_asked_again_at_every_tool_call(home, project, tmp_path):
    run_hook(compacting(project), home, before=failing("fsync:error=EIO"))
    for _ in range(3):
        run_hook(event("PostToolBatch", cwd=str(project)), home, before=failing("fsync:error=EIO"))
    assert owed(home)["tries"] == 2
    run_silently(event("PostToolBatch", cwd=str(project)), home, package=ahead(tmp_path, 31))
    assert reasons(home) == ["4 turns of work"]


# A slow disk


@pytest.fixture
def answers(tmp_path):
    """What a slow disk waits for; at the latest it does when the test is over."""
    gate = tmp_path / "answers"
    yield gate
    gate.touch()


def slow(to, gate, line="                posix.fsync(fd)\n", path="disk/folder.py"):
    package = copy_package(to, is_patient=False)
    hold(package, path, line, gate)
    return package


@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd", "Stop"])
def test_a_slow_disk_is_given_up_on_and_the_next_hook_pays(name, home, project, tmp_path, answers):
    run_silently(event("PostToolBatch", cwd=str(project)), home)
    package = slow(tmp_path / "slow", answers)
    run_silently(event(name, cwd=str(project)), home, package=package, children=False)
    assert not entries(home)
    assert owed(home)
    assert "a checkpoint is owed" in said_by_status(home)
    run_silently(event("Notification", cwd=str(project)), home)
    assert len(entries(home)) == 1
    answers.touch()
    until = time.monotonic() + SAFETY_S  # the child that was left to it is done by and by
    while unfinished(home, project) and time.monotonic() < until:
        time.sleep(0.1)
    assert len(entries(home)) == 1
    assert_exact(home, project)


def test_a_disk_that_does_not_answer_does_not_hold_up_a_compaction(home, project):
    """Nothing in the process that waits for it runs meanwhile: no handler of a signal, no thread."""
    run_silently(event("PostToolBatch", cwd=str(project)), home)
    before = failing("fsync:delay_enter=12s")  # with -D it stays behind; we wait for the hook alone
    hook = subprocess.Popen(
        [before[0], "-D", *before[1:], *command()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environ(home),
    )
    hook.stdin.write(encode(compacting(project)))
    hook.stdin.close()
    assert hook.wait(SAFETY_S) == 0
    assert not entries(home)  # nor was it waited for


def test_what_is_taken_stays_taken_when_tidying_up_takes_too_long(home, project, tmp_path, answers):
    package = slow(tmp_path / "slow", answers, "    tidy(folder, names, now)\n", "disk/retention.py")
    for _ in range(3):
        answers.unlink(missing_ok=True)
        run_silently(ending(project), home, package=package, then=answers.touch)
    assert not owed(home)
    assert_exact(home, project)


def test_nobody_waits_until_all_is_tidied_up(home, project, tmp_path, answers):
    package = slow(tmp_path / "slow", answers, "    tidy(folder, names, now)\n", "disk/retention.py")
    edit(package / "hook.py", "_BUDGET_S = 1.0\n", "_BUDGET_S = 999.0\n")  # it could
    run_silently(ending(project), home, package=package, children=False)
    assert not owed(home)
    assert_exact(home, project)


# A clock that jumps


def ahead(to, seconds):
    package = copy_package(to / f"ahead{seconds}")
    edit(package / "clock.py", "int(time.time() * 1000)", f"int((time.time() + {seconds}) * 1000)")
    return package


YEAR = 365 * 24 * 3600


@pytest.mark.parametrize("jump", [-3600, -10 * YEAR, -57 * YEAR, YEAR // 73, 10 * YEAR])
def test_a_clock_that_jumps_loses_and_confuses_nothing(jump, home, project, tmp_path):
    there = ahead(tmp_path, jump)
    for number, package in enumerate((None, None, there, there, None)):
        if number:  # so that each of them tidies up
            counter = project / ".claude" / "checkpoints" / ".checkpoint_iteration"
            counter.write_bytes(b"%d" % (number * 960))
        run_silently(ending(project), home, **({"package": package} if package else {}))
    found = list(index.load_all(Home(str(home))).entries.values())
    assert [entry["iteration"] for entry in found] == [1, 961, 1921, 2881, 3841]
    uids = [entry["uid"] for entry in found]
    assert uids == sorted(set(uids))
    assert [entry["parent"] for entry in found] == ["", *(entry["id"] for entry in found[:-1])]
    assert (project / ".claude" / "checkpoints" / "latest.md").resolve().stem == found[-1]["id"]
    assert_exact(home, project)
