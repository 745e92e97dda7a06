"""The usage curve says what the fold says, response by response."""

from __future__ import annotations

from pathlib import Path

from holdfast.disk.curve import usages
from session import Script, text, use


def test_each_response_stands_once_with_its_last_usage(tmp_path: Path) -> None:
    script = Script()
    script.prompt('{"usage": {"input_tokens": 5}, "type": "assistant"}')
    script.answer(text("one"), message="m1", context=40_000, output=1)
    script.answer(use("t1", "Bash", command="ls"), message="m1", context=40_000, output=9)
    script.result("t1", "ok", {"usage": {"input_tokens": 7}, "type": "assistant"})
    script.answer(context=0, message="none", input_tokens=0, cache_read_input_tokens=0)
    script.answer(text("two"), message="m2", context=50_000, output=3)
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes() + b'{"type":"assistant","message":{"usage":')
    found = [(message, model, usage.context, usage.output) for message, model, usage in usages(str(path))]
    assert found == [("m1", "claude-opus-4-6", 40_000, 9), ("m2", "claude-opus-4-6", 50_000, 3)]
