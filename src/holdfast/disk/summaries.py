"""Summaries of finished work on disk: sessions/<session>/summaries/<md5 of session and task>.json.

Written once: durable before it has its name, and never under a name that is taken. Who is killed over one
leaves nothing that looks like one.
"""

import posix
from _thread import get_native_id

from holdfast.core.digest import md5_hex
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import checksum
from holdfast.disk import files
from holdfast.disk.folder import TEMPORARY, Folder
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import BadInput, Damaged, NotFound

VERSION = 1
SUFFIX = ".json"
_NAME = "summaries"
_HEAD = b'{"v":%d,"sum":' % VERSION
_LARGEST = 1 << 18
_HEX = frozenset("0123456789abcdef")
#: What the seed's form has, and what ours adds.
FIELDS = {
    "session_id": str,
    "task_id": str,
    "subject": str,
    "start_turn": int,
    "end_turn": int,
    "compressed_at": str,
    "files_modified": list,
    "commands_run": list,
    "key_outcomes": list,
    "errors_resolved": list,
    "agent_id": str,
    "kind": str,
    "partial": bool,
    "entry": str,
    "place": list,
}
_TEXTS = ("files_modified", "commands_run", "key_outcomes", "errors_resolved")


def stem(session: str, task: str) -> str:
    """The name of a summary's file. Ids come from outside; none of them becomes a name itself."""
    return md5_hex(f"{session}:{task}".encode("utf-8", "surrogatepass"))


def is_stem(name: str) -> bool:
    return len(name) == 32 and _HEX.issuperset(name)


def render(summary: dict) -> bytes:
    rest = dump(summary)[1:].encode()
    return b"%s%d,%s\n" % (_HEAD, checksum(rest), rest)


def parse(data: bytes, where: str) -> dict:
    """What `render` wrote, to the byte; anything else is Damaged."""
    written, _, rest = data.removeprefix(_HEAD).removesuffix(b"\n").partition(b",")
    try:
        if not data.startswith(_HEAD) or written != b"%d" % checksum(rest):
            raise ValueError("its checksum does not fit")
        said: dict = load("{" + rest.decode())  # type: ignore[assignment]
        for name, kind in FIELDS.items():
            if type(said.get(name)) is not kind:
                raise ValueError(f"its {name} is missing or no {kind.__name__}")
        if any(type(item) is not str for name in _TEXTS for item in said[name]):
            raise ValueError("it lists what is no text")
        if [type(number) for number in said["place"]] != [int] * 4:
            raise ValueError("its place is none")
    except UNREADABLE as problem:
        raise Damaged(f"{where} is not a summary holdfast can read: {problem}") from problem
    return said


def stems(home: Home, session: str, agent: str = "") -> list[str]:
    """Of every summary there is, oldest first."""
    return [name for _, name in _written(home, session, agent)]


def _written(home: Home, session: str, agent: str) -> list[tuple[int, str]]:
    """(when, stem) of each, oldest first."""
    try:
        with _open(home, session, agent) as folder:
            names = [name.removesuffix(SUFFIX) for name in folder.names() if name.endswith(SUFFIX)]
            return sorted((folder.changed_at(one + SUFFIX), one) for one in filter(is_stem, names))
    except FileNotFoundError:
        return []


def has(home: Home, session: str, task: str, agent: str = "") -> bool:
    try:
        with _open(home, session, agent) as folder:
            return folder.has(stem(session, task) + SUFFIX)
    except FileNotFoundError:
        return False


def write(home: Home, summary: dict) -> bool:
    """Durable when it returns; False if there is one of this work already."""
    session, agent = summary["session_id"], summary["agent_id"]
    path = home.session(session, agent)
    is_first = False
    try:
        folder = _open(home, session, agent)
    except FileNotFoundError:
        folder, is_first = Folder.make(path, (_NAME, 0o700)), True
    with folder:
        name = stem(session, summary["task_id"]) + SUFFIX
        if folder.has(name):
            return False
        if is_first:
            files.sync_above(folder.path)
        temporary = f".{name}.{get_native_id()}{TEMPORARY}"
        folder.remove(temporary)  # of one that was killed, long ago, under the same number
        folder.create(temporary, render(summary), durable=True)
        try:
            folder.publish(temporary, name, is_ours=True)
        except FileExistsError:
            return False
        finally:
            folder.remove(temporary)
        folder.sync()
    return True


def read(home: Home, session: str, name: str, agent: str = "") -> dict:
    """By the name of its file. NotFound, Damaged, or what is in it."""
    where = f"{home.session(session, agent)}/{_NAME}/{name}{SUFFIX}"
    try:
        with _open(home, session, agent) as folder:
            said = parse(folder.read(name + SUFFIX, _LARGEST), where)
    except FileNotFoundError:
        raise NotFound(f"there is no summary {where}") from None
    except BadInput as problem:
        raise Damaged(str(problem)) from problem
    if (said["session_id"], said["agent_id"]) != (session, agent) or stem(session, said["task_id"]) != name:
        raise Damaged(f"{where} is the summary of something else")
    return said


def remove(home: Home, session: str, names: list[str], agent: str = "") -> None:
    with _open(home, session, agent) as folder:
        for name in names:
            folder.remove(name + SUFFIX)
        folder.sync()


def newest(home: Home, session: str, most: int, agent: str = "") -> list[dict]:
    """The last `most` that were written, newest first; one that is damaged is passed over."""
    found: list[dict] = []
    last = 0
    for at, name in reversed(_written(home, session, agent)):
        if len(found) >= most and at != last:  # of those of one moment they say which is newer
            break
        try:
            found.append(read(home, session, name, agent))
            last = at
        except (OSError, Damaged, NotFound):
            continue
    return sorted(found, key=lambda one: (one["compressed_at"], one["place"]), reverse=True)[:most]


def agents(home: Home, session: str) -> list[str]:
    """ "" for the session itself, then those of its agents that have a folder."""
    try:
        names = posix.listdir(home.session(session) + "/agents")
    except (FileNotFoundError, NotADirectoryError):
        names = []
    return ["", *sorted(filter(is_safe_name, names))]


def tidy(home: Home, session: str, agent: str, before: int) -> None:
    """What those that were killed left unfinished. It was never acknowledged."""
    try:
        with _open(home, session, agent) as folder:
            for name in folder.names():
                if name.startswith(".") and name.endswith(TEMPORARY) and folder.changed_at(name) < before:
                    folder.remove(name)
    except FileNotFoundError:
        pass


def _open(home: Home, session: str, agent: str) -> Folder:
    place = home.session(session, agent)
    try:
        return Folder.open(place, _NAME)
    except FileNotFoundError:
        raise
    except OSError as problem:  # which names only the last part of the path
        raise OSError(problem.errno, problem.strerror, f"{place}/{_NAME}") from None
