"""What scripts ask the service, and what they get: fields, statuses, and one shape for every error."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asking import get, post
from door import Service, ask, chunked, request, serving
from holdfast.ops.registry import BY_HAND, everything
from session import Script, text

USED = "/context/usage?used_tokens={}&max_tokens=200000"


@pytest.mark.parametrize(
    ("used", "percent", "status", "action"),
    [
        (99_999, 50.0, "healthy", {"type": "none"}),
        (100_000, 50.0, "warning", {"type": "none"}),
        (
            140_000,
            70.0,
            "critical",
            {"type": "save", "message": "Context at 70.0%. Consider saving session."},
        ),
        (
            171_000,
            85.5,
            "overflow",
            {
                "type": "save_and_restart",
                "message": "Context at 85.5%. Save and restart recommended.",
                "auto": True,
            },
        ),
    ],
)
def test_usage_is_answered_with_the_fields_scripts_read(
    service: Service, used: int, percent: float, status: str, action: dict
) -> None:
    expected = {"used": used, "max": 200_000, "percent": percent, "status": status, "action": action}
    assert get(service, USED.format(used)) == (200, expected)


def test_an_auto_save_says_how_to_go_on_and_is_on_the_disk(service: Service) -> None:
    body = {"environment": "contract", "used_tokens": 171_000, "max_tokens": 200_000}
    status, said = post(service, "/context/auto-save", body)
    kept = json.loads((service.home / "environments/contract.jsonl").read_text().splitlines()[-1])
    assert status == 200
    message = said.pop("message")
    assert said == {
        "status": "saved",
        "session_id": kept["id"],
        "percent_at_save": 85.5,
        "restart_command": "rs contract",
    }
    program = message.removeprefix("Session saved. Run '").removesuffix(" rs contract' to continue.")
    assert shutil.which(program), "the message names a command that exists"
    assert kept["tags"] == ["auto-save", "tokens-171000"]


def test_above_the_window_is_answered_and_saved(service: Service) -> None:
    status, said = get(service, USED.format(205_000))
    assert (status, said["percent"], said["status"]) == (200, 102.5, "overflow")
    assert said["action"]["type"] == "save_and_restart"
    status, said = post(service, "/context/auto-save", {"environment": "over", "used_tokens": 205_000})
    assert (status, said["status"], said["percent_at_save"]) == (200, "saved", 102.5)
    assert "over.jsonl" in service.saves()


def test_every_operation_but_the_local_ones_is_a_route_with_its_parameters(service: Service) -> None:
    paths = get(service, "/openapi.json")[1]["paths"]
    for operation in everything():
        path = "/" + operation.name.replace(".", "/")
        if operation.local:
            assert path not in paths
            continue
        (method, said), *others = paths[path].items()
        assert (method, others) == ("post" if operation.writes else "get", [])
        assert said["operationId"] == operation.name
        assert said["summary"]
        assert said["security"]
        assert "$ref" in json.dumps(said["responses"]["200"]) or operation.name == "saves.tags"
    assert [one["name"] for one in paths["/context/usage"]["get"]["parameters"]] == [
        "used_tokens",
        "max_tokens",
        "session",
    ]
    assert all(one["description"] for one in paths["/context/usage"]["get"]["parameters"])


def test_nothing_that_names_a_file_to_write_can_be_asked_for(service: Service) -> None:
    taken = [
        one["name"] for one in get(service, "/openapi.json")[1]["paths"]["/replay"]["get"]["parameters"]
    ]
    assert taken == ["path"]
    for name in BY_HAND["replay"]:
        assert get(service, f"/replay?path=/x&{name}=/y") == (
            400,
            {"error": f"{name}: there is no such parameter"},
        )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/context/usage?used_tokens=many", "used_tokens: Input should be a valid integer"),
        ("/context/usage?used_tokens=-1", "used_tokens is -1"),
        ("/context/usage?used_tokens=100000000", "used_tokens is 100000000"),
        ("/context/usage?used_tokens=2&max_tokens=1&session=s1", "not both"),
        ("/context/usage?used_tokens=1&max_tokens=0", "max_tokens is 0"),
        ("/context/usage?used_tokens=1" + 5000 * "0", "used_tokens"),
        ("/context/usage?used_tokens=1&used_tokens=2", "'used_tokens' is given twice"),
        ("/context/usage?used_token=1", "used_token: there is no such parameter"),
        ("/checkpoint/diff", "old: Field required"),
        ("/sessions?limit=-1", "limit"),
    ],
)
def test_a_read_that_cannot_be_understood_says_why(service: Service, path: str, words: str) -> None:
    status, said = get(service, path)
    assert status == 400
    assert list(said) == ["error"]
    assert words in said["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"environment": "bad", "used_tokens": "1"}, "used_tokens: Input should be a valid integer"),
        ({"environment": "bad", "used_tokens": 1.5}, "used_tokens: Input should be a valid integer"),
        ({"environment": "bad", "used_tokens": True}, "used_tokens: Input should be a valid integer"),
        ({"environment": "bad", "used_tokens": 10**30}, "used_tokens"),
        ({"environment": "bad", "used_tokens": 1, "more": 1}, "more: there is no such parameter"),
        ({"environment": "../bad", "used_tokens": 1}, "cannot be the name of an environment"),
        ({"environment": "bad", "used_tokens": 1, "project": "relative"}, "project"),
        ({"used_tokens": 1}, "environment: Field required"),
        ([], "Input should be an object"),
        (b"", "Invalid JSON"),
        (b"{", "Invalid JSON"),
        (b'{"environment":"\\ud800","used_tokens":1}', "Invalid JSON"),
        (b"\xff\xfe", "Invalid JSON"),
        (b"[" * 100_000, "Invalid JSON"),
        (b'{"environment":"bad","used_tokens":NaN}', "used_tokens"),
        (b'{"environment":"bad","used_tokens":1%s}' % (b"0" * 10_000), "out of range"),
    ],
)
def test_a_write_that_cannot_be_understood_says_why_and_writes_nothing(
    service: Service, body: object, words: str
) -> None:
    status, said = post(service, "/context/auto-save", body)
    assert (status, list(said)) == (400, ["error"])
    assert words in said["error"]
    assert "bad.jsonl" not in service.saves()


def test_a_secret_is_not_repeated_in_an_error(service: Service) -> None:
    said = post(service, "/context/auto-save", {"environment": "e", "used_tokens": "sk-live-0123456789"})[1]
    assert "0123456789" not in said["error"]


def test_what_does_not_exist_is_named(service: Service) -> None:
    assert get(service, "/nope") == (
        404,
        {"error": "there is no '/nope'; /openapi.json lists what there is"},
    )
    assert post(service, "/status", {}) == (405, {"error": "'/status' takes GET"})
    assert get(service, "/usage?session=nobody")[0] == 404
    assert get(service, "/checkpoint/show?name=../../etc/passwd")[0] in (400, 404)


def test_a_body_in_chunks_is_a_body(service: Service) -> None:
    headers = [service.host, service.bearer, ("Content-Type", "application/json; charset=UTF-8")]
    data = chunked("/context/auto-save", headers, b'{"environment":"chunked","used_tokens":1}')
    assert ask(service.port, data).status == 200
    assert "chunked.jsonl" in service.saves()


def test_a_body_that_ends_early_is_not_carried_out(service: Service) -> None:
    """All of what was sent is JSON, but not all that was announced was sent."""
    headers = [
        service.host,
        service.bearer,
        ("Content-Type", "application/json"),
        ("Content-Length", "999"),
    ]
    body = b'{"environment":"early","used_tokens":1}'
    assert not ask(service.port, request("POST", "/context/auto-save", headers, body), timeout=1).is_in
    time.sleep(0.2)
    assert "early.jsonl" not in service.saves()


def test_a_transcript_is_measured_as_the_command_line_does(service: Service, tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    script.answer(text("done"), context=44_000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes())
    environ = {"HOLDFAST_HOME": str(service.home), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "holdfast", "usage", "--transcript", str(path), "--json"]
    shown = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
    assert get(service, f"/usage?transcript={path}") == (200, json.loads(shown))


def test_a_scan_gives_what_the_command_line_prints(service: Service, tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    script.answer(text("done"), context=44_000)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/t.jsonl").write_bytes(script.bytes())
    environ = {"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "holdfast", "sessions", "--scan", str(tmp_path), "--json"]
    shown = json.loads(subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
    assert get(service, f"/sessions?scan=true&folder={tmp_path}") == (200, shown)
    assert shown["tokens"]["responses"] == 1


def test_many_saves_at_once_are_all_there_and_each_is_its_own(service: Service) -> None:
    def save(number: int) -> str:
        body = {
            "environment": f"many{number % 3}",
            "used_tokens": number,
            "inferred_task": f"task {number}",
        }
        status, said = post(service, "/context/auto-save", body)
        assert status == 200
        return said["session_id"]

    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(save, range(96)))
    lines = [
        json.loads(line)
        for path in (service.home / "environments").glob("many*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {line["id"]: line["task"] for line in lines} == {one: f"task {i}" for i, one in enumerate(ids)}


def test_a_changed_setting_is_taken_up_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving(home) as service:
        assert get(service, USED.format(80_000))[1]["status"] == "healthy"
        (home / "config.yaml").write_text("service: {healthy_below: 30}\n")
        assert get(service, USED.format(80_000))[1]["status"] == "warning"
        (home / "config.yaml").write_text("service: {healthy_below: 700}\n")
        assert get(service, USED.format(80_000))[1]["status"] == "warning"
        assert not get(service, "/status")[1]["ok"]
