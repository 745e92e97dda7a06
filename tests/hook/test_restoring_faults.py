"""A disk that fails while something is to be said: the session goes on, and nothing wrong is said."""

import shutil
import subprocess

import pytest

from holdfast.app import Holdfast
from holdfast.ops.upkeep import status
from hooks import (
    SAFETY_S,
    bound_by_modes,
    check_said,
    command,
    encode,
    environ,
    notes,
    own_mounts,
    patient,
    run_hook,
)
from told import RULE, Work, day, repository

SPEAKS = (
    ("PreCompact", {}),
    ("SessionStart", {"source": "compact"}),
    ("PostCompact", {}),
    ("UserPromptSubmit", {}),
    ("SessionStart", {"source": "resume"}),
    ("SessionStart", {"source": "startup"}),
    ("SessionStart", {"source": "clear"}),
)


@pytest.fixture
def work(home, tmp_path):
    made = day(Work(home, repository(tmp_path / "tidegate")))
    made.compact("nothing")
    made.prompt("and one thing more: the buoy must blink")
    made.path.write_bytes(made.script.bytes())
    return made


def run(work, name, fields):
    ran = run_hook(work.event(name, **fields), work.home, before=bound_by_modes(), cwd=work.home.parent)
    assert ran.returncode == 0
    said = ran.stdout.decode()
    check_said(name, said)
    if said and name != "PostCompact":
        assert said.count("</holdfast-") <= 1
    return said, ran.stderr


def no_facts(work):
    (work.folder() / "facts.json").chmod(0)


def facts_a_folder(work):
    (work.folder() / "facts.json").unlink()
    (work.folder() / "facts.json").mkdir()


def brief_a_folder(work):
    (work.folder() / "brief.txt").unlink()
    (work.folder() / "brief.txt").mkdir()


def brief_a_link(work):
    (work.folder() / "brief.txt").unlink()
    (work.folder() / "brief.txt").symlink_to("/dev/full")


def receipts_a_folder(work):
    (work.folder() / "receipts.jsonl").unlink()
    (work.folder() / "receipts.jsonl").mkdir()


def no_receipts(work):
    (work.folder() / "receipts.jsonl").chmod(0)


def no_checkpoints(work):
    (work.home / "checkpoints").chmod(0)


def no_heads(work):
    shutil.rmtree(work.home / "checkpoints" / "heads")


def no_key(work):
    (work.home / "seal.key").chmod(0)


def key_damaged(work):
    (work.home / "seal.key").write_bytes(b"x")


def read_only(work):
    for place in [work.home, *work.home.rglob("*")]:
        if place.is_dir():
            place.chmod(0o500)


def session_read_only(work):
    work.folder().chmod(0o500)


def no_transcript(work):
    work.path.chmod(0)


def transcript_gone(work):
    work.path.unlink()


def transcript_a_folder(work):
    work.path.unlink()
    work.path.mkdir()


def no_samples(work):
    (work.folder() / "samples.jsonl").chmod(0o400)


def samples_a_folder(work):
    (work.folder() / "samples.jsonl").unlink(missing_ok=True)
    (work.folder() / "samples.jsonl").mkdir()


def no_summaries(work):
    (work.folder() / "summaries").mkdir(exist_ok=True)
    (work.folder() / "summaries").chmod(0)


def summaries_a_link(work):
    (work.folder() / "summaries").symlink_to("/tmp")


def no_state(work):
    (work.folder() / "state.json").chmod(0)


def state_a_ring(work):
    (work.folder() / "state.json").unlink()
    (work.folder() / "state.json").symlink_to("state.json")


