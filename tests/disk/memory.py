"""A file system in memory that stands in for `posix`, notes every effect, and runs processes in turns.

It knows what `holdfast.disk` uses and nothing else; whatever it does not know, it refuses, so that nothing
reaches the real disk by accident. `test_crash` holds it against the kernel.
"""

from __future__ import annotations

import errno
import os
import posix
import random
import threading
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB
from typing import Any

FOLDER, FILE, LINK = 0o040000, 0o100000, 0o120000
#: What changes something on disk, or makes a change durable.
EFFECTS = frozenset("write pwrite ftruncate fsync fdatasync rename link unlink symlink mkdir".split())


class Killed(BaseException):
    """Not an Exception: nothing may catch it and go on."""


class Node:
    """A file, folder or symbolic link. `data` is never changed in place: images share it."""

    __slots__ = ("data", "entries", "kind", "names", "number")

    def __init__(self, number: int, kind: int, data: bytes = b"") -> None:
        self.number = number
        self.names = 0
        self.kind = kind
        self.data = data
        self.entries: dict[str, Node] = {}


class Handle:
    __slots__ = ("append", "at", "node")

    def __init__(self, node: Node, append: bool) -> None:
        self.node = node
        self.append = append
        self.at = 0


class Stat:
    __slots__ = ("st_dev", "st_ino", "st_mode", "st_mtime", "st_nlink", "st_size")

    def __init__(self, node: Node) -> None:
        self.st_dev = os.makedev(8, 1)
        self.st_ino = node.number
        self.st_mode = node.kind | (0o700 if node.kind == FOLDER else 0o600)
        self.st_mtime = 1_770_000_000.0
        self.st_nlink = node.names
        self.st_mtime = 1e12  # always young: what is old is tidied, and that is not tried here
        self.st_size = len(node.data)


class Process:
    """One that runs over the file system. `kill` is (number of the effect, before, half or after)."""

    def __init__(self, kill: tuple[int, str] | None = None) -> None:
        self.kill = kill
        self.effects = 0
        self.handles: dict[int, Handle] = {}
        self.dead = False


