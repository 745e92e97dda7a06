"""Requests that must not get in: named attacks, and random mixes over every route the service has.

Each lacks the token, or has it and comes from where a page in a browser could: another Host, another
Origin, another site, another content type. Whatever is answered with 2xx got in, and so did whatever left a
save. The control: the same attacks on a bare FastAPI, which must let some in, or they are no attacks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness import REPO, progress

sys.path.insert(0, str(REPO / "src"))

from holdfast.serve import login

SAVE = b'{"environment":"stolen","used_tokens":1}'
JSON = ("Content-Type", "application/json")
Headers = list[tuple[str, str]]


class Service(NamedTuple):
    process: subprocess.Popen
    port: int
    token: str
    home: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host(self) -> tuple[str, str]:
        return ("Host", f"127.0.0.1:{self.port}")

    @property
    def bearer(self) -> tuple[str, str]:
        return ("Authorization", f"Bearer {self.token}")

    def saves(self) -> list[str]:
        return sorted(path.name for path in (self.home / "environments").glob("*"))

    def rss_kb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found.group(1))


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes

    @property
    def is_in(self) -> bool:
        """Answered, sent on, or talked to over a web socket."""
        return 200 <= self.status < 400 or self.status == 101


@contextlib.contextmanager
def serving(
    home: Path,
    *words: str,
    environ: dict[str, str] | None = None,
    program: Sequence[str] = ("-m", "holdfast"),
) -> Iterator[Service]:
    """The real thing, in a process of its own, on a port that is free."""
    argv = [sys.executable, *program, "serve", "--port", "0", *words]
    away = {
        "HOLDFAST_HOME": str(home),
        "HOME": str(home.parent),
        "CLAUDE_CONFIG_DIR": str(home.parent / "c"),
    }
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    process = subprocess.Popen(
        argv, env={**ours, **away, **(environ or {})}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        said = process.stdout.readline()
        found = re.search(r":(\d+) \(token", said)
        if not found:
            raise RuntimeError(f"the service did not start: {said}")
        yield Service(process, int(found.group(1)), (home / "token").read_text().strip(), home)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@contextlib.contextmanager
def serving_bare(folder: Path) -> Iterator[Service]:
    argv = [sys.executable, str(REPO / "bench/bare.py"), str(folder / "bare.db")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        port = int(process.stdout.readline().rpartition(":")[2])
        yield Service(process, port, "x" * 43, folder)
    finally:
        process.kill()  # it would wait for bodies that never come
        process.wait(30)
        process.stdout.close()


def request(method: str, target: str, headers: Headers, body: bytes = b"", version: str = "1.1") -> bytes:
    lines = [f"{method} {target} HTTP/{version}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def post(target: str, headers: Headers, body: bytes = SAVE) -> bytes:
    return request("POST", target, [*headers, ("Content-Length", str(len(body)))], body)


def chunked(target: str, headers: Headers, body: bytes) -> bytes:
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    return request("POST", target, [*headers, ("Transfer-Encoding", "chunked")], framed)


def attacks(service: Service) -> dict[str, bytes]:
    """Everything is right with each of them but what its name says."""
    host, bearer = service.host, service.bearer
    use, save = "/context/usage?used_tokens=1", "/context/auto-save"
    known, port = [host, bearer], service.port
    large = b'{"environment":"stolen","used_tokens":1,"inferred_task":"%s"}' % (b"x" * (1 << 20))
    evil = ("Origin", "https://evil.example")
    found = {
        "a Host rebound to us": request("GET", use, [("Host", f"evil.example:{port}"), bearer]),
        "a Host with another port": request("GET", use, [("Host", f"127.0.0.1:{port ^ 1}"), bearer]),
        "a Host without the port": request("GET", use, [("Host", "127.0.0.1"), bearer]),
        "HTTP/1.0 without a Host": request("GET", use, [bearer], version="1.0"),
        "HTTP/1.1 without a Host": request("GET", use, [bearer]),
        "two Hosts": request("GET", use, [host, ("Host", f"evil.example:{port}"), bearer]),
        "an Origin elsewhere, reading": request("GET", use, [*known, evil]),
        "an Origin elsewhere, writing": post(save, [*known, evil, JSON]),
        "an Origin on another port": post(save, [*known, ("Origin", "http://127.0.0.1:1"), JSON]),
        "an Origin of null": post(save, [*known, ("Origin", "null"), JSON]),
        "another site, reading": request("GET", use, [*known, ("Sec-Fetch-Site", "cross-site")]),
        "another site, writing": post(save, [*known, ("Sec-Fetch-Site", "same-site"), JSON]),
        "a body of text": post(save, [*known, ("Content-Type", "text/plain")]),
        "a form": post(
            save, [*known, ("Content-Type", "application/x-www-form-urlencoded")], b"environment=stolen"
        ),
        "a form in parts": post(save, [*known, ("Content-Type", "multipart/form-data; boundary=x")]),
        "no content type": post(save, known),
        "two content types": post(save, [*known, JSON, ("Content-Type", "text/plain")]),
        "no token": request("GET", use, [host]),
        "no token, writing": post(save, [host, JSON]),
        "a wrong token": request("GET", use, [host, ("Authorization", "Bearer " + "A" * 43)]),
        "an empty token": request("GET", use, [host, ("Authorization", "Bearer ")]),
        "the beginning of the token": request("GET", use, [host, (bearer[0], bearer[1][:-1])]),
        "more than the token": request("GET", use, [host, (bearer[0], bearer[1] + "A")]),
        "the token in the URL": request("GET", f"{use}&token={service.token}", [host]),
        "the token in the URL, too": request("GET", f"{use}&token={service.token}", known),
        "the token in another name": request("GET", f"{use}&session={service.token}", known),
        "the token as a cookie": request("GET", use, [host, ("Cookie", f"token={service.token}")]),
        "the token by another scheme": request("GET", use, [host, (bearer[0], f"Basic {service.token}")]),
        "two tokens": request("GET", use, [host, (bearer[0], "Bearer x"), bearer]),
        "a large body": post(save, [*known, JSON], large),
        "a large body in chunks": chunked(save, [*known, JSON], large),
        "a large body, announced": request(
            "POST", save, [*known, JSON, ("Content-Length", str(1 << 30))], b"{"
        ),
        "two lengths": request(
            "POST", save, [*known, JSON, ("Content-Length", "2"), ("Content-Length", "40")], SAVE
        ),
        "a length and chunks": request(
            "POST", save, [*known, JSON, ("Content-Length", "4"), ("Transfer-Encoding", "chunked")], SAVE
        ),
        "a body behind a read": request("GET", use, [*known, JSON, ("Content-Length", "2")], b"{}"),
        "many headers": request("GET", use, [*known, *((f"X-{i}", "y") for i in range(1000))]),
        "a long header": request("GET", use, [*known, ("X-Long", "y" * 100_000)]),
        "a long path": request("GET", "/" + "a" * 100_000, known),
        "a preflight": request(
            "OPTIONS", save, [host, evil, ("Access-Control-Request-Method", "POST"), bearer]
        ),
        "another method in a header": request("GET", save, [*known, ("X-HTTP-Method-Override", "POST")]),
        "a write by GET": request("GET", f"{save}?environment=stolen&used_tokens=1", known),
        "another server's URL": request("GET", f"http://evil.example{use}", known),
        "our own URL, whole": request("GET", f"http://127.0.0.1:{port}{use}", [("Host", "x"), bearer]),
        "the open path and on from it": request("GET", f"/live/..{use}", [host]),
        "the open path, encoded": request("GET", f"/live%2f..{use.replace('/', '%2f')}", [host]),
        "the open path and a slash": request("GET", "/live/", [host]),
        "the open path, twice slashed": request("GET", "//live", [host]),
        "two slashes": request("GET", f"/{use}", [host]),
        "an encoded slash": request("GET", use.replace("/usage", "%2Fusage"), known),
        "dots": request("GET", "/%2e%2e/%2e%2e/etc/passwd", known),
        "a web socket": request(
            "GET",
            use,
            [*known, ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")],
        ),
        "HTTP/2": request("GET", use, [*known, ("Connection", "Upgrade"), ("Upgrade", "h2c")]),
        "a name with a blank": request("GET", use, [("Host ", host[1]), bearer]),
        "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    }
    found |= attacks_on_pages(service)
    for method in ("TRACE", "CONNECT", "PUT", "DELETE", "PATCH", "HEAD", "PROPFIND"):
        found[f"the method {method}"] = request(method, use, known)
    return found


def attacks_on_pages(service: Service) -> dict[str, bytes]:
    """The same for the dashboard: its cookie instead of the token, and nothing but its pages for it."""
    known, host, port = login.Login(service.token), service.host, service.port
    page, save = known.path + "/", "/context/auto-save"
    cookie = ("Cookie", cookie_of(known))
    old = f"holdfast=1000000000.{known._sealed('cookie 1000000000')}"
    other = ("Cookie", cookie_of(login.Login("x" * 43)))
    evil, near = ("Origin", "https://evil.example"), ("Origin", f"http://127.0.0.1:{port ^ 1}")
    ours = ("Origin", f"http://127.0.0.1:{port}")
    use = "/context/usage?used_tokens=1"
    return {
        "a page without a login": request("GET", page, [host]),
        "a page with the token": request("GET", page, [host, service.bearer]),
        "a page with an old cookie": request("GET", page, [host, ("Cookie", old)]),
        "a page with a cookie made up": request("GET", page, [host, ("Cookie", "holdfast=9999999999.00")]),
        "a page with another's cookie": request("GET", page, [host, other]),
        "a page, two cookie headers": request("GET", page, [host, cookie, cookie]),
        "a page and a Host rebound": request("GET", page, [("Host", f"evil.example:{port}"), cookie]),
        "a page in another's page": request("GET", page, [host, cookie, ("Sec-Fetch-Site", "cross-site")]),
        "a page in a neighbour's page": request(
            "GET", page, [host, cookie, ("Sec-Fetch-Site", "same-site")]
        ),
        "a page for another origin": request("GET", page, [host, cookie, evil]),
        "a page, posted to": post(page, [host, cookie, JSON]),
        "an asset without a login": request("GET", f"{page}_nicegui/static/nicegui.js", [host]),
        "an operation with the cookie": request("GET", use, [host, cookie]),
        "a save with the cookie": post(save, [host, cookie, JSON, ours]),
        "a link without the token": post(login.LINK, [host, cookie, JSON], b""),
        "a link that was made up": request("GET", f"{login.ENTER}?once={'x' * 43}", [host]),
        "a link without a code": request("GET", login.ENTER, [host]),
        "polling without a login": post(
            f"{page}_nicegui_ws/socket.io/?EIO=4&transport=polling", [host, ours]
        ),
        "a socket without a login": socket_to(page, [host, ours]),
        "a socket with the token": socket_to(page, [host, ours, service.bearer]),
        "a socket of another origin": socket_to(page, [host, cookie, evil]),
        "a socket of a neighbour": socket_to(page, [host, cookie, near]),
        "a socket of nobody": socket_to(page, [host, cookie]),
        "a socket and a Host rebound": socket_to(page, [("Host", f"evil.example:{port}"), cookie, ours]),
        "a socket to no page": socket_to("/dashboard/x/", [host, cookie, ours]),
    }


def cookie_of(known: login.Login) -> str:
    said = known.enter(known.link().partition("=")[2])
    assert said
    return said.partition(";")[0]


def post_link(service: Service) -> str:
    """What to put behind the service's address, to enter the dashboard once."""
    answer = ask(service.port, post(login.LINK, [service.host, service.bearer, JSON], b""))
    return str(json.loads(answer.body)["path"])


