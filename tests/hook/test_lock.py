"""A session whose lock somebody holds is given up on, in time."""

import fcntl
import signal
import subprocess

from hooks import (
    PACKAGE,
    SAFETY_S,
    command,
    encode,
    environ,
    event,
    folder,
    heard,
    notes,
    run_silently,
    state,
)


def test_a_wedged_session_is_given_up_on_and_noted(home, transcript):
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    before = (folder(home) / "state.json").read_bytes()
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(event("PostToolBatch", transcript=transcript.path), home, package=PACKAGE)
    (note,) = notes(home)
    assert (note["event"], note["session"], note["hook"]) == ("degraded.hook", "s1", "PostToolBatch")
    assert note["what"].startswith("Late")
    assert (folder(home) / "state.json").read_bytes() == before
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert state(home)["heard"]["calls"] == 2


def test_a_wedged_trail_is_given_up_on_too(home):
    home.mkdir()
    trail = home / "events.jsonl"
    trail.touch()
    with trail.open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(b"not JSON", home, package=PACKAGE)
    assert trail.read_bytes() == b""


def test_a_wedged_session_is_given_up_on_by_whoever_started_the_hook(home):
    """Signal masks are inherited: a client that blocks SIGALRM must not silence the watchdog."""
    run_silently(event("Stop"), home)
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        hook = subprocess.Popen(
            command(),
            env=environ(home),
            stdin=subprocess.PIPE,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
        )
        try:
            hook.communicate(encode(event("Stop")), timeout=SAFETY_S)
        finally:
            hook.kill()
    assert hook.returncode == 0


def test_one_wedged_session_holds_up_no_other(home):
    run_silently(event("Stop"), home)
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(event("Stop", session="s2"), home)
        run_silently(event("Stop", agent_id="a1"), home)
    assert heard(home, "s2") == heard(home, "s1", "a1") == {"Stop": 1}
    assert not notes(home)
