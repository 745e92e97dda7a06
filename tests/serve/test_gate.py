"""Nothing gets in that should not; and the attacks are attacks: a bare FastAPI lets many of them in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from asking import get, post
from door import (
    Answer,
    Service,
    ask,
    attacks,
    attacks_on_pages,
    cookie_of,
    random_requests,
    request,
    routes_of,
    serving_bare,
    socket_to,
)
from holdfast.serve import login

#: What each is answered with, where it is not just refused.
STATUS = {
    "a Host rebound to us": 421,
    "a Host with another port": 421,
    "a Host without the port": 421,
    "HTTP/1.0 without a Host": 400,
    "HTTP/1.1 without a Host": 400,
    "two Hosts": 400,
    "an Origin elsewhere, reading": 403,
    "an Origin elsewhere, writing": 403,
    "an Origin on another port": 403,
    "an Origin of null": 403,
    "another site, reading": 403,
    "another site, writing": 403,
    "a body of text": 415,
    "a form": 415,
    "a form in parts": 415,
    "no content type": 415,
    "no token": 401,
    "a wrong token": 401,
    "an empty token": 401,
    "the beginning of the token": 401,
    "more than the token": 401,
    "the token in the URL": 400,
    "the token in the URL, too": 400,
    "the token as a cookie": 401,
    "a large body, announced": 413,
    "many headers": 431,
    "a long header": 431,
    "a preflight": 403,
    "the method TRACE": 405,
    "the method HEAD": 405,
    "another server's URL": 400,
    "a web socket": 400,
    "a page without a login": 401,
    "a page with the token": 401,
    "a page with an old cookie": 401,
    "a page with a cookie made up": 401,
    "a page with another's cookie": 401,
    "a page, two cookie headers": 400,
    "a page and a Host rebound": 421,
    "a page in another's page": 403,
    "a page in a neighbour's page": 403,
    "a page for another origin": 403,
    "a page, posted to": 401,
    "an asset without a login": 401,
    "an operation with the cookie": 401,
    "a save with the cookie": 401,
    "a link without the token": 401,
    "a link that was made up": 403,
    "a link without a code": 403,
    "polling without a login": 401,
    "a socket without a login": 403,
    "a socket of another origin": 403,
    "a socket of nobody": 403,
    "a socket to no page": 403,
}
#: To a person: a page says so, or the socket of one.
SAID = {
    "an asset without a login",
    "a link that was made up",
    "a link without a code",
    *(name for name in attacks_on_pages(Service(None, 1, "t" * 43, Path())) if "socket" in name),  # type: ignore[arg-type]
}
#: Without these there would be nothing to guard against.
HOLES = {
    "a Host rebound to us",
    "a Host with another port",
    "HTTP/1.0 without a Host",
    "an Origin elsewhere, reading",
    "an Origin elsewhere, writing",
    "an Origin of null",
    "another site, writing",
    "no token",
    "no token, writing",
    "another server's URL",
}
NAMES = list(attacks(Service(None, 1, "t" * 43, Path())))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving_bare(tmp_path_factory.mktemp("bare")) as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_does_not_get_in(service: Service, name: str) -> None:
    answer = ask(service.port, attacks(service)[name])
    assert not answer.is_in
    assert answer.status == STATUS.get(name, answer.status)
    assert "stolen.jsonl" not in service.saves()
    assert service.token.encode() not in answer.head + answer.body
    assert not re.search(rb"(?i)access-control|set-cookie|\r\nserver:", answer.head)
    if answer.status and name != "the method HEAD":
        assert answer.body.startswith(b'{"error"') or "page" in name or name in SAID


def test_the_attacks_are_attacks(bare: Service) -> None:
    known = attacks(bare)
    assert [name for name in HOLES if not ask(bare.port, known[name]).is_in] == []


def test_random_requests_over_every_route_do_not_get_in(service: Service) -> None:
    statuses, let_in = random_requests(service, 1500, seed=7)
    assert let_in == []
    assert {400, 401, 403, 405, 421} <= set(statuses)  # each part of the gate was tried
    assert "stolen.jsonl" not in service.saves()


def test_the_same_requests_get_in_when_everything_is_right(service: Service) -> None:
    """Or the gate would only be a wall."""
    for host in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
        for extra in (
            [],
            [("Origin", f"http://{host.lower()}:{service.port}")],
            [("Sec-Fetch-Site", "none")],
        ):
            headers = [("Host", f"{host}:{service.port}"), service.bearer, *extra]
            answer = ask(service.port, request("GET", "/context/usage?used_tokens=1", headers))
            assert answer.status == 200, (host, extra, answer)


def test_only_that_it_lives_is_told_without_the_token(service: Service) -> None:
    for path in routes_of(service):
        answer = ask(service.port, request("GET", path, [service.host]))
        assert answer.status == (200 if path == "/live" else 401), path
    alive = ask(service.port, request("GET", "/live", [service.host]))
    assert alive.body == b'{"ok":true}'
    assert ask(service.port, request("GET", "/live", [("Host", "evil.example")])).status == 421


def test_every_answer_forbids_to_keep_it_and_to_guess_what_it_is(service: Service) -> None:
    def is_guarded(answer: Answer) -> bool:
        head = answer.head.lower()
        return b"cache-control: no-store" in head and b"x-content-type-options: nosniff" in head

    for target, headers in (("/live", []), ("/nope", [service.bearer]), ("/status", [])):
        assert is_guarded(ask(service.port, request("GET", target, [service.host, *headers])))
    assert is_guarded(ask(service.port, b"nonsense\r\n\r\n"))


def test_it_listens_on_this_machine_only(service: Service) -> None:
    fds = Path(f"/proc/{service.process.pid}/fd")
    inodes = {
        link.group(1) for fd in fds.iterdir() if (link := re.match(r"socket:\[(\d+)", os.readlink(fd)))
    }
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listening = [row[1].partition(":")[0] for row in rows if row[9] in inodes and row[3] == "0A"]
    assert listening == ["0100007F"]


def test_no_child_process_serves(service: Service) -> None:
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text()
    assert children == ""


def test_a_path_that_leads_elsewhere_finds_nothing(service: Service) -> None:
    for name in ("../../../etc/passwd", "/etc/passwd", "..%2f..%2ftoken", "%00", "a" * 5000):
        status, said = get(service, f"/checkpoint/show?name={name}")
        assert status in (400, 404), (name, said)
        assert service.token not in str(said)
    assert post(service, "/context/auto-save", {"environment": "../token", "used_tokens": 1})[0] == 400


def test_a_link_opens_the_pages_once_and_its_cookie_nothing_else(service: Service) -> None:
    status, said = post(service, login.LINK, {})
    assert status == 200
    target = said["path"]
    first = ask(service.port, request("GET", target, [service.host, ("Sec-Fetch-Site", "none")]))
    assert first.status == 303
    set_to = re.search(
        rb"(?i)set-cookie: (\S+); Path=(\S+); Max-Age=(\d+); HttpOnly; SameSite=Strict\r", first.head
    )
    assert set_to
    page = set_to[2].decode()
    assert re.fullmatch(r"/dashboard/[0-9a-f]{16}", page)
    assert service.token not in page
    again = ask(service.port, request("GET", target, [service.host]))
    assert again.status == 403
    assert b"set-cookie" not in again.head.lower()
    cookie = ("Cookie", set_to[1].decode())
    assert ask(service.port, request("GET", f"{page}/", [service.host, cookie])).status == 200
    assert ask(service.port, request("GET", "/status", [service.host, cookie])).status == 401


def test_a_link_is_over_after_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = login.Login("t" * 43)
    code, late = known.link().partition("=")[2], login.now() + login.LINK_S * 1000 + 1
    monkeypatch.setattr(login, "now", lambda: late)
    assert known.enter(code) is None


def test_only_so_many_links_are_open(service: Service) -> None:
    known = login.Login("t" * 43)
    links = [known.link().partition("=")[2] for _ in range(40)]
    assert known.enter(links[0]) is None
    assert known.enter(links[-1])


def test_the_pages_own_socket_is_let_in(service: Service) -> None:
    known = login.Login(service.token)
    headers = [service.host, ("Origin", service.url), ("Cookie", cookie_of(known))]
    answer = ask(service.port, socket_to(f"{known.path}/", headers))
    assert answer.status == 101


def test_no_page_may_be_framed_or_load_anything_from_elsewhere(service: Service) -> None:
    known = login.Login(service.token)
    answer = ask(
        service.port, request("GET", f"{known.path}/", [service.host, ("Cookie", cookie_of(known))])
    )
    assert b"frame-ancestors 'none'" in answer.head
    assert b"default-src 'self'" in answer.head
    assert not re.search(rb"""(?i)(src|href)=["']?(https?:)?//""", answer.body)
