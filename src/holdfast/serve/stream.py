"""GET /events/stream: the trail as server-sent events, as it grows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.errors import BadInput, HoldfastError
from holdfast.serve.routes import REFUSED, TOKEN, failure
from holdfast.serve.tail import Place, Tail
from holdfast.serve.work import Work

MOST_CLIENTS = 16
_LOOK_S, _HEARTBEAT_S = 0.5, 15.0
_LANE = "stream"


class TooMany(HoldfastError):
    status = 503


class Stream:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.clients = 0

    def add(self, app: FastAPI) -> None:
        app.add_api_route(
            "/events/stream",
            self.open,
            dependencies=TOKEN,
            responses=REFUSED,
            operation_id="events.stream",
            tags=["events"],
            summary="What happens, as it happens: server-sent events of the trail.",
            response_class=_Events,
        )

    async def open(
        self,
        session: Annotated[
            str | None, Query(description="Only events of the session with this id.")
        ] = None,
        last_event_id: Annotated[
            str | None, Header(description="Go on behind this event. Without it: with the next one.")
        ] = None,
    ) -> Response:
        after = None if last_event_id is None else Place.parse(last_event_id)
        if last_event_id is not None and after is None:
            return failure(BadInput("Last-Event-ID is not the id of an event of this stream"))
        if self.clients >= MOST_CLIENTS:
            return failure(TooMany(f"{MOST_CLIENTS} streams are open already; close one and try again"))
        self.clients += 1  # before anything is waited for: others ask meanwhile
        try:
            tail = await self.work.in_thread(_LANE, lambda: Tail(self.work.app().home, after))
        except (HoldfastError, OSError) as problem:
            self.clients -= 1
            return failure(problem)
        return _Heard(self._events(tail, session), lambda: self._left(tail))

    def _left(self, tail: Tail) -> None:
        self.clients -= 1
        self.work.afterwards(_LANE, tail.close)  # it may be being read

    async def _events(self, tail: Tail, session: str | None) -> AsyncIterator[str]:
        quiet = _HEARTBEAT_S  # whoever connects hears at once that it has
        while not self.work.stopping:
            said = "".join(
                _event(place, note)
                for place, note in await self.work.in_thread(_LANE, tail.read)
                if session is None or note.get("session") == session
            )
            if said or quiet >= _HEARTBEAT_S:
                yield said or ": still here\n\n"
                quiet = 0.0
            else:
                await asyncio.sleep(_LOOK_S)
                quiet += _LOOK_S


class _Events(StreamingResponse):
    media_type = "text/event-stream"


class _Heard(_Events):
    """`left`: when it is over, also where nobody has asked for the first event."""

    def __init__(self, events: AsyncIterator[str], left: Callable[[], None]) -> None:
        super().__init__(events)
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left()


def _event(place: Place, note: dict[str, Any]) -> str:
    """JSON has no line breaks of its own, and the name of an event none that could end the line."""
    name = "".join(filter(str.isprintable, str(note.get("event", ""))))
    return f"id: {place}\nevent: {name}\ndata: {json.dumps(note)}\n\n"
