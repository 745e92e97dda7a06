"""The real client cuts away what was before a compaction; holdfast goes on knowing it."""

from __future__ import annotations

import json
from pathlib import Path

from client.client import Machine, wired
from hooks import command, folder, state, wrong

RULE = "Never deploy on Friday (CRITICAL)"
#: The client cuts only what is larger than 5 MB.
WRITES, LETTERS = 24, 140_000


def test_what_was_said_before_is_known_when_the_client_has_cut_it_away(
    tmp_path: Path, binary: Path
) -> None:
    machine = Machine(tmp_path, binary)
    large = "line of a file\n" * (LETTERS // 15)
    script = [
        {
            "say": f"We chose plan{number} because it is short.",
            "call": "Write",
            "input": {"file_path": str(machine.project / f"f{number}.txt"), "content": large},
            "context": 30_000 + 1_000 * number,
        }
        for number in range(WRITES)
    ]
    script[-1]["context"] = 970_000
    after = [
        {"say": "after", "run": "echo after", "context": 20_000},
        {"say": "again", "run": "echo again", "context": 970_000},
        {"say": "later", "run": "echo later", "context": 21_000},
        {"say": "finished", "context": 22_000},
    ]
    run = machine.run(
        {"main": script + after},
        ["-p", f"{RULE}. Go.", "--model", "claude-opus-5-5"],
        settings=wired(command()),
        env={"CLAUDE_CODE_TRANSCRIPT_LOCAL_GC": "1"},
        within_s=120,
        lean=True,
    )
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    (lines,) = machine.transcripts.values()
    answers = [str(line["message"]["content"]) for line in lines if line["type"] == "assistant"]
    assert not [one for one in answers if "We chose plan1 " in one], "the client changed, not holdfast"
    home = machine.config / "holdfast"
    seen = state(home, run.session)["seen"]
    assert (seen["rereads"] > 0, seen["reread_why"]) == (True, "shrunk")
    facts = (folder(home, run.session) / "facts.json").read_text()
    known = json.loads(facts) | {"cut": ""}  # beside them stands what they were when it was cut away
    assert str(known).count("We chose plan1 because it is short.") == 1
    asked = [one for one in run.requests if one["kind"] == "summary"]
    assert len(asked) == 2
    assert RULE in str(asked[1]["body"]["messages"][-1]), "though that was typed before the first"
    assert wrong(home) == []
