"""How files get into deep memory: what hooks have noted, what the client's memory holds, or all there is.

Each file is taken in with a mark of how it was, in one transaction: what was taken in once costs a look.
Nothing damaged, foreign or too large stops the rest; it is counted, and said.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import partial
from time import sleep

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.core.facts import Facts
from holdfast.core.state import State
from holdfast.disk import (
    client,
    files,
    gathered,
    index,
    kept,
    noted,
    saves,
    sessions,
    summaries,
    transcripts,
)
from holdfast.disk.home import is_safe_name
from holdfast.errors import HoldfastError
from holdfast.material import Ground as Work
from holdfast.material import redactor_of
from holdfast.memory import embed, items
from holdfast.memory.index import Index
from holdfast.memory.items import Ground, time_or
from holdfast.memory.own import Forgotten, learned, learned_path
from holdfast.memory.place import memory_of, repository_of
from holdfast.memory.shelf import Item, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    Show = Callable[[int, int], None]

#: Texts that are made vectors at once; and seconds for it when somebody waits for an answer.
_TOGETHER, _WHILE_WAITING_S = 64, 2.0
#: Seconds for which one waits for another who takes in, and before everything is read.
_PATIENCE_S, _LONG_S, _STEP_S = 1.0, 60.0, 0.02
#: Bytes of a session that were said since its facts were gathered, and the seconds for them.
_MOST_NEW, _SECONDS = 16 << 20, 3.0
_STAMP = b'"timestamp":'


@dataclass
class Fed:
    """`new` items; `amiss`: path -> why it was not taken in."""

    new: int = 0
    looked_at: int = 0
    amiss: dict[str, str] = field(default_factory=dict)


class Everything(Facts):
    """Of a transcript that is read as a whole, nothing is left out."""

    def _forget(self) -> None:
        pass


class Feed:
    def __init__(self, app: Holdfast, shelf: Index) -> None:
        self.app = app
        self.shelf = shelf
        self.fed = Fed()
        self._forgotten = Forgotten(app)
        self._seen: set[str] = set()
        #: What could not be read now: of that nothing is known to be gone.
        self._unread: set[str] = set()
        self._is_stuck = False

    def _take(self, path: str, mark: str, found: list[Item], anew: bool = False) -> None:
        admitted = [item for item in found if not self._forgotten.holds(item.project, item.shape)]
        self.fed.new += self.shelf.take(path, mark, admitted, anew)
        self._seen.update(item.uid for item in admitted)

    def _try(self, path: str, take: Callable[[], None]) -> None:
        """One file that is not as expected costs itself."""
        self.fed.looked_at += 1
        try:
            take()
        except FileNotFoundError:
            pass  # since it was listed
        except (OSError, HoldfastError) as problem:
            self.fed.amiss[path] = str(problem)[:300]
            self._unread.add(path)
            # The file is well; what cannot take it in is full, say. It is noted still.
            self._is_stuck |= isinstance(problem, OSError) and problem.filename == self.app.home.memory

    # One source each

    def topics(self, project: str) -> None:
        """The client's memory of a project, as it is now; what is gone from it is gone from here."""
        folder = os.path.realpath(memory_of(self.app, project))
        repository = repository_of(project)
        known = {path for path in self.shelf.marked(folder) if path.endswith(".md")}
        marks = dict(_marked(folder))
        if all(self.shelf.mark(path) == mark for path, mark in marks.items()) and known <= marks.keys():
            return
        from holdfast.memory.topics import Memory  # with a package that a bare interpreter has not

        redact = redactor_of(self.app, project).text
        for topic in Memory(folder).topics:
            path = f"{folder}/{topic.file}"
            if topic.problem and not topic.text:
                self.fed.amiss[path] = topic.problem
            name, description = redact(topic.name or topic.file), redact(topic.description)
            ground = Ground(repository, path, at=_changed(path))
            found = items.of_topic(ground, name, description, topic.type, redact(topic.body))
            self._take(path, marks.get(path, ""), found, anew=True)
        for path in known - marks.keys():
            self._take(path, "", [], anew=True)

    def checkpoint(self, path: str) -> None:
        """One of ours, or approved; of a stranger's nothing is repeated."""
        mark = _mark(path)
        if not mark or self.shelf.mark(path) == mark:
            return
        made = kept.look(self.app.home, path)
        if not made.is_trusted:
            self.fed.amiss[path] = made.refusal(path)
            return
        said = made.fields
        project, at = repository_of(said["project"]), time_or(said["created"], 0)
        ground = Ground(project, path, said["lineage"], said["session_id"], said["agent_id"], at)
        self._take(path, mark, items.of_checkpoint(ground, said, made.sections))

    def session(self, session: str, agent: str = "", whole: bool = False) -> None:
        """What was said in it as far as hooks have read it, or, `whole`, all its transcript says."""
        home = self.app.home
        state = sessions.peek(home, session, agent)
        if state is None:
            return
        path = home.session(session, agent) + "/facts.json"
        mark = _mark(path)
        if whole or not mark or self.shelf.mark(path) != mark:
            self._said(state, state.heard.transcript if not agent else "", path, mark, whole)
        for stem in summaries.stems(home, session, agent):
            place = f"{home.session(session, agent)}/summaries/{stem}.json"
            if whole or not self.shelf.mark(place):
                self._try(place, partial(self._summary, state, stem, place))

    def _said(self, state: State, transcript: str, path: str, mark: str, whole: bool) -> None:
        if not os.path.isfile(transcript):
            transcript, whole = "", False
        work = Work(state.heard.project, state.heard.cwd or state.seen.cwd, state.agent)
        redact = redactor_of(self.app, work.project).text
        if whole:
            known = _gathered(state, transcript, redact)
        else:
            known = gathered.load(self.app.home, state)
            if transcript:
                known = gathered.bring_up(known, state, transcript, redact, _MOST_NEW, _SECONDS)
        source = transcript or path
        at = state.heard.last_at
        ground = Ground(repository_of(work.project), source, work.lineage, state.session, state.agent, at)
        with _times(transcript, at) as time:
            found = items.of_facts(ground, known, time)
        if whole:
            self._take(source, "", found, anew=True)
            self._take(path, mark, [])
        else:
            self._take(path, mark, found)

    def transcript(self, path: str) -> None:
        """Of a session that no hook has told of, too."""
        session = os.path.basename(path).removesuffix(".jsonl")
        if not is_safe_name(session) or sessions.peek(self.app.home, session) is not None:
            return
        state = State(session)
        transcripts.catch_up(state, path, 1 << 20)
        state.heard.project = state.seen.cwd
        state.heard.last_at = _changed(path)
        self._said(state, path, path, "", whole=True)

    def _summary(self, state: State, stem: str, path: str) -> None:
        said = summaries.read(self.app.home, state.session, stem, state.agent)
        work = Work(state.heard.project, state.heard.cwd, state.agent)
        at = time_or(said["compressed_at"], 0)
        ground = Ground(repository_of(work.project), path, work.lineage, state.session, state.agent, at)
        self._take(path, _mark(path), items.of_summary(ground, said))

    def saves(self) -> None:
        for environment in saves.environments(self.app.home):
            path = f"{self.app.home.root}/environments/{environment}.jsonl"
            mark = _mark(path)
            if self.shelf.mark(path) != mark:
                found: list[Item] = []
                for said in saves.of(self.app.home, environment):
                    at, project = time_or(said["at"], 0), repository_of(said["project"])
                    ground = Ground(project, path, said["lineage"], said["session_id"], at=at)
                    found += items.of_save(ground, said)
                self._take(path, mark, found)

    def learned(self) -> None:
        path = learned_path(self.app)
        mark = _mark(path)
        if self.shelf.mark(path) != mark:
            found: list[Item] = []
            for said in learned(self.app):
                found += items.of_learned(Ground(said["project"], path, at=time_or(said["at"], 0)), said)
            self._take(path, mark, found, anew=True)

    # Many

    def drain(self, project: str = "") -> None:
        """What hooks have noted, and what the client remembers of a project."""
        with _alone(self.app, _PATIENCE_S) as is_alone:
            if is_alone:  # else whoever is at it takes it in
                self._drain(project)

    def _drain(self, project: str) -> None:
        is_full = noted.size(self.app.home) >= noted.MOST
        told = noted.taken(self.app.home)
        if is_full or self.shelf.is_new():
            self.known(lambda *_: None)
        for session, agent in dict.fromkeys((said["session"], said["agent"]) for said in told):
            self._try(session, partial(self.session, session, agent))
        for path in dict.fromkeys(said["checkpoint"] for said in told if said["checkpoint"]):
            self._try(path, partial(self.checkpoint, path))
        if not self._is_stuck:
            noted.done(self.app.home)
        self._try("environments", self.saves)
        self._try(learned_path(self.app), self.learned)
        if project:
            self._try(project, partial(self.topics, project))

    def known(self, show: Show, whole: bool = False) -> None:
        """All that holdfast's own files name; `whole`: and every transcript, from its beginning."""
        home = self.app.home
        work: list[tuple[str, Callable[[], None]]] = []
        projects: set[str] = set()
        for session in sessions.names(home):
            for agent in summaries.agents(home, session):
                place = home.session(session, agent)
                work.append((place, partial(self.session, session, agent, whole)))
            with suppress(HoldfastError, OSError):
                state = sessions.peek(home, session)
                projects.add(state.heard.project if state else "")
        for entry in index.load_all(home).entries.values():
            work.append((entry["path"], partial(self.checkpoint, entry["path"])))
            projects.add(entry["project"])
        for path, _, _ in client.transcripts(self.app.client_dir) if whole else ():
            work.append((path, partial(self.transcript, path)))
        for project in filter(os.path.isdir, projects):
            work.append((project, partial(self.topics, project)))
        work += [("environments", self.saves), (learned_path(self.app), self.learned)]
        for done, (path, take) in enumerate(work):
            show(done, len(work))
            self._try(path, take)

    def rebuild(self, show: Show) -> int:
        """Everything read again. What a file no longer says goes; what no file holds any more stays, since
        nothing could bring it back. How many went."""
        with _alone(self.app, _LONG_S) as is_alone:
            if not is_alone:
                raise HoldfastError("somebody else is making deep memory anew; try again when that is done")
            return self._rebuild(show)

    def _rebuild(self, show: Show) -> int:
        self.shelf.unmark()
        self.known(show, whole=True)
        gone = [
            row.uid
            for row in self.shelf.every()
            if row.uid not in self._seen
            and (self._forgotten.holds(row.project, row.shape) or self._is_known(row))
        ]
        self.shelf.remove(gone)
        return len(gone)

    def _is_known(self, row: Row) -> bool:
        """Whether it can be said what all it comes from says now."""
        places = {*row.sources, self.app.home.session(row.session, row.agent) if row.session else ""}
        return all(map(os.path.exists, row.sources)) and self._unread.isdisjoint(places)


