"""A stand-in for a Qdrant server: none can be had from a package registry.

It speaks the REST wire of the few endpoints that we use. What comes is read by the official client's own
models of the wire, done by its embedded mode, and answered by its models again: what is not as they have it
is refused with 400, as a server does. How a real server stores, indexes and filters is not tried by this.
"""

from __future__ import annotations

import json
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

KEY = "key-of-the-team"


class StandIn(ThreadingHTTPServer):
    """`url`; `seen` are (method, path, what was sent) of all that was asked; `fails`: with which status."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.embedded = QdrantClient(":memory:")
        self.seen: list[tuple[str, str, dict]] = []
        self.fails = 0
        self.alone = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{KEY}@127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, method: str, path: list[str], said: dict, wait: bool) -> Any:
        name = path[1] if len(path) > 1 else ""
        done = {"operation_id": 1, "status": "completed"}
        asked, client = (method, *path[2:]), self.embedded
        if not name:
            return client.get_collections()
        if asked == ("GET", "exists"):
            return {"exists": client.collection_exists(name)}
        if asked == ("PUT",):
            how = models.CreateCollection(**said)
            client.create_collection(name, vectors_config=how.vectors)
            return True
        if asked == ("PUT", "index"):
            field = models.CreateFieldIndex(**said)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                client.create_payload_index(name, field.field_name, field_schema=field.field_schema)
            return done
        assert asked not in (("PUT", "points"), ("POST", "points", "delete")) or wait, (
            "it is not waited for"
        )
        if asked == ("PUT", "points"):
            client.upsert(name, models.PointsList(**said).points)
            return done
        if asked == ("POST", "points"):
            meant = models.PointRequest(**said)
            return client.retrieve(name, meant.ids, with_payload=False)
        if asked == ("POST", "points", "query"):
            query = models.QueryRequest(**said)
            return client.query_points(
                name,
                query=query.query,
                query_filter=query.filter,
                limit=query.limit or 10,
                with_payload=query.with_payload,
            )
        if asked == ("POST", "points", "count"):
            return client.count(name, count_filter=models.CountRequest(**said).filter)
        if asked == ("POST", "points", "delete"):
            kind = models.FilterSelector if "filter" in said else models.PointIdsList
            client.delete(name, points_selector=kind(**said))
            return done
        raise LookupError(f"no such endpoint: {asked}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        said = json.loads(self.rfile.read(length) or b"{}")
        parts = urlsplit(self.path)
        self.server.seen.append((self.command, parts.path, said))
        status, result = 200, None
        try:
            if self.headers.get("api-key") != KEY:
                status = 401
            elif self.server.fails:
                status = self.server.fails
            else:
                wait = parse_qs(parts.query).get("wait") == ["true"]
                with self.server.alone:
                    path = parts.path.strip("/").split("/")
                    result = _plain(self.server.answer(self.command, path, said, wait))
        except ValidationError as problem:
            status, result = 400, str(problem)
        except ValueError as problem:
            status, result = (409 if "exists" in str(problem) else 404), str(problem)
        body = json.dumps({"result": result, "status": "ok" if status == 200 else "error", "time": 0.001})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_PUT = do_POST = do_DELETE = _do  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    return [_plain(one) for one in result] if isinstance(result, list) else result
