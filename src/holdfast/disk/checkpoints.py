"""Checkpoints on disk: written so that one that was acknowledged is there, whole, and ours.

    verified bytes ─► temporary, fsync ─► its name, exclusive ─► directory fsync ─► index line ─► taken

Killed before the line, it was not taken: the file may be there, complete, and whoever pays the debt
finds it by its uid and goes on from there. They stand in the project, in a folder of their own; where
the project cannot be written, at home, and the index says so.
"""

import posix
from _thread import get_native_id

from holdfast.clock import new_id, now, rfc3339
from holdfast.core import checkpoint
from holdfast.core.config import STANDARD, Config
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files, index, trail
from holdfast.disk.folder import TEMPORARY, Folder
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import BadInput, Damaged, HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIX = ".md"
COUNTER = ".checkpoint_iteration"
LATEST = "latest.md"
_IGNORE = ".gitignore"
_HIDDEN, _SHARED = b"*\n", b".*\n!.gitignore\nlatest.md\n*.damaged-*\n"
_PLACE = ((".claude", 0o755), ("checkpoints", 0o700))
_MOST_NAMES = 2000
_LARGEST_HEAD = 1 << 16
_PRUNED_EVERY = 16
#: Size of a folder, as the file system gives it, that is listed that often: some 5,000 names.
_LISTED = 1 << 18
_LOOKED_AT, _MOST_COUNTED = 64, 10**9
_ZEROS = str.maketrans("123456789", "000000000")
_SHAPES = ("0000-00-00-000000", "0000-00-00-000000-000", "0000-00-00-000000-0000")
_KEY_SIZE = 32
#: In so many bytes a checkpoint has said its id and uid.
_INTRODUCED = 128


class Draft:
    """A checkpoint to be: all of its frontmatter but what depends on where it ends up."""

    __slots__ = ("at", "body", "fields", "project", "uid")

    def __init__(self, uid: str, at: int, project: str, fields: dict, body: str) -> None:
        self.uid = uid
        self.at = at
        self.project = project
        self.fields = fields
        self.body = body


def take(
    home: Home,
    draft: Draft,
    tell: "Callable[[dict], object]" = dict,
    leave: "Callable[[], object]" = dict,
    config: Config = STANDARD,
) -> dict:
    """Write it, durably, and say so in the index. `tell` is given its entry the moment it is taken; `leave`
    is called when only tidying up is left, for which nobody has to wait."""
    known = index.find(home, draft.uid)
    if known:  # by one that was killed right after it had said so
        tell(known)
        return known
    key = seal_key(home)
    try:
        kept, folder = "project", in_project(draft.project)
    except (OSError, ValueError):  # read-only, vanished, no path, or a link where our folder should be
        kept, folder = "home", at_home(home, draft.project)
    try:
        stem, data = _publish(home, folder, draft, key, config["checkpoints.share"])
    except OSError:
        folder.close()
        if kept == "home":
            raise
        kept, folder = "home", at_home(home, draft.project)  # full, or failing
        stem, data = _publish(home, folder, draft, key, is_shared=False)
    with folder:
        entry = index.entry(checkpoint.parse(data, stem).fields, f"{folder.path}/{stem}{SUFFIX}", kept)
        index.add(home, entry)
        tell(entry)
        _afterwards(home, folder, entry, key)
        leave()
        _tidied(home, folder, entry["iteration"], draft.at, config)
    return entry


def _afterwards(home: Home, folder: Folder, entry: dict, key: bytes) -> None:
    """It is taken. What follows is convenience, can be made anew, and must not fail it."""
    try:
        set_head(home, entry)
        point_latest(folder, entry["id"], entry["uid"], key)
        index.show(home)
    except (OSError, BadInput) as problem:
        trail.note(home, "degraded.index", what=f"{type(problem).__name__}: {problem}")


