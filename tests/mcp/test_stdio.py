"""The server as a process: it answers, whatever it is sent, and ends when its client does."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.disk import files
from holdfast.mcp import protocol, stdio
from hooks import SAFETY_S, event, run_silently
from speaking import COMMAND, Server, call, request


def asked(*messages: object) -> bytes:
    return b"".join(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages)


def test_it_answers_until_stdin_ends(home: Path) -> None:
    with Server(home) as server:
        assert server.ask("server/discover")["error"]["code"] == -32601
        assert server.ask("initialize", protocolVersion="2025-11-25")["result"]["instructions"]
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert len(server.ask("tools/list", 2)["result"]["tools"]) > 15
        server.send(b"\r\n\n", call("status", 3), b'{"jsonrpc":"2.0","id":4,"method":"ping"}')  # no newline
        assert sorted(one["id"] for one in server.ends()) == [3, 4]


def test_nothing_heavy_is_loaded_before_a_tool_is_called(home: Path) -> None:
    """What takes as long as the interpreter, or more; a longer list would be a reviewed decision."""
    heavy = "json re enum typing dataclasses inspect threading site os collections holdfast.ops".split()
    script = (
        "import sys; sys.argv[1:] = ['mcp']; from holdfast.mcp import stdio\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    source = str(Path(COMMAND[3]).parent.parent)
    ask = f"import sys; sys.path.append({source!r}); {script}"
    done = subprocess.run([*COMMAND[:3], "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_slow_tool_holds_up_no_ping_and_one_that_waits_can_be_cancelled(home: Path) -> None:
    run_silently(event("SessionStart", source="startup"), home)
    with Server(home) as server:
        with files.Lock(str(home / "sessions/s1/lock")):
            server.send(call("checkpoint_take", "slow", session="s1"))
            server.send(call("status", "dropped"), call("sessions", "next"))
            server.send(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "dropped"}}
            )
            assert server.ask("ping", "alive")["id"] == "alive"
            assert server.ask("tools/list", "list")["id"] == "list"
        assert [server.hear()["id"], server.hear()["id"]] == ["slow", "next"]
        assert server.ends() == []


def test_whoever_asks_too_much_at_once_is_told_so(home: Path) -> None:
    run_silently(event("SessionStart", source="startup"), home)
    with Server(home) as server:
        with files.Lock(str(home / "sessions/s1/lock")):
            server.send(call("checkpoint_take", 0, session="s1"))
            server.send(*(call("no_such", number) for number in range(1, 103)))
            refused = server.hear()
            assert (refused["id"] >= 100, refused["error"]["code"]) == (True, -32000)
        assert sum(1 for _ in server.ends()) >= 100


def test_stdin_that_ends_ends_a_call_that_hangs(home: Path) -> None:
    run_silently(event("SessionStart", source="startup"), home)
    with Server(home) as server, files.Lock(str(home / "sessions/s1/lock")):
        server.send(call("checkpoint_take", 1, session="s1"), [call("status", 2), call("status", 3)])
        hung, batch = server.ends()
        assert (hung["id"], "stdin ended" in hung["error"]["message"]) == (1, True)
        assert [(one["id"], one["error"]["code"]) for one in batch] == [(2, -32000), (3, -32000)]


def test_stdin_that_has_ended_does_not_cut_short_what_was_asked_for(home: Path) -> None:
    """As `echo … | holdfast mcp` asks, on a machine that is busy."""
    run_silently(event("SessionStart", source="startup"), home)
    with Server(home) as server:
        with files.Lock(str(home / "sessions/s1/lock")):
            server.send(call("checkpoint_take", session="s1"))
            assert server.process.stdin
            server.process.stdin.close()
            server.process.stdin = None
            with pytest.raises(subprocess.TimeoutExpired):
                server.process.wait(3)
        (answer,) = server.ends()
        assert "result" in answer


def test_a_message_too_large_is_refused_and_the_next_is_answered(home: Path) -> None:
    with Server(home) as server:
        large = (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * protocol.LARGEST + b'"}}\n'
        )
        server.send(large, request("ping", 2))
        told, pong = server.ends()
        assert (told["id"], told["error"]["code"]) == (None, -32600)
        assert "more than 4194304 bytes" in told["error"]["message"]
        assert pong["id"] == 2


def test_one_as_large_as_allowed_is_read(home: Path) -> None:
    with Server(home) as server:
        server.send(request("ping", 1, x="x" * (protocol.LARGEST - 1000)))
        assert [one["id"] for one in server.ends()] == [1]


def test_hostile_lines_never_end_it(home: Path) -> None:
    rng = random.Random(7)
    good = asked(request("initialize"), call("checkpoint_show", 2, name="x"), request("tools/list", 3))
    with Server(home) as server:
        for _ in range(300):
            line = bytearray(rng.choice(good.splitlines()))
            for _ in range(rng.randrange(1, 6)):
                line[rng.randrange(len(line))] = rng.randrange(256)
            server.send(bytes(line).replace(b"\n", b"") + b"\n")
            server.send(rng.randbytes(rng.randrange(40)).replace(b"\n", b"") + b"\n")
        server.send(request("ping", "still here"))
        answers = server.ends()
    assert "still here" in [one["id"] for one in answers]
    assert all(one["jsonrpc"] == "2.0" for one in answers)


def test_when_nobody_reads_it_ends(home: Path) -> None:
    with Server(home) as server:
        server.ask("ping")
        assert server.process.stdout
        server.process.stdout.close()
        server.send(request("ping"))
        assert server.process.wait(SAFETY_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly(home: Path, number: int) -> None:
    with Server(home) as server:
        server.ask("ping")
        server.process.send_signal(number)
        assert server.process.wait(SAFETY_S) == -number
        assert server.process.stderr
        assert server.process.stderr.read() == b""


def test_nothing_but_answers_reaches_stdout_and_nobody_else_reads_stdin(tmp_path: Path, home: Path) -> None:
    """A library that prints, and a program that a tool starts."""
    package = tmp_path / "lib/holdfast"
    package.parent.mkdir()
    subprocess.run(["cp", "-r", Path(COMMAND[3]).parent, package], check=True)
    (package / "ops/upkeep.py").write_text(
        "import os\n"
        "def status(app):\n"
        "    print('printed', flush=True)\n"
        "    os.write(1, b'written')\n"
        "    os.system('cat; echo started')\n"
        "    return {'done': True}\n"
    )
    sent = asked(call("status", 1), request("ping", 2), b" " * 100_000 + b"\n", request("ping", 3))
    done = subprocess.run(
        [*COMMAND[:3], package / "launch.py", "mcp"],
        input=sent,
        env={"PATH": os.defpath, "HOME": str(tmp_path), "HOLDFAST_HOME": str(home)},
        capture_output=True,
        timeout=SAFETY_S,
        check=True,
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [1, 2, 3]
    assert done.stderr == b"printed\nwrittenstarted\n"


class Slow(list[object]):
    """Something happens when all of it was looked at."""

    def __init__(self, items: list[object], then: Callable[[], None]) -> None:
        super().__init__(items)
        self.then = then

    def __iter__(self) -> Iterator[object]:
        yield from super().__iter__()
        self.then()


def test_what_is_asked_while_another_is_answered_is_not_forgotten() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    server = stdio.Stdio(-1, null, protocol.METHODS)
    first, second = call("status", 1), call("status", 2)
    asks = threading.Thread(target=lambda: server._take(json.dumps(second).encode()))

    def meanwhile() -> None:
        asks.start()
        asks.join(0.2)  # as long as it needs, if nothing holds it up

    server.unanswered = Slow([first], meanwhile)
    server._write("{}", first)
    asks.join()
    os.close(null)
    assert server.unanswered == [second]


def test_it_listens_also_while_nobody_reads() -> None:
    server = stdio.Stdio(-1, -1, protocol.METHODS)
    asks = threading.Thread(target=lambda: server._take(json.dumps(call("status")).encode()), daemon=True)
    with server.writing:
        asks.start()
        asks.join(SAFETY_S)
        assert not asks.is_alive()
        assert len(server.unanswered) == 1
