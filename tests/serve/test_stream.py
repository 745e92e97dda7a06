"""The trail as it grows, as a client of the stream sees it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from asking import get
from door import Service, serving
from holdfast.app import Holdfast
from holdfast.disk import files, trail
from holdfast.disk.home import Home
from holdfast.serve.stream import Stream
from holdfast.serve.tail import Place, Tail
from holdfast.serve.work import Work


def events(response: HTTPResponse, count: int) -> list[dict[str, str]]:
    """The next ones; a comment, which keeps the connection alive, is none."""
    found: list[dict[str, str]] = []
    lines: list[str] = []
    while len(found) < count:
        line = response.readline().decode().rstrip("\n")
        if line:
            lines.append(line)
            continue
        fields = dict(one.split(": ", 1) for one in lines if not one.startswith(":"))
        found += [fields] if fields else []
        lines = []
    return found


@pytest.fixture
def open_stream(service: Service) -> Iterator:  # type: ignore[type-arg]
    wires = []

    def opened(query: str = "", **headers: str) -> HTTPResponse:
        wire = HTTPConnection("127.0.0.1", service.port, timeout=30)
        wires.append(wire)
        wire.request("GET", f"/events/stream{query}", headers=dict([service.bearer]) | headers)
        response = wire.getresponse()
        if response.status == 200 and not headers:
            assert response.readline() == b": still here\n"
            response.readline()
        return response

    yield opened
    for wire in wires:
        wire.close()


def test_an_event_arrives_and_the_stream_goes_on_where_it_was_left(service: Service, open_stream) -> None:  # type: ignore[no-untyped-def]
    home = Home(str(service.home))
    first = open_stream()
    assert first.headers["content-type"].startswith("text/event-stream")
    trail.note(home, "checkpoint.taken", session="s1", what="a\nb")
    (seen,) = events(first, 1)
    assert (seen["event"], json.loads(seen["data"])["what"]) == ("checkpoint.taken", "a\nb")
    trail.note(home, "checkpoint.taken", session="s1", what="missed")
    again = open_stream("", **{"Last-Event-ID": seen["id"]})
    assert json.loads(events(again, 1)[0]["data"])["what"] == "missed"


def test_a_session_hears_only_of_itself(service: Service, open_stream) -> None:  # type: ignore[no-untyped-def]
    home = Home(str(service.home))
    mine = open_stream("?session=mine")
    trail.note(home, "checkpoint.taken", session="other", what="1")
    trail.note(home, "checkpoint.taken", session="mine", what="2")
    assert json.loads(events(mine, 1)[0]["data"])["what"] == "2"


def test_a_last_event_id_that_is_none_is_refused(service: Service) -> None:
    for wrong in ("x", "1", "-", "1-2-3", "f" * 40):
        status, said = get(service, "/events/stream", **{"Last-Event-ID": wrong})
        assert (status, list(said)) == (400, ["error"])


def test_there_is_an_end_to_the_number_of_streams(service: Service, open_stream) -> None:  # type: ignore[no-untyped-def]
    statuses = []
    while 503 not in statuses and len(statuses) < 40:
        statuses.append(open_stream().status)
    assert 10 <= statuses.count(200) <= 16
    assert get(service, "/live")[0] == 200


def opened_at_once(home: Path, count: int) -> tuple[list[int], int, int]:
    """(status of each that asks at the same time; after all have hung up, how many still count, and how
    many files are open)."""

    async def hung_up(message: object = None) -> dict[str, str]:
        if message:
            raise OSError("the wire is cut")
        return {"type": "http.disconnect"}

    async def ask() -> tuple[list[int], int, int]:
        stream = Stream(Work(Holdfast.open({"HOLDFAST_HOME": str(home)})))
        answers = await asyncio.gather(*(stream.open() for _ in range(count)))
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
        for answer in answers:
            if isinstance(answer, StreamingResponse):
                with pytest.raises(ClientDisconnect):
                    await answer(scope, hung_up, hung_up)
        await stream.work.in_thread("stream", lambda: None)
        opened = sum(os.path.samefile(path, home / "events.jsonl") for path in links())
        return [answer.status_code for answer in answers], stream.clients, opened

    return asyncio.run(ask())


def links() -> list[Path]:
    return [path for path in Path("/proc/self/fd").iterdir() if path.exists()]


def test_those_who_ask_at_the_same_time_are_counted_too(tmp_path: Path) -> None:
    trail.note(Home(str(tmp_path)), "before")
    statuses, _, _ = opened_at_once(tmp_path, 20)
    assert sorted(statuses) == [200] * 16 + [503] * 4


def test_who_hangs_up_before_the_first_event_leaves_nothing_open(tmp_path: Path) -> None:
    trail.note(Home(str(tmp_path)), "before")
    assert opened_at_once(tmp_path, 5)[1:] == (0, 0)


def test_streams_do_not_hold_up_the_end_of_the_service(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as service:
        wire = HTTPConnection("127.0.0.1", service.port, timeout=30)
        wire.request("GET", "/events/stream", headers=dict([service.bearer]))
        response = wire.getresponse()
        assert response.readline() == b": still here\n"
    assert service.process.returncode == 0
    response.read()
    wire.close()


def notes(tail: Tail) -> list[int]:
    return [note["n"] for _, note in tail.read()]


def test_the_tail_misses_nothing_over_a_rotation(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    trail.note(home, "before", n=0)
    tail = Tail(home)
    assert notes(tail) == []
    seen = []
    for number in range(1, 200):
        files.append_line(home.trail, b'{"n":%d}' % number, rotate_at=500)
        if number % 7 == 0:
            while found := notes(tail):
                seen += found
    while found := notes(tail):
        seen += found
    assert seen == list(range(1, 200))


def test_the_tail_goes_on_behind_a_place_in_the_file_that_was_rotated(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    tail = Tail(home)
    places = []
    for number in range(6):
        files.append_line(home.trail, b'{"n":%d}' % number, rotate_at=20 if number == 3 else 1 << 20)
        places += [place for place, _ in tail.read()]
    assert (tmp_path / "events.jsonl.1").exists()
    for number, place in enumerate(places):
        later = Tail(home, Place.parse(str(place)))
        seen = []
        while found := notes(later):
            seen += found
        assert seen == list(range(number + 1, 6))


def test_the_tail_reads_what_is_damaged_as_far_as_it_can(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    Path(home.trail).write_bytes(b'{"n":1}\nnonsense\n[]\n\xff\n{"n":2}\n{"n":3')
    tail = Tail(home, Place(0, 0))
    assert notes(tail) == [1, 2]
    with Path(home.trail).open("ab") as file:
        file.write(b"4}\n")
    assert notes(tail) == [34]