def _tidied(home: Home, folder: Folder, iteration: int, at: int, config: Config) -> None:
    """Now and then what is old goes. The whole folder is listed for it: the larger it is, the more seldom,
    and the more is looked at then."""
    times = 1 + posix.fstat(folder.fd).st_size // _LISTED
    turn, rest = divmod(iteration, _PRUNED_EVERY * times)
    if rest != 1:
        return
    from holdfast.disk import oldsessions, retention

    days = config["checkpoints.keep_days"]
    try:
        retention.prune_folder(home, folder, at, _LOOKED_AT * times, days, turn, is_asked=False)
        oldsessions.prune(home, at, config["sessions.keep_days"])
    except (OSError, BadInput) as problem:
        trail.note(home, "degraded.index", what=f"{type(problem).__name__}: {problem}")


def in_project(project: str) -> Folder:
    if not project.startswith("/"):
        raise NotADirectoryError(20, "not an absolute path", project)
    return Folder.make(project, *_PLACE)


def open_folder(path: str) -> Folder:
    """A folder that holds checkpoints. Of a project's own folders no link is followed; before them, any."""
    project, found, rest = path.partition("/.claude/checkpoints")
    if found and not rest:
        return Folder.open(project or "/", ".claude", "checkpoints")
    return Folder.open(path)


def at_home(home: Home, project: str) -> Folder:
    files.make_dir(home.checkpoints)
    _, kept, key = _kept_at(home, project).rsplit("/", 2)
    return Folder.make(home.checkpoints, (kept, 0o700), (key, 0o700))


def _kept_at(home: Home, project: str) -> str:
    key = sha256_hex(project.encode("utf-8", "surrogatepass"))[:16]
    return f"{home.checkpoints}/kept/{key}"


def _publish(home: Home, folder: Folder, draft: Draft, key: bytes, is_shared: bool) -> tuple[str, bytes]:
    """(name without suffix, bytes) of the file, which is durable when this returns."""
    _ignore(folder, is_shared)
    base = stem_at(draft.at)
    iteration = 0
    for number in range(1, _MOST_NAMES):
        stem = base if number == 1 else f"{base}-{number:03d}"
        found = _written_before(folder, stem, draft.uid)
        if found:  # by one who was killed, or was late, before it could say so
            folder.sync()
            return stem, found
        if found is None or _is_anothers(folder, f".{stem}{TEMPORARY}", draft.uid):
            continue
        iteration = iteration or _count(folder, _reached(home, draft.project, folder))
        fields = {**draft.fields, "id": stem, "uid": draft.uid, "created": rfc3339(draft.at)}
        data = checkpoint.render({**fields, "iteration": iteration}, draft.body, key)
        wrong = checkpoint.problems(data, stem)
        if wrong:
            raise HoldfastError(f"a checkpoint that does not verify is not written: {wrong[0]}")
        if _write(folder, stem, data, draft.uid):
            return stem, data
        found = _written_before(folder, stem, draft.uid)
        if found:  # by one of ours that was thought to be dead
            folder.sync()
            return stem, found
    raise HoldfastError(
        f"{folder.path} has {_MOST_NAMES} checkpoints of one second; is its clock standing still?"
    )


def _write(folder: Folder, stem: str, data: bytes, uid: str) -> bool:
    """Durable under that name; False if the name is another's."""
    temporary = (
        f".{stem}{TEMPORARY}"  # whoever makes it has the name: others do not wait, nor write in vain
    )
    try:
        folder.create(temporary, data, durable=True)
    except FileExistsError:
        if _is_anothers(folder, temporary, uid):
            return False  # another agent's, in the same second
        # Ours, begun by one that was killed, or is slow.
        temporary = f".{stem}.{get_native_id()}{TEMPORARY}"
        folder.create(temporary, data, durable=True)
    try:
        if folder.read(temporary, checkpoint.LARGEST) != data:
            raise OSError(5, "what was written reads differently", folder.path)
        folder.publish(temporary, stem + SUFFIX, is_ours=True)
    except OSError as problem:
        folder.remove(temporary)  # only here: once it is published, its name may be another's
        if isinstance(problem, FileExistsError):
            return False
        raise
    try:
        folder.sync()
    except OSError:
        folder.remove(stem + SUFFIX)  # it goes elsewhere; not both
        raise
    return True


