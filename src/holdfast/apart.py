"""Work that is left to a child, because a disk may not answer and somebody waits for the hook."""

import posix

from holdfast.app import SAVED, Holdfast
from holdfast.core.jsontext import dump, load
from holdfast.errors import MISTAKES, HoldfastError, Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[list], object]
    Leave = Callable[[], object]
    Work = Callable[[Tell, Leave], object]


def by_a_child(app: Holdfast, work: "Work") -> list:
    """All that `work` tells, until it leaves or there is no more time. A process in a write that does not
    come back cannot even be killed; so a child is left to it, and who waits for this hook does not wait for
    the disk. The debt is in the state: if the child is done after all, the next hook finds what it has
    written. The child is not waited for: it may be tidying up, and this process has something to say."""
    read, write = posix.pipe()
    child = posix.fork()
    if not child:
        try:
            _work_apart(work, write)
        finally:
            posix._exit(0)
    posix.close(write)
    parts: list[bytes] = []
    try:
        app.ring(app.by(SAVED))
        while piece := posix.read(read, 1 << 16):
            parts.append(piece)
        missing = "whoever was to write it was killed"
    except Late:  # what was told by now is done
        missing = "the disk did not answer in time; what was begun goes on"
    finally:
        app.ring(app.by(1))
        posix.close(read)
    *whole, _ = b"".join(parts).decode("utf-8", "replace").split("\n")
    told: list = []
    for line in whole:
        said = load(line)
        if type(said) is not list:
            missing = str(said)
            break
        told += said
    if not told:
        raise HoldfastError(missing)
    return told


def left_to_a_child(app: Holdfast, work: "Callable[[], object]") -> None:
    """What nobody waits for and nobody was told of yet; outside of a hook it is done at once."""

    def apart(tell: "Tell", leave: "Leave") -> None:
        tell([1])
        leave()
        work()

    if app.in_hook:
        by_a_child(app, apart)
    else:
        work()


def _work_apart(work: "Work", write: int) -> None:
    posix.setsid()  # when the client ends its hooks, this is finished
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(nothing, fd)
    try:
        work(lambda told: _tell(write, told), lambda: posix.dup2(nothing, write))
    except (OSError, HoldfastError) as problem:
        _tell(write, f"{type(problem).__name__}: {problem}")
    except MISTAKES as problem:
        # A mistake of ours. Where and what kind; its message may hold text of the session.
        place = problem.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}" if place else ""
        _tell(write, f"{type(problem).__name__} in {where}")


def _tell(write: int, told: object) -> None:
    posix.write(write, dump(told).encode() + b"\n")
