"""A directory held open, and the files in it, each named relative to it.

Nothing in it is reached through a path: symbolic links, `..`, and directories that are swapped while we
work cannot lead a write or a read out of it. What is read is a regular file with one name; a FIFO does
not hang, and a hard link to somebody else's file is not taken for ours.
"""

import posix

from holdfast.errors import BadInput

_DIRECTORY = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC
_NO_LINK = posix.O_NOFOLLOW | posix.O_CLOEXEC
#: How the names of files end that are not finished.
TEMPORARY = ".tmp"
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | _NO_LINK


class Folder:
    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @classmethod
    def open(cls, root: str, *below: str) -> "Folder":
        """`root` may be any path of the user's; below it no link is followed."""
        folder = cls(posix.open(root, _DIRECTORY), root)
        for name in below:
            folder = folder._enter(name)
        return folder

    @classmethod
    def make(cls, root: str, *below: tuple[str, int]) -> "Folder":
        """As `open`, with (name, mode) of those to be made where they are missing."""
        folder = cls(posix.open(root, _DIRECTORY), root)
        for name, mode in below:
            folder = folder._enter(name, mode)
        return folder

    def _enter(self, name: str, mode: int = 0) -> "Folder":
        """One below, in place of this one; made where it is missing if it is given a mode."""
        try:
            if mode:
                try:
                    posix.mkdir(name, mode, dir_fd=self.fd)
                except FileExistsError:
                    pass
            fd = posix.open(name, _DIRECTORY | posix.O_NOFOLLOW, dir_fd=self.fd)
        finally:
            self.close()
        return Folder(fd, f"{self.path.rstrip('/')}/{name}")

    def close(self) -> None:
        posix.close(self.fd)

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self) -> list[str]:
        return posix.listdir(self.fd)

    def read(self, name: str, most: int) -> bytes:
        fd = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | _NO_LINK, dir_fd=self.fd)
        try:
            state = posix.fstat(fd)
            if state.st_mode & 0o170000 != 0o100000:
                raise BadInput(f"{self.path}/{name} is not a regular file")
            if state.st_nlink > 1 and not self._is_half_published(state.st_ino, state.st_nlink):
                raise BadInput(
                    f"{self.path}/{name} has {state.st_nlink} names: it may be somebody else's file"
                )
            if state.st_size > most:
                raise BadInput(f"{self.path}/{name} has {state.st_size} bytes, more than {most}")
            parts, left = [], most + 1
            while left > 0 and (piece := posix.read(fd, min(left, 1 << 20))):
                parts.append(piece)
                left -= len(piece)
            return b"".join(parts)
        finally:
            posix.close(fd)

    def begin(self, name: str, size: int) -> bytes:
        """The first bytes of whatever has this name: to see whether it is worth reading."""
        fd = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | _NO_LINK, dir_fd=self.fd)
        try:
            return posix.read(fd, size)
        finally:
            posix.close(fd)

    def _is_half_published(self, inode: int, links: int) -> bool:
        """Whoever published it was killed before the temporary name was gone: both names are here."""
        own = [name for name in self.names() if name.endswith(TEMPORARY)]
        return links == 2 and any(self._inode(name) == inode for name in own)

    def changed_at(self, name: str) -> int:
        """Milliseconds; 0 if it is gone."""
        try:
            return int(posix.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime * 1000)
        except FileNotFoundError:
            return 0

    def has(self, name: str) -> bool:
        return self._inode(name) > 0

    def _inode(self, name: str) -> int:
        try:
            return posix.stat(name, dir_fd=self.fd, follow_symlinks=False).st_ino
        except FileNotFoundError:
            return 0

    def append(self, name: str, data: bytes) -> None:
        """To a file that is there. The kernel puts it behind all that anybody has written by then."""
        fd = posix.open(name, posix.O_WRONLY | posix.O_APPEND | _NO_LINK, dir_fd=self.fd)
        try:
            if posix.write(fd, data) != len(data):
                raise OSError(28, "the disk is full", f"{self.path}/{name}")
        finally:
            posix.close(fd)

    def create(self, name: str, data: bytes, durable: bool = False, mode: int = 0o600) -> None:
        """A new file; FileExistsError where there is anything of that name."""
        fd = posix.open(name, _NEW, mode, dir_fd=self.fd)
        try:
            done = posix.write(fd, data)
            while done < len(data):
                done += posix.write(fd, data[done:])
            if durable:
                posix.fsync(fd)
        except OSError:
            self.remove(name)
            raise
        finally:
            posix.close(fd)

    def publish(self, temporary: str, name: str, is_ours: bool = False) -> None:
        """Give a finished file its name, unless there is one of that name. Where a file system has no hard
        links the name is taken by an empty file first, or, if nobody else can want it (`is_ours`), simply
        given."""
        try:
            posix.link(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            if not is_ours:
                self.create(name, b"")
            elif self.has(name):
                raise FileExistsError(17, "there is one", f"{self.path}/{name}") from None
            self.rename(temporary, name)
        else:
            self.remove(temporary)

    def remove(self, name: str) -> None:
        try:
            posix.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass

    def rename(self, old: str, new: str) -> None:
        posix.rename(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def sync(self) -> None:
        posix.fsync(self.fd)
