"""Clients that are slow, endless or many."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from door import Service, _read, ask, request, serving

IMPATIENT = """
import sys
from holdfast.serve import wire
wire.ARRIVES_S, wire.MOST_CONNECTIONS = 2, 8
from holdfast.cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("impatient") / "home", program=["-c", IMPATIENT]) as running:
        yield running


@pytest.mark.parametrize("sent", [b"", b"GET /live HTT", b"GET /live HTTP/1.1\r\nHost: x\r\nX-A: b\r\n"])
def test_a_client_that_does_not_finish_its_request_is_hung_up_on(impatient: Service, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port), 20) as wire:
        wire.sendall(sent)
        stream = wire.makefile("rb")
        assert _read(stream).status == 408
        assert stream.read() == b""


def test_nor_is_one_waited_for_that_sends_a_little_all_the_time(impatient: Service) -> None:
    assert _flood(impatient, b"GET /live HTTP/1.1\r\n", b"X-A: b\r\n", 4096, pause_s=0.05) < 4096


def test_nor_one_whose_body_does_not_come(impatient: Service) -> None:
    headers = [
        impatient.host,
        impatient.bearer,
        ("Content-Type", "application/json"),
        ("Content-Length", "99"),
    ]
    data = request("POST", "/context/auto-save", headers, b'{"environment":"slow","used_tokens":1}')
    assert ask(impatient.port, data).status == 408
    assert impatient.saves() == []


def test_a_connection_that_rests_between_two_requests_may_rest(impatient: Service) -> None:
    data = request("GET", "/live", [impatient.host])
    with socket.create_connection(("127.0.0.1", impatient.port), 20) as wire:
        stream = wire.makefile("rb")
        for _ in range(2):
            wire.sendall(data)
            assert _read(stream).status == 200
            time.sleep(2.5)


def test_two_requests_sent_at_once_are_answered_in_their_order(service: Service) -> None:
    first = request("GET", "/context/usage?used_tokens=1", [service.host, service.bearer])
    second = request("GET", "/live", [service.host])
    with socket.create_connection(("127.0.0.1", service.port), 20) as wire:
        wire.sendall(first + second)
        stream = wire.makefile("rb")
        assert [b'"used":1' in _read(stream).body, _read(stream).body] == [True, b'{"ok":true}']


def test_one_connection_too_many_is_told_so(impatient: Service) -> None:
    data = request("GET", "/live", [impatient.host])
    held = []
    for _ in range(8):  # each asks at once: who does not is hung up on
        held.append(socket.create_connection(("127.0.0.1", impatient.port), 20))
        held[-1].sendall(data)
        assert _read(held[-1].makefile("rb")).status == 200
    assert ask(impatient.port, data).status == 503
    for wire in held:
        wire.close()
    deadline = time.monotonic() + 60
    while ask(impatient.port, data).status != 200:
        assert time.monotonic() < deadline


def _flood(service: Service, head: bytes, part: bytes, most: int, pause_s: float = 0) -> int:
    """How many bytes it takes until the service hangs up; `most` where it does not."""
    sent = 0
    with socket.create_connection(("127.0.0.1", service.port), 20) as wire:
        wire.sendall(head)
        try:
            while sent < most:
                wire.sendall(part)
                sent += len(part)
                time.sleep(pause_s)
        except (BrokenPipeError, ConnectionResetError):
            return sent
    return sent


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"GET /", b"a" * 65536),
        (b"GET / HTTP/1.1\r\nX: ", b"a" * 65536),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 10_000),
        (b"POST /context/auto-save HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000),
    ],
)
def test_what_has_no_end_is_hung_up_on_and_costs_no_memory(
    service: Service, head: bytes, part: bytes
) -> None:
    before = service.rss_kb()
    assert _flood(service, head, part, 64 << 20) < 64 << 20
    assert service.rss_kb() - before < 8 << 10


@pytest.mark.parametrize("announced", [True, False])
def test_a_gigabyte_is_refused_before_it_is_sent_and_costs_no_memory(
    service: Service, announced: bool
) -> None:
    length = ("Content-Length", str(1 << 30)) if announced else ("Transfer-Encoding", "chunked")
    headers = [service.host, service.bearer, ("Content-Type", "application/json"), length]
    before = service.rss_kb()
    part = b"x" * (1 << 20) if announced else b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    with socket.create_connection(("127.0.0.1", service.port), 60) as wire:
        wire.sendall(request("POST", "/context/auto-save", headers))
        for _ in range(2):
            wire.sendall(part)
        assert _read(wire.makefile("rb")).status == 413
    assert service.rss_kb() - before < 8 << 10
    assert ask(service.port, request("GET", "/live", [service.host])).status == 200


def test_nothing_a_client_sends_is_written_down(tmp_path: Path) -> None:
    """No log holds a query or a token: there is none."""
    environ = {"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    argv = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        port = int(process.stdout.readline().split()[0].rpartition(b":")[2])
        token = (tmp_path / "home/token").read_text().strip()
        host = ("Host", f"127.0.0.1:{port}")
        for query in (f"token={token}", "session=secret"):
            ask(port, request("GET", f"/usage?{query}", [host, ("Authorization", f"Bearer {token}")]))
        ask(port, b"\0\0\0\r\n\r\n")
        process.terminate()
        said, complained = process.communicate(timeout=30)
    assert b"secret" not in said + complained
    assert token.encode() not in said + complained
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file() and path.name != "token":
            assert token not in path.read_text(errors="replace"), path
