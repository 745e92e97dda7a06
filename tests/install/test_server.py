"""The MCP server in the client's own list: added and removed by the client, or as settings are edited."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.errors import BadInput, HoldfastError
from holdfast.install import record, server
from holdfast.install.doctor import doctor
from holdfast.install.operations import install, uninstall
from install.conftest import Machine

LAUNCH = str(Path(__file__).resolve().parent.parent.parent / "src/holdfast/launch.py")
ENTRY = {"type": "stdio", "command": sys.executable, "args": ["-I", "-S", LAUNCH, "mcp"], "env": {}}
OTHERS = b'{ "numStartups": 12,\r\n "mcpServers": {"mine": {"command": "x"}}, "projects": {"/p": {}} }'


def memory(machine: Machine) -> Path:
    return machine.client / ".claude.json"


def written(machine: Machine, raw: bytes) -> bytes:
    machine.client.mkdir()
    memory(machine).write_bytes(raw)
    return raw


def servers(machine: Machine) -> dict:
    return json.loads(memory(machine).read_bytes()).get("mcpServers")


@pytest.mark.parametrize("raw", [OTHERS, b"{}", b'{"a": 1,\n\t"mcpServers": {}}\n', None])
def test_uninstalling_brings_every_byte_back(machine: Machine, raw: bytes | None) -> None:
    if raw is not None:
        written(machine, raw)
    done = install(machine.app, mcp=True)
    assert (done.server, servers(machine)["holdfast"]) == ("holdfast", ENTRY)
    assert "MCP server `holdfast`, added by holdfast" in str(done)
    assert record.of(machine.app.home, str(memory(machine)))
    uninstall(machine.app, verify=True)
    assert (memory(machine).read_bytes() if memory(machine).exists() else None) == raw


def test_what_the_client_wrote_since_is_kept(machine: Machine) -> None:
    written(machine, OTHERS)
    install(machine.app, mcp=True)
    now = json.loads(memory(machine).read_bytes()) | {"numStartups": 13}
    memory(machine).write_text(json.dumps(now))
    uninstall(machine.app, verify=True)
    assert json.loads(memory(machine).read_bytes()) == json.loads(OTHERS) | {"numStartups": 13}


def test_without_the_flag_nothing_is_added_and_twice_is_once(machine: Machine) -> None:
    assert install(machine.app).server == ""
    assert not memory(machine).exists()
    install(machine.app, mcp=True)
    before = memory(machine).read_bytes()
    again = install(machine.app, mcp=True)
    assert (again.changed, again.server, memory(machine).read_bytes()) == (False, "", before)


def test_a_dry_run_says_what_it_would_do(machine: Machine) -> None:
    done = install(machine.app, mcp=True, dry_run=True)
    assert "MCP server `holdfast`, added by holdfast" in str(done)
    assert not memory(machine).exists()


@pytest.mark.parametrize(
    "raw", [b'{"mcpServers": []}', b"{", b'{"mcpServers": {"holdfast": {"command": "x"}}}']
)
def test_what_is_not_ours_is_refused_and_left(machine: Machine, raw: bytes) -> None:
    written(machine, raw)
    with pytest.raises(BadInput):
        install(machine.app, mcp=True)
    assert memory(machine).read_bytes() == raw
    assert not machine.settings.exists()
    uninstall(machine.app)
    assert memory(machine).read_bytes() == raw


def test_it_is_for_all_projects(machine: Machine) -> None:
    with pytest.raises(BadInput, match="without --project"):
        install(machine.app, mcp=True, project=True)


def test_without_a_folder_of_its_own_the_client_keeps_its_list_beside_it(machine: Machine) -> None:
    app = Holdfast.open({"HOME": str(machine.root)})
    assert server.place(app).path == str(machine.root / ".claude.json")


CLIENT = """#!/bin/sh
echo "$@" >>"{log}"
[ -e "{log}.fails" ] && {{ echo "no such thing" >&2; exit 1; }}
case "$2" in
add) shift 7; printf '{{"mcpServers": {{"holdfast": {{"args": ["%s"]}}}}}}' "$3" >"{memory}" ;;
remove) echo '{{"mcpServers": {{}}}}' >"{memory}" ;;
esac
"""


@pytest.fixture
def asked(machine: Machine, tmp_path: Path) -> tuple[Holdfast, Path]:
    """A client that is on the PATH, and what it was asked."""
    log, program = tmp_path / "asked", tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text(CLIENT.format(log=log, memory=memory(machine)))
    program.chmod(0o755)
    environ = {**machine.app.environ, "PATH": f"{program.parent}:/usr/bin:/bin"}
    return Holdfast.open(environ), log


def test_a_client_that_is_there_is_asked_to_do_it(asked: tuple[Holdfast, Path], machine: Machine) -> None:
    app, log = asked
    assert install(app, mcp=True).server == "the client"
    assert log.read_text() == (f"mcp add --scope user holdfast -- {sys.executable} -I -S {LAUNCH} mcp\n")
    assert server.left(app)
    uninstall(app, verify=True)
    assert log.read_text().endswith("\nmcp remove --scope user holdfast\n")


def test_what_the_client_says_when_it_fails_is_passed_on(asked: tuple[Holdfast, Path]) -> None:
    app, log = asked
    Path(f"{log}.fails").touch()
    with pytest.raises(HoldfastError, match=r"`.*claude mcp add --scope` failed: no such thing"):
        install(app, mcp=True)


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"mcpServers": {"holdfast"', b"\xff", None])
def test_the_doctor_finds_a_list_that_is_damaged(machine: Machine, raw: bytes | None) -> None:
    install(machine.app)
    if raw is None:
        memory(machine).mkdir()
    else:
        memory(machine).write_bytes(raw)
    (bad,) = [check for check in doctor(machine.app).checks if not check.ok]
    assert (bad.name, str(memory(machine)) in bad.what, bool(bad.fix)) == ("server", True, True)


def test_the_doctor_starts_it_as_the_client_does(machine: Machine) -> None:
    def found() -> tuple[bool, str]:
        (check,) = [check for check in doctor(machine.app).checks if check.name == "server"]
        return check.ok, check.what

    assert found()[0] is True
    install(machine.app, mcp=True)
    ok, what = found()
    assert (ok, what.startswith("the MCP server answers, with ")) == (True, True)
    memory(machine).write_bytes(memory(machine).read_bytes().replace(sys.executable.encode(), b"/gone"))
    assert found() == (False, "the MCP server '/gone' does not answer")
