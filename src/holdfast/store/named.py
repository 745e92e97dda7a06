"""Which projects travel, and under which name: that of where they come from, which all clones share.

A working tree may be gone when the team's store answers again. So each folder is asked as soon as something
of it is to be sent, and what was found is kept: outbox/projects.json. As long as it is there it is asked
again: it may get an origin, or another.
"""

from __future__ import annotations

import os

from holdfast.app import Holdfast
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import board, files, outbox, sessions
from holdfast.errors import BadInput, Damaged, Unavailable
from holdfast.store.projects import name_of, travels

VERSION = 1
_LARGEST = 16 << 20


class Projects:
    def __init__(self, app: Holdfast) -> None:
        self._home = app.home
        self._wanted = app.config["team.projects"]
        self._path = app.home.outbox + "/projects.json"
        self._folders, self._sessions = _known(self._path)
        self._boards: dict[str, str] = {}
        self._asked: set[str] = set()
        #: Folders of which git did not say, this time, where they come from.
        self.unsure: set[str] = set()
        self._changed = self._renamed = False

    def name(self, folder: str) -> str:
        """As the team knows it; "" where it stays at home."""
        return self._allowed(self._named(folder)) if folder else ""

    def _named(self, folder: str) -> str:
        if folder not in self._asked:
            self._asked.add(folder)
            if os.path.isdir(folder):
                self._ask(folder)
        return "" if folder in self.unsure else self._folders.get(folder, "")

    def _ask(self, folder: str) -> None:
        known = self._folders.get(folder, "")
        has_origin = known and not known.startswith("/")
        try:
            found = name_of(folder)
        except Unavailable:
            if not has_origin:
                self.unsure.add(folder)
            return
        # Whoever finds no git finds no origin: that takes none away.
        if found != known and not (has_origin and found.startswith("/")):
            self._folders[folder] = found
            self._changed = True
            self._renamed |= bool(known)

    def _allowed(self, name: str) -> str:
        return name if name and travels(name, self._wanted) else ""

    def folder_of(self, session: str) -> str:
        """Where a session works; "" where nobody knows."""
        if session not in self._sessions and session:
            try:
                known = sessions.peek(self._home, session)
            except (OSError, BadInput, Damaged):
                return ""
            if known and known.heard.project:
                self._sessions[session] = known.heard.project
                self._changed = True
        return self._sessions.get(session, "")

    def root_of(self, key: str) -> str:
        """The project that a board is of."""
        if key not in self._boards:
            self._boards[key] = board.root(self._home, key)
        return self._boards[key]

    def here(self) -> dict[str, list[str]]:
        """Name -> folders of it on this machine, of all that travel and are still there."""
        there = sessions.names(self._home)
        for session in there:
            self._named(self.folder_of(session))
        self._sessions = {name: self._sessions[name] for name in there if name in self._sessions}
        for key in board.keys(self._home):
            self._named(self.root_of(key))
        found: dict[str, list[str]] = {}
        for folder, name in self._folders.items():
            if folder and self._allowed(name) and os.path.isdir(folder):
                found.setdefault(name, []).append(folder)
        return found

    def keep(self) -> None:
        if self._renamed:
            outbox.miss(self._home)  # what it had before then stayed here
            self._renamed = False
        if self._changed:
            said = {"v": VERSION, "folders": self._folders, "sessions": self._sessions}
            files.replace(self._path, dump(said).encode() + b"\n", durable=True)
            self._changed = False


def _known(path: str) -> tuple[dict[str, str], dict[str, str]]:
    """Damaged, it is made anew."""
    try:
        said = load(files.read(path, _LARGEST).decode())
    except (OSError, BadInput, *UNREADABLE):
        said = {}
    parts = [said.get(name) if isinstance(said, dict) else None for name in ("folders", "sessions")]
    folders, known = (
        {k: v for k, v in part.items() if type(v) is str} if isinstance(part, dict) else {}
        for part in parts
    )
    return folders, known
