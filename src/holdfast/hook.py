"""The command the client runs: stdin to engine to stdout. It fails open.

Whatever goes wrong is noted in the trail, nothing is printed, and the exit code is 0: a hook never
breaks, blocks or noticeably slows a session.
"""

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import ITIMER_REAL, SIG_UNBLOCK, SIGALRM, pthread_sigmask, setitimer, signal
else:  # `signal` imports `enum`, which costs as much as the interpreter
    from _signal import ITIMER_REAL, SIG_UNBLOCK, SIGALRM, pthread_sigmask, setitimer, signal

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.clock import elapsed, now
from holdfast.core.events import Event, from_hook
from holdfast.core.heard import MEASURED, STATUSLINE
from holdfast.core.jsontext import text
from holdfast.disk import trail
from holdfast.disk.home import is_safe_name
from holdfast.errors import MISTAKES, HoldfastError, Late

#: Seconds after which a hook gives up, whatever it is doing. SessionEnd has 1.5 s in all, nothing but the
#: statusline and a command more than 2.
_BUDGET_S = 1.0
_BUDGETS_S = {"PreCompact": 1.7, "SessionEnd": 1.2, "SessionStart": 1.7, "Stop": 1.7, STATUSLINE: 3.0}
#: What is reported in these ways names no event.
_REPORTS = {"statusline": STATUSLINE, "measured": MEASURED}
#: Of the statusline's time, for ours: the rest is for the one that was there before.
_OURS_S = 1.5
_COMMAND_S = 10.0
_SLASH = "/holdfast:"
#: A second ring, for a hook that is stuck in giving up.
_GRACE_S = 0.15
_LARGEST_STDIN = 4 << 20


def main() -> None:
    app: Holdfast | None = None
    event: Event | None = None
    try:
        _ring_at(elapsed() + _BUDGET_S)
        app = Holdfast.open()
        app.in_hook, app.ring = True, _ring_at
        if sys.argv[1:2] == ["command"]:
            _give(app, _COMMAND_S)
            _command(app)
            return
        payload, size = _read_stdin()
        event = from_hook(payload, now(), size, _REPORTS.get(" ".join(sys.argv[1:]), ""))
        _give(app, _BUDGETS_S.get(event.name, _BUDGET_S))
        if event.name == STATUSLINE:
            posix.write(1, _statusline(app, event).encode())
        elif not _stands_down(app, event):
            reply = engine.handle(event, app)
            if reply.stdout:
                posix.write(1, reply.stdout.encode("utf-8", "replace"))
            if app.full:
                _note(app, event, app.full)
            if reply.rest and not (child := _fork()) > 0:  # first: whatever fails below costs only itself
                event = reply.rest
                _finish(event, app, is_child=not child)
            if text(event.data, "prompt").startswith(_SLASH):
                from holdfast import slash

                slash.remember(event, app)
            if reply.unread:
                _catch_up(event, reply.unread, app)
        if app.compiled.is_due:
            from holdfast.disk import recompile

            recompile.ask(app.home, app.environ, app.compiled.by)
    except Exception as problem:
        _note(app, event, problem)
    finally:
        # Leaving the interpreter's own teardown out saves a tenth of the whole hook.
        posix._exit(0)


def _fork() -> int:
    """-1: this machine has no room for another process."""
    try:
        return posix.fork()
    except OSError:
        return -1


def _finish(rest: Event, app: Holdfast, is_child: bool) -> None:
    """In a child: the client has its answer, and waits for nobody who holds its pipes. Where there is none,
    it waits, for what is left of this hook's time: nothing tells again which tests a batch ran."""
    if is_child:
        posix.setsid()  # when the client ends its hooks, this is finished
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for fd in (0, 1, 2):
            posix.dup2(nothing, fd)
        app.began = elapsed()
        _give(app, _BUDGET_S)  # no longer than the hook of the next batch waits for the session's lock
    reply = engine.handle(rest, app)
    if app.full:
        _note(app, rest, app.full)
    if reply.unread:
        _catch_up(rest, reply.unread, app)
    posix._exit(0)


def _catch_up(event: Event, path: str, app: Holdfast) -> None:
    """The transcript was met late: what could not be read of it is left to a child."""
    from holdfast.disk import late

    place = late.Place(app.home, event.session, event.agent)
    if place.is_busy() or place.has_failed():
        return
    engine.load_more(app)
    from holdfast import catchup

    catchup.leave(place, path, app)


def _command(app: Holdfast) -> None:
    """What one of the client's slash commands prints."""
    from holdfast import slash

    posix.write(1, slash.run(sys.argv[2:], app).encode("utf-8", "replace") + b"\n")


def _stands_down(app: Holdfast, event: Event) -> bool:
    """The plugin's hooks leave the event to those in the client's settings, where there are any."""
    if sys.argv[1:] != ["plugin"]:
        return False
    from holdfast.disk import wiring

    return wiring.covers(app.home, app.environ.get("CLAUDE_PROJECT_DIR") or event.cwd)


def _statusline(app: Holdfast, event: Event) -> str:
    """What the user had there before is shown even when ours fails."""
    engine.load_more(app, "line")
    from holdfast import statusline

    try:
        _give(app, _OURS_S)
        ours = engine.handle(event, app).stdout
    except (OSError, HoldfastError, *MISTAKES) as problem:
        _note(app, event, problem)
        ours = ""
    _give(app, _BUDGETS_S[STATUSLINE])
    return statusline.beside_former(ours, event, app)


def _give(app: Holdfast, seconds: float) -> None:
    app.seconds = seconds
    _ring_at(app.by(1))


def _ring_at(moment: float) -> None:
    pthread_sigmask(SIG_UNBLOCK, (SIGALRM,))  # a blocked signal is inherited from whoever started us
    signal(SIGALRM, _ring)
    setitimer(ITIMER_REAL, max(moment - elapsed(), 0.001), _GRACE_S)  # at once if it is over; 0 is never


def _ring(signum: int, frame: object) -> None:
    signal(SIGALRM, _leave)
    raise Late("a hook ran out of its time")


def _leave(signum: int, frame: object) -> None:
    posix._exit(0)


def _read_stdin() -> tuple[bytes, int]:
    """(what is kept, how much there was). All of it is read: a client that writes to a closed pipe
    gets an error."""
    parts, size = [], 0
    while piece := posix.read(0, 1 << 16):
        if size < _LARGEST_STDIN:
            parts.append(piece)
        size += len(piece)
    kept = b"".join(parts)
    return kept[:_LARGEST_STDIN], size


def _note(app: Holdfast | None, event: Event | None, problem: Exception) -> None:
    """Where and what kind, and for our own errors the message: others may carry a session's text."""
    place = problem.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}" if place else ""
    ours = isinstance(problem, (HoldfastError, OSError))
    what = type(problem).__name__ + (f": {problem}" if ours else "")
    session = event.session if event and is_safe_name(event.session) else ""
    name = event.name if event and event.name.isidentifier() and len(event.name) <= 40 else ""
    home = app.home if app else None
    if home is None or not trail.note(
        home, "degraded.hook", session=session, hook=name, what=what[:400], where=where
    ):
        posix.write(2, f"holdfast: {what[:200]} ({where})\n".encode("utf-8", "replace"))
