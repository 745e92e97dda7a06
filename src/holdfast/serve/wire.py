"""Bytes before they are a request: how many there may be, how long they may take, and who may send them.

uvicorn trusts whoever stands before it with all of this. Nobody stands before us.
"""

from __future__ import annotations

import json
from asyncio import Transport
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.serve import login
from holdfast.serve.gate import LARGEST_HEAD

#: Seconds in which a request arrives whole, from its first byte, or that of its connection, to its last.
ARRIVES_S = 10.0
MOST_CONNECTIONS = 128
#: Only there is a web socket; elsewhere who asks for one is answered as by any route.
_PAGES = f"{login.ROOT}/".encode()


class Wire(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.framing = 0  # bytes that are not of a body: request line, headers, what is between chunks
        self.in_body = False
        self.late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._end(503, f"this service has {MOST_CONNECTIONS} connections already; try again")
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.framing += len(data)
        super().data_received(data)
        if self.framing > LARGEST_HEAD and not self.transport.is_closing():
            self._end(431, f"a request has at most {LARGEST_HEAD} bytes beside its body")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self.late is None:
            self._expect()

    def on_headers_complete(self) -> None:
        if not self.url.startswith(b"/"):  # another server's, whatever its Host says
            raise ValueError("not a path of this service")
        super().on_headers_complete()
        self.in_body = True

    def on_body(self, body: bytes) -> None:
        self.framing -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.framing, self.in_body = 0, False
        self._arrived()

    def _should_upgrade_to_ws(self) -> bool:
        return super()._should_upgrade_to_ws() and self.url.startswith(_PAGES)

    def handle_websocket_upgrade(self) -> None:
        self._arrived()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._end(400, "this is not HTTP/1.1 as this service speaks it")

    def _expect(self) -> None:
        self.late = self.loop.call_later(
            ARRIVES_S, self._end, 408, f"no whole request in {ARRIVES_S:.0f} s"
        )

    def _arrived(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None

    def _end(self, status: int, what: str) -> None:
        """Say why, unless this request is being answered, or still the one before it, and hang up."""
        self._arrived()
        cycle = self.cycle
        if cycle is None or (not cycle.response_started if self.in_body else cycle.response_complete):
            body = json.dumps({"error": what}).encode()
            lines = [
                *(b"%s: %s\r\n" % header for header in self.server_state.default_headers),
                b"content-type: application/json\r\n",
                b"content-length: %d\r\n" % len(body),
                b"connection: close\r\n\r\n",
            ]
            self.transport.write(b"".join([STATUS_LINE[status], *lines, body]))
        self.transport.close()
