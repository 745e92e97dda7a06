"""`monitor`: the words scripts wait for, here or through a service, which is sent no more than it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.app import Holdfast
from holdfast.disk import saves
from holdfast.errors import BadInput
from holdfast.ops.monitor import _USAGE, monitor
from hooks import PACKAGE
from taken import Session, entries

SAVED = {
    "status": "saved",
    "session_id": "x1",
    "percent_at_save": 90.0,
    "restart_command": "rs ops",
    "message": "m",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def opened(home: Path, **environ: str) -> Holdfast:
    return Holdfast.open(installed(home) | environ)


def installed(home: Path) -> dict[str, str]:
    """The environment where holdfast is on the PATH."""
    folder = home.parent / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "holdfast").write_text(f'#!/bin/sh\nexec python3 {PACKAGE}/__main__.py "$@"\n')
    (folder / "holdfast").chmod(0o755)
    return {"HOLDFAST_HOME": str(home), "HOME": str(home.parent), "PATH": f"{folder}:{os.defpath}"}


class Service:
    """One that answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, dict]] = []
        self.answers: dict[str, tuple[int, Any, dict[str, str]]] = {}
        self.late: dict[str, float] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else {}
                token = self.headers.get("Authorization", "")
                service.asked.append((self.command, self.path, token, body))
                path = urlsplit(self.path).path
                time.sleep(service.late.get(path, 0))
                status, answer, headers = service.answers[path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, answer: Any, status: int = 200, **headers: str) -> None:
        self.answers[path] = (status, answer, headers)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    made.answer("/context/usage", {"action": {"type": "save_and_restart"}})
    made.answer("/context/auto-save", SAVED)
    yield made
    made.close()


def said(app: Holdfast, *numbers: int) -> list[str]:
    return str(monitor(app, *numbers)).split("\n")


def test_a_healthy_window_is_worth_no_word(home: Path, project: Path) -> None:
    assert said(opened(home), 139_999) == [""]
    assert not home.exists()


def test_a_warning_is_said_as_scripts_expect_it(home: Path, project: Path) -> None:
    assert said(opened(home), 140_000) == ["Context warning (140000/200000). Consider: holdfast ss"]
    assert said(opened(home), 7, 10) == ["Context warning (7/10). Consider: holdfast ss"]


def test_a_critical_window_is_saved(home: Path, project: Path) -> None:
    first, answer, last = said(opened(home, CONTEXTS_ENV="ops"), 174_000)
    assert first == "Context critical (174000/200000). Auto-saving..."
    assert last == "Session saved. Recommend: holdfast rs ops"
    (save,) = saves.of(opened(home).home, "ops")
    assert json.loads(answer)["session_id"] == save["id"]
    assert list(json.loads(answer)) == list(SAVED)
    assert (save["project"], save["joined"]) == (str(project), "told")


def test_a_window_that_is_more_than_full_is_saved_too(home: Path, project: Path) -> None:
    _, answer, _ = said(opened(home), 205_000)
    assert json.loads(answer)["percent_at_save"] == 102.5


def test_in_a_session_its_own_window_counts(home: Path, project: Path) -> None:
    session = Session(home, project, project / "t.jsonl")
    session.turn()
    path = project / "t.jsonl"
    path.write_bytes(path.read_bytes().replace(b"claude-opus-4-6", b"claude-opus-5-5"))
    session.hook("PostToolBatch")
    app = opened(home, CLAUDE_CODE_SESSION_ID="s1")
    assert said(app, 690_000) == [""]
    assert said(app, 710_000) == ["Context warning (710000/1000000). Consider: holdfast ss"]
    assert "(710000/200000)" in said(opened(home, CLAUDE_CODE_SESSION_ID="nobody"), 710_000)[0]


def test_where_holdfast_is_not_on_the_path_its_whole_path_is_named(home: Path, project: Path) -> None:
    app = opened(home, PATH=os.defpath)
    _, _, command = said(app, 140_000)[0].rpartition("Consider: ")
    program, word = command.rsplit(" ", 1)
    assert (os.access(program, os.X_OK), word) == (True, "ss")


def test_with_it_a_checkpoint_is_taken_of_what_is_unsaved(home: Path, project: Path) -> None:
    session = Session(home, project, project / "t.jsonl")
    session.turn()
    session.hook("PostToolBatch")
    monitor(opened(home), 174_000)
    (save,) = saves.of(opened(home).home, "development")
    assert save["checkpoint"] == entries(home)[-1]["path"]


def test_who_wants_no_automatic_saves_is_warned(home: Path, project: Path) -> None:
    app = opened(home, HOLDFAST_AUTO_CONTEXT_ENABLED="false")
    assert said(app, 174_000) == ["Context warning (174000/200000). Consider: holdfast ss"]
    assert not home.exists()


