"""Who may enter. The gate stands before everything the service does: routes, errors, what does not exist.

The service listens on this machine only, but every page open in a browser runs on this machine, too, and so
does every other user. So a request needs the token, and must not look like one that a page has made: its
Host is ours, with the port (a name that was rebound to 127.0.0.1 is not); its Origin, if it has one, is
ours; what it sends is JSON, which a page cannot send elsewhere without asking. Nobody who asks is told yes:
there are no CORS headers.

The pages of the dashboard and their web socket take a cookie instead of the token (`login`), under a path
of their own, and nothing else does. All other checks are the same for them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hmac import compare_digest
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from holdfast.serve import login

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_HEAD, LARGEST_BODY = 1 << 16, 1 << 20
MOST_HEADERS = 64
#: Says that the service is there, and nothing else.
OPEN = b"/live"
#: Headers that decide something: two of them, and somebody may have read the other one.
_ONCE = frozenset(
    b"host origin sec-fetch-site authorization cookie content-type content-length transfer-encoding".split()
)
_SITES = (b"none", b"same-origin")
#: Parameters under which tokens are put into a URL, where logs and histories keep them.
_TELLTALE = frozenset(("token", "access_token", "api_key", "apikey", "auth", "authorization", "bearer"))
_LOG_IN = "this page needs a login: `holdfast dashboard` prints a link that opens it"
_HEADER = "send it as a header: Authorization: Bearer $(cat <home>/token)"


class Refusal(NamedTuple):
    status: int
    what: str


_TOO_LARGE = Refusal(413, f"a body has at most {LARGEST_BODY} bytes")
_TOO_LONG = Refusal(
    431, f"a request has at most {MOST_HEADERS} headers, and {LARGEST_HEAD} bytes before its body"
)


class Gate:
    """`hosts` are the names and addresses, with the port, under which the service is reached."""

    def __init__(
        self,
        app: App,
        token: str,
        hosts: Iterable[str],
        scheme: str = "http",
        known: login.Login | None = None,
    ) -> None:
        self.app = app
        self.known = known
        self.pages = known.path.encode() + b"/" if known else b""
        self.token = token.encode()
        self.bearer = b"Bearer " + self.token
        self.hosts = frozenset(host.lower().encode() for host in hosts)
        self.origins = frozenset(f"{scheme}://".encode() + host for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):  # the service starting and stopping
            return await self.app(scope, receive, send)
        refusal = self.refusal(scope) or await self.admit(scope)
        if scope["type"] == "websocket":
            if refusal:
                return await send({"type": "websocket.close", "code": 1008, "reason": refusal.what})
            return await self.app(scope, receive, send)
        if refusal is None and scope["method"] == "POST":
            body = await _whole(receive)
            if isinstance(body, Refusal):
                refusal = body
            else:
                receive = _given(body, receive)
        if refusal:
            return await refuse(send, refusal, is_page=self._is_page(scope))
        return await self.app(scope, receive, send)

    async def admit(self, scope: Scope) -> Refusal | None:  # noqa: ARG002
        """What has to be asked elsewhere before anything is read of a body; here the token said it all."""
        return None

    def _is_page(self, scope: Scope) -> bool:
        """Of the dashboard: what a person looks at, not a program."""
        if self.known is None or scope.get("method", "GET") != "GET":
            return False
        path = scope["raw_path"]
        return bool(path in (login.ROOT.encode(), login.ENTER.encode()) or path.startswith(self.pages))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request may not enter; None where it may."""
        headers: dict[bytes, bytes] = {}
        size = len(scope["raw_path"]) + len(scope["query_string"])
        for name, value in scope["headers"]:
            if name in _ONCE and name in headers:
                return Refusal(400, f"two {name.decode()} headers")
            headers[name] = value
            size += len(name) + len(value)
        if size > LARGEST_HEAD or len(scope["headers"]) > MOST_HEADERS:
            return _TOO_LONG
        stranger = self._stranger(headers)
        if stranger or scope["type"] == "websocket":
            return stranger or self._unasked(scope, headers)
        return (
            self._misspoken(scope, headers)
            or self._unknown(scope, headers)
            or (self._unfit(headers) if scope["method"] == "POST" else None)
        )

    def _stranger(self, headers: dict[bytes, bytes]) -> Refusal | None:
        """Whether it was meant for another server, or comes from another's page."""
        host = headers.get(b"host", b"").lower()
        if host not in self.hosts:
            own = b", ".join(sorted(self.hosts)).decode()
            return Refusal(421 if host else 400, f"Host has to be one of {own}")
        if b"origin" in headers and headers[b"origin"].lower() not in self.origins:
            return Refusal(403, "pages of other origins may not ask")
        if headers.get(b"sec-fetch-site", b"none").lower() not in _SITES:
            return Refusal(403, "pages of other sites may not ask")
        return None

    def _unasked(self, scope: Scope, headers: dict[bytes, bytes]) -> Refusal | None:
        """A web socket is a page's own, opened by it: a browser always says by which."""
        if b"origin" not in headers:
            return Refusal(403, "a web socket needs an Origin")
        if not self._is_page(scope):
            return Refusal(403, "there is no web socket here")
        return self._unknown(scope, headers)

    def _misspoken(self, scope: Scope, headers: dict[bytes, bytes]) -> Refusal | None:
        if scope["method"] not in ("GET", "POST"):
            return Refusal(405, "reads are GET, writes are POST; there is nothing else")
        if scope["method"] == "GET" and (
            b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
        ):
            return Refusal(400, "a read has no body: what it takes stands behind the ?")
        if b"upgrade" in headers:
            return Refusal(400, "this service speaks HTTP/1.1 and nothing else")
        if b"%" in scope["raw_path"]:
            return Refusal(400, "no path of this service has a % in it")
        if scope["query_string"] and self._is_told(scope["query_string"]):
            return Refusal(400, f"a token does not belong into a URL; {_HEADER}")
        return None

    def _is_told(self, query: bytes) -> bool:
        if self.token in query or self.token in unquote_to_bytes(query):
            return True
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        return any(name.lower() in _TELLTALE for name, _ in pairs)

    def _unknown(self, scope: Scope, headers: dict[bytes, bytes]) -> Refusal | None:
        if self._is_page(scope):
            return self._unseen(scope, headers)
        if scope["raw_path"] == OPEN and scope["method"] == "GET":
            return None
        told = headers.get(b"authorization")
        if told is None:
            return Refusal(401, f"the token is missing; {_HEADER}")
        if not compare_digest(told, self.bearer):
            return Refusal(401, f"that is not the token; {_HEADER}")
        return None

    def _unseen(self, scope: Scope, headers: dict[bytes, bytes]) -> Refusal | None:
        """Whether a page may be looked at. The way in shows nothing but itself."""
        assert self.known
        path = scope["raw_path"]
        if path == login.ENTER.encode():
            return None
        if path.startswith(self.pages) and self.known.is_known(headers.get(b"cookie", b"")):
            return None
        return Refusal(401, _LOG_IN)

    def _unfit(self, headers: dict[bytes, bytes]) -> Refusal | None:
        kind, _, more = headers.get(b"content-type", b"").lower().partition(b";")
        if kind.strip() != b"application/json" or more.strip() not in (b"", b"charset=utf-8"):
            return Refusal(415, "a body is JSON: Content-Type: application/json")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > LARGEST_BODY:
            return _TOO_LARGE
        return None


async def _whole(receive: Receive) -> bytes | Refusal:
    """The body, all of it, before anything is done. How long it may take the wire knows."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return Refusal(400, "the body ended before its end")
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            return _TOO_LARGE
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _given(body: bytes, receive: Receive) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> MutableMapping[str, Any]:
        return next(messages, None) or await receive()

    return again


async def refuse(send: Send, refusal: Refusal, is_page: bool = False) -> None:
    body = login.said(refusal.what) if is_page else json.dumps({"error": refusal.what}).encode()
    kind = b"text/html; charset=utf-8" if is_page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    if refusal.status == HTTPStatus.UNAUTHORIZED and not is_page:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append((b"allow", b"GET, POST"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
