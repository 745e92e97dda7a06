"""GET /metrics, for Prometheus: requests, live sessions, checkpoints, what happened, memory."""

from __future__ import annotations

import time
from collections import Counter as Count
from collections.abc import Iterable, Iterator

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from holdfast.app import Holdfast
from holdfast.core.gauge import measure
from holdfast.disk import index, sessions
from holdfast.errors import HoldfastError
from holdfast.ops.context import newest_first
from holdfast.serve import gate
from holdfast.serve.routes import REFUSED, TOKEN, failure
from holdfast.serve.tail import Place, Tail
from holdfast.serve.work import Work

#: A session that has not been heard of for longer is not live. More of them than this nobody looks at.
_LIVE_S, _MOST_SESSIONS = 3600, 50
_MOST_EVENTS = 64
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
#: In which figures are read, one after the other: the trail is read on from where the last one stopped.
LANE = "metrics"
_KIND = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.registry = CollectorRegistry()
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.requests = Counter(
            "holdfast_requests", "Requests.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "holdfast_request_seconds",
            "Until an answer began.",
            ["route"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.registry.register(_Sessions(work))
        ProcessCollector(registry=self.registry)

    def add(self, app: FastAPI) -> None:
        app.add_api_route(
            "/metrics",
            self.show,
            dependencies=TOKEN,
            responses=REFUSED,
            operation_id="metrics",
            tags=["metrics"],
            summary="Figures of the service and of live sessions, for Prometheus.",
            response_class=PlainTextResponse,
        )

    async def show(self) -> Response:
        try:
            text = await self.work.in_thread(LANE, lambda: generate_latest(self.registry))
        except (HoldfastError, OSError) as problem:
            return failure(problem)
        return Response(text, media_type=_KIND)

    def counting(self, app: gate.App, routes: Iterable[str]) -> gate.App:
        """In front of everything, so that what the gate refuses is counted, too. `routes` are the paths
        there are: whatever else is asked for is one more, `other`."""
        known = frozenset(routes)

        async def counted(scope: gate.Scope, receive: gate.Receive, send: gate.Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            began = time.perf_counter()
            route = scope["path"] if scope["path"] in known else "other"

            async def sending(message: dict) -> None:
                if message["type"] == "http.response.start":
                    self.requests.labels(route, message["status"]).inc()
                    self.seconds.labels(route).observe(time.perf_counter() - began)
                await send(message)

            return await app(scope, receive, sending)  # type: ignore[arg-type]

        return counted


class _Sessions(Collector):
    """Read when they are asked for."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.tail: Tail | None = None
        self.events: Count[str] = Count()

    def collect(self) -> Iterator[Metric]:
        app = self.work.app()
        yield from self._windows(app)
        kept = GaugeMetricFamily("holdfast_checkpoints", "Checkpoints in the index.")
        kept.add_metric([], len(index.load_all(app.home).entries))
        yield kept
        yield self._happened(app)

    def _windows(self, app: Holdfast) -> Iterator[Metric]:
        used = GaugeMetricFamily("holdfast_used_tokens", "Tokens in the window.", labels=["session"])
        room = GaugeMetricFamily(
            "holdfast_capacity_tokens", "Tokens at which the client compacts.", labels=["session"]
        )
        fill = GaugeMetricFamily(
            "holdfast_fill_ratio", "How full the room before a compaction is.", labels=["session"]
        )
        recent = [name for at, name in newest_first(app) if time.time() - at < _LIVE_S]
        for name in recent[:_MOST_SESSIONS]:
            try:
                state = sessions.peek(app.home, name)
            except (HoldfastError, OSError):  # `status` tells of it
                continue
            if state:
                reading = measure(state, state.seen.offset, app.window)
                used.add_metric([name], reading.used)
                room.add_metric([name], reading.capacity)
                fill.add_metric([name], reading.fill / 100)
        yield from (used, room, fill)

    def _happened(self, app: Holdfast) -> Metric:
        """Every event of the trail since its oldest line, among them injections and what is degraded."""
        self.tail = self.tail or Tail(app.home, Place(0, 0))
        while notes := self.tail.read():
            for _, note in notes:
                name = str(note.get("event"))
                known = name in self.events or len(self.events) < _MOST_EVENTS
                self.events[name if known else "other"] += 1
        happened = CounterMetricFamily("holdfast_events", "Events of the trail.", labels=["event"])
        for name, times in self.events.items():
            happened.add_metric([name], times)
        return happened
