"""Deep memory of a team, from this home: what is sent, what comes back, what others are asked.

Projects go by the name that all clones share; uids and threads carry a mark of the machine, so that those
of two never meet by chance. What comes from the store is a teammate's: it is quoted, and nothing of it is
told as if the user of this home had typed it. Only what memory.db has itself is, and then as it stands
there: whoever may write to the store can put no word into anybody's mouth.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.disk import trail
from holdfast.errors import BadInput, Forbidden, Unavailable
from holdfast.memory import own
from holdfast.memory.embed import Embedder
from holdfast.memory.index import Index
from holdfast.memory.pgsql import FAR
from holdfast.memory.postgres import Postgres
from holdfast.memory.qdrant import Qdrant, VectorsAway
from holdfast.memory.search import Found, search
from holdfast.memory.shelf import COLLECTIONS, ORIGINS, Filter, Row, Told
from holdfast.memory.terms import key, shape, storable
from holdfast.memory.unsent import Unsent, unsent
from holdfast.store import machine
from holdfast.store.database import Store
from holdfast.store.named import Projects
from holdfast.store.postgres import is_of_rows

_BATCH = 200
_LONGEST_THREAD = 500
_PULLED = "forgotten by the team"


def push(
    app: Holdfast, store: Store, seconds: float, anew: bool = False, projects: Projects | None = None
) -> int:
    """Send what the team has not been told, for so long; how many memories, and tombstones, that were.
    Killed at any moment, it sends the rest, or the same again, the next time. `anew`: all there is.
    `projects`: of a round, which also looks whether what was kept back may travel now."""
    until, team = elapsed() + seconds, Team(app, store, projects)
    count = _tell_forgotten(app, team)
    if not os.path.exists(app.home.memory):
        return count
    with unsent(app.home.memory) as waiting, Index(app.home.memory) as shelf:
        waiting.follow(team.known_by, anew)
        for folder in waiting.kept_back() if projects else ():
            if team.name(folder):
                waiting.let_go(folder)
        while elapsed() < until and (some := waiting.some(_BATCH)):
            count += _send(team, waiting, shelf, [uid for _, uid in some])
            waiting.sent([number for number, _ in some])
        for project, why in team.refused.items():
            if anew or not waiting.counter(f"refused {project}"):  # told once
                what = (
                    f"memories of {project} are not sent ({why}); once that is mended: holdfast sync --all"
                )
                trail.note(app.home, "degraded.team", what=what[:400])
                waiting.set_counter(f"refused {project}", 1)
        for uid, why in team.unfit.items():
            trail.note(app.home, "degraded.team", what=f"memory {uid} is not sent: {why}"[:400])
    return count


def _tell_forgotten(app: Holdfast, team: Team) -> int:
    """What is refused stays owed: it was erased, and no team that learns of it again may keep it."""
    told = []
    for project, shapes in own.owed(app):
        with team.refusing(project):
            team.shelf.forget(project, shapes)
            told.append((project, shapes))
    if told:
        own.paid(app, told)
    return len(told)


def _send(team: Team, waiting: Unsent, shelf: Index, uids: list[str]) -> int:
    """Each project for itself: of one that this role is no member of the store takes nothing, and that
    keeps back nothing of the others."""
    rows = shelf.rows(uids)
    projects: dict[str, list[Row]] = {}
    if back := {row.project for row in rows.values() if row.project and not team.name(row.project)}:
        waiting.keep_back(back)
    for row in rows.values():
        if team.tells(row):
            projects.setdefault(team.name(row.project), []).append(row)
    gone = [team.mark(uid) for uid in uids if uid not in rows]
    if gone:
        team.shelf.send([], gone, {})
    count = len(gone)
    for project, told in projects.items():
        with team.refusing(project):
            count += _sent(team, waiting, told)
    return count


def _sent(team: Team, waiting: Unsent, told: list[Row]) -> int:
    """One that the store cannot take for itself alone keeps back none of the others."""
    made = waiting.vectors([row.uid for row in told])
    vectors = {model: [(team.mark(uid), one) for uid, one in some] for model, some in made.items()}
    try:
        team.shelf.send(list(map(team.outgoing, told)), [], vectors)
    except Unavailable as problem:
        if not is_of_rows(problem):
            raise
        if len(told) == 1:
            team.unfit[told[0].uid] = str(problem)
            return 0
        middle = len(told) // 2
        return _sent(team, waiting, told[:middle]) + _sent(team, waiting, told[middle:])
    return len(told)


def leave(app: Holdfast) -> None:
    """No team is told anything any more."""
    if os.path.exists(app.home.memory):
        with unsent(app.home.memory) as waiting:
            waiting.leave()


def waits(app: Holdfast) -> int:
    """How many memories the team has still to be told of; 0 also where nobody has begun to."""
    if not os.path.exists(app.home.memory):
        return 0
    with unsent(app.home.memory) as waiting:
        return waiting.count() if waiting.is_followed() else 0


def folders(app: Holdfast) -> list[str]:
    """Of which there is anything."""
    if not os.path.exists(app.home.memory):
        return []
    with unsent(app.home.memory) as known:
        return known.projects()


def pull(app: Holdfast, store: Store, projects: Projects | None = None) -> int:
    """Erase here what others have erased, in the projects they share with us, and take it in no more: how
    many memories that were."""
    if not os.path.exists(app.home.memory):
        return 0
    team = Team(app, store, projects)
    with unsent(app.home.memory) as known:
        here: dict[str, list[str]] = {}
        for folder in known.projects():
            if name := team.name(folder):
                here.setdefault(name, []).append(folder)
        told = team.plain.forgotten(sorted(here)) if here else []
        # With the folders: another clone that comes later, or is named later, is cleared, too.
        number = int(key(*told, *sorted(chain(*here.values())))[:12], 16) if told else 0
        if known.counter(_PULLED) == number:
            return 0
        count = 0
        with Index(app.home.memory) as shelf:
            for name, those in here.items():
                shapes = [one for project, one in told if project == name]
                count += sum(_forget(app, known, shelf, folder, shapes) for folder in those)
        known.set_counter(_PULLED, number)
    if count:
        trail.note(app.home, "memory.forgotten", count=count)
    return count


def _forget(app: Holdfast, known: Unsent, shelf: Index, folder: str, shapes: Sequence[str]) -> int:
    forgotten = own.Forgotten(app)
    new = [one for one in shapes if not forgotten.holds(folder, one)]
    if not new:
        return 0
    gone = [row.uid for row in shelf.rows(shelf.alike(new)).values() if row.project == folder]
    if known.is_followed():
        # Its words stand with its neighbours there, and only we may write those.
        beside = [row.uid for uid in gone for row in shelf.around(uid, FAR, FAR)]
        known.note([uid for uid in dict.fromkeys(beside) if uid not in gone])
    own.forget_in(app, folder, new)
    learned = [said for said in own.learned(app) if storable(said["project"]) == folder]
    own.unlearn(app, {said["uid"] for said in learned if shape(said["text"]) in new})
    return shelf.remove(gone)


def collections_of(app: Holdfast) -> frozenset[str]:
    """What of deep memory a team is told of; BadInput names one that there is not."""
    wanted = frozenset(filter(None, app.config["team.collections"].split(",")))
    if unknown := sorted(wanted.difference(COLLECTIONS)):
        raise BadInput(
            f"team.collections names {unknown[0][:40]!r}; there are {', '.join(COLLECTIONS)}, with commas"
        )
    return wanted


class Team:
    """The shelf of a team as this home asks it. `plain`: without what may serve its vectors."""

    def __init__(self, app: Holdfast, store: Store, projects: Projects | None = None) -> None:
        self._projects = projects or Projects(app)
        self.collections = collections_of(app)
        self.machine = machine.this(app)
        #: Where it is, who we are there, and what it is told: for another of these it is told all anew.
        own = self.machine.rpartition(".")[2]  # whatever it is called
        wanted = app.config["team.projects"]
        self.known_by = f"{store.where} {own} {wanted} {' '.join(sorted(self.collections))}"
        self._tag = "." + key(own)[:8]
        self.plain = Postgres(store, self.machine)
        url = app.config["vectors.url"]
        self.shelf: Postgres | Qdrant = Qdrant(self.plain, url) if url else self.plain
        #: Why vectors were not looked at, where only those could not be.
        self.lacks = ""
        self.where = store.where
        #: Projects of which the store took nothing from this role, each with why.
        self.refused: dict[str, str] = {}
        #: Memories that it cannot take, each with why.
        self.unfit: dict[str, str] = {}

    @contextmanager
    def refusing(self, project: str) -> Iterator[None]:
        """What the store does not let in is told, and stops nothing else."""
        try:
            yield
        except Forbidden as problem:
            self.refused[project] = str(problem)

    def name(self, folder: str) -> str:
        """Of a project, as the team knows it, also where it is not there any more; "" where it stays at
        home."""
        return self._projects.name(folder)

    def tells(self, row: Row) -> bool:
        return row.collection in self.collections and bool(self.name(row.project))

    def mark(self, uid: str) -> str:
        return uid + self._tag

    def is_marked(self, uid: str) -> bool:
        """Whether it is the team's, and none of memory.db."""
        return "." in uid

    # What goes there

    def outgoing(self, row: Row) -> Row:
        """As others read it: files by where they stand in the project."""
        inside = partial(_inside, row.project)
        return replace(
            row,
            uid=self.mark(row.uid),
            project=self.name(row.project),
            thread=_short(row.thread) + self._tag if row.thread else "",
            files=tuple(map(inside, row.files)),
            source=inside(row.source),
            sources=tuple(map(inside, row.sources)),
        )

    # What comes from there

    def meant(self, where: Filter) -> Filter | None:
        """As the team understands it; None where only this home can know."""
        names = tuple(dict.fromkeys(map(self.name, where.projects)))
        origins = tuple("user" if one == "teammate" else one for one in where.origins if one != "user")
        if not all(names) or (where.origins and not origins):
            return None
        file = next((_inside(one, where.file) for one in where.projects), where.file)
        return replace(where, projects=names, origins=origins, file=file)

    def search(
        self, local: Index, embedder: Embedder | None, query: str, where: Filter, most: int
    ) -> list[Found]:
        meant = self.meant(where)
        if meant is None:
            return []
        with self.plain.asking():
            try:
                found = search(self.shelf, embedder, query, meant, most)
            except VectorsAway as problem:
                self.lacks = str(problem)
                found = search(self.shelf, None, query, meant, most)
            rows = {row.uid: told for row, told in self._told(local, where, [one.row for one in found])}
        return [replace(one, row=rows[one.row.uid]) for one in found if one.row.uid in rows]

    def timeline(self, local: Index, where: Filter, most: int) -> list[Row]:
        meant = self.meant(where)
        if meant is None:
            return []
        return [row for _, row in self._told(local, where, self.shelf.timeline(meant, most))]

    def around(self, local: Index, uid: str, before: int, after: int) -> list[Row]:
        rows = self.shelf.around(uid, before, after)
        return [row for _, row in self._told(local, Filter(), rows)]

    def rows(self, uids: Sequence[str]) -> dict[str, Row]:
        return self.shelf.rows(uids)

    def _told(self, local: Index, where: Filter, rows: Sequence[Row]) -> list[tuple[Row, Row]]:
        """Each with how it is told here: what this home has, as it has it; all else as a teammate's."""
        own = [row.uid.removesuffix(self._tag) for row in rows if row.uid.endswith(self._tag)]
        here = local.rows(own)
        folders = {self.name(folder): folder for folder in where.projects}
        told = []
        for row in rows:
            mine = here.get(row.uid.removesuffix(self._tag)) if row.uid.endswith(self._tag) else None
            one = mine or theirs(row, folders)
            if not where.origins or one.origin in where.origins:
                told.append((row, one))
        return told


def theirs(row: Row, folders: dict[str, str]) -> Row:
    """As it is told to others: never as typed by whoever asks. A member may write any text into any column:
    what is not one of our words is not repeated as one."""
    who = f"{row.who}@{row.machine}" if isinstance(row, Told) else "teammate"
    return replace(
        row,
        collection=row.collection if row.collection in COLLECTIONS else "learned",
        origin=row.origin if row.origin in ORIGINS and row.origin != "user" else "teammate",
        by=who,
        project=storable(folders.get(row.project, row.project)),
        source=f"{who}:{row.source}",
        sources=tuple(f"{who}:{one}" for one in row.sources),
    )


def _short(thread: str) -> str:
    """A path may be longer than what an index takes."""
    return thread if len(thread) <= _LONGEST_THREAD else key(thread)


def _inside(folder: str, path: str) -> str:
    return path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else path
