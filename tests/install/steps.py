"""The moments between two system calls of an install or uninstall: in each, something may happen."""

from __future__ import annotations

import os
import posix
import signal
from collections.abc import Callable
from typing import Any

from holdfast.memory import swap

CALLS = "open write fsync close rename unlink mkdir rmdir link fchmod lockf ftruncate listdir".split()


class Steps:
    """While open, every system call is counted, and `act` is called before the one it is due at."""

    def __init__(self, due: int, act: Callable[[str], None]) -> None:
        self.due = due
        self.act = act
        self.taken = 0
        self.acting = False
        self.real: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Steps:
        for module in (os, posix):
            for name in CALLS:
                if hasattr(module, name):
                    self._count(module, name)
        self._count(swap, "exchange")
        return self

    def __exit__(self, *_: object) -> None:
        for module, name, function in self.real:
            setattr(module, name, function)

    def _count(self, module: Any, name: str) -> None:
        function = getattr(module, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            if not self.acting:
                if self.taken == self.due:
                    self.acting = True
                    if name == "write" and self.act is die:  # killed in the middle of it
                        function(args[0], bytes(args[1])[: len(args[1]) // 2])
                    self.act(name)
                    self.acting = False
                self.taken += 1
            return function(*args, **kwargs)

        self.real.append((module, name, function))
        setattr(module, name, counted)


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def start(run: Callable[[], object]) -> int:
    """Run in a process of its own; its id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        run()
    except BaseException as problem:
        os.write(2, f"{problem!r}\n".encode())
        os._exit(1)
    os._exit(0)


def in_child(run: Callable[[], object]) -> int:
    """How it ended."""
    return os.waitpid(start(run), 0)[1]