CACHES = {
    no_samples: "degraded.samples",
    samples_a_folder: "degraded.samples",
    no_summaries: "degraded.summaries",
    summaries_a_link: "degraded.summaries",
    no_state: "degraded.state",
    state_a_ring: "degraded.state",
}
FAULTS = (
    *CACHES,
    *(no_facts, facts_a_folder, brief_a_folder, brief_a_link, receipts_a_folder, no_receipts),
    *(no_checkpoints, no_heads, no_key, key_damaged, read_only, session_read_only),
    *(no_transcript, transcript_gone, transcript_a_folder),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_whatever_cannot_be_read_or_written_hooks_end_well(fault, work):
    fault(work)
    try:
        for name, fields in SPEAKS:
            said, stderr = run(work, name, fields)
            assert b"Traceback" not in stderr
            if said and fields.get("source") == "compact":
                assert RULE in said
    finally:
        for place in [work.home, *work.home.rglob("*")]:
            if not place.is_symlink():
                place.chmod(0o700 if place.is_dir() else 0o600)


@pytest.mark.parametrize(
    "fault", [no_facts, facts_a_folder, brief_a_folder, no_heads], ids=lambda f: f.__name__
)
def test_what_is_only_a_cache_keeps_nobody_from_being_told(fault, work):
    fault(work)
    said, _ = run(work, "SessionStart", {"source": "compact"})
    assert RULE in said
    assert "the buoy must blink" in said
    if fault is not no_heads:
        assert next(note["event"] for note in notes(work.home)) in ("degraded.facts", "degraded.receipt")


@pytest.mark.parametrize("fault", CACHES, ids=lambda fault: fault.__name__)
def test_what_cannot_be_used_is_noted_once_and_the_cycle_goes_on(fault, work):
    fault(work)
    for number in (1, 2):
        work.say(f"The keel is laid: {number}.")
        work.path.write_bytes(work.script.bytes())
        block, _ = run(work, "PreCompact", {})
        brief, _ = run(work, "SessionStart", {"source": "compact"})
        assert RULE in block
        assert RULE in brief
    noted = [note for note in notes(work.home) if note["event"] == CACHES[fault]]
    assert len(noted) == (2 if CACHES[fault] == "degraded.summaries" else 1)  # each block does without
    assert str(work.folder()) in noted[0]["what"]
    app = Holdfast.open(environ(work.home))
    named = [check.what for check in status(app).checks if not check.ok]
    assert any(noted[0]["what"] in what for what in named)


def all_read_only(work):
    for place in [*work.home.rglob("*"), work.home]:
        place.chmod(0o500 if place.is_dir() else 0o400)


def no_lock(work):
    (work.folder() / "lock").chmod(0)


@pytest.mark.parametrize(
    "fault", [read_only, session_read_only, all_read_only, no_lock], ids=lambda fault: fault.__name__
)
def test_where_nothing_can_be_written_a_compaction_is_spoken_at_from_memory(fault, work):
    state = (work.folder() / "state.json").read_bytes()
    fault(work)
    said = {
        (name, fields.get("source", "")): run(work, name, fields)[0]
        for name, fields in (*SPEAKS[:2], *SPEAKS[2:4])
    }
    for place in [work.home, *work.home.rglob("*")]:
        place.chmod(0o700 if place.is_dir() else 0o600)
    assert RULE in said["PreCompact", ""]
    brief = said["SessionStart", "compact"]
    assert RULE in brief
    assert "the buoy must blink" in brief
    assert "holdfast's folder cannot be written: nothing could be saved" in brief
    assert not said["UserPromptSubmit", ""]  # it would be said again at every prompt
    assert (work.folder() / "state.json").read_bytes() == state


def test_where_there_was_nothing_yet_and_nothing_can_be_written_it_is_the_same(home, tmp_path):
    fresh = day(Work(home, repository(tmp_path / "tidegate")))
    fresh.path.write_bytes(fresh.script.bytes())
    home.mkdir(exist_ok=True)
    home.chmod(0o500)
    assert RULE in run(fresh, "PreCompact", {})[0]
    assert RULE in run(fresh, "SessionStart", {"source": "compact"})[0]
    home.chmod(0o700)
    assert not list(home.iterdir())


#: Runs hooks while the disk of $HOLDFAST_HOME is full, and again when it is not; argv is where to put what
#: they print, the folder of payloads, and the hook's command.
_ON_A_FULL_DISK = r"""
set -e
out=$1 payloads=$2; shift 2
# Whoever it left something to has the pipe open, too, and is waited for.
run() {
  said=$1; shift
  { "$@" <"$payload" >"$said" 2>>"$out/stderr"; echo $? >>"$out/codes"; } 9>&1 | cat
}
cp -r "$HOLDFAST_HOME" "$out/first"
mount -t tmpfs -o size=4m none "$HOLDFAST_HOME"
cp -r "$out/first/." "$HOLDFAST_HOME"
dd if=/dev/zero of="$HOLDFAST_HOME/ballast" bs=1k 2>/dev/null || true
dd if=/dev/zero of="$HOLDFAST_HOME/ballast2" bs=1 2>/dev/null || true
for payload in "$payloads"/*; do
  run "$out/during-$(basename "$payload")" "$@"
done
rm "$HOLDFAST_HOME/ballast" "$HOLDFAST_HOME/ballast2"
for payload in "$payloads"/*; do
  run "$out/after-$(basename "$payload")" "$@"
done
cp -r "$HOLDFAST_HOME" "$out/home"
"""


def test_while_the_disk_is_full_what_is_known_is_said_from_memory(work, tmp_path):
    if not own_mounts():
        pytest.skip("mounting a small disk needs root or user namespaces")
    out, payloads = tmp_path / "out", tmp_path / "payloads"
    out.mkdir()
    payloads.mkdir()
    for number, (name, fields) in enumerate(SPEAKS[:2]):
        (payloads / f"{number}-{name}").write_bytes(encode(work.event(name, **fields)))
    subprocess.run(
        [*own_mounts(), "sh", "-c", _ON_A_FULL_DISK, "sh", out, payloads, *command(package=patient())],
        env=environ(work.home),
        cwd=tmp_path,
        check=True,
        timeout=SAFETY_S,
        capture_output=True,
    )
    assert set((out / "codes").read_text().split()) == {"0"}
    for moment in ("during", "after"):
        block, brief = (
            (out / f"{moment}-{name}").read_text() for name in ("0-PreCompact", "1-SessionStart")
        )
        check_said("PreCompact", block)
        check_said("SessionStart", brief)
        assert "the buoy must blink" in block
        assert "the buoy must blink" in brief
        assert ("The disk is full: nothing could be saved" in brief) == (moment == "during")
    # In the last page of the trail there may be room for it; else people are told.
    noted = (out / "stderr").read_text() + (out / "home" / "events.jsonl").read_text()
    assert noted.count("OSError: [Errno 28]") >= 2