def _is_anothers(folder: Folder, temporary: str, uid: str) -> bool:
    try:
        return _uid(folder.begin(temporary, _INTRODUCED)) != uid
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _written_before(folder: Folder, stem: str, uid: str) -> bytes | None:
    """The file of that name if it is this checkpoint, b"" if there is none, None if it is another. Also who
    tries for the first time may have been overtaken: by one who thought it dead."""
    try:
        if (
            _uid(folder.begin(stem + SUFFIX, _INTRODUCED)) != uid
        ):  # the others of this second may be hundreds
            return None
        data = folder.read(stem + SUFFIX, checkpoint.LARGEST)
    except FileNotFoundError:
        return b""
    except (OSError, BadInput):
        return None
    return data if _uid(data) == uid and not checkpoint.problems(data, stem) else None


def _uid(data: bytes) -> str:
    return data[:2048].partition(b"\nuid: ")[2].partition(b"\n")[0].decode("ascii", "replace")


def stem_at(at: int) -> str:
    return rfc3339(at)[:19].replace("T", "-").replace(":", "")


def is_stem(name: str) -> bool:
    """YYYY-MM-DD-HHMMSS, or that with a number."""
    return name.translate(_ZEROS) in _SHAPES


def stems(folder: Folder) -> list[str]:
    """Names of all files in the folder that can be checkpoints, oldest first."""
    return stems_of(folder.names())


def stems_of(names: list[str], before: str = "~") -> list[str]:
    cut = (name[: -len(SUFFIX)] for name in names if name < before and name.endswith(SUFFIX))
    return sorted(filter(is_stem, cut))


def _reached(home: Home, project: str, folder: Folder) -> int:
    """The iteration that the project has reached in another folder than this one: some of its checkpoints
    are kept in home, where its own disk was full."""
    kept = _kept_at(home, project)
    if folder.path != kept and not files.is_there(kept):
        return 0
    return max((entry["iteration"] for entry in index.having(home, "project", project)), default=0)


def _count(folder: Folder, reached: int = 0) -> int:
    """The project's next iteration. The counter is a cache, changed in place under its own lock; one that
    is missing, or cannot be trusted, is counted from the files. It goes on from what was `reached`
    elsewhere."""
    how = posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
    try:
        fd = posix.open(COUNTER, how, 0o600, dir_fd=folder.fd)
    except OSError:
        return max(_counted(folder), reached) + 1
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        state = posix.fstat(fd)
        if state.st_mode & 0o170000 != 0o100000 or state.st_nlink > 1:  # not ours to write into
            return max(_counted(folder), reached) + 1
        digits = posix.pread(fd, 16, 0).strip()
        last = int(digits) if digits.isdigit() and int(digits) < _MOST_COUNTED else _counted(folder)
        last = max(last, reached)
        posix.pwrite(fd, b"%d\n" % (last + 1), 0)
        posix.ftruncate(fd, len(b"%d\n" % (last + 1)))
        return last + 1
    finally:
        posix.close(fd)


def _counted(folder: Folder) -> int:
    """From the newest files; what a stranger's says may be nonsense, but is no more than that."""
    highest = 0
    for stem in stems(folder)[-_LOOKED_AT:]:
        try:
            data = folder.read(stem + SUFFIX, checkpoint.LARGEST)
            counted = checkpoint.parse(data, stem).fields["iteration"]
        except (OSError, BadInput, Damaged):
            continue
        highest = max(highest, counted if counted < _MOST_COUNTED else 0)
    return highest


