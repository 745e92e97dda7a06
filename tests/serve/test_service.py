"""From its start to its end: one for each home, its token, its port; a full disk, a kill."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest

from asking import get, post
from door import Service, serving
from holdfast.extras import extra_command
from repository import Repository, saved
from teammate import until


def start(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """One that is expected to end by itself."""
    environ = {"HOLDFAST_HOME": str(home), "HOME": str(home.parent), "PATH": os.environ["PATH"], **more}
    argv = [sys.executable, "-m", "holdfast", "serve", *words]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=60, check=False)


def save(service: Service, environment: str, task: str) -> tuple[int, dict]:
    body = {"environment": environment, "used_tokens": 1, "inferred_task": task}
    return post(service, "/context/auto-save", body)


def test_a_second_one_says_where_the_first_is_and_ends_well(service: Service) -> None:
    done = start(service.home, "--port", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"already running at {service.url} (pid {service.process.pid})\n"
    assert get(service, "/live")[0] == 200


def test_others_find_it_and_it_leaves_nothing_behind_that_says_it_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving(home) as service:
        said = json.loads((home / "serve.json").read_text())
        assert (said["url"], said["pid"]) == (service.url, service.process.pid)
        assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
        assert home.stat().st_mode & 0o777 == 0o700
    assert service.process.returncode == 0
    assert sorted(path.name for path in home.iterdir()) == [
        "seal.key",
        "seal.lock",
        "serve.lock",
        "token",
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_being_answered_is_answered_before_it_stops(tmp_path: Path, number: int) -> None:
    begun = tmp_path / "begun"
    program = SLOW.replace("time.sleep(2)", f"open({str(begun)!r}, 'w'), time.sleep(2)")
    with serving(tmp_path / "home", program=["-c", program]) as service:
        answers = []
        asked = threading.Thread(target=lambda: answers.append(get(service, "/status")))
        asked.start()
        until(begun.exists)
        service.process.send_signal(number)
        asked.join(60)
        service.process.wait(60)
    assert service.process.returncode == 0
    assert [status for status, _ in answers] == [200]


SLOW = """
import sys, time
from holdfast.extras import extra_command
from holdfast.ops import upkeep
looked = upkeep._home
upkeep._home = lambda app: (time.sleep(2), looked(app))[-1]
from holdfast.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(("seconds", "is_done"), [(2, True), (300, False)])
def test_what_goes_on_unheard_is_given_a_while_to_end_and_no_more(
    tmp_path: Path, seconds: int, is_done: bool
) -> None:
    done = tmp_path / "done"
    program = SLOW.replace("time.sleep(2)", f"time.sleep({seconds}), open({str(done)!r}, 'w')")
    environ = {"HOLDFAST_SERVICE_TIMEOUT_SECONDS": "1"}
    with serving(tmp_path / "home", program=["-c", program], environ=environ) as service:
        assert get(service, "/status")[0] == 503
    assert service.process.returncode == 0
    assert done.exists() == is_done
    assert not (tmp_path / "home/serve.json").exists()


def test_an_operation_that_takes_too_long_is_given_up_and_the_service_goes_on(tmp_path: Path) -> None:
    environ = {"HOLDFAST_SERVICE_TIMEOUT_SECONDS": "1"}
    with serving(tmp_path / "home", program=["-c", SLOW], environ=environ) as service:
        status, said = get(service, "/status")
        assert status == 503
        assert "not done in 1 s (service.timeout_seconds)" in said["error"]
        assert get(service, "/context/usage?used_tokens=1")[0] == 200


def test_a_mistake_of_ours_is_told_as_one_and_the_service_goes_on(tmp_path: Path) -> None:
    program = SLOW.replace("time.sleep(2), looked(app)", "1 / 0")
    with serving(tmp_path / "home", program=["-c", program]) as service:
        status, said = get(service, "/status")
        assert (status, list(said)) == (500, ["error"])
        assert "a mistake in holdfast: ZeroDivisionError" in said["error"]
        assert get(service, "/live")[0] == 200


def test_a_port_that_something_else_has_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = start(tmp_path / "home", "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 cannot be had: Address already in use" in done.stderr
    assert "--port 0" in done.stderr
    assert not (tmp_path / "home/serve.json").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--host", "0.0.0.0"], "would let other machines in"),
        (["--host", "192.0.2.1", "--expose"], "would let other machines in"),
        (["--host", "example.org", "--expose", "--cert", "c"], "--cert and --key belong together"),
        (["--host", "0.0.0.0", "--expose", "--cert", "c", "--key", "k"], "every address at once"),
        (["--host", "::", "--expose", "--cert", "c", "--key", "k"], "every address at once"),
        (["--host", "0", "--expose", "--cert", "c", "--key", "k"], "every address at once"),
        (["--host", "", "--expose", "--cert", "c", "--key", "k"], "every address at once"),
        (["--port", "70000"], "it takes 1 to 65535"),
        (["--port", "-1"], "it takes 1 to 65535"),
    ],
)
def test_it_refuses_to_listen_where_others_could_reach_it(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    done = start(tmp_path / "home", *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not (tmp_path / "home").exists()


def _link(path: Path) -> None:
    (path.parent / "elsewhere").write_text("t" * 43)
    (path.parent / "elsewhere").chmod(0o600)
    path.symlink_to("elsewhere")


def _readable(path: Path) -> None:
    path.write_text("t" * 43)
    path.chmod(0o644)


def _of(words: str):  # type: ignore[no-untyped-def]
    def make(path: Path) -> None:
        path.write_text(words)
        path.chmod(0o600)

    return make


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (_readable, "can be read by others (its mode is 0644)"),
        (_link, "is a link"),
        (Path.mkdir, "is not a file"),
        (os.mkfifo, "is not a file"),
        (_of(""), "holds no token"),
        (_of("short"), "holds no token"),
        (_of("t" * 40 + "\0"), "holds no token"),
        (_of("two words " * 5), "holds more than one word"),
    ],
)
def test_a_token_that_others_could_know_or_nobody_can_is_refused(
    tmp_path: Path, make, complaint: str
) -> None:  # type: ignore[no-untyped-def]
    home = tmp_path / "home"
    home.mkdir(0o700)
    make(home / "token")
    done = start(home, "--port", "0")
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "remove it, and the next start makes a new one" in done.stderr


