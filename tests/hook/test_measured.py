"""The number a hook writes down, before and after the transcript has it."""

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import from_hook
from hooks import (
    assert_same_fold,
    encode,
    environ,
    event,
    run_silently,
    state,
    used,
)


def test_a_tool_result_counts_before_it_is_in_the_transcript_and_not_twice_after(home, transcript):
    text = "word " * 2000
    run_silently(event("PreToolUse", transcript=transcript.path), home)
    before = used(home)
    done = event("PostToolBatch", transcript=transcript.path, tool_use_id="toolu_2", tool_response=text)
    run_silently(done, home)
    pending = used(home)
    assert before + len(text) / 5 < pending < before + len(text)
    transcript.result("toolu_2", text)
    run_silently(event("PreToolUse", transcript=transcript.path), home)
    assert abs(used(home) - pending) <= 2
    assert not state(home)["heard"].get("pending")
    transcript.answer(pending + 500)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == pending + 500 + 100


def test_a_result_that_is_read_before_its_hook_runs_is_not_counted_twice(home, transcript):
    text = "word " * 2000
    transcript.result("toolu_2", text)
    run_silently(event("Notification", transcript=transcript.path), home)
    before = used(home)
    done = event("PostToolBatch", transcript=transcript.path, tool_use_id="toolu_2", tool_response=text)
    run_silently(done, home)
    assert used(home) == before


def test_a_prompt_counts_before_it_is_in_the_transcript_and_not_twice_after(home, transcript):
    transcript.result("toolu_2", "done")
    transcript.answer(60_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    before = used(home)
    assert before == 60_100
    text = "please " * 1000
    run_silently(event("UserPromptSubmit", transcript=transcript.path, prompt=text), home)
    pending = used(home)
    assert before + len(text) / 5 < pending < before + len(text)
    transcript.prompt(text)
    run_silently(event("PreToolUse", transcript=transcript.path), home)
    assert abs(used(home) - pending) <= 2
    assert not state(home)["heard"].get("pending")


def test_usage_falls_with_a_compaction_before_the_transcript_shows_it(home, transcript):
    transcript.result("toolu_2", "done")
    transcript.answer(160_000)
    run_silently(event("PreCompact", transcript=transcript.path), home)
    assert used(home) == 160_100
    summary = "<analysis>" + "long " * 5000 + "</analysis>\n<summary>" + "short " * 500 + "</summary>"
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    run_silently(event("PostCompact", transcript=transcript.path, compact_summary=summary), home)
    after = used(home)
    assert after < 60_000
    assert state(home)["heard"]["awaits"][0] == 1
    transcript.boundary(160_100, 9000)
    transcript.summary("short " * 500)
    transcript.answer(31_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == 31_100
    assert_same_fold(home, transcript.path)


def test_usage_falls_as_soon_as_the_compacted_session_starts(home, transcript):
    """All that was heard before is no longer in the window, though no summary has been heard of yet."""
    for call in range(2, 22):
        done = {"tool_use_id": f"toolu_{call}", "tool_response": {"stdout": "word " * 3000}}
        run_silently(event("PostToolBatch", transcript=transcript.path, **done), home)
        transcript.result(f"toolu_{call}", "word " * 3000)
        transcript.answer(60_000 + 5000 * call, call=f"toolu_{call + 1}")
    run_silently(event("PreCompact", transcript=transcript.path), home)
    assert used(home) == 165_100
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    assert used(home) < 100_000


def test_a_compaction_that_never_reached_the_transcript_is_not_awaited_after_a_resume(home, transcript):
    """The client was killed in between; what it resumes is what the transcript says."""
    transcript.result("toolu_2", "done")
    transcript.answer(160_000)
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    run_silently(event("PostCompact", transcript=transcript.path), home)
    assert used(home) < 60_000
    run_silently(event("SessionStart", transcript=transcript.path, source="resume"), home)
    assert used(home) == 160_100
    transcript.prompt("go on")
    transcript.answer(161_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == 161_100


class Growing:
    """Time in which a file grows: each nap brings the next of its lines."""

    def __init__(self, grow: list) -> None:
        self.grow = grow

    def sleep(self, seconds: float) -> None:
        if self.grow:
            self.grow.pop(0)()


def test_before_a_compaction_the_transcript_is_read_to_where_it_settles(home, transcript, monkeypatch):
    grow = [
        lambda: transcript.answer(53_000, "one more thing", call="toolu_3"),
        lambda: transcript.answer(54_000, "and another", call="toolu_4"),
        lambda: transcript.result("toolu_4", "the newest result"),
    ]
    monkeypatch.setattr(engine, "time", Growing(grow))
    payload = encode(event("PreCompact", transcript=transcript.path))
    engine.handle(from_hook(payload, 1, len(payload)), Holdfast.open(environ(home)))
    assert not grow
    assert_same_fold(home, transcript.path)
    assert state(home)["seen"]["offset"] == transcript.path.stat().st_size


def test_a_transcript_that_never_settles_is_not_waited_for(home, transcript, monkeypatch):
    naps: list[float] = []

    class Restless:
        @staticmethod
        def sleep(seconds: float) -> None:
            naps.append(seconds)
            transcript.answer(53_000 + len(naps))

    monkeypatch.setattr(engine, "time", Restless)
    monkeypatch.setattr(engine, "elapsed", lambda: sum(naps))
    payload = encode(event("PreCompact", transcript=transcript.path))
    engine.handle(from_hook(payload, 1, len(payload)), Holdfast.open(environ(home)))
    assert 0 < sum(naps) < 0.3
    assert_same_fold(home, transcript.path)
