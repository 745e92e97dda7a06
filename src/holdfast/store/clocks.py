"""The clock of leases: it only goes forward, and whoever shares a store shares it.

A wall clock is set, by people and by the network: a lease measured with it would be lost in one jump and
last for ever after another. On one machine the kernel counts the time since it was started, sleep included;
that number is worth nothing after the next start, so the name of the start goes with it. On PostgreSQL it
is the server's own clock, whatever the machines of a team think.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, text

from holdfast.clock import now

_COUNTS = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_SERVER = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)")


@dataclass(frozen=True)
class Moment:
    """So many milliseconds on this clock."""

    clock: str
    at: int


@cache
def boot() -> str:
    """Which start of this machine it is; "" where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def wall(connection: Connection) -> int:
    """The wall clock of the store, in epoch milliseconds: what was `received` is compared with it alone."""
    if connection.dialect.name == "sqlite":
        return now()
    return int(connection.scalar(_SERVER) or 0)


def counted() -> int:
    """Milliseconds since this machine was started."""
    return time.clock_gettime_ns(_COUNTS) // 1_000_000


def moment(connection: Connection) -> Moment:
    if connection.dialect.name == "sqlite":
        return Moment("boot " + boot(), counted())
    return Moment("server", int(connection.scalar(_SERVER) or 0))
