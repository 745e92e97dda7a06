"""The pages about the service say what is so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from contract import live, run
from door import Service, routes_of, serving
from holdfast.core.config import KEYS
from holdfast.errors import HoldfastError
from holdfast.serve import gate, reference, stream, wire
from holdfast.serve.dashboard import frame
from holdfast.serve.dashboard.frame import routed

REPO = Path(__file__).resolve().parents[2]
PAGE = (REPO / "docs/service.md").read_text()


def test_the_reference_is_what_the_registry_says() -> None:
    written = (REPO / "docs/operations.md").read_text()
    assert written == reference.page(), "python -m holdfast.serve.reference > docs/operations.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_examples_work_as_they_are_written(service: Service) -> None:
    blocks = re.findall(r"(?m)^    (?:curl|TOKEN)(?:.*\n)(?:     .*\n)*", PAGE)
    token, *commands = [textwrap.dedent(block) for block in blocks]
    assert len(commands) >= 2
    promised = [json.loads(line) for line in re.findall(r"(?m)^    (\{.*\})$", PAGE)]
    environ = {"HOLDFAST_HOME": str(service.home), "PATH": os.environ["PATH"], "HOME": "/nowhere"}
    for command, expected in zip(commands, promised, strict=True):
        asked = command.replace("localhost:8100", f"localhost:{service.port}")
        assert asked != command
        done = subprocess.run(["sh", "-c", token + asked], env=environ, capture_output=True, check=True)
        said = json.loads(done.stdout)
        if "session_id" in said:
            said["session_id"] = expected["session_id"]
        if "message" in said:  # a reader has holdfast on the PATH; here it may be named by its whole path
            said["message"] = re.sub(r"'/\S*/holdfast ", "'holdfast ", said["message"])
        assert said == expected


def test_the_page_names_every_route_that_is_no_operation_and_every_limit(service: Service) -> None:
    from holdfast.ops.registry import everything

    operations = {"/" + one.name.replace(".", "/") for one in everything()}
    for path, methods in routes_of(service).items():
        for method in methods if path not in operations else ():
            assert f"`{method.upper()} {path}`" in PAGE
    assert f"{wire.ARRIVES_S:.0f}".replace("10", "ten") in PAGE
    assert f"most {wire.MOST_CONNECTIONS} connections and {stream.MOST_CLIENTS} streams" in PAGE
    assert gate.LARGEST_BODY == 1 << 20


def test_no_page_is_given_up_before_what_it_asks_for() -> None:
    longest = next(limits[1] for name, _, limits, _ in KEYS if name == "service.timeout_seconds")
    assert routed("/", "Now").response_timeout >= longest
    folder = Path(frame.__file__).parent
    assert [path.name for path in folder.glob("*.py") if "ui.page(" in path.read_text()] == ["frame.py"]


def test_every_status_that_an_error_has_is_on_the_page() -> None:
    def classes(kind: type[HoldfastError]) -> set[type[HoldfastError]]:
        return {kind}.union(*map(classes, kind.__subclasses__()))

    table = PAGE.partition("| status | |")[2].partition("\n\n")[0]
    reached = {one.status for one in classes(HoldfastError) if one.__name__ not in ("Late", "MissingExtra")}
    assert all(str(status) in table for status in reached)


def test_nothing_in_the_description_ends_in_a_server_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    live(home)
    with serving(home) as service:
        done = run(service, examples=2, seed=3)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "No issues found" in done.stdout
