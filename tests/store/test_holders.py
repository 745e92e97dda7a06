"""Who is known to be dead: a process or a session that ended, and not one that was taken up again."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.disk.home import Home
from holdfast.errors import BadInput
from holdfast.store import holders
from holdfast.store.holders import here, is_gone
from hooks import event, run_silently


@pytest.fixture
def process():
    made = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield made
    made.kill()
    made.wait()


def test_a_holder_is_gone_when_its_process_is(home: Path, process) -> None:
    holder = here("ann", process.pid)
    assert not is_gone(Home(str(home)), holder)
    process.kill()
    process.wait()
    assert is_gone(Home(str(home)), holder)


def test_one_that_ended_and_was_not_waited_for_is_gone_as_well(home: Path, process) -> None:
    holder = here("ann", process.pid)
    process.kill()
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0] != "Z":
        pass
    assert is_gone(Home(str(home)), holder)


def test_another_process_with_the_same_number_is_another(home: Path, process) -> None:
    holder = here("ann", process.pid)
    assert is_gone(Home(str(home)), replace(holder, started=holder.started - 1))


def test_of_another_machine_and_without_a_process_nothing_is_known(home: Path, process) -> None:
    process.kill()
    process.wait()
    gone = replace(here("ann"), process=process.pid, started=1)
    assert is_gone(Home(str(home)), gone)
    assert not is_gone(Home(str(home)), replace(gone, machine="another"))
    assert not is_gone(Home(str(home)), here("ann"))


def test_a_process_that_does_not_run_cannot_hold_anything(process) -> None:
    process.kill()
    process.wait()
    with pytest.raises(BadInput, match="no process"):
        here("ann", process.pid)


def test_a_session_is_gone_when_it_has_ended_until_it_goes_on(home: Path, monkeypatch) -> None:
    run_silently(event("SessionStart", "first", source="startup"), home)
    where = Home(str(home))
    process, ended = holders._session(where, "first")
    assert not ended
    holder, agent = here("first", process), here("first/helper", process)
    assert not is_gone(where, holder)
    assert not is_gone(where, agent)
    run_silently(event("SessionEnd", "first", reason="clear"), home)
    assert is_gone(where, holder)
    assert is_gone(where, agent)
    run_silently(event("SessionStart", "first", source="resume"), home)
    assert not is_gone(where, holder)


def test_a_process_that_was_named_is_waited_for_no_longer_than_it_runs(home: Path, process) -> None:
    """A script of a session that goes on."""
    run_silently(event("SessionStart", "first", source="startup"), home)
    holder = here("first", process.pid, is_named=True)
    assert not is_gone(Home(str(home)), holder)
    assert not is_gone(Home(str(home)), replace(holder, machine="another named"))
    process.kill()
    process.wait()
    assert is_gone(Home(str(home)), holder)


def test_a_session_taken_up_by_another_client_is_still_there(home: Path, process) -> None:
    """What it claimed names the client before: that one is gone, the session is not."""
    run_silently(event("SessionStart", "first", source="startup"), home)
    holder = here("first", process.pid)
    process.kill()
    process.wait()
    assert not is_gone(Home(str(home)), holder)
