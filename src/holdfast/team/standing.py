"""How the outbox of this home stands: what waits for the team's store, since when, and why. From files
alone: whoever asks does not wait for a store that may not answer."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core.plain import ago
from holdfast.disk import files, outbox
from holdfast.memory.shared import waits
from holdfast.team.outgoing import refused
from holdfast.team.sync import state

#: After so long something that waits, and nobody who says why, means that nobody sends.
_UNSENT_MS = 15 * 60_000


@dataclass(frozen=True)
class Standing:
    """`waiting` lines of the outbox, and `memories`; `since` when the oldest of it waits; `sent_at` when
    all was last sent. `refused` the store does not let in, `dropped` was let go because too much
    waited, or was refused."""

    waiting: int
    memories: int
    bytes: int
    since: int
    sent_at: int
    trouble: str
    refused: int
    dropped: int
    why: str

    @property
    def is_late(self) -> bool:
        return bool(self.since) and now() - self.since > _UNSENT_MS

    @property
    def ok(self) -> bool:
        return not (self.trouble or self.refused or self.is_late)

    @property
    def fix(self) -> str:
        if self.trouble:
            return "nothing to do here: it is sent when the store answers; `holdfast team status` asks it"
        if self.refused:
            return "become a member of that project, then: holdfast sync --all"
        return "holdfast sync; or let the service or the watcher run" if self.is_late else ""

    def __str__(self) -> str:
        number = self.waiting + self.memories
        waits = f"{number:,} things wait for the team's store"
        since = f", the oldest from {ago(now() - self.since)}" if self.since else ""
        said = [
            f"{waits}{since}" if number else "the team's store was told everything",
            self.trouble,
            f"{self.refused:,} were refused: {self.why}" if self.refused else "",
            f"{self.dropped:,} events were let go: too much waited, or was refused" if self.dropped else "",
        ]
        return "; ".join(filter(None, said))


def standing(app: Holdfast) -> Standing:
    last = state(app.home)
    return Standing(
        outbox.waiting(app.home),
        waits(app),
        outbox.size(app.home),
        outbox.first(app.home),
        last.well_at,
        last.trouble,
        _lines(refused(app.home)),
        outbox.dropped(app.home),
        last.why,
    )


def _lines(path: str) -> int:
    try:
        return files.read(path, 1 << 28).count(b"\n")
    except FileNotFoundError:
        return 0
