"""What was set, pinned and evicted for a project: budgets/<project>.json in home, small, one file each.

It is what people and models decided, so it is on the disk before they are told. A hook that cannot read it
goes by the configuration alone, and says so.
"""

from holdfast.core.budget import COMPARTMENTS
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import checksum
from holdfast.disk import files, trail
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

VERSION = 1
_HEAD = b'{"v":%d,"sum":' % VERSION
_LARGEST = 1 << 18


def saved(home: Home, project: str) -> dict:
    """For hooks: what cannot be read counts as nothing, and is noted."""
    try:
        return read(home, project)
    except (OSError, Damaged, BadInput) as problem:
        trail.note(home, "degraded.budget", what=str(problem)[:300])
        return {}


def read(home: Home, project: str) -> dict:
    """{shares, priorities, pins, evicted}, those set; {} where nothing was."""
    where = path(home, project)
    try:
        data = files.read(where, _LARGEST)
    except FileNotFoundError:
        return {}
    written, _, rest = data.removeprefix(_HEAD).partition(b",")
    try:
        if not data.startswith(_HEAD) or written != b"%d" % checksum(rest):
            raise ValueError("its checksum does not fit")
        found = load("{" + rest.decode("utf-8"))
        if not _is_whole(found):
            raise ValueError("something in it is not what it should be")
    except UNREADABLE as problem:
        raise Damaged(f"{where} is not what holdfast writes there: {problem}") from problem
    return found  # type: ignore[return-value]


def write(home: Home, project: str, found: dict) -> None:
    """The caller holds the lock."""
    rest = dump({"project": project, **found})[1:].encode()
    files.replace(path(home, project), b"%s%d,%s" % (_HEAD, checksum(rest), rest), durable=True)


def lock(home: Home) -> files.Lock:
    files.make_dir(_folder(home))
    return files.Lock(_folder(home) + "/lock")


def path(home: Home, project: str) -> str:
    return f"{_folder(home)}/{sha256_hex(project.encode('utf-8', 'surrogatepass'))[:16]}.json"


def _folder(home: Home) -> str:
    return home.root + "/budgets"


def _is_whole(found: object) -> bool:
    if type(found) is not dict:
        return False
    numbers = [*found.get("shares", {}).items(), *found.get("priorities", {}).items()]
    rows = [*((pin, 4) for pin in found.get("pins", [])), *((one, 3) for one in found.get("evicted", []))]
    return all(name in COMPARTMENTS and type(number) is int for name, number in numbers) and all(
        type(row) is list and len(row) == size and all(type(one) is str for one in row)
        for row, size in rows
    )