@pytest.mark.parametrize("numbers", [(-1,), (100_000_000,), (1, 0), (10**400,)], ids=range(4))
def test_numbers_that_cannot_be_are_refused(home: Path, project: Path, numbers: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="tokens is"):
        monitor(opened(home), *numbers)
    assert not home.exists()


def test_as_a_command_it_prints_the_same_and_nothing_else(home: Path, project: Path) -> None:
    env = installed(home)
    for words, code, out in (
        ([], 1, _USAGE + "\n"),
        (["5"], 0, ""),
        (["150000"], 0, "Context warning (150000/200000). Consider: holdfast ss\n"),
    ):
        command = [sys.executable, "-m", "holdfast", "monitor", *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


# -- through a service


def test_a_service_is_asked_with_the_token_in_the_header(
    home: Path, project: Path, service: Service
) -> None:
    home.mkdir()
    (home / "token").write_text("tide-token\n")
    app = opened(home, CONTEXTS_URL=service.url + "/", CONTEXTS_ENV="ops")
    first, answer, last = said(app, 90, 100)
    assert (first, last) == (
        "Context critical (90/100). Auto-saving...",
        "Session saved. Recommend: holdfast rs ops",
    )
    assert json.loads(answer) == SAVED
    (read, asked, *_), (write, path, _, body) = service.asked
    assert (read, write, path) == ("GET", "POST", "/context/auto-save")
    assert parse_qs(urlsplit(asked).query) == {"used_tokens": ["90"], "max_tokens": ["100"]}
    assert body == {"environment": "ops", "used_tokens": 90, "max_tokens": 100, "project": str(project)}
    assert {token for _, _, token, _ in service.asked} == {"Bearer tide-token"}
    assert not saves.environments(app.home), "the service has saved it"


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        ({}, 500, "is 500"),
        ({}, 401, "is 401"),
        (b"not json", 200, "is none (JSONDecodeError)"),
        ([], 200, "is no object"),
        ({"action": {"type": "obey"}}, 200, "is no usage"),
        ({"action": 5}, 200, "is no usage"),
    ],
)
def test_a_service_that_does_not_answer_right_is_not_needed(
    home: Path,
    project: Path,
    service: Service,
    capsys: pytest.CaptureFixture[str],
    answer: Any,
    status: int,
    why: str,
) -> None:
    service.answer("/context/usage", answer, status)
    app = opened(home, CONTEXTS_URL=service.url)
    assert said(app, 90, 100)[2] == "Session saved. Recommend: holdfast rs development"
    assert len(saves.of(app.home, "development")) == 1
    assert len(service.asked) == 1, "it is not asked again"
    assert f"the answer of {service.url} {why}" in capsys.readouterr().err


def test_a_save_that_the_service_did_not_make_is_made_here(
    home: Path, project: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.answer("/context/auto-save", {"status": "sorry"})
    app = opened(home, CONTEXTS_URL=service.url)
    said(app, 90, 100)
    assert len(saves.of(app.home, "development")) == 1
    assert "does not say that it has saved" in capsys.readouterr().err


def test_a_save_that_is_only_late_is_not_made_twice(home: Path, project: Path, service: Service) -> None:
    service.late["/context/auto-save"] = sys.modules[monitor.__module__]._PATIENCE_S + 0.5
    app = opened(home, CONTEXTS_URL=service.url)
    assert json.loads(said(app, 90, 100)[1]) == SAVED
    assert not saves.environments(app.home), "the service has saved it"


def test_a_service_that_is_down_is_not_needed(
    home: Path, project: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.close()
    app = opened(home, CONTEXTS_URL=service.url)
    said(app, 90, 100)
    assert len(saves.of(app.home, "development")) == 1
    assert "is none (Connection refused); it is done here" in capsys.readouterr().err


def test_the_token_does_not_follow_a_redirection(
    home: Path, project: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Service()
    service.answer("/context/usage", {}, 307, Location=other.url + "/context/usage")
    monitor(opened(home, CONTEXTS_URL=service.url), 1, 100)
    assert other.asked == []
    assert "is 307" in capsys.readouterr().err
    other.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://localhost:8100?token=secret", "belongs in the header"),
        ("http://user:secret@localhost:8100", "belongs in the header"),
        ("http://localhost:8100/#secret", "belongs in the header"),
        ("ftp://localhost", "takes an address"),
        ("file:///etc/passwd", "takes an address"),
        ("localhost:8100", "takes an address"),
        ("http://", "takes an address"),
        ("http://localhost:99999", "is no address"),
        ("http://[::1", "is no address"),
        ("http://localhost\n:8100", "takes an address"),
        ("http://example.com", "use https"),
        ("http://127.0.0.1.example.com", "use https"),
    ],
)
def test_an_address_that_must_not_have_the_token_is_refused(
    home: Path, project: Path, url: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        monitor(opened(home, CONTEXTS_URL=url), 1)
    assert "secret" not in str(refused.value)
