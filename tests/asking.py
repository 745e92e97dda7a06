"""Asking a service as a script does."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

from door import Service


def get(service: Service, path: str, **headers: str) -> tuple[int, Any]:
    return _ask(service, "GET", path, None, headers)


def post(service: Service, path: str, body: object, **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _ask(service, "POST", path, data, {"Content-Type": "application/json", **headers})


def _ask(
    service: Service, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, Any]:
    wire = HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        wire.request(method, path, body, {"Authorization": service.bearer[1], **headers})
        response = wire.getresponse()
        said = response.read()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, json.loads(said) if is_json else said.decode()
    finally:
        wire.close()
