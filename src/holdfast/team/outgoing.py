"""From the lines of an outbox to rows of the team's store, each once, however often they are sent.

A line belongs to a project, and travels only if that does. What the store refuses for itself alone (a
project this user is no member of) is set aside and told, and holds up nothing that comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError

from holdfast.app import Holdfast
from holdfast.clock import at, now
from holdfast.core import checkpoint
from holdfast.core.jsontext import dump, text
from holdfast.disk import checkpoints, files, index, messages, outbox
from holdfast.disk.home import Home, is_safe_name
from holdfast.disk.messages import AGENT, SESSION
from holdfast.errors import BadInput, Damaged, Forbidden, HoldfastError, Unavailable
from holdfast.material import redactor_of
from holdfast.store import catalogue, happened, posted
from holdfast.store.database import Store
from holdfast.store.postgres import NOT_ALLOWED
from holdfast.team.shared import Projects

#: Lines of one transaction.
_TOGETHER = 500
#: Of a note of the trail, what is not ids and figures.
_WORDS = ("what",)
_FIRST_HOOK_MS = 60_000


class Outgoing:
    """`why`: what the store said to what was set aside."""

    def __init__(self, app: Holdfast, store: Store, machine: str, projects: Projects) -> None:
        self._app, self._store, self._machine, self._projects = app, store, machine, projects
        self._redactor = cache(lambda root: redactor_of(app, root))
        self.sent = 0
        self.why = ""

    def send(self, lines: Sequence[dict]) -> None:
        """All of them are in the store, or set aside, when this returns."""
        for start in range(0, len(lines), _TOGETHER):
            self._together(lines[start : start + _TOGETHER])

    def _together(self, lines: Sequence[dict]) -> None:
        try:
            with self._store.writing() as connection:
                sent = self._write(connection, lines)
        except (Forbidden, Unavailable) as problem:
            if not _is_refused(problem):
                raise
            if len(lines) == 1:
                self._set_aside(lines[0], problem)
                return
            middle = len(lines) // 2
            self._together(lines[:middle])
            self._together(lines[middle:])
        else:
            self.sent += sent

    def _set_aside(self, line: dict, problem: HoldfastError) -> None:
        files.append_durably(refused(self._app.home), index.line(line))
        self.why = str(problem)

    def _write(self, connection: Connection, lines: Sequence[dict]) -> int:
        """How many of them travel."""
        entries = list(self._entries(lines))
        said = list(self._messages(lines))
        marks = list(self._marks(lines))
        events = list(self._events(lines))
        gone = [line["uid"] for line in lines if line["kind"] == outbox.GONE]
        catalogue.add(connection, entries)
        catalogue.end(connection, gone, self._machine)  # after it was added, if that is among them
        posted.post(connection, said)
        posted.mark(connection, marks)
        happened.add(connection, events)
        return len(entries) + len(said) + len(marks) + len(events) + len(gone)

    def _entries(self, lines: Sequence[dict]) -> Iterable[catalogue.Entry]:
        for _, data in _of(lines, outbox.CHECKPOINT):
            project = self._projects.name(text(data, "project"))
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
        for uid, data in _of(lines, outbox.MESSAGE):
            said = data.get("said")
            project = self._projects.name(text(data, "root"))
            if project and type(said) is dict and messages.is_message(said) and self._crosses(said["to"]):
                # What is left of its life by the clock it was posted by; it may have waited here for days.
                left = max(0, at(said["expires"]) - max(now(), at(said["at"])))
                yield posted.Message(uid, project, self._machine, dump(said), left)

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
        for _, data in _of(lines, outbox.MARK):
            said = data.get("said")
            project = self._projects.name(self._projects.root_of(text(data, "board")))
            if project and type(said) is dict and messages.is_mark(said):
                yield posted.Mark(said["of"], said["by"], said["mark"], project, self._machine, dump(said))

    def _events(self, lines: Sequence[dict]) -> Iterable[happened.Happened]:
        for uid, data in _of(lines, outbox.EVENT):
            root = self._root(data)
            project = self._projects.name(root)
            if project:
                words = {name: self._redactor(root).text(data[name]) for name in _WORDS if text(data, name)}
                session, when = text(data, "session"), _time(text(data, "at"))
                said = dump({**data, **words})
                yield happened.Happened(
                    uid, project, self._machine, session, when, text(data, "event"), said
                )

    def is_early(self, line: dict) -> bool:
        """Whether an event's session has not been heard of yet: its first hook is still at work."""
        note = line["data"]
        young = line["kind"] == outbox.EVENT and abs(now() - line["at"]) < _FIRST_HOOK_MS
        return young and bool(text(note, "session")) and not self._root(note)

    def _root(self, note: dict) -> str:
        """The project that a note of the trail is about; "" where it is about none, or nobody knows."""
        if text(note, "board"):
            return self._projects.root_of(note["board"])
        name = text(note, "session") or text(note, "holder") or text(note, "by")
        session = name.partition("/")[0]
        return self._projects.folder_of(session) if is_safe_name(session) else ""


def _of(lines: Sequence[dict], kind: str) -> Iterable[tuple[str, dict]]:
    return ((line["uid"], line["data"]) for line in lines if line["kind"] == kind)


def _time(words: str) -> int:
    try:
        return at(words)
    except ValueError:
        return 0


def refused(home: Home) -> str:
    """The file of what the store did not let in."""
    return home.outbox + "/refused.jsonl"


def _is_refused(problem: HoldfastError) -> bool:
    """Whether these rows are what is wrong, and not the store."""
    cause = problem.__cause__
    if isinstance(cause, ProgrammingError):
        return getattr(cause.orig, "sqlstate", "") == NOT_ALLOWED
    return isinstance(cause, (DataError, IntegrityError))