def embedded(shelf: Index, name: str, seconds: float = _WHILE_WAITING_S, show: Show | None = None) -> None:
    """Vectors for those that have none, as many as can be made in that time; where there is a model."""
    if embed.missing(name):
        return
    embedder = embed.named(name)
    done, until = 0, elapsed() + seconds
    while elapsed() < until and (some := shelf.lacking(embedder.model, embedder.size, _TOGETHER)):
        made = embedder.vectors([text for _, text in some])
        shelf.put_vectors(embedder.model, [(uid, made[at]) for at, (uid, _) in enumerate(some)])
        done += len(some)
        if show:
            show(done, done + len(some))


def _gathered(state: State, transcript: str, redact: Callable[[str], str]) -> Facts:
    transcripts.catch_up(state, transcript, 1 << 62)
    known = Everything()
    known.rereads, known.dead = state.seen.rereads, [list(dead) for dead in state.seen.dead]
    return gathered.bring_up(known, state, transcript, redact, 1 << 62, 1e9)


@contextmanager
def _alone(app: Holdfast, seconds: float) -> Iterator[bool]:
    """Whether nobody else takes anything in; for so long it is waited for. Against threads, too."""
    files.make_dir(app.home.root)
    fd = os.open(app.home.noted + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    until = elapsed() + seconds
    try:
        while not (have := _have(fd)) and elapsed() < until:
            sleep(_STEP_S)
        yield have
    finally:
        os.close(fd)


def _have(fd: int) -> bool:
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _times(transcript: str, otherwise: int) -> Iterator[Callable[[int], int]]:
    """When what stands at an offset was said, as the transcript has it."""
    try:
        with open(transcript, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:

            def time(offset: int) -> int:
                end = data.find(b"\n", offset)
                at = data.rfind(_STAMP, offset, end if end >= 0 else len(data))
                words = data[at + len(_STAMP) : at + 48].partition(b'"')[2] if at >= 0 else b""
                return time_or(words[:24].decode("ascii", "replace"), otherwise)

            yield time
    except (OSError, ValueError):  # gone, or empty
        yield lambda _: otherwise


def _marked(folder: str) -> Iterator[tuple[str, str]]:
    """(path, mark) of every Markdown file, as deep as topics may be."""
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for name in names:
            if (
                name.endswith(".md")
                and not name.startswith(".")
                and f"{place}/{name}" != f"{folder}/MEMORY.md"
            ):
                yield f"{place}/{name}", _mark(f"{place}/{name}")


def _mark(path: str) -> str:
    """How a file is, to be known again; "" where there is none."""
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ino}"


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0
