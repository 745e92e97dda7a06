"""The figures of /metrics, sent to a collector of OpenTelemetry: off, unless `service.otlp` is set.

Where to, how often and with which headers the variables say that every program of OpenTelemetry reads
(OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRIC_EXPORT_INTERVAL, OTEL_EXPORTER_OTLP_HEADERS, …). They alone send
nothing: the client has the same, and not everybody who sends its figures wants ours sent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from itertools import groupby, pairwise
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric, Sample

from holdfast import __version__
from holdfast.app import Holdfast
from holdfast.disk import trail
from holdfast.errors import BadInput, HoldfastError, MissingExtra
from holdfast.extras import extra_command
from holdfast.serve import metrics
from holdfast.serve.work import Work

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EVERY = "OTEL_METRIC_EXPORT_INTERVAL"
_EVERY_MS = 60_000
_LANE = "otlp"


def wanted(app: Holdfast) -> bool:
    """BadInput where it is, and nobody says where to."""
    if not app.config["service.otlp"]:
        return False
    if not any(app.environ.get(name) for name in _ENDPOINTS):
        raise BadInput(f"service.otlp is set, and {_ENDPOINTS[1]} is not: say where the figures go")
    return True


class Sender:
    def __init__(self, work: Work, registry: CollectorRegistry) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError as problem:
            raise MissingExtra(
                f"service.otlp needs {problem.name}, of the extra `otlp`: {extra_command('otlp')}"
            ) from None
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # what goes wrong is in the trail
        self.work = work
        self.registry = registry
        self._exporter = OTLPMetricExporter()
        named = {"service.name": "holdfast", "service.version": __version__}
        self._resource = Resource.create(named)  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, too
        self._began = time.time_ns()
        self._every_s = _interval(work.app().environ)
        self._due = time.monotonic()
        self._sending: asyncio.Task[None] | None = None
        self._failed = False

    async def look(self) -> None:
        """Send, if it is time to and nothing is on its way."""
        if time.monotonic() >= self._due and (self._sending is None or self._sending.done()):
            self._due = time.monotonic() + self._every_s
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        try:
            said = await self.work.in_thread(metrics.LANE, self._figures)
            trouble = await self.work.in_thread(_LANE, lambda: self._sent(said))
        except (HoldfastError, OSError) as problem:
            trouble = str(problem)
        if trouble and not self._failed:  # once, until it works again
            trail.note(self.work.app().home, "degraded.otlp", what=trouble)
        self._failed = bool(trouble)

    def _figures(self) -> Any:
        return figures(self.registry, self._resource, self._began, time.time_ns())

    def _sent(self, said: Any) -> str:
        """Nothing where it has arrived."""
        from opentelemetry.sdk.metrics.export import MetricExportResult

        arrived = self._exporter.export(said) is MetricExportResult.SUCCESS
        return "" if arrived else "the collector did not take the figures"

    def close(self) -> None:
        """What waits to be sent again waits no longer."""
        self._exporter.shutdown()


def _interval(environ: Mapping[str, str]) -> float:
    try:
        return max(1.0, int(environ.get(_EVERY) or _EVERY_MS) / 1000)
    except ValueError:
        raise BadInput(f"{_EVERY} is {environ[_EVERY]!r}; it takes milliseconds") from None


def figures(registry: CollectorRegistry, resource: Any, began: int, now: int) -> Any:
    """All that /metrics would say now."""
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    found = [_metric(family, began, now) for family in registry.collect() if family.samples]
    scope = ScopeMetrics(InstrumentationScope("holdfast", __version__), found, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Metric, began: int, now: int) -> Any:
    from opentelemetry.sdk.metrics import export

    whole = export.AggregationTemporality.CUMULATIVE
    data: Any
    if family.type == "histogram":
        data = export.Histogram(_spread(family, began, now), whole)
    else:
        points = [
            export.NumberDataPoint(sample.labels, began, now, float(sample.value))
            for sample in family.samples
        ]
        is_sum = family.type == "counter"
        data = export.Sum(points, whole, is_monotonic=True) if is_sum else export.Gauge(points)
    return export.Metric(family.name, family.documentation, family.unit, data)


def _spread(family: Metric, began: int, now: int) -> list[Any]:
    """Prometheus counts what is at most so large, OpenTelemetry what lies between two bounds."""
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    def labels(sample: Sample) -> dict[str, str]:
        return {name: value for name, value in sample.labels.items() if name != "le"}

    points = []
    for named, group in groupby(family.samples, labels):
        samples = list(group)
        buckets = [(float(s.labels["le"]), int(s.value)) for s in samples if "le" in s.labels]
        (total,) = (s.value for s in samples if s.name.endswith("_sum"))
        counts = [later - earlier for (_, earlier), (_, later) in pairwise([(0.0, 0), *buckets])]
        bounds = [bound for bound, _ in buckets[:-1]]  # the last one is infinite
        points.append(
            HistogramDataPoint(named, began, now, buckets[-1][1], total, counts, bounds, 0.0, 0.0)
        )
    return points
