"""The server as a process of its own: one message a line, from stdin to stdout, until stdin ends.

One thread reads, and answers at once whatever needs no work, so that a slow tool does not hold up a ping.
Tools are called one after the other, in the thread the process began with: a lock on a file belongs to the
process, and two calls at once would share it. Nothing but answers can reach the client: what else is
written to stdout goes to stderr, and whoever is started from here finds stdin empty.
"""

import gc
import posix
import sys
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from time import sleep

from holdfast.mcp import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIG_DFL, SIGINT, signal
    from typing import NoReturn
else:  # `signal` imports `enum`, which costs as much as the interpreter
    from _signal import SIG_DFL, SIGINT, signal

#: Calls that wait for another; a client that goes on asking is told to wait itself.
_MOST_WAITING = 100
#: How long what was asked for before stdin ended may take; what takes longer is refused. A client that does
#: not want to wait ends us.
_PATIENCE_S = 10.0
#: For the refusals: nobody may be reading.
_GRACE_S = 2.0


class Stdio:
    def __init__(self, source: int, sink: int, methods: "protocol.Methods") -> None:
        self.source = source
        self.sink = sink
        self.methods = methods
        self.writing = allocate_lock()
        self.listing = allocate_lock()  # not the one that is held while a client does not read
        self.work: SimpleQueue[object] = SimpleQueue()
        self.cancelled: set[object] = set()
        self.unanswered: list[object] = []

    def run(self) -> "NoReturn":
        start_new_thread(self._listen, ())
        while True:
            message = self.work.get()
            if message is None:
                posix._exit(0)
            answer = "" if self._is_cancelled(message) else protocol.answer(message, self.methods)
            self._write(answer, message)

    def _listen(self) -> "NoReturn":
        """Until stdin ends. Then what was asked for is answered, with a refusal if it takes long."""
        try:
            self._read()
            self.work.put(None)
            sleep(_PATIENCE_S)
            start_new_thread(self._refuse, ())
            sleep(_GRACE_S)
        finally:  # also when this fails: a server that no longer listens must not stay
            posix._exit(0)

    def _refuse(self) -> "NoReturn":
        for message in list(self.unanswered):
            self._write(protocol.ended(message), message)
        posix._exit(0)

    def _read(self) -> None:
        pending, skipping = bytearray(), False
        while piece := posix.read(self.source, 1 << 16):
            first, *lines = piece.split(b"\n")
            pending += first
            for line in lines:
                if not skipping:
                    self._take(bytes(pending))
                pending, skipping = bytearray(line), False
            if len(pending) > protocol.LARGEST:  # the rest of it is not kept
                if not skipping:
                    self._take(bytes(pending))
                pending, skipping = bytearray(), True
        if not skipping:
            self._take(bytes(pending))

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > protocol.LARGEST:
            self._write(protocol.too_large())
            return
        try:
            message = protocol.parse(line)
        except protocol.Refused as problem:
            self._write(protocol.refusal(problem))
            return
        if type(message) is dict and message.get("method") == "notifications/cancelled":
            self._cancel(message)
        elif not protocol.is_work(message):
            self._write(protocol.answer(message, self.methods))
        elif self.work.qsize() < _MOST_WAITING:
            with self.listing:
                self.unanswered.append(message)
            self.work.put(message)
        else:
            self._write(protocol.busy(message))

    def _cancel(self, message: dict) -> None:
        """One that waits is not begun. One that is being done is: half of it would help nobody."""
        params = message.get("params")
        id_ = params.get("requestId") if type(params) is dict else None
        if type(id_) in (str, int) and self.work.qsize():
            self.cancelled.add(id_)

    def _is_cancelled(self, message: object) -> bool:
        id_ = message.get("id") if type(message) is dict else None
        is_cancelled = type(id_) in (str, int) and id_ in self.cancelled
        if not self.work.qsize():
            self.cancelled.clear()  # also of those that had been begun before
        return is_cancelled

    def _write(self, answer: str, to: object = None) -> None:
        """`to` is the work that this answers, once: a refusal and a result may come at the same time."""
        view = memoryview(answer.encode("ascii") + b"\n" if answer else b"")
        try:
            with self.writing:
                if to is not None and not self._is_first_for(to):
                    return
                while view:
                    view = view[posix.write(self.sink, view) :]
        except OSError:  # nobody reads any more
            posix._exit(0)

    def _is_first_for(self, work: object) -> bool:
        with self.listing:
            before = len(self.unanswered)
            self.unanswered = [one for one in self.unanswered if one is not work]
            return len(self.unanswered) < before


def main() -> "NoReturn":
    gc.enable()  # launch.py turns it off, for hooks
    signal(SIGINT, SIG_DFL)  # as SIGTERM: whatever is being written survives that
    source, sink = posix.dup(0), posix.dup(1)
    null = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(null, 0)
    posix.dup2(2, 1)
    is_second = sys.argv[2:3] == ["plugin"] and _is_served()
    Stdio(source, sink, protocol.STANDING_DOWN if is_second else protocol.METHODS).run()


def _is_served() -> bool:
    """Whether the plugin's client starts another server of ours, for this user."""
    from holdfast.app import environment
    from holdfast.disk import wiring
    from holdfast.disk.home import locate

    environ = environment()
    return wiring.serves(environ, locate(environ)[1])
