"""A disk that does not take it: full, read-only, somebody else's."""

import resource
import subprocess

import pytest

from hooks import (
    SAFETY_S,
    assert_same_fold,
    bound_by_modes,
    command,
    encode,
    environ,
    event,
    files_under,
    folder,
    heard,
    lines,
    notes,
    own_mounts,
    patient,
    run_hook,
    run_silently,
    state,
)


def test_where_nothing_can_be_written_the_hook_only_says_so(home, transcript):
    home.mkdir()
    home.chmod(0o500)
    result = run_hook(event("Stop", transcript=transcript.path), home, before=bound_by_modes())
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.startswith(b"holdfast: PermissionError")
    assert not files_under(home)


@pytest.mark.parametrize("place", ["", "sessions", "sessions/s1", "sessions/s1/lock", "events.jsonl"])
def test_a_file_or_folder_in_the_way_breaks_nothing(place, home, transcript):
    blocked = home / place
    blocked.parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(("lock", "jsonl")):
        blocked.mkdir()
    else:
        blocked.write_bytes(b"something of the user's")
    result = run_hook(event("PostToolBatch", transcript=transcript.path), home)
    assert (result.returncode, result.stdout) == (0, b"")
    assert blocked.is_dir() or blocked.read_bytes() == b"something of the user's"


def test_when_no_byte_can_be_written_the_saved_state_stays_as_it_was(home, transcript):
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    before = (folder(home) / "state.json").read_bytes()
    transcript.result("toolu_2", "more")
    result = run_hook(
        event("PostToolBatch", transcript=transcript.path),
        home,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (result.returncode, result.stdout) == (0, b"")
    assert (folder(home) / "state.json").read_bytes() == before
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert state(home)["heard"]["calls"] == 2
    assert_same_fold(home, transcript.path)


#: Runs the hook before, while and after the home's disk is full (or read-only): argv is the home,
#: where to put what it holds, the payload's file, and the hook's command.
_ON_A_SMALL_DISK = r"""
set -e
home=$1 out=$2 payload=$3; shift 3
mkdir -p "$home"
mount -t tmpfs -o size=128k none "$home"
# Whoever it left something to has the pipe open, too, and is waited for.
run() { { "$@" <"$payload" >>"$out/stdout" 2>>"$out/stderr"; echo $? >>"$out/codes"; } 9>&1 | cat; }
run "$@"; cp -r "$home" "$out/before"
if [ "$MODE" = full ]; then dd if=/dev/zero of="$home/ballast" bs=1k 2>/dev/null || true
else mount -o remount,bind,ro "$home"; fi
run "$@"; run "$@"; cp -r "$home" "$out/during"
if [ "$MODE" = full ]; then rm "$home/ballast"; else mount -o remount,bind,rw "$home"; fi
run "$@"; cp -r "$home" "$out/after"
"""


@pytest.mark.parametrize("mode", ["full", "read-only"])
def test_a_full_or_read_only_disk_costs_events_and_nothing_else(mode, home, tmp_path, transcript):
    if not own_mounts():
        pytest.skip("mounting a small disk needs root or user namespaces")
    out = tmp_path / "out"
    out.mkdir()
    payload = tmp_path / "payload"
    payload.write_bytes(encode(event("PreToolUse", transcript=transcript.path)))
    subprocess.run(
        [
            *own_mounts(),
            "sh",
            "-c",
            _ON_A_SMALL_DISK,
            "sh",
            home,
            out,
            payload,
            *command(package=patient()),
        ],
        env={**environ(home), "MODE": mode},
        check=True,
        timeout=SAFETY_S,
    )
    assert (out / "codes").read_text() == "0\n" * 4
    assert (out / "stdout").read_bytes() == b""
    before, during, after = (out / name for name in ("before", "during", "after"))
    assert heard(before) == heard(during) == {"PreToolUse": 1}
    assert state(before) == state(during)
    assert heard(after) == {"PreToolUse": 2}
    for place in (before, during, after):  # torn lines nowhere
        notes(place)
        lines(folder(place) / "samples.jsonl")
