"""From the lines of an outbox to rows of the team's store, each once, however often they are sent.

A line belongs to a project, and travels only if that does. What the store refuses for itself alone (a
project this user is no member of) is set aside and told, and holds up nothing that comes after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Connection

from holdfast.app import Holdfast
from holdfast.clock import at, now
from holdfast.core import checkpoint
from holdfast.core.jsontext import dump, text
from holdfast.disk import checkpoints, files, index, messages, outbox
from holdfast.disk.home import Home, is_safe_name
from holdfast.disk.messages import AGENT, SESSION
from holdfast.errors import BadInput, Damaged, Forbidden, Unavailable
from holdfast.material import redactor_of
from holdfast.store import catalogue, happened, posted
from holdfast.store.database import Store
from holdfast.store.named import Projects
from holdfast.store.postgres import is_of_rows

#: Lines of one transaction.
_TOGETHER = 500
#: Of a note of the trail, what is not ids and figures.
_WORDS = ("what",)
_FIRST_HOOK_MS = 60_000
#: Bytes of what the store does not let in, from which on events of it are let go.
_MOST_REFUSED = 1 << 24


class Outgoing:
    """`why`: what the store said to what was set aside."""

    def __init__(self, app: Holdfast, store: Store, machine: str, projects: Projects) -> None:
        self._app, self._store, self._machine, self._projects = app, store, machine, projects
        self._redactor = cache(lambda root: redactor_of(app, root))
        #: Projects of which the store takes nothing from this role.
        self._closed: set[str] = set()
        self.sent = 0
        self.why = ""

    def send(self, lines: Sequence[dict], compared: bool = False) -> None:
        """All of them are in the store, or set aside, when this returns. `compared`: what they tell of is
        here now. A line of the outbox may be older than what the store was told since."""
        for start in range(0, len(lines), _TOGETHER):
            self._together(lines[start : start + _TOGETHER], compared)

    def _together(self, lines: Sequence[dict], compared: bool) -> None:
        if self._closed:
            closed: list[dict] = []
            rest: list[dict] = []
            for line in lines:
                (closed if self._project(line) in self._closed else rest).append(line)
            self._set_aside(closed)
            lines = rest
        if not lines:
            return
        try:
            with self._store.writing() as connection:
                sent = self._write(connection, lines, compared)
        except (Forbidden, Unavailable) as problem:
            if not is_of_rows(problem):
                raise
            if len(lines) == 1:
                self.why = str(problem)
                project = self._project(lines[0])
                if project and isinstance(problem, Forbidden):
                    self._closed.add(project)
                self._set_aside(lines)
                return
            middle = len(lines) // 2
            self._together(lines[:middle], compared)
            self._together(lines[middle:], compared)
        else:
            self.sent += sent

    def _set_aside(self, lines: Sequence[dict]) -> None:
        """An event stands in the trail as well: of those no more is kept than somebody will want."""
        path, home = refused(self._app.home), self._app.home
        if files.is_there(path) and os.path.getsize(path) > _MOST_REFUSED:
            every, lines = lines, [line for line in lines if line["kind"] != outbox.EVENT]
            outbox.let_go(home, len(every) - len(lines))
        if lines:
            files.append_durably(path, b"\n".join(map(index.line, lines)))

    def _project(self, line: dict) -> str:
        """That a line belongs to, as the team knows it; "" where it stays at home, or is of none."""
        return self._projects.name(self._folder(line))

    def _write(self, connection: Connection, lines: Sequence[dict], compared: bool) -> int:
        """How many of them travel."""
        entries = list(self._entries(lines))
        said = list(self._messages(lines))
        marks = list(self._marks(lines))
        events = list(self._events(lines))
        gone = [line["uid"] for line in lines if line["kind"] == outbox.GONE]
        catalogue.add(connection, entries)
        if compared:
            catalogue.revive(connection, entries, self._machine)
        catalogue.end(connection, gone, self._machine)  # after it was added, if that is among them
        posted.post(connection, said)
        posted.mark(connection, marks)
        happened.add(connection, events)
        return len(entries) + len(said) + len(marks) + len(events) + len(gone)

    def _entries(self, lines: Sequence[dict]) -> Iterable[catalogue.Entry]:
        for line in _of(lines, outbox.CHECKPOINT):
            data, project = line["data"], self._project(line)
            if project:
                yield catalogue.Entry(
                    uid=data["uid"],
                    project=project,
                    machine=self._machine,
                    lineage=text(data, "lineage"),
                    session=text(data, "session_id"),
                    agent=text(data, "agent_id"),
                    created=_time(text(data, "created")),
                    entry=dump(data),
                    body=self._body(data) if self._app.config["team.bodies"] else "",
                )

    def _body(self, entry: dict) -> str:
        """As it was written, and so redacted: what somebody has changed since stays at home."""
        folder, _, name = text(entry, "path").rpartition("/")
        try:
            with checkpoints.open_folder(folder or "/") as opened:
                data = opened.read(name, checkpoint.LARGEST)
            whole = not checkpoint.problems(data, name.removesuffix(checkpoints.SUFFIX))
        except (OSError, ValueError, BadInput, Damaged):
            return ""
        return (
            data.decode()
            if whole and checkpoint.is_sealed(data, checkpoints.known_key(self._app.home))
            else ""
        )

    def _messages(self, lines: Sequence[dict]) -> Iterable[posted.Message]:
        for line in _of(lines, outbox.MESSAGE):
            said, project = line["data"].get("said"), self._project(line)
            if project and type(said) is dict and messages.is_message(said) and self._crosses(said["to"]):
                # What is left of its life by the clock it was posted by; it may have waited here for days.
                left = max(0, at(said["expires"]) - max(now(), at(said["at"])))
                yield posted.Message(line["uid"], project, self._machine, dump(said), left)

    def _crosses(self, to: str) -> bool:
        """Not what is for a session of this machine: nobody else could deliver it."""
        for kind in (SESSION, AGENT):
            if to.startswith(kind):
                return not self._is_here(kind, to.removeprefix(kind))
        return True

    def _is_here(self, kind: str, name: str) -> bool:
        home = self._app.home
        if not is_safe_name(name):
            return True
        if kind == SESSION:
            return files.is_there(home.session(name))
        from holdfast.disk import sessions

        return any(files.is_there(home.session(session, name)) for session in sessions.names(home))

    def _marks(self, lines: Sequence[dict]) -> Iterable[posted.Mark]:
        for line in _of(lines, outbox.MARK):
            said, project = line["data"].get("said"), self._project(line)
            if project and type(said) is dict and messages.is_mark(said):
                yield posted.Mark(said["of"], said["by"], said["mark"], project, self._machine, dump(said))

    def _events(self, lines: Sequence[dict]) -> Iterable[happened.Happened]:
        for line in _of(lines, outbox.EVENT):
            data, project = line["data"], self._project(line)
            if project:
                root = self._root(data)
                words = {name: self._redactor(root).text(data[name]) for name in _WORDS if text(data, name)}
                session, when = text(data, "session"), _time(text(data, "at"))
                said = dump({**data, **words})
                yield happened.Happened(
                    line["uid"], project, self._machine, session, when, text(data, "event"), said
                )

    def is_early(self, line: dict) -> bool:
        """Whether nobody can say yet where it belongs: git has not answered; or an event's session has not
        been heard of, as its first hook is still at work."""
        folder, note = self._folder(line), line["data"]
        if folder:
            self._projects.name(folder)
            return folder in self._projects.unsure
        young = line["kind"] == outbox.EVENT and abs(now() - line["at"]) < _FIRST_HOOK_MS
        return young and bool(text(note, "session"))

    def _folder(self, line: dict) -> str:
        """The project that a line is about, where there is one."""
        data = line["data"]
        if line["kind"] == outbox.EVENT:
            return self._root(data)
        if line["kind"] == outbox.MARK:
            return self._projects.root_of(text(data, "board"))
        return text(data, "project") or text(data, "root")

    def _root(self, note: dict) -> str:
        """The project that a note of the trail is about; "" where it is about none, or nobody knows."""
        if text(note, "board"):
            return self._projects.root_of(note["board"])
        name = text(note, "session") or text(note, "holder") or text(note, "by")
        session = name.partition("/")[0]
        return self._projects.folder_of(session) if is_safe_name(session) else ""


def _of(lines: Sequence[dict], kind: str) -> Iterable[dict]:
    return (line for line in lines if line["kind"] == kind)


def _time(words: str) -> int:
    try:
        return at(words)
    except ValueError:
        return 0


def refused(home: Home) -> str:
    """The file of what the store did not let in."""
    return home.outbox + "/refused.jsonl"
