"""One time limit for all parts of an event: each leaves enough for those that follow, and what there was no
time for is said in the trail. The checkpoint comes first, then the block."""

import pytest

from hooks import bundled, copy_package, edit, hold, notes
from taken import entries, owed, verified
from told import RULE, Work, day, repository


@pytest.fixture
def project(tmp_path):
    return repository(tmp_path / "tidegate")


@pytest.fixture
def package(tmp_path):
    return bundled(copy_package(tmp_path / "slow", is_patient=False))


@pytest.fixture
def work(home, project, package):
    made = day(Work(home, project, package=package))
    (project / "a.txt").write_text("two\nthree\n")
    return made


def slow_git(work):
    """It does not answer before everybody has given up."""
    tools = work.home.parent / "tools"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nexec sleep 30\n")
    (tools / "git").chmod(0o755)
    work.more["env"] = {"PATH": f"{tools}:/usr/bin:/bin"}


@pytest.fixture
def slow_disk(work, package, tmp_path):
    """What has to be durable is not until all is over. Who writes it goes on when the hook has ended."""
    over = tmp_path / "over"
    hold(package, "disk/folder.py", "                posix.fsync(fd)\n", over)
    work.more["children"] = False
    yield
    over.touch()


def slow_to_read(package, work):
    """A transcript that takes longer than there is, for whoever reads it."""
    transcripts = package / "disk" / "transcripts.py"
    edit(transcripts, "_CHUNK = 1 << 20", "_CHUNK = 1 << 12")
    line = "        chunk = posix.pread(fd, min(_CHUNK, stop - at), at)\n"
    edit(transcripts, line, f"        import time; time.sleep(0.05)\n{line}")
    for number in range(400):
        work.say(f"Chose lantern{number} because the buoy is dark at night. " * 8)
    bundled(package)


def whats(home, event):
    return [note["what"] for note in notes(home) if note["event"] == event]


def test_without_any_fault_all_of_it_is_said(work, home, tmp_path):
    work.more["package"] = copy_package(tmp_path / "patient")
    assert "GIT DIFF STAT" in work.hook("PreCompact")
    assert not notes(home)


@pytest.mark.usefixtures("slow_disk")
def test_a_disk_that_does_not_answer_costs_no_block(work, home):
    block = work.hook("PreCompact")
    assert RULE in block
    assert "GIT DIFF STAT" in block
    assert not entries(home)
    assert owed(home)["why"] == "compaction"
    assert whats(home, "degraded.checkpoint") == ["the disk did not answer in time; what was begun goes on"]


def test_a_git_that_does_not_answer_costs_only_its_diff(work, home):
    slow_git(work)
    block = work.hook("PreCompact")
    assert RULE in block
    assert "GIT DIFF STAT" not in block
    verified(work.project / entries(home)[0]["path"])
    assert whats(home, "degraded.block") == ["without the diff: there was no time to ask git for it"]


def test_a_transcript_that_takes_too_long_costs_neither_checkpoint_nor_block(work, home, package):
    slow_to_read(package, work)
    slow_git(work)
    assert RULE in work.hook("PreCompact")
    assert [entry["reason"] for entry in entries(home)] == ["compaction"]


@pytest.mark.usefixtures("slow_disk")
def test_all_of_it_at_once_costs_no_block(work, home, package):
    """The checkpoint is being written by a child, which goes on; it is owed until somebody has seen it."""
    slow_to_read(package, work)
    slow_git(work)
    assert RULE in work.hook("PreCompact")
    assert owed(home)["why"] == "compaction"
    assert len(whats(home, "degraded.checkpoint")) == 1
    assert len(whats(home, "degraded.block")) == 1
    assert not whats(home, "degraded.hook")
