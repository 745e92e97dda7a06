"""Figures that Prometheus can read."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from asking import get
from door import Service, ask, request, serving
from holdfast.disk import trail
from holdfast.disk.home import Home
from hooks import run_hook
from session import Script, text


def samples(service: Service) -> dict[str, dict[tuple[str, ...], float]]:
    status, said = get(service, "/metrics")
    assert status == 200
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(said):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_requests_are_counted_by_route_and_status_and_no_path_makes_a_new_one(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as service:
        get(service, "/context/usage?used_tokens=1")
        get(service, "/context/usage?used_tokens=x")
        ask(service.port, request("GET", "/context/usage", [service.host]))
        for number in range(50):
            get(service, f"/nope/{number}")
        said = samples(service)
    assert said["holdfast_requests_total"] == {
        ("/context/usage", "200"): 1,
        ("/context/usage", "400"): 1,
        ("/context/usage", "401"): 1,
        ("other", "404"): 50,
    }
    assert said["holdfast_request_seconds_count"][("/context/usage",)] == 3
    assert said["process_resident_memory_bytes"][()] > 1 << 20


def test_a_live_session_and_what_happened_are_told(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    script.answer(text("done"), context=50_000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes())
    home = tmp_path / "home"
    run_hook(
        {"session_id": "s1", "transcript_path": str(path), "cwd": str(tmp_path), "hook_event_name": "Stop"},
        home,
    )
    nasty = 'a"b\\c\nd'
    trail.note(Home(str(home)), nasty)
    with serving(home) as service:
        said = samples(service)
        assert said["holdfast_used_tokens"][("s1",)] > 40_000
        assert 0 < said["holdfast_fill_ratio"][("s1",)] < 1
        assert said["holdfast_capacity_tokens"][("s1",)] > 100_000
        assert said["holdfast_events_total"][(nasty,)] == 1
        for number in range(200):
            trail.note(Home(str(home)), f"made-up-{number}")
        again = samples(service)["holdfast_events_total"]
        assert len(again) <= 65
        assert sum(again.values()) >= 201
        trail.note(Home(str(home)), nasty)
        assert samples(service)["holdfast_events_total"][(nasty,)] == 2
