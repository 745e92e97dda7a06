"""What other machines of the team have, as its store knows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from holdfast.app import Holdfast
from holdfast.core.jsontext import record, text
from holdfast.core.plain import excerpt
from holdfast.disk import index
from holdfast.errors import BadInput, NotFound
from holdfast.ops.tasks import check_limit
from holdfast.store import catalogue, happened
from holdfast.store.database import Store, opened

_LONGEST_NAME = 80


def checkpoints(
    store: Store, project: str | None, limit: int
) -> Iterator[tuple[catalogue.Entry, dict[str, Any]]]:
    """Each with the line that its machine's index has of it. `project` as the team names it."""
    check_limit(limit)
    with store.reading() as connection:
        found = catalogue.newest(connection, project, limit)
    for one in found:
        said = record(one.entry)
        if index.is_entry(said) and said["uid"] == one.uid:
            shown = replace(one, machine=called(one.machine), who=called(one.who))
            yield shown, index.entry(said, said["path"], said["kept"])  # and of what else it says nothing


def checkpoint(store: Store, uid: str) -> tuple[str, bytes]:
    """(where it is, all of it)."""
    _check("the checkpoint's uid", uid)
    with store.reading() as connection:
        found = catalogue.one(connection, uid)
    if found is None:
        raise NotFound(
            f"the team has no checkpoint {uid[:40]!r}; `holdfast checkpoint list --team` shows them"
        )
    where = f"{called(found.machine)}:{text(record(found.entry), 'path')}"
    if not found.body:
        raise NotFound(f"what {uid} says stayed on its machine: {where}")
    return where, found.body.encode()


def events(
    store: Store, kind: str, session: str | None, limit: int
) -> Iterator[tuple[dict[str, Any], str]]:
    """(note of the trail, machine)."""
    check_limit(limit)
    _check("kind", kind)
    _check("session", session or "")
    with store.reading() as connection:
        found = happened.newest(connection, kind, session, limit)
    return ((record(one.data), called(one.machine)) for one in found)


def _check(what: str, given: str) -> None:
    """What no text is, a database cannot be asked for."""
    if not given.isprintable():
        raise BadInput(f"{what} is {given[:40]!r}, and holds what cannot be printed")


def called(name: str) -> str:
    """Of a machine, or of who sent something, as it may be shown: whoever it is of chose it."""
    return excerpt(name, _LONGEST_NAME)


def store_of(app: Holdfast) -> Store:
    if not app.config["store.url"]:
        raise BadInput("no team is set up: holdfast team join postgresql://user@host/database")
    return opened(app)
