"""How the tests of a working tree ended last, and on which commit they last passed: results/<tree>.json.

Whoever ran them: the session, a person beside it, a machine. A checkpoint tells it.
"""

from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import checksum
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

_HEAD = b'{"v":1,"sum":'
_LARGEST = 1 << 14
_SHAPE = {"passed": bool, "count": int, "failed": int, "at": str, "command": str, "commit": str}


def of(home: Home, tree: str) -> dict:
    """`tests`: the last run; `green`: the commit on which they passed with nothing else in the tree, and
    when. {} of a tree that is not known, or whose file cannot be read: the next run writes it anew."""
    try:
        data = files.read(_path(home, tree), _LARGEST)
    except (OSError, BadInput):
        return {}
    written, _, rest = data.removeprefix(_HEAD).partition(b",")
    try:
        if not data.startswith(_HEAD) or written != b"%d" % checksum(rest):
            return {}
        said = load("{" + rest.decode("utf-8"))
    except UNREADABLE:
        return {}
    return said if type(said) is dict and _is_whole(said) else {}


def note(home: Home, tree: str, run: dict) -> None:
    """Take in a run, redacted. The caller holds the spool's lock. Older than the last one known: it says
    nothing new."""
    known = of(home, tree)
    if known and known["tests"]["at"] > run["at"]:
        return
    green = [run["commit"], run["at"]] if run["passed"] and run["clean"] and run["commit"] else None
    said = {
        "root": run["root"],
        "tests": {name: run[name] for name in _SHAPE},
        "green": green or known.get("green", []),
    }
    rest = dump(said)[1:].encode()
    files.make_dir(_folder(home))
    files.replace(_path(home, tree), b"%s%d,%s" % (_HEAD, checksum(rest), rest), durable=False)


def _is_whole(said: dict) -> bool:
    tests, green = said.get("tests"), said.get("green")
    return (
        type(tests) is dict
        and all(type(tests.get(name)) is kind for name, kind in _SHAPE.items())
        and type(green) is list
        and list(map(type, green)) in ([], [str, str])
    )


def _folder(home: Home) -> str:
    return home.root + "/results"


def _path(home: Home, tree: str) -> str:
    return f"{_folder(home)}/{tree}.json"
