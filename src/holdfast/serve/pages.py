"""The dashboard as a part of the service that costs nothing until somebody looks: its framework is loaded
when the first browser that may enter does."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

from fastapi import FastAPI, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.routing import Mount

from holdfast.errors import MissingExtra
from holdfast.extras import extra_command
from holdfast.serve import login
from holdfast.serve.gate import App, Receive, Scope, Send
from holdfast.serve.routes import TOKEN, answer, failure
from holdfast.serve.work import Work

_MISSING = f"the dashboard needs the extra `dashboard`: {extra_command('dashboard')}"
_USED = "this link has been used, or is older than five minutes: `holdfast dashboard` prints a new one"
#: Of every page: nothing from elsewhere, in no frame, no word to others about where one comes from.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        b"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        b"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Link:
    """Opens the pages once; behind the address of the service."""

    path: str


def are_there() -> bool:
    return find_spec("nicegui") is not None


class Pages:
    def __init__(self, work: Work, known: login.Login | None) -> None:
        self.work = work
        self.known = known
        self._app: App | None = None
        self._loading = asyncio.Lock()
        self._running = AsyncExitStack()

    def add(self, app: FastAPI) -> None:
        app.add_api_route(
            login.LINK,
            self._link,
            methods=["POST"],
            dependencies=TOKEN,
            operation_id="dashboard.link",
            tags=["dashboard"],
            summary="A link that opens the dashboard once, within five minutes.",
            response_model=Link,
        )
        if self.known:
            app.add_api_route(login.ENTER, self._enter, include_in_schema=False)
            app.router.routes.append(Mount(self.known.path, self))

    async def close(self) -> None:
        await self._running.aclose()

    async def _link(self) -> Response:
        if self.known is None:
            return failure(MissingExtra(_MISSING))
        self._warming = asyncio.create_task(
            self._loaded()
        )  # whoever asks for the link is about to follow it
        return answer(Link(self.known.link()))

    async def _enter(self, once: Annotated[str, Query()] = "") -> Response:
        assert self.known
        cookie = self.known.enter(once)
        if cookie is None:
            return HTMLResponse(login.said(_USED), 403)
        return RedirectResponse(
            self.known.path + "/", 303, {"set-cookie": cookie, "referrer-policy": "no-referrer"}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._loaded()
        if scope["type"] != "http":
            return await app(scope, receive, send)

        async def sending(message: dict) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        return await app(scope, receive, sending)  # type: ignore[arg-type]

    async def _loaded(self) -> App:
        async with self._loading:
            if self._app is None:
                self._app = await self._load()
        return self._app

    async def _load(self) -> App:
        # Where it would keep what browsers say of themselves. We keep nothing of it.
        os.environ["NICEGUI_STORAGE_PATH"] = self.work.app().home.root + "/dashboard"
        site = await asyncio.to_thread(import_module, "holdfast.serve.dashboard.site")
        assert self.known
        made = site.build(self.work, self.known.path)
        await self._running.enter_async_context(made.router.lifespan_context(made))
        return made  # type: ignore[no-any-return]
