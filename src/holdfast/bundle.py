"""Modules that are needed together, loaded from one file: __pycache__/<group>.<interpreter>.

Python looks for each module anew, which costs a fiftieth of an interpreter start apiece; hooks need
the same two dozen every time. Like a .pyc a group's file is a cache: it names the sources it was made
from, they are compared whenever it is loaded, and it is made again (`bundling`) when one has changed.
Where it cannot be written (a read-only installation) hooks import as usual and are a little slower.

`launch.py` runs this very module out of the first such file, so it says only how to load, not how to make.
A file is a checksum, the length of the loader (only the first file has one), the loader, the modules.
"""

import _imp
import marshal
import posix
import sys
from _frozen_importlib import ModuleSpec

#: Part of the checksum: a file of another layout is as good as damaged. launch.py has it, too.
LAYOUT = 3
#: Which module of a group is there only when all of it is.
_LAST = {"later": "holdfast.saving", "line": "holdfast.statusline"}


def path(package: str, group: str = "hot") -> str:
    return f"{package}/__pycache__/{group}.{sys.implementation.cache_tag}"


def begin(data: memoryview, fd: int) -> None:
    """For launch.py, which has compared the checksum: all that a hook needs is loaded then. OSError: it has
    to be made anew."""
    posix.close(fd)
    # Nothing that is loaded, nor anything a hook makes, is worth being looked through for garbage.
    gc = sys.modules["gc"] = _imp.create_builtin(ModuleSpec("gc", None))
    _imp.exec_builtin(gc)  # whole: the server stays, and what it loads may ask for all of it
    gc.disable()
    sys.path.insert(0, sys.path.pop())  # lib-dynload, where C modules are, before the large directory
    sys.path.append(package().rpartition("/")[0])
    if not is_server():
        _open_json()
        run(marshal.loads(data[12 + int.from_bytes(data[8:12], "little") :]))


def is_server() -> bool:
    """No hook: it loads what it needs, and stays."""
    return sys.argv[1:2] == ["mcp"]


def load(group: str) -> None:
    """Modules that most hooks do without, all at once; OSError where their file has to be made anew."""
    if _LAST[group] not in sys.modules:
        run(_read(group))


def _read(group: str) -> list:
    fd = posix.open(path(package(), group), posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        data = memoryview(posix.read(fd, posix.fstat(fd).st_size))
    finally:
        posix.close(fd)
    if _imp.source_hash(LAYOUT, data[8:]) != data[:8]:
        raise OSError("damaged")
    modules: list = marshal.loads(data[12:])
    return modules


def run(modules: list) -> None:
    """Execute what a group's file holds, or, where a source has changed since, nothing: OSError."""
    home = package()
    for _, stem, changed, size, _ in modules:
        now = posix.stat(f"{home}/{stem}.py")
        if now.st_mtime_ns != changed or now.st_size != size:
            raise OSError("stale")
    execute(modules)


def _open_json() -> None:
    """The C module for JSON, from where it has to be: to look for it costs as much as to load it. Where it
    is elsewhere, or built in, `import` finds it."""
    try:
        place = f"{sys.path[0]}/_json{_imp.extension_suffixes()[0]}"
        module = _imp.create_dynamic(ModuleSpec("_json", None, origin=place))
        _imp.exec_dynamic(module)
    except (ImportError, LookupError, AttributeError, TypeError):
        return
    sys.modules["_json"] = module


def execute(modules: list) -> None:
    home = package()
    for name, stem, _, _, code in modules:
        if name in sys.modules:
            continue
        module = sys.modules[name] = type(sys)(name)
        module.__file__ = f"{home}/{stem}.py"
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
        if stem.endswith("__init__"):
            module.__path__ = [module.__file__[: -len("/__init__.py")]]
        module.__dict__["__linked__"] = sys.modules  # what `bundling` has made of its imports asks here
        exec(code, module.__dict__)


def package() -> str:
    return __file__.rpartition("/")[0]
