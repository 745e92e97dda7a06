"""The MCP server in the real client: what the model has at hand, what it can find, and what it is given."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from client.api import words
from client.client import Machine, Run, namespace
from holdfast.app import Holdfast
from holdfast.disk.home import Home
from holdfast.install.operations import Installed, install, uninstall
from holdfast.mcp import tools
from holdfast.ops.registry import ALWAYS_LOADED
from holdfast.serve.token import kept

PLUGIN = Path(__file__).resolve().parent.parent.parent / "plugin"
OURS, PLUGINS = "mcp__holdfast__", "mcp__plugin_holdfast_holdfast__"
ALWAYS = {name.replace(".", "_") for name in ALWAYS_LOADED}
#: A first turn: the client does not wait for its servers, and a busy machine starts them late.
FIRST = {"run": "sleep 2"}


def app(machine: Machine, path: str = "") -> Holdfast:
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config), "PATH": path}
    return Holdfast.open(environ)


def wired(machine: Machine) -> tuple[Installed, dict]:
    """What install did here, and the settings it wrote: the harness writes its own into their place."""
    done = install(app(machine), mcp=True)
    return done, json.loads(Path(done.settings).read_text())


def named(request: dict, prefix: str = OURS) -> set[str]:
    """The tools of ours that the model could call at once."""
    return {
        tool["name"].removeprefix(prefix)
        for tool in request["body"]["tools"]
        if tool["name"].startswith(prefix)
    }


def given(request: dict) -> list[str]:
    """What the calls of the last answer gave, in their order, as the model was told it."""
    blocks = request["body"]["messages"][-1]["content"]
    results = {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}
    return [results[call] for call in sorted(results)]  # whatever was done first


def parsed(told: str) -> Any:
    """What a tool gave; the client adds words of its own."""
    assert told.startswith("{"), told
    return json.JSONDecoder().raw_decode(told)[0]


def test_tools_are_listed_found_and_called_also_after_a_clear(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    done, settings = wired(machine)
    assert done.server == "holdfast"
    calls = [
        {"call": OURS + "health", "input": {}},
        {"call": "ToolSearch", "input": {"query": f"select:{OURS}checkpoint_list"}},
        {"call": OURS + "checkpoint_list", "input": {"limit": 3}},
        {"call": OURS + "context_usage", "input": {"session": 5}},
    ]
    both = [{"call": OURS + "health", "input": {}}, {"call": OURS + "checkpoint_take", "input": {}}]
    keys = [
        {"event": "SessionStart"},
        {"see": "bypass permissions"},
        {"type": "how full is it?"},
        {"event": "Stop"},
        {"type": "/clear"},
        {"event": "SessionStart", "times": 2},
        {"type": "and now?"},
        {"event": "Stop", "times": 2},
        {"type": "/exit"},
    ]
    script = {"main": [FIRST, *calls, {"say": "so full"}, {"calls": both}, {"say": "as full"}]}
    run = machine.run(script, ["--model", "claude-sonnet-4-5"], settings=settings, keys=keys)
    assert (run.trouble, run.refused, run.unplayed) == ("", [], {})
    _, *sent = [request for request in run.requests if request["kind"] == "main"]
    first, second = dict.fromkeys(event["session_id"] for event in run.heard)
    # Some are always there, the others by name only, until they are looked for.
    assert named(sent[0]) == ALWAYS
    told = json.dumps([request["body"]["messages"] for request in sent[:5]])
    assert [name for name in tools.operations() if name not in ALWAYS and OURS + name not in told] == []
    assert named(sent[2]) == {*ALWAYS, "checkpoint_list"}
    (health,), (_,), (listed,), (wrong,) = (given(request) for request in sent[1:5])
    assert parsed(health)["session"] == first
    assert {one["session_id"] for one in parsed(listed)["result"]} <= {first}
    assert "`session` is integer, and has to be string" in wrong
    # The client has not started another server: this one was told of the first session.
    health, taken = given(sent[6])
    assert parsed(health)["session"] == second
    assert parsed(taken)["session_id"] == second


LEARNT = "The pool was dropped because pgbouncer already multiplexes the connections."
ASKED = "Why is there no connection pooling of our own?"


def test_what_one_session_decided_another_recalls_by_a_paraphrase(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    _, settings = wired(machine)
    first = machine.run({"main": [{"say": LEARNT}]}, ["-p", "drop the pool"], settings=settings)
    call = {"call": OURS + "recall", "input": {"query": ASKED}}
    run = machine.run({"main": [FIRST, call, {"say": "so"}]}, ["-p", "why?"], settings=settings)
    assert (first.returncode, run.returncode, run.refused) == (0, 0, [])
    (told,) = given(run.requests[2])
    found = parsed(told)
    assert LEARNT in [one["text"] for one in found["found"]]
    assert told.index(found["opens"]) < told.index(LEARNT) < told.index(found["closes"])
    assert {one["session"] for one in found["found"] if one["text"] == LEARNT} == {first.session}


def listed_by(run: Run) -> set[str]:
    (start,) = [event for event in run.stream if event.get("subtype") == "init"]
    return {name for name in start["tools"] if "holdfast" in name}


def test_the_plugin_brings_the_server_unless_it_is_wired(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    search = {"call": "ToolSearch", "input": {"query": f"select:{PLUGINS}status"}}
    script = {"main": [FIRST, search, {"call": PLUGINS + "status", "input": {}}, {"say": "done"}]}
    alone = machine.run(script, ["-p", "go"], plugin_dirs=[PLUGIN])
    assert listed_by(alone) == {PLUGINS + name for name in tools.operations()}
    sent = "\n".join(words(message["content"]) for message in alone.requests[1]["body"]["messages"])
    ours = [line for line in sent.split("\n") if PLUGINS in line or "## plugin:holdfast" in line]
    assert len(ours) == len(tools.operations()) - len(ALWAYS) + 1
    assert sum(len(line) + 1 for line in ours) / len(ours) <= 50, "60 of them take less than 3 KB"
    assert parsed(given(alone.requests[3])[0])["ok"] is True
    wired(machine)
    both = machine.run({"main": [{"say": "done"}]}, ["-p", "go"], plugin_dirs=[PLUGIN])
    assert listed_by(both) == {OURS + name for name in tools.operations()}


def test_the_client_itself_adds_and_removes_the_server(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(namespace())} {shlex.quote(str(binary))} "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin"
    assert install(app(machine, path), mcp=True).server == "the client"
    memory = machine.config / ".claude.json"
    (server,) = json.loads(memory.read_text())["mcpServers"].values()
    assert server["args"][-2:] == [
        str(PLUGIN / "../src/holdfast/launch.py").replace("plugin/../", ""),
        "mcp",
    ]
    assert install(app(machine, path), mcp=True).changed is False
    uninstall(app(machine, path), verify=True)
    assert "holdfast" not in json.loads(memory.read_text()).get("mcpServers", {})


def test_tools_are_called_over_http(tmp_path: Path, binary: Path) -> None:
    """The service runs where the client does, which can reach nothing else."""
    machine = Machine(tmp_path, binary)
    home = machine.config / "holdfast"
    home.mkdir()
    token = kept(Home(str(home)))
    program = tmp_path / "beside"
    serve = shlex.join([sys.executable, "-m", "holdfast", "serve", "--port", "8100"])
    program.write_text(
        f"#!/bin/sh\n{serve} >{tmp_path}/served &\n"
        f'until [ -s {tmp_path}/served ]; do sleep 0.05; done\n"{binary}" "$@"\n'
        "status=$?; kill $!; wait; exit $status\n"
    )
    program.chmod(0o755)
    server = {
        "type": "http",
        "url": "http://127.0.0.1:8100/mcp",
        "headers": {"Authorization": f"Bearer {token}"},
    }
    script = {
        "main": [
            FIRST,
            {"call": "ToolSearch", "input": {"query": f"select:{OURS}status"}},
            {"calls": [{"call": OURS + name, "input": {}} for name in ("status", "health")]},
            {"call": OURS + "recall", "input": {"query": "status", "everywhere": True}},
            {"say": "done"},
        ]
    }
    client = Machine(tmp_path, program)
    run = client.run(script, ["-p", "go"], client_json={"mcpServers": {"holdfast": server}})
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {}), run.stderr
    assert named(run.requests[1]) == ALWAYS
    status, health = given(run.requests[3])
    assert parsed(status)["version"]
    assert parsed(health)["session"] == run.session
    assert parsed(given(run.requests[4])[0])["says"].startswith("Quoted from memory")
