"""The harness itself: that it reaches nothing, that it says what is missing, that its wire is right."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from client import api, binary, client, runner, terminal

REPO = Path(__file__).resolve().parents[2]


def test_a_place_with_a_way_out_is_refused() -> None:
    """Loopback stands for the world here: it is the one address every machine has a route to."""
    with pytest.raises(SystemExit, match="leads outside"):
        runner.refuse_a_way_out(((socket.AF_INET, "127.0.0.1"),))


def test_inside_the_namespace_there_is_loopback_and_no_way_out() -> None:
    code = (
        "import socket; from client import runner; runner.loopback_up(); runner.refuse_a_way_out();"
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('ok')"
    )
    done = subprocess.run(
        [*client.namespace(), client.PYTHON, "-S", "-c", code],
        env={"PATH": os.defpath, "PYTHONPATH": str(client.HERE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_without_namespaces_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(binary.Unavailable, match="unshare"):
        client.namespace.__wrapped__()
    (tmp_path / "unshare").write_text("#!/bin/sh\necho Operation not permitted >&2\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    with pytest.raises(binary.Unavailable, match="Operation not permitted"):
        client.namespace.__wrapped__()


def test_leaving_the_client_out_is_said_loudly() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)],
        env={**os.environ, "HOLDFAST_SKIP_CLIENT": "1"},
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "CLIENT NOT TESTED" in done.stdout
    assert " passed" not in done.stdout


def fake_npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "npm").write_text("#!/bin/sh\n" + script)
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.defpath}")
    monkeypatch.setenv("HOLDFAST_CACHE", str(folder / "cache"))


def test_a_registry_out_of_reach_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_npm(tmp_path / "bin", "echo 'npm error code ENOTFOUND' >&2; exit 1\n", monkeypatch)
    with pytest.raises(binary.Unavailable, match=r"registry reachable.*ENOTFOUND"):
        binary.ensure()


def test_other_bytes_than_the_pinned_ones_are_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "other.tgz", "w:gz") as archive:
        other = tarfile.TarInfo("package/claude")
        other.size = 5
        archive.addfile(other, io.BytesIO(b"other"))
    fake_npm(tmp_path / "bin", f"cp {tmp_path}/other.tgz .\n", monkeypatch)
    with pytest.raises(binary.Unavailable, match="is not what"):
        binary.ensure()
    assert not list((tmp_path / "bin/cache").rglob("claude"))


def test_a_machine_without_a_pinned_client_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary.platform, "machine", lambda: "riscv64")
    with pytest.raises(binary.Unavailable, match="tested on linux-x64 only"):
        binary.ensure()


def test_a_stream_says_what_the_whole_message_says() -> None:
    turn = {"think": "hm", "say": "x" * 1000, "calls": [{"run": "ls"}, {"call": "Read", "input": {"a": 1}}]}
    whole = api.message(turn, 1, "claude-x")
    events = list(api.stream(whole))
    text = "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta")
    given = [e["delta"].get("partial_json", "") for e in events if e["type"] == "content_block_delta"]
    assert text == turn["say"]
    assert "".join(given) == '{"command": "ls", "description": "One step"}{"a": 1}'
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert events[-2]["usage"] == whole["usage"]


@pytest.mark.parametrize("context", [0, 1, 9, 1_000, 20_000, 967_100])
def test_a_usage_adds_up_to_the_scripted_context(context: int) -> None:
    usage = api.usage_of({"context": context})
    parts = [count for name, count in usage.items() if name.endswith("input_tokens")]
    assert sum(parts) == context
    assert min(parts) >= 0


def test_what_was_drawn_is_read_as_text() -> None:
    drawn = b"\x1b[2J\x1b[1;31manswer\x1b[1Czero\x1b[0m\x1b[3;1Hnext\x1b]0;title\x07 \xe2\x9d\xaf"
    assert terminal.plain(drawn).split() == ["answer", "zero", "next", "❯"]
