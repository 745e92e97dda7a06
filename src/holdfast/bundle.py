"""The modules every hook needs, compiled into one file: __pycache__/hot.<interpreter>.

Python looks for each module anew, which costs a fiftieth of an interpreter start apiece; hooks need
the same two dozen every time. Like a .pyc the bundle is a cache: it names the sources it was made
from, `launch.py` compares them on every start and has it made again when one has changed. Where it
cannot be written (a read-only installation) hooks import as usual and are a little slower.
"""

import marshal
import posix
import sys

#: In an order in which each needs only those before it. A test compares this with what a hook loads.
HOT = (
    "__init__ errors clock core/__init__ core/jsontext core/events core/sizes core/transcript core/meter "
    "core/seen core/fold core/heard core/state core/gauge core/lines disk/__init__ disk/home disk/files "
    "disk/trail disk/sessions disk/transcripts app engine hook"
).split()


def path(package: str) -> str:
    return f"{package}/__pycache__/hot.{sys.implementation.cache_tag}"


def build(package: str) -> None:
    """Compile and write; where that is not possible, nothing."""
    temporary = f"{package}/__pycache__/hot.{posix.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:  # before compiling: a read-only place costs no time
            file.write(marshal.dumps(_compiled(package)))
        posix.rename(temporary, path(package))
    except OSError:
        pass


def _compiled(package: str) -> tuple:
    sources, modules = [], []
    for stem in HOT:
        path = f"{package}/{stem}.py"
        with open(path, "rb") as file:
            state = posix.fstat(file.fileno())
            code = compile(file.read(), path, "exec", dont_inherit=True, optimize=2)
        name = f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".")
        sources.append((path, state.st_mtime_ns, state.st_size))
        modules.append((name, path, code))
    return sources, modules