def test_a_token_stays_what_it_is(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as first:
        pass
    with serving(tmp_path / "home") as second:
        assert second.token == first.token
        assert len(second.token) >= 43


def test_a_killed_one_is_followed_by_the_next(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as first:
        first.process.kill()
        first.process.wait()
        assert (tmp_path / "home/serve.json").exists()
        with serving(tmp_path / "home") as second:
            assert get(second, "/live")[0] == 200
            assert json.loads((tmp_path / "home/serve.json").read_text())["pid"] == second.process.pid


def test_every_save_that_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    acknowledged: list[str] = []

    def keep_saving(service: Service, name: str) -> None:
        for number in range(10_000):
            try:
                status, _ = save(service, "killed", f"{name} {number}")
            except (OSError, HTTPException):
                return
            assert status == 200
            acknowledged.append(f"{name} {number}")

    for round_ in range(2):
        with serving(tmp_path / "home") as service:
            clients = [
                threading.Thread(target=keep_saving, args=(service, f"{round_}-{i}")) for i in range(8)
            ]
            for client in clients:
                client.start()
            until(lambda wanted=40 * (round_ + 1): len(acknowledged) >= wanted)  # type: ignore[misc]
            service.process.kill()
            for client in clients:
                client.join()
            service.process.wait()
    lines = (tmp_path / "home/environments/killed.jsonl").read_text().splitlines()
    kept = {json.loads(line)["task"] for line in lines if line.endswith("}")}
    assert kept >= set(acknowledged)


REFUSING = """
import sys, posix
from holdfast.disk import files
class Disk:
    def __getattr__(self, name):
        return getattr(posix, name)
    def write(self, fd, data):
        if b"refused" in bytes(data):
            raise OSError({number}, posix.strerror({number}))
        return posix.write(fd, data)
files.posix = Disk()
from holdfast.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EROFS, 503), (errno.EACCES, 503), (errno.EIO, 500)],
)
def test_a_disk_that_takes_no_write_is_told_of_and_reads_go_on(
    tmp_path: Path, number: int, expected: int
) -> None:
    program = ["-c", REFUSING.replace("{number}", str(number))]
    with serving(tmp_path / "home", program=program) as service:
        assert save(service, "e", "taken")[0] == 200
        status, said = save(service, "e", "refused")
        assert (status, list(said)) == (expected, ["error"])
        assert os.strerror(number) in said["error"]
        assert get(service, "/context/usage?used_tokens=1")[0] == 200
        assert save(service, "e", "taken again")[0] == 200
    lines = (tmp_path / "home/environments/e.jsonl").read_text().splitlines()
    assert [json.loads(line)["task"] for line in lines] == ["taken", "taken again"]


def test_something_else_where_saves_are_is_told(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as service:
        (tmp_path / "home/environments").write_text("in the way")
        status, said = save(service, "blocked", "x")
        assert (status, list(said)) == (500, ["error"])
        assert "environments" in said["error"]


def test_a_save_that_goes_wrong_costs_no_other(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as service:
        (tmp_path / "home/environments/broken.jsonl").mkdir(parents=True)
        with ThreadPoolExecutor(8) as pool:
            names = ["broken", "whole", "other", "whole"] * 10
            answers = list(pool.map(lambda name: save(service, name, "x")[0], names))
    assert {name: {a for n, a in zip(names, answers, strict=True) if n == name} for name in names} == {
        "broken": {400},
        "whole": {200},
        "other": {200},
    }


def test_a_commit_that_waits_in_the_spool_is_saved_by_the_service(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project", tmp_path / "home")
    repository.commit("Dredge the lock")
    assert saved(tmp_path / "home", "development") == []
    with serving(tmp_path / "home"):
        until(lambda: saved(tmp_path / "home", "development"))
    (save_,) = saved(tmp_path / "home", "development")
    assert save_["task"] == "Commit: Dredge the lock"


def test_the_monitor_of_the_command_line_saves_through_it(service: Service, tmp_path: Path) -> None:
    environ = {
        "HOLDFAST_HOME": str(service.home),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "CONTEXTS_URL": service.url.replace("127.0.0.1", "localhost"),
        "CONTEXTS_ENV": "monitored",
    }
    command = [sys.executable, "-m", "holdfast", "monitor", "171000", "200000"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert " rs monitored" in done.stdout
    assert done.stderr == ""
    assert len(saved(service.home, "monitored")) == 1


def test_over_tls_it_may_be_exposed(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    import ssl
    from urllib.request import Request, urlopen

    words = ["--host", "127.0.0.2", "--expose", "--cert", str(cert), "--key", str(key)]
    with serving(tmp_path / "home", *words) as service:
        trusting = ssl.create_default_context(cafile=str(cert))
        trusting.check_hostname = False
        asked = Request(f"https://127.0.0.2:{service.port}/status", headers=dict([service.bearer]))
        with urlopen(asked, context=trusting, timeout=30) as answer:
            assert answer.status == 200


def test_without_its_libraries_it_names_the_extra(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None\nfrom holdfast.cli.main import main\nsys.exit(main())"
    )
    environ = {"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-c", program, "serve"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 6
    assert extra_command("serve") in done.stderr
