"""Deep memory as operations use it: opened, brought up to date, asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.errors import HoldfastError, MissingExtra, Unavailable
from holdfast.memory import embed, own
from holdfast.memory.feed import Fed, Feed, embedded
from holdfast.memory.index import Index
from holdfast.memory.search import Found, search
from holdfast.memory.shelf import COLLECTIONS, Filter, Row
from holdfast.memory.standing import KEYWORD_ONLY, shelved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from holdfast.memory.shared import Team

    T = TypeVar("T")

#: Seconds for which what waits is sent before the team is asked; and for which one that did not answer is
#: left alone.
_SENDS_S, _REST_S = 1.5, 30.0
#: Address of a store -> until when, and why it is not asked.
_resting: dict[str, tuple[float, str]] = {}


@contextmanager
def opened(app: Holdfast, project: str = "") -> Iterator[tuple[Index, Fed]]:
    """With all that hooks have noted, and what the client remembers of this project."""
    with shelved(app) as shelf:
        feed = Feed(app, shelf)
        feed.drain(project)
        embedded(shelf, app.config["memory.embedder"])
        yield shelf, feed.fed


@contextmanager
def asked(app: Holdfast, project: str = "", local: bool = False) -> Iterator[Asked]:
    """The same, with the memory of the team where there is one."""
    with opened(app, project) as (shelf, _):
        yield Asked(app, shelf, local)


def take_in(app: Holdfast) -> None:
    """What hooks have noted, for those who have time. Vectors are made when somebody asks: a service that
    nobody asks shall hold no model."""
    with shelved(app) as shelf:
        Feed(app, shelf).drain()


class Asked:
    """What is asked of the team goes to memory.db where its store does not answer, and that is said."""

    def __init__(self, app: Holdfast, shelf: Index, local: bool = False) -> None:
        self.app, self.shelf = app, shelf
        self._url = "" if local else app.config["store.url"]
        self._why = "asked for" if local and app.config["store.url"] else ""
        #: Whether all that is here is there, too.
        self._is_whole = False
        self._lacks = ""

    def answers(self, query: str, where: Filter, most: int) -> tuple[list[Found], str]:
        """The best first, and what they were found by."""
        embedder, why = embedder_of(self.app)

        def here() -> list[Found]:
            return search(self.shelf, embedder, query, where, most)

        def there(team: Team) -> list[Found]:
            found = team.search(self.shelf, embedder, query, where, most)
            self._lacks = team.lacks
            return found if self._is_enough(team, where) else _merged(here(), found, most)

        found = self._ask(there, here)
        return found, self._mode(why or f"words and vectors ({self.app.config['memory.embedder']})")

    def timeline(self, where: Filter, most: int) -> tuple[list[Row], str]:
        def here() -> list[Row]:
            return self.shelf.timeline(where, most)

        def there(team: Team) -> list[Row]:
            rows = {row.shape or row.uid: row for row in team.timeline(self.shelf, where, most)}
            if not self._is_enough(team, where):
                rows |= {row.shape or row.uid: row for row in here()}
            return sorted(rows.values(), key=lambda row: -row.first_at)[:most]

        return self._ask(there, here), self._mode("by time")

    def around(self, uid: str, before: int, after: int) -> tuple[list[Row], str]:
        def here() -> list[Row]:
            return self.shelf.around(uid, before, after)

        def there(team: Team) -> list[Row]:
            return team.around(self.shelf, uid, before, after) if team.is_marked(uid) else here()

        return self._ask(there, here), self._mode("around it")

    def rows(self, uids: Sequence[str]) -> dict[str, Row]:
        """Of this home, and of the team."""
        found = self.shelf.rows(uids)
        if all(uid in found for uid in uids):
            return found
        return {**self._ask(lambda team: team.rows(uids), dict), **found}

    def tell_to_forget(self, projects: Iterable[str], shapes: list[str]) -> None:
        """Kept until the team was told. `projects` are folders, or names that the team has for them.
        Unavailable: git does not say which it is, and nobody is told anything."""
        if self.app.config["store.url"]:
            from holdfast.store.named import Projects
            from holdfast.store.projects import travels

            known = Projects(self.app)
            names = {known.name(one) or one if one.startswith("/") else one for one in projects}
            if known.unsure:
                raise Unavailable(
                    f"git does not say where {min(known.unsure)} comes from; nothing was erased, try again"
                )
            for name in sorted(one for one in names if travels(one, self.app.config["team.projects"])):
                own.owe(self.app, name, shapes)

    def sent(self) -> str:
        """Send what waits; why it was not, or ""."""
        self._is_whole = False
        self._ask(lambda _: None, lambda: None)
        refused = "this role is no member of that project" if own.owed(self.app) else ""
        return self._why or (refused if self._url else "")

    @property
    def why(self) -> str:
        """Why the team was not asked; "" where it was, or there is none."""
        return self._why

    def _is_enough(self, team: Team, where: Filter) -> bool:
        """Whether the team knows all that this home does: not of projects and collections that stay here,
        nor of what its user typed, nor of what waits."""
        if where.projects and not all(map(team.name, where.projects)):
            self._why = "this project is not shared"
        if not where.projects or self._why or "user" in where.origins:
            return False
        return self._is_whole and team.collections.issuperset(where.collections or COLLECTIONS)

    def _ask(self, there: Callable[[Team], T], here: Callable[[], T]) -> T:
        """One that has failed is not asked again for a while: nobody waits twice for the same silence."""
        until, why = _resting.get(self._url, (0.0, ""))
        if self._url and elapsed() < until:
            self._why = why
        elif self._url and not self._why:
            try:
                return there(self._team())
            except HoldfastError as problem:
                self._why = str(problem)
                _resting[self._url] = (elapsed() + _REST_S, self._why)
        return here()

    def _team(self) -> Team:
        from holdfast.memory import shared  # which needs a driver
        from holdfast.memory.qdrant import VectorsAway
        from holdfast.store.database import opened as store_of

        store = store_of(self.app)
        if not self._is_whole:
            with suppress(VectorsAway):  # its words are there, and it waits for the rest
                shared.push(self.app, store, _SENDS_S)
            self._is_whole = not shared.waits(self.app)
        return shared.Team(self.app, store)

    def _mode(self, found_by: str) -> str:
        if self._why:
            return f"local only: {self._why}; {found_by}"
        lacks = f"; {KEYWORD_ONLY} there: {self._lacks}" if self._lacks else ""
        return f"{found_by}, with the team{lacks}" if self._url else found_by


def embedder_of(app: Holdfast) -> tuple[embed.Embedder | None, str]:
    try:
        return embed.named(app.config["memory.embedder"]), ""
    except MissingExtra as problem:
        return None, f"{KEYWORD_ONLY}: {problem}"


def _merged(here: list[Found], there: list[Found], most: int) -> list[Found]:
    """Of what says the same, that of this home."""
    known = {one.row.shape or one.row.uid for one in here}
    more = [one for one in there if (one.row.shape or one.row.uid) not in known]
    return sorted([*here, *more], key=lambda one: -one.score)[:most]