def socket_to(page: str, headers: Headers) -> bytes:
    """As a browser opens one."""
    keys = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    target = f"{page}_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    return request("GET", target, [*headers, *keys, key])


def ask(port: int, data: bytes, timeout: float = 30) -> Answer:
    """One request on a connection of its own. Who hangs up has not let it in."""
    with socket.create_connection(("127.0.0.1", port), timeout) as wire:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            wire.sendall(data)
        try:
            return _read(wire.makefile("rb"), data.startswith(b"HEAD"))
        except (ConnectionResetError, TimeoutError):
            return Answer(0, b"", b"")


def _read(stream, is_head: bool = False) -> Answer:  # type: ignore[no-untyped-def]
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return Answer(0, head, b"")
        head += line
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    body = b"" if is_head or not length else stream.read(int(length.group(1)))
    return Answer(int(head.split()[1]), head, body)


class Mixer:
    """Requests of which something is wrong, at random."""

    def __init__(self, service: Service, routes: dict[str, list[str]], seed: int) -> None:
        self.service, self.routes = service, routes
        self.random = random.Random(seed)

    def one(self) -> bytes:
        pick, port, token = self.random.choice, self.service.port, self.service.token
        pages = login.Login(token).path
        others = ["/", "/nope", "/live/x", "/openapi.json", "/.env", "/dashboard", "/dashboard/x/"]
        others += [f"{pages}/", f"{pages}/health", f"{pages}/_nicegui_ws/socket.io/", login.ENTER]
        path = pick([*self.routes, *self.routes, *others])
        method = pick([*self.routes.get(path, ["get"]), "get", "post", "put", "head", "options", "delete"])
        told = pick(
            ["", "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"bearer {token[::-1]}", token, "Basic x"]
        )
        headers: Headers = [("Host", f"{pick(['127.0.0.1', 'localhost', '[::1]'])}:{port}")]
        if path == "/live" or self.random.random() < 0.5:  # known, but hostile
            told = f"Bearer {token}"
            headers = self._hostile(headers)
        if told:
            headers.append(("Authorization", told))
        if self.random.random() < 0.3:
            headers.append(("Cookie", f"token={token}; Authorization=Bearer {token}"))
        if self.random.random() < 0.3:
            headers.append((pick(["X-Forwarded-Host", "X-Forwarded-For", "X-Real-IP", "Via"]), "127.0.0.1"))
        target = path + pick(
            ["", "?used_tokens=1", f"?token={token}", "?a=1&a=2", "?%00", "?environment=stolen"]
        )
        body = b"" if method == "get" else pick([SAVE, b"{}", b"[]", b"\xff", b""])
        headers.append(("Content-Type", pick(["application/json", "text/plain", ""])))
        if body:
            headers.append(("Content-Length", str(len(body))))
        self.random.shuffle(headers)
        return request(method.upper(), target, headers, body)

    def _hostile(self, headers: Headers) -> Headers:
        port, pick = self.service.port, self.random.choice
        hosts = ["evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}", ""]
        hosts += [f"127.0.0.1:{port + 1}", f"0.0.0.0:{port}", f"localhost.:{port}", f"127.1:{port}"]
        return pick(
            [
                [("Host", pick(hosts))],
                [*headers, ("Host", pick(hosts))],
                [],
                [
                    *headers,
                    ("Origin", pick(["null", "https://evil.example", "http://localhost", "file://"])),
                ],
                [*headers, ("Sec-Fetch-Site", pick(["cross-site", "same-site", "anything"]))],
            ]
        )


class Door:
    """Many requests over one connection, as long as it is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.wire: socket.socket | None = None

    def ask(self, data: bytes) -> Answer:
        if self.wire is None:
            self.wire = socket.create_connection(("127.0.0.1", self.port), 30)
            self.stream = self.wire.makefile("rb")
        try:
            self.wire.sendall(data)
            answer = _read(self.stream, data.startswith(b"HEAD"))
        except (BrokenPipeError, ConnectionResetError):
            answer = Answer(0, b"", b"")
        if not answer.status or b"\r\nconnection: close" in answer.head.lower() or answer.status >= 400:
            self.close()
        return answer

    def close(self) -> None:
        if self.wire:
            self.stream.close()
            self.wire.close()
            self.wire = None


def routes_of(service: Service) -> dict[str, list[str]]:
    """Path -> methods, as the service itself describes them."""
    said = ask(service.port, request("GET", "/openapi.json", [service.host, service.bearer])).body
    return {path: list(methods) for path, methods in json.loads(said)["paths"].items()}


def random_requests(service: Service, count: int, seed: int) -> tuple[Counter[int], list[bytes]]:
    """(statuses, what got in)."""
    mixer, door = Mixer(service, routes_of(service), seed), Door(service.port)
    statuses: Counter[int] = Counter()
    let_in = []
    for number in range(count):
        data = mixer.one()
        answer = door.ask(data)
        statuses[answer.status] += 1
        if answer.is_in or b"access-control" in answer.head.lower() or b"set-cookie" in answer.head.lower():
            let_in.append(data)
        if number % 500 == 0:
            progress(f"{number:,} of {count:,}")
    progress("")
    door.close()
    return statuses, let_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with serving_bare(Path(folder)) as bare:
            holes = [name for name, data in attacks(bare).items() if ask(bare.port, data, 2).is_in]
        with serving(Path(folder) / "home") as service:
            named = attacks(service)
            entered = [name for name, data in named.items() if ask(service.port, data).is_in]
            statuses, let_in = random_requests(service, wanted.requests, wanted.seed)
            saves = service.saves()
    print(f"{len(named)} attacks: {len(entered)} got in (into a bare FastAPI: {len(holes)})")
    print(f"{wanted.requests:,} random requests: {len(let_in)} got in; statuses {sorted(statuses.items())}")
    print(f"saves left behind: {len(saves)}")
    for data in [*map(str.encode, entered), *let_in[:5]]:
        print(data)
    if entered or let_in or saves or not holes:
        raise SystemExit("the door is not shut")


if __name__ == "__main__":
    main()
