"""A compaction that a person asked for, and before which nothing could be saved, is refused once, if they
wish so; any other never."""

import json

import pytest

from hooks import bound_by_modes, lines, notes, run_hook
from taken import entries, owed
from told import RULE, Work, day, repository

ASKS = {"HOLDFAST_COMPACTION_BLOCK_UNVERIFIED": "manual"}


@pytest.fixture
def work(home, tmp_path):
    made = day(Work(home, repository(tmp_path / "tidegate")))
    made.path.write_bytes(made.script.bytes())
    return made


def unsaved(work):
    """Checkpoints cannot be written, neither into the project nor at home; everything else can."""
    work.home.mkdir(exist_ok=True)
    (work.project / ".claude").write_text("no folder")
    (work.home / "checkpoints").write_text("no folder")


def saves_again(work):
    (work.project / ".claude").unlink()
    (work.home / "checkpoints").unlink()


def compact(work, trigger="manual", env=ASKS, **fields):
    ran = run_hook(
        work.event("PreCompact", trigger=trigger, **fields), work.home, env=env, before=bound_by_modes()
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def blocked(work):
    return [note for note in lines(work.home / "events.jsonl") if note["event"] == "compaction.blocked"]


def test_a_compaction_before_which_nothing_could_be_saved_is_refused_once(work):
    unsaved(work)
    said = json.loads(compact(work))
    assert set(said) == {"decision", "reason"}
    assert said["decision"] == "block"
    assert said["reason"].startswith("holdfast could not save a checkpoint of this session: ")
    assert "/compact once more" in said["reason"]
    assert [note["session"] for note in blocked(work)] == ["s1"]
    assert RULE in compact(work)
    assert RULE in compact(work)
    assert owed(work.home)
    assert len(blocked(work)) == 1


def test_when_it_could_be_saved_again_the_next_one_counts_anew(work):
    unsaved(work)
    compact(work)
    saves_again(work)
    assert RULE in compact(work)
    assert not owed(work.home)
    assert len(entries(work.home)) == 1
    (work.home / "checkpoints").rename(work.home / "elsewhere")
    (work.project / ".claude").rename(work.project / "elsewhere")
    unsaved(work)
    assert json.loads(compact(work))["decision"] == "block"


@pytest.mark.parametrize(
    ("trigger", "env"),
    [
        ("auto", ASKS),
        (None, ASKS),
        ("", ASKS),
        ("manual", {}),
        ("manual", {"HOLDFAST_COMPACTION_BLOCK_UNVERIFIED": "never"}),
        ("manual", {"HOLDFAST_COMPACTION_BLOCK_UNVERIFIED": ""}),
        ("manual", {"HOLDFAST_COMPACTION_BLOCK_UNVERIFIED": "always"}),
    ],
)
def test_no_other_compaction_is_ever_refused(trigger, env, work):
    unsaved(work)
    for _ in range(2):
        assert RULE in compact(work, trigger, env)
    assert blocked(work) == []


def test_one_that_could_be_saved_is_not_refused(work):
    assert RULE in compact(work)
    assert len(entries(work.home)) == 1


def test_where_nothing_can_be_remembered_nothing_is_refused(work):
    """Or it would be for ever."""
    unsaved(work)
    compact(work, env={})
    work.folder().chmod(0o500)
    try:
        assert not any(said.startswith("{") for said in (compact(work), compact(work)))
    finally:
        work.folder().chmod(0o700)


def test_a_setting_that_is_none_is_said(work):
    compact(work, env={"HOLDFAST_COMPACTION_BLOCK_UNVERIFIED": "always"})
    assert notes(work.home)[0]["event"] == "degraded.session"
    assert "it takes never or manual" in notes(work.home)[0]["what"]
