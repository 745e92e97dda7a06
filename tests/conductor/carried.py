"""Workflows carried out by real processes, and what their journal says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from holdfast.agents.conductor import Ran, run
from holdfast.app import Holdfast

WORKER = Path(__file__).with_name("worker.py")


class Project:
    """A folder with a workflow: each batch is {task: its words for the worker}."""

    def __init__(self, folder: Path, *batches: dict[str, str], **more: object) -> None:
        self.folder = folder
        self.home = folder / "home"
        nodes = {
            f"batch_{number}": {
                "type": "parallel",
                "tasks": [_task(name, words) for name, words in one.items()],
            }
            for number, one in enumerate(batches)
        }
        edges = [{"from": f"batch_{at}", "to": f"batch_{at + 1}"} for at in range(len(batches) - 1)]
        self.path = folder / "workflow.json"
        nodes |= more.pop("more", {})  # type: ignore[operator]
        self.write({"nodes": nodes, "edges": edges, "folder": str(folder), **more})
        # What a task does is in its description: a shell would be needed to give each its own command.
        self.command = f"{sys.executable} -S {WORKER.with_name('told.py')} {folder} {{task}} {{session}}"

    def write(self, workflow: object) -> None:
        self.path.write_text(json.dumps(workflow))

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "HOLDFAST_HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.folder / "client"),
            "PATH": os.defpath,
        }

    def run(self, **more: object) -> Ran:
        return run(Holdfast.open(self.environ), str(self.path), command=self.command, **more)  # type: ignore[arg-type]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The command line, in a process of its own."""
        command = [
            sys.executable,
            "-m",
            "holdfast",
            "run",
            str(self.path),
            "--command",
            self.command,
            *words,
        ]
        environ = {**self.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    @property
    def journal(self) -> list[str]:
        path = self.folder / "journal"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    @property
    def state(self) -> dict:
        (path,) = self.home.glob("workflows/*/conductor-state.json")
        return json.loads(path.read_text())

    def statuses(self) -> dict[str, str]:
        return {name: task["status"] for name, task in self.state["tasks"].items()}


def _task(name: str, words: str) -> dict:
    return {"id": name, "description": words or "0", "estimate": 1000}


def in_child(work: Callable[[], object]) -> int:
    """Its exit code, or, killed, the negative signal."""
    return in_children([work])[0]


def in_children(works: list[Callable[[], object]]) -> list[int]:
    """Each in a process of its own, all at once."""
    pids = []
    for work in works:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                work()
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    ended = [os.waitpid(pid, 0)[1] for pid in pids]
    return [-os.WTERMSIG(one) if os.WIFSIGNALED(one) else os.WEXITSTATUS(one) for one in ended]