def _ignore(folder: Folder, is_shared: bool) -> None:
    """Nothing of ours shows in `git status` but, where they are shared, the checkpoints themselves. What
    somebody else says there stays."""
    wanted = _SHARED if is_shared else _HIDDEN
    there = _ignored(folder)
    if there not in (None, _SHARED, _HIDDEN) or there == wanted:
        return
    files.sync_above(folder.path, 4)  # once: who finds it knows that the folder's own name is safe
    temporary = f".{new_id(now())}{TEMPORARY}"
    try:
        folder.create(temporary, wanted)
        if there:
            folder.rename(temporary, _IGNORE)
        else:
            folder.publish(temporary, _IGNORE)
    except FileExistsError:
        pass  # another was quicker
    finally:
        folder.remove(temporary)


def _ignored(folder: Folder) -> bytes | None:
    if not folder.has(_IGNORE):
        return None
    try:
        return folder.begin(_IGNORE, 2 * len(_SHARED))
    except OSError:  # a link, or not to be read: not ours
        return b""


def latest(folder: Folder) -> str:
    """Where `latest.md` leads; "" if it is no link, or there is none."""
    try:
        return posix.readlink(LATEST, dir_fd=folder.fd)
    except OSError:
        return ""


def point_latest(folder: Folder, stem: str, uid: str, key: bytes) -> None:
    """`latest.md` leads to the newest. A file of that name is somebody else's and stays."""
    target = latest(folder)
    if not target and folder.has(LATEST):
        return
    temporary = f".{uid}.latest{TEMPORARY}"
    try:
        there = folder.read(target, checkpoint.LARGEST) if is_stem(target.removesuffix(SUFFIX)) else b""
        if _uid(there) > uid and checkpoint.is_sealed(there, key):
            return  # another was quicker, and is newer
    except (FileNotFoundError, BadInput):
        pass
    except OSError:
        return
    try:
        folder.remove(temporary)
        posix.symlink(stem + SUFFIX, temporary, dir_fd=folder.fd)
        folder.rename(temporary, LATEST)
    except OSError:  # a file system without links
        folder.remove(temporary)


def known_key(home: Home) -> bytes:
    """For looking only: b"" where there is none yet."""
    try:
        return files.read(home.root + "/seal.key", 1024)
    except (OSError, BadInput):
        return b""


def seal_key(home: Home) -> bytes:
    """What tells our checkpoints from a stranger's. Made once; one that is damaged is set aside, and
    what it has sealed then needs approval."""
    path = home.root + "/seal.key"
    key = _key(path)
    if not key:
        files.make_dir(home.root)
        with files.Lock(home.root + "/seal.lock"):  # many may begin at once; they share one key
            key = _key(path)
            if not key:
                if key is not None:
                    files.set_aside(path)
                key = posix.urandom(_KEY_SIZE)
                files.replace(path, key, durable=True)
                files.sync_above(home.root, 4)
    return key


def _key(path: str) -> bytes | None:
    """b"": what is there is none; None: there is nothing."""
    try:
        key = files.read(path, 1024)
    except FileNotFoundError:
        return None
    except BadInput:  # far too long, or no file at all
        return b""
    return key if len(key) == _KEY_SIZE else b""


def head(home: Home, lineage: str) -> dict:
    """The entry of a lineage's newest checkpoint, from a cache of one file each; {} if it does not know."""
    try:
        return _head(files.read(f"{home.checkpoints}/heads/{lineage}.json", _LARGEST_HEAD))
    except (OSError, BadInput):
        return {}


def _head(data: bytes) -> dict:
    try:
        said = load(data.decode("utf-8", "replace"))
    except UNREADABLE:
        return {}
    return said if type(said) is dict and type(said.get("uid")) is str else {}


def set_head(home: Home, entry: dict) -> None:
    """Changed in place under its own lock: two sessions may go on with the same work at once."""
    if not is_safe_name(entry["lineage"]):  # of a stranger's that was approved
        return
    files.make_dir(home.checkpoints + "/heads")
    path = f"{home.checkpoints}/heads/{entry['lineage']}.json"
    with files.Lock(path) as lock:
        if _head(posix.pread(lock.fd, _LARGEST_HEAD, 0)).get("uid", "") < entry["uid"]:
            data = dump(entry).encode()
            posix.pwrite(lock.fd, data.ljust(posix.fstat(lock.fd).st_size), 0)
