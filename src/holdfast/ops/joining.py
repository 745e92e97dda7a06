"""`team join`, `team leave`: whether this home tells a team what happens in it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import new_id, now
from holdfast.disk import files, outbox, trail
from holdfast.errors import BadInput, Unavailable
from holdfast.memory import own, shared
from holdfast.ops import config
from holdfast.ops.words import many
from holdfast.store.postgres import PostgreSQL
from holdfast.team import sync


@dataclass(frozen=True)
class Joined:
    where: str
    sent: int
    received: int
    waiting: int
    trouble: str

    def __str__(self) -> str:
        if self.trouble:
            return (
                f"joined; to be sent when the store answers: {many(self.waiting, 'thing')} ({self.trouble})"
            )
        return f"joined {self.where}: {many(self.sent, 'thing')} sent, {self.received:,} received"


@dataclass(frozen=True)
class Left:
    """`lost`: what the team was not told any more; at home nothing is lost."""

    lost: int

    def __str__(self) -> str:
        return "left the team" + (f"; it was not told of {many(self.lost, 'thing')}" if self.lost else "")


def join(app: Holdfast, url: str = "") -> Joined:
    """Join a team: from now on its store is told what happens here, as far as team.projects says.

    Parameters
    ----------
    url
        postgresql://user@host/database, kept as store.url. Without it: the one that is set.
    """
    if url:
        PostgreSQL(url)  # BadInput, without repeating it
        if app.config.environment.get("store.url", url) != url:
            raise BadInput("HOLDFAST_STORE_URL is set to another store; unset it, or give that one")
        config.put(app, "store.url", url)
        app = config.settled(Holdfast(app.home, app.client_dir, app.environ), ())
    elif not app.config["store.url"]:
        raise BadInput("which team? holdfast team join postgresql://user@host/database")
    made = sync.round(app, everything=True)
    trail.note(app.home, "team.joined")
    return Joined(
        PostgreSQL(app.config["store.url"]).where, made.sent, made.received, made.waiting, made.trouble
    )


def leave(app: Holdfast, *, force: bool = False) -> Left:
    """Leave the team: its store is told nothing any more. What it knows it keeps.

    Parameters
    ----------
    force
        Also where it has not been told everything yet.
    """
    if "store.url" in app.config.environment:
        raise BadInput("HOLDFAST_STORE_URL names the team; unset it first")
    waits = 0
    if files.is_there(app.home.outbox):
        made = sync.round(app) if app.config["store.url"] else sync.Round(waiting=outbox.waiting(app.home))
        waits = made.waiting + shared.waits(app) + len(own.owed(app))
        if waits and not force:
            why = made.trouble or "somebody sends it just now"
            raise Unavailable(
                f"the team's store has not been told {many(waits, 'thing')} ({why}); --force leaves anyway"
            )
    config.drop(app, "store.url")
    if files.is_there(app.home.outbox):
        # Renamed first: a hook that is about to append finds it whole, or not at all.
        gone = f"{app.home.outbox}.{new_id(now())}"
        os.rename(app.home.outbox, gone)
        shutil.rmtree(gone)
    shared.leave(app)
    trail.note(app.home, "team.left")
    return Left(waits)