class Memory:
    """`log` has (what, …) of every effect. A process that has been killed has none any more."""

    def __init__(self, root: Node | None = None, first: int = 1) -> None:
        self.root = root or Node(first, FOLDER)
        self.numbers = first
        self.fds = 100
        self.locks: dict[int, Process] = {}
        self.flocks: dict[int, dict[Handle, int]] = {}
        self.process = Process()
        self.log: list[tuple] = []
        self.nodes: dict[int, Node] = {self.root.number: self.root}
        self.refused: frozenset[str] = frozenset()  # calls this file system does not offer
        self.unsynced: frozenset[int] = frozenset()  # kinds whose fsync does nothing: for controls
        self.crew: Crew | None = None
        self.random = random.Random(1)
        self.cwd = "/"

    def __getattr__(self, name: str) -> Any:
        value = getattr(posix, name)
        if callable(value):
            raise NotImplementedError(f"posix.{name} is not known to this file system")
        self.__dict__[name] = value
        return value

    # What kills, and whose turn it is

    def _step(self, name: str) -> str:
        """Before an effect. "half" or "after": the process is to die then."""
        process = self.process
        if process.dead:
            raise Killed
        if self.crew:
            self.crew.turn()
        number, process.effects = process.effects, process.effects + 1
        if name in self.refused:
            raise PermissionError(errno.EPERM, name)
        if process.kill and process.kill[0] == number:
            how = process.kill[1]
            if how == "before" or (how == "half" and name not in ("write", "pwrite")):
                self._die()
            return how
        return ""

    def _die(self) -> None:
        process = self.process
        process.dead = True
        for held in self.flocks.values():
            for handle in process.handles.values():
                held.pop(handle, None)
        process.handles.clear()
        for number in [n for n, owner in self.locks.items() if owner is process]:
            del self.locks[number]
        raise Killed

    def _done(self, how: str) -> None:
        if how:
            self._die()

    def effect(self, *what: Any) -> None:
        self.log.append(what)

    # Where things are

    def _handle(self, fd: int) -> Handle:
        if self.process.dead:
            raise Killed
        try:
            return self.process.handles[fd]
        except KeyError:
            raise OSError(errno.EBADF, "bad file descriptor") from None

    def _parent(self, path: str, dir_fd: int | None) -> tuple[Node, str]:
        node = self.root if path.startswith("/") or dir_fd is None else self._handle(dir_fd).node
        parts = [part for part in path.split("/") if part]
        for part in parts[:-1]:
            node = self._child(node, part, path)
        if node.kind != FOLDER:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node, parts[-1] if parts else ""

    def _child(self, node: Node, name: str, path: str) -> Node:
        if node.kind != FOLDER:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        try:
            return node.entries[name] if name else node
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "no such file", path) from None

    def _find(self, path: str, dir_fd: int | None, follow: bool) -> Node:
        parent, name = self._parent(path, dir_fd)
        node = self._child(parent, name, path)
        if node.kind == LINK and follow:
            return self._child(parent, node.data.decode(), path)
        return node

    def _new(self, parent: Node, name: str, kind: int, data: bytes = b"") -> Node:
        self.numbers += 1
        node = self.nodes[self.numbers] = Node(self.numbers, kind, data)
        self._name(parent, name, node)
        return node

    def _name(self, parent: Node, name: str, node: Node) -> None:
        parent.entries[name] = node
        node.names += 1
        self.effect("entry", parent.number, name, node.number)

    # posix

    def open(self, path: str, flags: int, mode: int = 0, *, dir_fd: int | None = None) -> int:
        if self.process.dead:
            raise Killed
        how = self._step("open") if flags & (os.O_CREAT | os.O_TRUNC) else ""
        parent, name = self._parent(path, dir_fd)
        node = parent.entries.get(name) if name else parent
        if node is None and flags & os.O_CREAT:
            node = self._new(parent, name, FILE)
        elif node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "exists", path)
        if node.kind == LINK:
            if flags & os.O_NOFOLLOW:
                raise OSError(errno.ELOOP, "a symbolic link", path)
            node = self._child(parent, node.data.decode(), path)
        if flags & os.O_DIRECTORY and node.kind != FOLDER:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        if flags & os.O_TRUNC and node.data:
            node.data = b""
            self.effect("size", node.number, 0)
        self._done(how)
        self.fds += 1
        self.process.handles[self.fds] = Handle(node, bool(flags & os.O_APPEND))
        return self.fds

    def close(self, fd: int) -> None:
        if self.process.dead:
            return
        handle = self._handle(fd)
        node = handle.node
        del self.process.handles[fd]
        self.flocks.get(node.number, {}).pop(handle, None)
        if self.locks.get(node.number) is self.process:  # any descriptor of it: that is how POSIX has it
            del self.locks[node.number]

    def read(self, fd: int, size: int) -> bytes:
        handle = self._handle(fd)
        data = handle.node.data[handle.at : handle.at + size]
        handle.at += len(data)
        return data

    def pread(self, fd: int, size: int, at: int) -> bytes:
        return self._handle(fd).node.data[at : at + size]

    def lseek(self, fd: int, at: int, whence: int) -> int:
        handle = self._handle(fd)
        handle.at = at + (0, handle.at, len(handle.node.data))[whence]
        return handle.at

    def write(self, fd: int, data: bytes) -> int:
        how = self._step("write")
        handle = self._handle(fd)
        at = len(handle.node.data) if handle.append else handle.at
        handle.at = at + self._put(handle.node, data, at, how)
        return len(data)

    def pwrite(self, fd: int, data: bytes, at: int) -> int:
        how = self._step("pwrite")
        return self._put(self._handle(fd).node, data, at, how)

    def _put(self, node: Node, data: bytes, at: int, how: str) -> int:
        data = bytes(data[: len(data) // 2] if how == "half" else data)
        node.data = put(node.data, at, data)
        self.effect("data", node.number, at, data)
        self._done(how)
        return len(data)

    def ftruncate(self, fd: int, size: int) -> None:
        how = self._step("ftruncate")
        node = self._handle(fd).node
        node.data = node.data[:size].ljust(size, b"\0")
        self.effect("size", node.number, size)
        self._done(how)

    def fsync(self, fd: int) -> None:
        how = self._step("fsync")
        node = self._handle(fd).node
        if node.kind not in self.unsynced:
            self.effect("sync", node.number)
        self._done(how)

    fdatasync = fsync

    def mkdir(self, path: str, mode: int = 0, *, dir_fd: int | None = None) -> None:
        how = self._step("mkdir")
        parent, name = self._parent(path, dir_fd)
        if not name or name in parent.entries:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self._new(parent, name, FOLDER)
        self._done(how)

    def symlink(self, target: str, path: str, *, dir_fd: int | None = None) -> None:
        how = self._step("symlink")
        parent, name = self._parent(path, dir_fd)
        if name in parent.entries:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self._new(parent, name, LINK, target.encode())
        self._done(how)

    def link(self, old: str, new: str, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True) -> None:
        how = self._step("link")
        node = self._find(old, src_dir_fd, follow_symlinks)
        parent, name = self._parent(new, dst_dir_fd)
        if name in parent.entries:
            raise FileExistsError(errno.EEXIST, "exists", new)
        self._name(parent, name, node)
        self._done(how)

    def unlink(self, path: str, *, dir_fd: int | None = None) -> None:
        how = self._step("unlink")
        parent, name = self._parent(path, dir_fd)
        self._child(parent, name, path).names -= 1
        del parent.entries[name]
        self.effect("entry", parent.number, name, 0)
        self._done(how)

    def rename(self, old: str, new: str, *, src_dir_fd=None, dst_dir_fd=None) -> None:
        how = self._step("rename")
        parent, name = self._parent(old, src_dir_fd)
        target, named = self._parent(new, dst_dir_fd)
        if parent is not target:
            raise NotImplementedError("a rename into another folder")
        node = self._child(parent, name, old)
        before = target.entries.get(named)
        if before is not node:  # two names of one file: rename(2) does nothing
            if before:
                before.names -= 1
            del parent.entries[name]
            target.entries[named] = node
            self.effect("rename", parent.number, name, named, node.number)
        self._done(how)

    def lockf(self, fd: int, how: int, size: int) -> None:
        number = self._handle(fd).node.number
        if how == posix.F_ULOCK:
            if self.locks.get(number) is self.process:
                del self.locks[number]
            return
        while self.locks.get(number, self.process) is not self.process:
            if how == posix.F_TLOCK:
                raise BlockingIOError(errno.EAGAIN, "locked")
            if not self.crew:
                raise RuntimeError("waits for a lock that nobody will release")
            self.crew.turn(waiting=True)
        self.locks[number] = self.process

    def flock(self, fd: int, how: int) -> None:
        """Of fcntl. It belongs to the descriptor, and may be shared."""
        handle = self._handle(fd)
        held = self.flocks.setdefault(handle.node.number, {})
        how, at_once = how & ~LOCK_NB, how & LOCK_NB
        while any(other is not handle and LOCK_EX in (how, kind) for other, kind in held.items()):
            if at_once:
                raise BlockingIOError(errno.EAGAIN, "locked")
            if not self.crew:
                raise RuntimeError("waits for a lock that nobody will release")
            self.crew.turn(waiting=True)
        held[handle] = how

    def fstat(self, fd: int) -> Stat:
        return Stat(self._handle(fd).node)

    def stat(self, path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> Stat:
        return Stat(self._find(path, dir_fd, follow_symlinks))

    def lstat(self, path: str, *, dir_fd: int | None = None) -> Stat:
        return Stat(self._find(path, dir_fd, follow=False))

    def listdir(self, path: str | int) -> list[str]:
        node = self._handle(path).node if type(path) is int else self._find(path, None, follow=True)
        if node.kind != FOLDER:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return list(node.entries)

    def readlink(self, path: str, *, dir_fd: int | None = None) -> str:
        node = self._find(path, dir_fd, follow=False)
        if node.kind != LINK:
            raise OSError(errno.EINVAL, "not a symbolic link", path)
        return node.data.decode()

    def urandom(self, size: int) -> bytes:
        return self.random.randbytes(size)

    def getcwd(self) -> str:
        return self.cwd

    def sleep(self, seconds: float) -> None:
        """Of time: the others have their turns."""
        if not self.crew:
            raise RuntimeError("waits, and nobody is there")
        self.crew.turn(waiting=True)

    def major(self, device: int) -> int:
        return os.major(device)

    def getuid(self) -> int:
        return posix.getuid()

    def getpid(self) -> int:
        return 1


def put(old: bytes, at: int, data: bytes) -> bytes:
    return old[:at].ljust(at, b"\0") + data + old[at + len(data) :]


class Crew:
    """Processes that take turns, each in a thread of which only one ever runs. Whose turn it is after an
    effect is decided by `dice`, so a seed is one interleaving."""

    def __init__(self, disk: Memory, dice: random.Random) -> None:
        self.disk = disk
        self.dice = dice
        self.members: list[_Member] = []
        self.over = threading.Event()
        self.idle = 0

    def add(self, job: Callable[[], object], kill: tuple[int, str] | None = None) -> None:
        self.members.append(_Member(self, job, Process(kill)))

    def run(self) -> None:
        """Until all have ended. The first error that one of them met is raised."""
        before, self.disk.crew = self.disk.process, self
        for member in self.members:
            member.thread.start()
        self._pass_on(self.members)
        self.over.wait()
        for member in self.members:
            member.thread.join()
        self.disk.crew, self.disk.process = None, before
        for member in self.members:
            if member.error:
                raise member.error

    def turn(self, waiting: bool = False) -> None:
        me = next(one for one in self.members if one.process is self.disk.process)
        self.idle = self.idle + 1 if waiting else 0
        if self.idle > 10_000:
            raise RuntimeError("all of them wait for each other")
        if not waiting and self.dice.random() < 0.6:
            return
        others = [one for one in self.members if not one.ended and (one is not me or not waiting)]
        if not others:
            raise RuntimeError("waits for a lock that nobody will release")
        chosen = self.dice.choice(others)
        if chosen is not me:
            self._let(chosen)
            me.baton.acquire()
            self.disk.process = me.process

    def ended(self) -> None:
        left = [one for one in self.members if not one.ended]
        if left:
            self._pass_on(left)
        else:
            self.over.set()

    def _pass_on(self, among: list[_Member]) -> None:
        self._let(self.dice.choice(among))

    def _let(self, member: _Member) -> None:
        self.disk.process = member.process
        member.baton.release()


class _Member:
    def __init__(self, crew: Crew, job: Callable[[], object], process: Process) -> None:
        self.crew = crew
        self.job = job
        self.process = process
        self.baton = threading.Semaphore(0)
        self.ended = False
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.baton.acquire()
        try:
            self.job()
        except Killed:
            pass
        except BaseException as problem:
            self.error = problem
        self.ended = True
        self.crew.ended()
