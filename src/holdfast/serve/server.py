"""The service put together: routes, the gate before them, the wire before that; run until it is stopped."""

from __future__ import annotations

import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from starlette.routing import Route

from holdfast.app import Holdfast
from holdfast.disk import checkpoints
from holdfast.mcp.http import Endpoint
from holdfast.ops.registry import shared
from holdfast.serve import otlp
from holdfast.serve.gate import LARGEST_BODY, OPEN, App, Gate
from holdfast.serve.login import Login
from holdfast.serve.metrics import Metrics
from holdfast.serve.pages import Pages, are_there
from holdfast.serve.routes import application, path_of
from holdfast.serve.stream import Stream
from holdfast.serve.wire import Wire
from holdfast.serve.work import Work

if TYPE_CHECKING:
    from holdfast.store.postgres import PostgreSQL

#: Seconds in which what is being answered is answered to its end when the service stops.
_STOPS_S = 5
_IDLE_S = 30
#: How often the spool is looked into, in seconds.
_SETTLES_S = 2


def run(
    app: Holdfast,
    listener: socket.socket,
    token: str,
    hosts: Sequence[str],
    ready: Callable[[], None],
    cert: str | None = None,
    key: str | None = None,
) -> bool:
    """`ready` once it serves; until a signal says so. What is then being answered is answered first. False:
    something is still going on, on a disk that does not answer."""
    checkpoints.seal_key(app.home)  # made once, before two operations could want to
    work = Work(app)
    metrics = Metrics(work)
    sender = otlp.Sender(work, metrics.registry) if otlp.wanted(app) else None

    async def look() -> None:
        await work.settle()
        if sender:
            await sender.look()

    scheme = "https" if cert else "http"
    pages = Pages(work, Login(token, scheme) if are_there() else None)
    config = _config(
        guarded(work, token, hosts, scheme, metrics, pages),
        cert,
        key,
        ws="websockets-sansio" if pages.known else "none",
        callback_notify=look,
        timeout_notify=_SETTLES_S,
    )

    async def stop() -> None:
        work.stopping = True

    _until_stopped(_Server(config, ready, stop, pages.close), listener)
    if sender:
        sender.close()
    return work.close(_STOPS_S)


def run_shared(
    app: Holdfast,
    store: PostgreSQL,
    listener: socket.socket,
    hosts: Sequence[str],
    ready: Callable[[], None],
    cert: str | None = None,
    key: str | None = None,
) -> bool:
    """The same for the members of a team: other routes, other tokens, nothing of this home."""
    from holdfast.serve.desks import Desks, MembersGate  # which need a database's driver

    desks = Desks(store, app.config["store.pool"], app.config["service.timeout_seconds"])
    routes = application(desks.do, shared())
    _add_live(routes)
    scheme = "https" if cert else "http"
    gate = MembersGate(routes, hosts, scheme, desks.whose, map(path_of, shared()))
    _until_stopped(_Server(_config(gate, cert, key, ws="none"), ready), listener)
    return desks.close(_STOPS_S)


def _config(app: App, cert: str | None, key: str | None, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Wire,
        ws_max_size=LARGEST_BODY,
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,  # a query says what somebody works on
        proxy_headers=False,
        server_header=False,
        headers=[("cache-control", "no-store"), ("x-content-type-options", "nosniff")],
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_STOPS_S,
        ssl_certfile=cert,
        ssl_keyfile=key,
        **more,
    )


def _until_stopped(server: uvicorn.Server, listener: socket.socket) -> None:
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # also while it starts, and when uvicorn has it end by them
        signal.signal(number, server.handle_exit)
    server.run([listener])


def guarded(
    work: Work,
    token: str,
    hosts: Sequence[str],
    scheme: str,
    metrics: Metrics | None = None,
    pages: Pages | None = None,
) -> App:
    app = application(work.do)
    _add_live(app)
    app.router.routes.append(Route("/mcp", Endpoint(work.in_lane)))
    Stream(work).add(app)
    pages = pages or Pages(work, None)
    pages.add(app)
    metrics = metrics or Metrics(work)
    metrics.add(app)
    return metrics.counting(Gate(app, token, hosts, scheme, pages.known), app.openapi()["paths"])


def _add_live(app: FastAPI) -> None:
    app.add_api_route(OPEN.decode(), _live, operation_id="live", summary="Whether the service is there.")


async def _live() -> dict[str, bool]:
    return {"ok": True}


class _Server(uvicorn.Server):
    """Says when it is ready; `before` it stops answering, and `after`, something is done."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        before: Callable[[], Awaitable[None]] | None = None,
        after: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(config)
        self.ready, self.before, self.after = ready, before, after

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.before:
            await self.before()
        await super().shutdown(sockets)
        if self.after:
            await self.after()
