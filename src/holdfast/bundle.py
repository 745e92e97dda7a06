"""The modules every hook needs, compiled into one file: __pycache__/hot.<interpreter>.

Python looks for each module anew, which costs a fiftieth of an interpreter start apiece; hooks need
the same two dozen every time. Like a .pyc the bundle is a cache: it names the sources it was made
from, `launch.py` compares them on every start and has it made again when one has changed. Where it
cannot be written (a read-only installation) hooks import as usual and are a little slower.
"""

import marshal
import posix
import sys
from _imp import source_hash

#: In an order in which each needs only those before it. A test compares this with what a hook loads.
HOT = (
    "__init__ errors clock core/__init__ core/jsontext core/events core/sizes core/transcript "
    "core/meter core/seen core/rewind core/fold core/heard core/state core/gauge core/decide core/lines "
    "disk/__init__ disk/home disk/files disk/trail disk/sessions disk/transcripts app engine hook"
).split()


def path(package: str) -> str:
    return f"{package}/__pycache__/hot.{sys.implementation.cache_tag}"


def build(package: str) -> None:
    """Compile and write; where that is not possible, nothing."""
    temporary = f"{package}/__pycache__/hot.{posix.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:  # before compiling: a read-only place costs no time
            data = marshal.dumps(_compiled(package))
            file.write(source_hash(0, data) + data)
        posix.rename(temporary, path(package))
        _tidy(f"{package}/__pycache__")
    except OSError:
        pass
    finally:
        _remove(temporary)


def _tidy(folder: str) -> None:
    """What builders that were killed left behind. One that is still at work begins again next time."""
    for name in posix.listdir(folder):
        if name.startswith("hot.") and name.endswith(".tmp"):
            _remove(f"{folder}/{name}")


def _remove(temporary: str) -> None:
    """Others tidy up as well: that it is gone already must not cost a hook its event."""
    try:
        posix.unlink(temporary)
    except OSError:
        pass


def _compiled(package: str) -> list:
    """[(module, stem, time of its source, size, code), …]"""
    modules = []
    for stem in HOT:
        with open(f"{package}/{stem}.py", "rb") as file:
            state = posix.fstat(file.fileno())
            code = compile(file.read(), file.name, "exec", dont_inherit=True, optimize=2)
        name = f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".")
        modules.append((name, stem, state.st_mtime_ns, state.st_size, code))
    return modules
