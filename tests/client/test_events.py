"""holdfast beside the real client: it hears everything once, measures right, and is never in the way.

Every test runs for every scenario. What is compared: the probe's log (another hook's account of the
same events), the requests the model was really sent, the client's transcript, and holdfast's files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from client.api import words
from client.scenario import Played
from hooks import check_attached, folder, heard, lines, state, wrong

INSTRUCTIONS = "Additional Instructions:\n"
#: After /compact the client tells the model which hooks ran. Output of ours would follow a colon.
HOOK_RAN = re.compile(r"(?:Pre|Post)Compact \[[^\]]*\] completed successfully(?!:(?! COMPACTION))")
#: What we print before a compaction, and what stands between our fences.
OURS = re.compile(
    r"COMPACTION PRESERVATION INSTRUCTIONS \(holdfast; trigger: \w+\)|<(holdfast-[0-9a-f]{16})>.*?</\1>"
    r"|holdfast has a checkpoint .*?(?:/holdfast:load|checkpoint show) \S+ would\."
    r"|holdfast: about [\d.k]+ tokens are left in the context window, and this client does not compact"
)
BLOCK = re.compile(
    r"COMPACTION PRESERVATION INSTRUCTIONS .*?COMPACTION RULES:(?:\n  \d\. [^\n]*)+", re.DOTALL
)
#: What the client itself puts after a user's words for the summary.
REMINDER = "REMINDER: Do NOT call any tools."


def main_chain(played: Played, session: str) -> list[dict]:
    """Requests of a session, answered or not, that are not its subagents'."""
    return [
        request
        for request in played.requests
        if request["session"] == session and request["kind"] in ("main", "summary")
    ]


def last_context(requests: list[dict]) -> int:
    """What the API said last; 0 when a compaction came after it."""
    answered = [request for request in requests if request["usage"]]
    last = answered[-1]
    if last["kind"] == "summary":
        return 0
    usage = last["usage"]
    return sum(count for name, count in usage.items() if name.endswith("input_tokens"))


def last_sample(played: Played, session: str, agent: str = "") -> dict:
    return lines(folder(played.home, session, agent) / "samples.jsonl")[-1]


def test_the_client_did_what_the_scenario_says(played: Played) -> None:
    """If this fails, the client or the scenario changed; what the others say means little then."""
    for run, script in zip(played.runs, played.script["runs"], strict=True):
        assert (run.trouble, run.refused, run.unplayed) == ("", [], {})
        assert run.returncode == script.get("returncode", 0)
    assert [request["kind"] for request in played.requests] == played.expect["requests"]
    told = Counter(event["hook_event_name"] for event in played.heard)
    assert {name: told[name] for name in played.expect["told"]} == played.expect["told"]


def test_every_event_was_counted_exactly_once(played: Played) -> None:
    for (session, agent), told in played.told().items():
        assert heard(played.home, session, agent) == told, (session, agent)


def test_nothing_else_was_counted(played: Played) -> None:
    known = {folder(played.home, *key) / "state.json" for key in played.told()}
    assert set((played.home / "sessions").rglob("state.json")) == known


def test_no_hook_failed_or_said_what_it_may_not(played: Played) -> None:
    """The client writes a line for a hook that failed, blocked, was too slow, or printed something."""
    for entries in played.machine.transcripts.values():
        check_attached([entry["attachment"] for entry in entries if entry.get("type") == "attachment"])


def test_nothing_that_was_said_was_cut(played: Played) -> None:
    """Of more than 10,000 characters the client shows the model the beginning, and the path of a file."""
    for request in played.requests:
        sent = json.dumps(request["body"])
        assert "<persisted-output>" not in sent
        assert "Output too large" not in sent
    for session in played.sessions:
        said = folder(played.home, session) / "brief.txt"
        assert not said.exists() or len(said.read_text()) <= 10_000


def test_nothing_was_degraded(played: Played) -> None:
    assert wrong(played.home) == []
    done = {
        "CONTEXT_PRESSURE",
        "breakpoint.saved",
        "checkpoint.taken",
        "injection.block",
        "injection.brief",
        "restore.receipt",
        "session.saved",
    }
    assert {note["event"] for note in lines(played.home / "events.jsonl")} <= done


def test_what_the_model_is_sent_of_ours_is_fenced(played: Played) -> None:
    for request in played.requests:
        # The folder of the test run may have any name.
        sent = json.dumps(request["body"]).replace(str(played.machine.folder), "")
        rest = OURS.sub("", HOOK_RAN.sub("", sent)).lower()
        at = rest.find("holdfast")
        assert at < 0, rest[max(0, at - 120) : at + 120]


def asked_for_summaries(played: Played) -> Iterator[str]:
    for request in played.requests:
        if request["kind"] == "summary":
            yield words(request["body"]["messages"][-1]["content"])


def test_a_summary_is_asked_for_in_the_users_words_and_no_others(played: Played) -> None:
    """What a PreCompact hook prints, JSON too, would be pasted into this prompt."""
    told = [event for event in played.heard if event["hook_event_name"] == "PreCompact"]
    asked = list(asked_for_summaries(played))
    assert len(asked) == len(told)
    for prompt, event in zip(asked, told, strict=True):
        own = prompt.rpartition(INSTRUCTIONS)[2].partition(REMINDER)[0] if INSTRUCTIONS in prompt else ""
        assert BLOCK.sub("", own).strip() == (event["custom_instructions"] or "")
        assert '{"' not in own


def test_the_context_is_what_the_api_said(played: Played) -> None:
    """To the token; and 0 is unknown, where no transcript says it."""
    for session in played.sessions:
        saved = any(path.stem == session for path in played.machine.transcripts)
        expected = last_context(main_chain(played, session)) if saved else 0
        assert last_sample(played, session)["context"] == expected
        assert state(played.home, session)["seen"]["meter"].get("context", 0) == expected


def test_what_is_not_known_is_said_to_be_an_estimate(played: Played) -> None:
    assert last_sample(played, played.sessions[-1])["source"] == played.expect["source"]


def test_every_compaction_was_counted_once(played: Played) -> None:
    """Those that were told, and, where there is a transcript, those that are read there."""
    for session, expected in zip(played.sessions, played.expect["compactions"], strict=True):
        saved = state(played.home, session)
        told = played.told()[session, ""]["PostCompact"]
        assert saved["heard"].get("compactions", 0) == told
        if any(path.stem == session for path in played.machine.transcripts):
            assert saved["seen"].get("compacted", 0) == expected


def test_capacity_is_where_the_client_compacts(played: Played) -> None:
    """Or, where it may not, where it gives up."""
    for session in played.sessions:
        assert last_sample(played, session)["capacity"] == played.expect["capacity"]


def test_the_whole_transcript_was_read(played: Played) -> None:
    """At the end holdfast stands at the last line that counts: only the client's own bookkeeping
    may have been written after the last hook."""
    for session in played.sessions:
        saved = state(played.home, session)
        for path in played.machine.transcripts:
            if path.stem == session:
                left = path.read_bytes()[saved["seen"]["offset"] :].splitlines()
                kinds = {json.loads(line)["type"] for line in left}
                assert not kinds & {"user", "assistant", "system"}
