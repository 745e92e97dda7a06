"""The line under the client's prompt: how full, how far, how many turns are left.

The client runs it after every response as `launch.py statusline`, with what it knows itself on stdin:
the size of the window and the usage of the last response. Both are kept for the hooks, which are told
neither. A statusline the user had before is run as well and stands above ours.
"""

import posix

from holdfast.app import Holdfast
from holdfast.core.events import Event
from holdfast.core.gauge import Reading, thousands
from holdfast.core.guard import Look, is_full
from holdfast.core.jsontext import dump
from holdfast.core.ladder import ADVISORY, BELOW, WARNING
from holdfast.core.state import State
from holdfast.disk.wiring import MARK, applying, setting
from holdfast.errors import Late

_BAR = 10
_GREEN, _YELLOW, _RED, _DIM, _PLAIN = "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[0m"
_COLOURS = ((ADVISORY, _RED), (WARNING, _YELLOW), (0, _GREEN))
_WIDEST = 400
_AMISS, _WHERE = " !", " · ! holdfast status"
_LONGEST_FORMER = 1 << 16


def line(state: State, reading: Reading, now: Look, app: Holdfast) -> str:
    """As much as fits, most important first."""
    width = app.environ.get("COLUMNS", "")
    columns = int(width) if width.isascii() and width.isdecimal() and len(width) < 5 else 0
    return _render(state, reading, now, columns or _WIDEST, colours=not app.environ.get("NO_COLOR"))


def _render(state: State, reading: Reading, now: Look, columns: int, colours: bool) -> str:
    fill = reading.fill
    full = min(_BAR, round(_BAR * fill / 100))
    bar = "█" * full + "░" * (_BAR - full)
    parts = [
        f"{bar} {fill:.0f}%",
        now.level if now.level != BELOW else "",
        _left(state, reading),
        _turns(now),
        _saved(state),
        "estimated" if not reading.source.startswith("usage") and reading.used else "",
    ]
    most = min(columns, _WIDEST)
    amiss = bool(state.heard.trouble)
    shown = ""
    for part in filter(None, parts):
        longer = f"{shown} · {part}" if shown else part
        if len(longer) > most - (len(_AMISS) if amiss else 0):
            break
        shown = longer
    if amiss:  # however narrow: where to look is said only where there is room, that one should always
        told = [shown + more for more in (_WHERE, _AMISS) if shown]
        told += [f"{fill:.0f}%{_AMISS}", _AMISS.strip()]
        shown = next(one for one in told if len(one) <= most)
    if not colours or not shown:
        return shown
    colour = next(colour for least, colour in _COLOURS if now.rung >= least)
    head, dot, rest = shown.partition(" · ")
    return f"{colour}{head}{_PLAIN}{_DIM}{dot}{rest}{_PLAIN}"


def _left(state: State, reading: Reading) -> str:
    if is_full(state, reading):
        return "full: /compact, or /clear and /holdfast:load"
    return f"{thousands(reading.until_compaction)} left"


def _turns(now: Look) -> str:
    coming = now.forecast
    return f"~{coming.turns} turns ({coming.low}–{coming.high})" if coming else ""


def _saved(state: State) -> str:
    """How long ago the last checkpoint was taken, or that one could not be."""
    heard = state.heard
    if heard.owed.get("what"):
        return "! not saved"
    minutes = (heard.last_at - heard.saved["at"]) // 60_000 if heard.saved else -1
    if minutes < 0:  # never, or the clock was set back
        return ""
    if minutes < 60:
        return f"saved {minutes} min ago" if minutes else "saved"
    return f"saved {minutes // 60} h ago"


def beside_former(ours: str, event: Event, app: Holdfast) -> str:
    """Our line below what the statusline the user had before holdfast prints."""
    command = _former(app, event)
    printed = _run(command, dump(event.data).encode(), app.environ) if command else b""
    theirs = printed.decode("utf-8", "replace").rstrip("\n")
    return "\n".join(filter(None, (theirs, ours)))


def _run(command: str, payload: bytes, environ: dict[str, str]) -> bytes:
    """What it prints until it closes its output, is late, or has printed more than anyone reads."""
    out_read, out_write = posix.pipe()
    try:
        given = _stdin(payload)
        pid = posix.posix_spawn(
            "/bin/sh",
            ["sh", "-c", command],
            environ,
            file_actions=[(posix.POSIX_SPAWN_DUP2, given, 0), (posix.POSIX_SPAWN_DUP2, out_write, 1)],
            setpgroup=0,
        )
    except OSError:  # ours does not depend on it
        return b""
    posix.close(out_write)
    printed = b""
    try:
        while len(printed) < _LONGEST_FORMER and (piece := posix.read(out_read, 1 << 14)):
            printed += piece
    except Late:
        pass  # what came until now is shown
    try:
        posix.killpg(pid, 9)  # with whatever it has started; if it is done, it does not notice
    except OSError:  # some systems do not let a group be killed that has ended
        pass
    posix.waitpid(pid, 0)
    return printed


def _stdin(payload: bytes) -> int:
    """A descriptor from which the payload can be read, without anyone waiting for the reader."""
    if hasattr(posix, "memfd_create"):
        given = posix.memfd_create("statusline")
        posix.write(given, payload)
        posix.lseek(given, 0, 0)
        return given
    given, write = posix.pipe()  # not on Linux; a payload is far smaller than what a pipe holds
    posix.write(write, payload[:16_000])
    posix.close(write)
    return given


def _former(app: Holdfast, event: Event) -> str:
    """The command `holdfast install` found in our place, or, for a project, the user's own."""
    project = app.environ.get("CLAUDE_PROJECT_DIR") or event.cwd
    candidates = [wiring.get("statusline_before") for wiring in applying(app.home, project)]
    candidates.append(setting(app.client_dir + "/settings.json", "statusLine"))
    for earlier in candidates:
        command = earlier.get("command") if type(earlier) is dict else None
        if type(command) is str and MARK not in command:  # never ourselves
            return command
    return ""
