"""`sync`: what this home has to tell its team is sent, and what others said is taken in."""

from __future__ import annotations

import time
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.disk import outbox
from holdfast.ops.config import Current
from holdfast.ops.words import many
from holdfast.team import sync as team

#: Seconds between two looks of one that stays.
_LOOKS_S = 0.02
#: Seconds for which one asks for all of it.
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Synced:
    """`waiting` are still to be sent, lines and memories; `trouble` says why. `dropped`: events that were
    let go because too much waited, since this home is in its team."""

    sent: int
    received: int
    waiting: int
    dropped: int
    trouble: str

    def __str__(self) -> str:
        said = f"{many(self.sent, 'line')} sent, {self.received:,} received, {self.waiting:,} waiting"
        return f"{said}: {self.trouble}" if self.trouble else said

    @property
    def exit_code(self) -> int:
        return 5 if self.trouble else 0


def sync(app: Holdfast, *, all: bool = False, watch: bool = False) -> Synced:  # noqa: A002
    """Send what waits to the team's store, and take in what others of the team said.

    Parameters
    ----------
    all
        Also compare all that is here with what the store has, and send what it lacks or has refused.
    watch
        Stay, and do it again whenever something waits.
    """
    made = _until_sent(app, all)
    while watch:
        try:
            made = _stay(app, made)
        except KeyboardInterrupt:
            break
    return made


def _until_sent(app: Holdfast, everything: bool) -> Synced:
    """One round does not hold up its caller for long; here, somebody waits for all of them."""
    sent = received = 0
    until = elapsed() + _PATIENCE_S
    while True:
        found = team.round(app, everything=everything)
        sent, received = sent + found.sent, received + found.received
        waits = found.waiting or found.memories
        if found.trouble or not found.sent or not waits or elapsed() > until:
            return _synced(app, sent, received, found)
        everything = False


def _stay(app: Holdfast, made: Synced) -> Synced:
    drain, current = team.Drain(), Current(app)
    while True:
        found = drain.look(current.app())
        if found:
            made = _synced(app, made.sent + found.sent, made.received + found.received, found)
        time.sleep(_LOOKS_S)


def _synced(app: Holdfast, sent: int, received: int, found: team.Round) -> Synced:
    trouble = found.trouble or ("another is at it" if found.busy and found.waiting else "")
    waiting = found.waiting + found.memories
    return Synced(sent, received, waiting, outbox.dropped(app.home), trouble)
