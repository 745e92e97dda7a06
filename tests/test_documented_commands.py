"""Every command that the pages show is one that a reader can run: with a `holdfast` that was installed from
a wheel, in a project of their own, with nothing of the clone around it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import shapes
from holdfast.cli.arguments import parameters
from holdfast.ops.registry import everything
from repository import PLAIN, Repository
from session import Script

REPO = Path(__file__).resolve().parent.parent
#: Pages with commands of their own; those of benchmarks are tried by --help, elsewhere.
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (REPO / "docs").glob("*.md")))
NOT_HERE = ("docs/benchmarks.md", "docs/architecture.md", "docs/formats.md")
PROGRAMS = ("holdfast", "curl", "jq", "echo", ".venv/bin/python", "scripts/", "claude", "TOKEN=")
#: What is played elsewhere, because it stays, needs a database or a client: how the line begins -> where.
ELSEWHERE = {
    "claude mcp add": "tests/client/test_mcp.py",
    "curl --cacert": "tests/team",
    "holdfast config set store.url": "tests/team",
    "holdfast dashboard": "tests/browser/test_pages.py",
    "holdfast demo": "tests/test_demo.py",
    "holdfast rs development --start": "tests/client/test_resume.py",
    "holdfast run": "tests/conductor",
    "holdfast serve": "tests/serve/test_service.py",
    "holdfast sync": "tests/team",
    "holdfast team": "tests/team",
    "holdfast watch": "tests/agents",
    "scripts/": ".ci/run",
    ".venv/bin/python bench/": "tests/test_docs.py",
    "jq": "tests/client/test_checkpoints.py",
}
#: Of those, the ones that end by themselves and need nothing.
HERE_AFTER_ALL = ("holdfast watch --once", "holdfast watch --scenario")
#: What stands for the reader's own -> what it is here; of one page, or of all.
OWN = {
    "docs/memory.md": {
        "[--append …]": "--append 'and at noon'",
        "memory show NAME": "memory show tides",
        "NAME TYPE": "gate-times feedback",
        "NAME TEXT": "gate-times 'The gate opens at six.'",
        "forget NAME": "forget gate-times",
        "NAME": "gate-times",
        "UID …": "{uid}",
        "UID": "{uid}",
        "TEXT|ID": "'the port is 8123'",
        "ID|TEXT": "'the port is 8123'",
        "TEXT": "'the pump needs port 8123'",
        "PATH": "src/gate.py",
    },
    "": {
        "session:ID": "session:s1",
        "--session ID": "--session s1",
        "ack ID": "ack {message}",
        "SESSION": "s1",
        "--plan tasks.json": "--plan tasks.json",
        "…": "",
        "--seconds 600": "--seconds 1",
        "FILE --png OUT": "{transcript} --png picture.png",
        "FILE.jsonl": "{transcript}",
        "-o FILE": "-o report.html",
        "localhost:8100": "localhost:{port}",
        "examples/session.jsonl": "{transcript}",
        "[FILE]": "",
    },
}
#: Commands that answer no by their exit code, and may here.
MAY_SAY_NO = {
    "holdfast doctor": 1,  # nothing is installed when the page shows it
    "holdfast memory lint": 1,
    "holdfast rules conflicts": 1,
    "holdfast task wait": 1,
    "holdfast monitor": 1,
    "holdfast status": 1,
    "holdfast uninstall": 1,
}


class Reader(NamedTuple):
    project: Path
    environ: dict[str, str]
    own: dict[str, str]


class Line(NamedTuple):
    page: str
    number: int
    words: str

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"


def documented() -> list[Line]:
    found = []
    for page in PAGES:
        if page in NOT_HERE:
            continue
        lines = (REPO / page).read_text().splitlines()
        for number, line in enumerate(lines, 1):
            words = line[4:].removeprefix("$ ")
            if not line.startswith("    ") or not words.startswith(PROGRAMS):
                continue
            more = number
            while words.endswith("\\"):
                words, more = words[:-1].rstrip() + " " + lines[more].strip(), more + 1
            found.append(Line(page, number, re.sub(r"(?:^|\s+)# .*$", "", words).strip()))
    return found


def is_elsewhere(words: str) -> bool:
    return words.startswith(tuple(ELSEWHERE)) and not words.startswith(HERE_AFTER_ALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holdfast was installed into as a package."""
    top = tmp_path_factory.mktemp("installed")
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(top), str(REPO)]
    subprocess.run([sys.executable, *build], check=True)
    (wheel,) = top.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", top / "env"], check=True)
    python = top / "env/bin/python"
    subprocess.run([python, *pip, "install", "--no-deps", str(wheel)], check=True)
    places = sysconfig.get_paths("venv", vars={"base": str(top / "env")})
    # The libraries it needs, without the clone: a .pth there is not read again.
    Path(places["purelib"], "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return top / "env"


@pytest.fixture
def reader(installed: Path, tmp_path: Path) -> Iterator[Reader]:
    """A reader of one page, with some work behind them and the service running."""
    top = tmp_path
    project, home, client = top / "tidegate", top / "home", top / "client"
    environ = {
        **PLAIN,
        "PATH": f"{installed}/bin:{os.defpath}",
        "HOME": str(top),
        "HOLDFAST_HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(client),
    }
    repository = Repository(project, home, hooked=False)
    (project / "src").mkdir()
    (project / "src/gate.py").write_text("LEVEL = 3\n")
    (project / "f.py").write_text("x = 1\n")
    for number in range(1, 11):
        (project / f"f{number}.py").write_text("x = 1\n" * 40)
    (project / "tasks.json").write_text('[{"id":"one","description":"split the parser"}]')
    (project / "workflow.json").write_text("[]")
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "begin")
    folder = client / "projects/-tidegate"
    folder.mkdir(parents=True)
    script = Script("s1")
    shapes.compacted_once(script)
    transcript = folder / "s1.jsonl"
    transcript.write_bytes(script.bytes().replace(b"/home/mira/tidegate", str(project).encode()))
    shapes.hear("s1", transcript, project, home)
    (project / ".venv").symlink_to(installed)  # the pages that show it mean the clone's
    own = {"transcript": str(transcript), "uid": "", "message": "", "port": ""}
    known = ["holdfast", "memory", "write", "tides", "Twice a day.", "--description", "when it ebbs"]
    subprocess.run(known, cwd=project, env=environ, check=True, capture_output=True)
    serving = subprocess.Popen(
        ["holdfast", "serve", "--port", "0"], cwd=project, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout
        said = re.search(r":(\d+) \(token", serving.stdout.readline())
        assert said
        own["port"] = said.group(1)
        yield Reader(project, environ, own)
    finally:
        serving.terminate()
        serving.wait(60)


def made_own(line: Line, own: dict[str, str]) -> list[str]:
    """The line as this reader would type it: each of its alternatives, without what is optional."""
    words = line.words
    for shown, mine in {**OWN.get(line.page, {}), **OWN[""]}.items():
        words = words.replace(shown, mine)
    for name, value in own.items():
        words = words.replace(f"{{{name}}}", value)
    if not words.startswith("holdfast"):
        return [words]
    words = re.sub(r" *\[[^\]]*\]", "", words)
    before, either, other = words.partition(" | ")
    if not either:
        return [words]
    if other.startswith("--"):  # instead of the last word
        return [before]
    return [before, f"{before.rpartition(' ')[0]} {other}"]


def test_the_pages_show_commands() -> None:
    assert len(documented()) > 130


def test_what_is_played_elsewhere_is_there() -> None:
    for place in ELSEWHERE.values():
        assert (REPO / place).exists(), place


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NOT_HERE])
def test_the_commands_of_a_page_work_for_a_reader(reader: Reader, page: str) -> None:
    played, token = 0, "TOKEN=$(cat $HOLDFAST_HOME/token); "
    for line in documented():
        if line.page != page or is_elsewhere(line.words) or line.words.startswith("TOKEN="):
            continue
        for words in made_own(line, reader.own):
            done = subprocess.run(
                ["sh", "-c", (token if words.startswith("curl") else "") + words],
                cwd=reader.project,
                env=reader.environ,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            no = [code for begin, code in MAY_SAY_NO.items() if words.startswith(begin)]
            assert done.returncode in (0, *no), (str(line), words, done.stdout, done.stderr)
            assert "Traceback" not in done.stderr, (str(line), words, done.stderr)
            assert '{"error"' not in done.stdout, (str(line), words, done.stdout)
            _remember(words, reader)
            played += 1
    assert played or all(is_elsewhere(line.words) for line in documented() if line.page == page)


def _remember(words: str, reader: Reader) -> None:
    """The names that a reader would take from one answer into the next command."""
    if words.startswith("holdfast board post"):
        reader.own["message"] = _newest(reader, "board list", "id")
    elif words.startswith("holdfast memory timeline"):
        reader.own["uid"] = _newest(reader, "memory timeline", "uid")


def _newest(reader: Reader, command: str, key: str) -> str:
    asked = ["holdfast", *command.split(), "--json"]
    said = subprocess.run(
        asked, cwd=reader.project, env=reader.environ, capture_output=True, text=True, check=True
    )
    return re.findall(rf'"{key}": "([^"]+)"', said.stdout)[-1]


def test_every_flag_of_a_documented_command_exists() -> None:
    """Also of those that are played elsewhere."""
    names = {tuple(operation.name.split(".")): operation for operation in everything()}
    checked = 0
    for line in documented():
        words = shlex.split(re.sub(r"[\[\]|…'\"]", " ", line.words))
        if words[:1] != ["holdfast"]:
            continue
        path = max((name for name in names if tuple(words[1 : 1 + len(name)]) == name), key=len, default=())
        assert path, (str(line), line.words)
        known = {one.flag for one in parameters(names[path].load())}
        for flag in (word for word in words if word.startswith("--")):
            assert flag in known or flag in ("--json", "--config"), (str(line), flag)
            checked += 1
    assert checked > 40
