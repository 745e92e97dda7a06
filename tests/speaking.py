"""The server run as the client runs it, spoken to line by line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hooks import PACKAGE, SAFETY_S, environ

#: Not the file behind it: the packages of this environment are found by its name.
COMMAND = [sys.executable, "-I", "-S", str(PACKAGE / "launch.py"), "mcp"]


class Server:
    """`ends` closes its stdin and gives what it still says."""

    def __init__(self, home: Path, *words: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            env=environ(home, **env),
            cwd=home.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send(self, *messages: object) -> None:
        raw = b"".join(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages)
        assert self.process.stdin
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, id_: object = 1, **params: object) -> Any:
        self.send(request(method, id_, **params))
        return self.hear()

    def ends(self) -> list[Any]:
        out, err = self.process.communicate(timeout=SAFETY_S)
        assert (self.process.returncode, err) == (0, b"")
        assert not out or out.endswith(b"\n")
        return [json.loads(line) for line in out.split(b"\n")[:-1]]


def request(method: str, id_: object = 1, /, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call(name: str, id_: object = 1, /, **arguments: object) -> dict[str, Any]:
    return request("tools/call", id_, name=name, arguments=arguments)
