"""Figures for a collector of OpenTelemetry: what arrives there is what /metrics says."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from asking import get
from door import serving
from holdfast.disk import trail
from holdfast.disk.home import Home
from serve.test_service import start

SET = {"HOLDFAST_SERVICE_OTLP": "true", "OTEL_METRIC_EXPORT_INTERVAL": "1000"}


class Collector:
    """A real one, as far as it goes: it takes what is posted to it, or answers with another status."""

    def __init__(self) -> None:
        self.status = 200
        self.taken: list[tuple[str, dict[str, str], ExportMetricsServiceRequest]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                said = ExportMetricsServiceRequest.FromString(data)
                collector.taken.append((self.path, dict(self.headers), said))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def figures(self) -> dict[str, Metric]:
        """Of the newest report."""
        (resource,) = self.taken[-1][2].resource_metrics
        return {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_arrives_is_what_metrics_says(tmp_path: Path, collector: Collector) -> None:
    environ = {
        **SET,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-tide=high",
    }
    home = Home(str(tmp_path / "home"))
    trail.note(home, "checkpoint.taken")
    with serving(tmp_path / "home", environ=environ) as service:
        for _ in range(3):
            assert get(service, "/context/usage?used_tokens=1")[0] == 200
        asked = {"/context/usage": 3}

        def requests() -> dict[str, float]:
            found = collector.figures() if collector.taken else {}
            points = found.get("holdfast_requests", Metric()).sum.data_points
            return {point.attributes[0].value.string_value: point.as_double for point in points}

        until(lambda: requests() == asked)
        path, headers, said = collector.taken[-1]
    assert path == "/v1/metrics"
    assert headers["x-tide"] == "high"
    assert not any(service.token in str(one) for _, *one in collector.taken)
    named = {a.key: a.value.string_value for a in said.resource_metrics[0].resource.attributes}
    assert named["service.name"] == "holdfast"
    found = collector.figures()
    assert found["holdfast_requests"].sum.is_monotonic
    (event,) = found["holdfast_events"].sum.data_points
    assert (event.attributes[0].value.string_value, event.as_double) == ("checkpoint.taken", 1)
    assert found["holdfast_checkpoints"].gauge.data_points[0].as_double == 0
    (spread,) = found["holdfast_request_seconds"].histogram.data_points
    assert spread.count == sum(spread.bucket_counts) == 3
    assert len(spread.bucket_counts) == len(spread.explicit_bounds) + 1
    assert 0 < spread.sum < 60


def test_a_collector_that_takes_nothing_is_noted_once_and_the_service_goes_on(
    tmp_path: Path, collector: Collector
) -> None:
    collector.status = 400
    home = Home(str(tmp_path / "home"))
    with serving(
        tmp_path / "home", environ={**SET, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    ) as service:
        until(lambda: len(collector.taken) > 2)
        assert get(service, "/live")[0] == 200
        collector.status = 200
        before = len(collector.taken)
        until(lambda: len(collector.taken) > before + 1)
    assert service.process.returncode == 0
    assert [note["event"] for note in trail.recent(home)] == ["degraded.otlp"]


def test_the_variables_alone_send_nothing(tmp_path: Path, collector: Collector) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "1000"}
    with serving(tmp_path / "home", environ=environ) as service:
        assert get(service, "/metrics")[0] == 200
        time.sleep(4)  # by then another would have sent twice
    assert collector.taken == []


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({}, "OTEL_EXPORTER_OTLP_ENDPOINT is not: say where"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_METRIC_EXPORT_INTERVAL": "often"},
            "it takes milliseconds",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_at_the_start(
    tmp_path: Path, environ: dict[str, str], says: str
) -> None:
    done = start(tmp_path / "home", "--port", "0", HOLDFAST_SERVICE_OTLP="true", **environ)
    assert (done.returncode, says in done.stderr) == (2, True)
    assert not (tmp_path / "home/serve.json").exists()
