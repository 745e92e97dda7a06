"""A service that a team shares: who asks is known by a token, and served with that member's rights.

Everything else of the gate is as it is for one user. Who is let in is asked of the team's store for every
request, before anything of its body is read, so a token that was revoked is worth nothing from then on.
What is done is done in a transaction that has become the member's; nothing of the service's home is reached
by any of it, because the operations there are have none.

No more is begun than there are connections, and no more waits than a few for each: whoever comes then is
told to come again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from typing import Any

from holdfast.core.redact import Redactor
from holdfast.errors import HoldfastError, Unavailable
from holdfast.ops.registry import Operation
from holdfast.ops.shared import Desk
from holdfast.serve.gate import OPEN, App, Gate, Refusal, Scope
from holdfast.store.postgres import PostgreSQL
from holdfast.team import tokens

#: The member whose request this is.
_WHO: ContextVar[str] = ContextVar("who")
_DESCRIBED = "/openapi.json"
_BEARER = b"Bearer "
_HEADER = "send the one that `holdfast team token add` printed as a header: Authorization: Bearer hft_…"
_UNKNOWN = Refusal(401, f"that is no token, or not any more; {_HEADER}")
#: Requests that wait for each connection.
_WAITING = 8


class MembersGate(Gate):
    """`whose` says of a token's two parts which member it is, if any; `paths` is all there is."""

    def __init__(
        self,
        app: App,
        hosts: Iterable[str],
        scheme: str,
        whose: Callable[[str, str], Awaitable[str | None]],
        paths: Iterable[str],
    ) -> None:
        super().__init__(app, tokens.PREFIX, hosts, scheme)  # in a URL nothing may look like one
        self.whose = whose
        self.paths = frozenset((*paths, _DESCRIBED))

    def _unknown(self, scope: Scope, headers: dict[bytes, bytes]) -> Refusal | None:
        """Whether it can be a token at all: what cannot, is never looked up."""
        if _is_open(scope):
            return None
        told = headers.get(b"authorization")
        if told is None:
            return Refusal(401, f"the token is missing; {_HEADER}")
        found = tokens.parts(told.removeprefix(_BEARER)) if told.startswith(_BEARER) else None
        if found is None:
            return _UNKNOWN
        scope["holdfast.token"] = found
        return None

    async def admit(self, scope: Scope) -> Refusal | None:
        if _is_open(scope):
            return None
        try:
            who = await self.whose(*scope.pop("holdfast.token"))
        except HoldfastError as problem:
            return Refusal(problem.status, str(problem))
        if who is None:
            return _UNKNOWN
        path = scope["raw_path"].decode("ascii", "replace")
        if path not in self.paths:
            what = ", ".join(sorted(self.paths))
            return Refusal(403, f"a team's service does what the team shares, and nothing else: {what}")
        _WHO.set(who)
        return None


def _is_open(scope: Scope) -> bool:
    return bool(scope["raw_path"] == OPEN and scope["method"] == "GET")


class Desks:
    """Threads, one for each connection, that serve members."""

    def __init__(self, store: PostgreSQL, pool: int, timeout_s: float) -> None:
        self._store = store
        self._timeout_s = timeout_s
        self._most = pool * (1 + _WAITING)
        self._threads = ThreadPoolExecutor(pool, "desk")
        self._running: set[Future[Any]] = set()
        # Of what is taken out nobody is to find out more by asking again after the next start.
        self._clean = Redactor(secrets.token_bytes(32)).text

    async def whose(self, name: str, secret: str) -> str | None:
        return await self._done(lambda: tokens.bearer(self._store, name, secret))  # type: ignore[no-any-return]

    async def do(self, _: Operation, function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
        who = _WHO.get()
        desk = Desk(who, self._store.acting_as(who), self._clean)
        return await self._done(lambda: function(desk, **given))

    async def _done(self, call: Callable[[], Any]) -> Any:
        if len(self._running) >= self._most:
            raise Unavailable("this service has more to do than it can; try again in a moment")
        running = self._threads.submit(call)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), self._timeout_s)
        except TimeoutError:
            raise Unavailable(f"not done in {self._timeout_s} s (service.timeout_seconds)") from None

    def close(self, seconds: float) -> bool:
        """No more work. False where some is still going on after so long."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        is_done = not wait(set(self._running), seconds).not_done
        if is_done:
            self._store.close()
        return is_done
