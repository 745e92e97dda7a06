"""What other machines of the team have, as its store knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.app import Holdfast
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.errors import BadInput, NotFound
from holdfast.store import catalogue, happened
from holdfast.store.database import Store, opened


def checkpoints(
    store: Store, project: str | None, limit: int
) -> Iterator[tuple[catalogue.Entry, dict[str, Any]]]:
    """Each with the line that its machine's index has of it. `project` as the team names it."""
    with store.reading() as connection:
        found = catalogue.newest(connection, project, limit)
    for one in found:
        entry = _said(one.entry)
        if entry.get("uid") == one.uid:
            yield one, entry


def checkpoint(store: Store, uid: str) -> tuple[str, bytes]:
    """(where it is, all of it)."""
    with store.reading() as connection:
        found = catalogue.one(connection, uid)
    if found is None:
        raise NotFound(
            f"the team has no checkpoint {uid[:40]!r}; `holdfast checkpoint list --team` shows them"
        )
    where = f"{found.machine}:{_said(found.entry).get('path', '')}"
    if not found.body:
        raise NotFound(f"what {uid} says stayed on its machine: {where}")
    return where, found.body.encode()


def events(
    store: Store, kind: str, session: str | None, limit: int
) -> Iterator[tuple[dict[str, Any], str]]:
    """(note of the trail, machine)."""
    with store.reading() as connection:
        found = happened.newest(connection, None, kind, session, limit)
    return ((_said(one.data), one.machine) for one in found)


def store_of(app: Holdfast) -> Store:
    if not app.config["store.url"]:
        raise BadInput("no team is set up: holdfast team join postgresql://user@host/database")
    return opened(app)


def _said(words: str) -> dict[str, Any]:
    try:
        value = load(words)
    except UNREADABLE:
        return {}
    return value if isinstance(value, dict) else {}
