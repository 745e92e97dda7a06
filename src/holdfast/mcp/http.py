"""The server as one path of the service: a message in the body of a POST, its answer in the response.

Nothing is kept between two requests, so there are no sessions and no stream to listen to. Who may enter,
the service's gate has decided before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.mcp import protocol, tools
from holdfast.ops.registry import Operation

Message = MutableMapping[str, Any]
#: Calls an operation's tool where the service does its work.
Run = Callable[[Operation, Callable[[], str]], Awaitable[str]]
_VERSION = b"mcp-protocol-version"
_KNOWN = frozenset(version.encode() for version in protocol.VERSIONS)


class Endpoint:
    """An ASGI application, for one path."""

    def __init__(self, run: Run) -> None:
        self.run = run

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["method"] != "POST":
            return await _respond(send, 405, "", (b"allow", b"POST"))
        version = dict(scope["headers"]).get(_VERSION)
        if version is not None and version not in _KNOWN:
            known = ", ".join(protocol.VERSIONS)
            problem = protocol.Refused(protocol.INVALID, f"MCP-Protocol-Version is one of {known}")
            return await _respond(send, 400, protocol.refusal(problem))
        body = await _body(receive)
        if body is None:
            return await _respond(send, 413, protocol.too_large())
        try:
            message = protocol.parse(body)
        except protocol.Refused as problem:
            return await _respond(send, 400, protocol.refusal(problem))
        try:
            answer = await self._answer(message)
        except HoldfastError as problem:  # it took too long
            late = protocol.Refused(protocol.BUSY, str(problem))
            return await _respond(send, problem.status, protocol.refusal(late, protocol.id_of(message)))
        return await _respond(send, 200 if answer else 202, answer)

    async def _answer(self, message: object) -> str:
        if type(message) is list:
            found = protocol.unfit(message)
            return found or protocol.joined([await self._answer_one(one) for one in message])
        return await self._answer_one(message)

    async def _answer_one(self, message: object) -> str:
        operation = tools.operations().get(protocol.tool_of(message))
        if operation is None:
            return protocol.answer(message)
        return await self.run(operation, lambda: protocol.answer(message))


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes | None:
    """None: too large."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > protocol.LARGEST:
            return None
        more = message.get("more_body", False)
    return body


async def _respond(
    send: Callable[[Message], Awaitable[None]], status: int, answer: str, *more: tuple[bytes, bytes]
) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.encode("ascii")})
