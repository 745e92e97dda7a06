"""Who does a task, and what it is told: the headless client, or a command of the user's."""

from __future__ import annotations

import os
import shlex
import shutil

from holdfast.app import Holdfast
from holdfast.errors import BadInput, NotFound
from holdfast.ops.resume import client_command

_PROMPT, _SESSION, _TASK = "{prompt}", "{session}", "{task}"
_PERMITS = ("--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")


class Doer:
    """How a task is started."""

    def __init__(self, app: Holdfast, command: str) -> None:
        self.resumes = not command
        self.words = _split(app, command) if command else self._client(app)
        self.by_stdin = _PROMPT not in self.words

    @staticmethod
    def _client(app: Holdfast) -> list[str]:
        """Without a screen nobody can be asked: unless the client's command says otherwise, what a task
        edits in its folder is allowed, and nothing else."""
        words = client_command(app)
        permitted = any(word.partition("=")[0] in _PERMITS for word in words)
        return [*words, "-p", *([] if permitted else ["--permission-mode", "acceptEdits"])]

    def argv(self, task: dict, session: str, is_new: bool) -> list[str]:
        if self.resumes:
            return [*self.words, "--session-id" if is_new else "--resume", session]
        given = {_PROMPT: prompt(task), _SESSION: session, _TASK: task["id"]}
        return [given.get(word, word) for word in self.words]


def _split(app: Holdfast, command: str) -> list[str]:
    try:
        program, *words = shlex.split(command)
    except ValueError:
        raise BadInput(f"--command {command!r} is no command") from None
    found = shutil.which(program, path=app.environ.get("PATH"))
    if not found:
        raise NotFound(f"--command: {program} is not found")
    return [os.path.abspath(found), *words]


def prompt(task: dict) -> str:
    """What whoever does it is told: its words, and the files that are meant."""
    lines = [task["description"]]
    for title, key in (("Files", "files"), ("New files", "creates")):
        if task.get(key):
            lines += ["", f"{title}:", *(f"- {name}" for name in task[key])]
    return "\n".join(lines) + "\n"
