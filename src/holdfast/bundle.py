"""The modules every hook needs, compiled into one file: __pycache__/hot.<interpreter>; and into another,
__pycache__/later.<interpreter>, what it needs to save or to say something.

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
    "__init__ errors clock core/__init__ core/config core/jsontext core/events core/sizes "
    "core/transcript core/meter core/seen core/rewind core/fold core/heard core/state core/gauge "
    "core/ladder core/forecast core/thrash core/guard core/decide core/lines disk/__init__ disk/home "
    "disk/files disk/trail disk/compiled disk/sessions disk/transcripts app watch engine hook"
).split()

#: What a checkpoint, a block and a brief need besides: in a file of its own, loaded only then.
LATER = (
    "apart core/plain core/fence core/judge core/keyed core/families core/marked core/shaped core/digest "
    "core/redact core/spoken core/rules core/cues core/touched core/units core/quoted core/compose "
    "core/facts core/worth core/budget core/checkpoint disk/outbox disk/index disk/folder "
    "disk/checkpoints disk/marks disk/kept disk/noted disk/client disk/gathered disk/worktree disk/words "
    "disk/probe disk/spool disk/results disk/instructions disk/budgets material core/brief books overflow "
    "reconcile binding restoring saving"
).split()


def path(package: str, name: str = "hot") -> str:
    return f"{package}/__pycache__/{name}.{sys.implementation.cache_tag}"


def later() -> None:
    """Load what is needed when something is to be saved or said; as launch.py loads the rest."""
    if "holdfast.material" in sys.modules:
        return
    package = __file__[: -len("/bundle.py")]
    try:
        with open(path(package, "later"), "rb") as file:
            data = memoryview(file.read())
        if source_hash(0, data[8:]) != data[:8]:
            raise OSError
        modules = marshal.loads(data[8:])
        for _, stem, changed, size, _ in modules:
            now = posix.stat(f"{package}/{stem}.py")
            if now.st_mtime_ns != changed or now.st_size != size:
                raise OSError
    except OSError:
        modules = build(package, "later", LATER)
    for name, stem, _, _, code in modules:
        if name not in sys.modules:
            module = sys.modules[name] = type(sys)(name)
            module.__file__ = f"{package}/{stem}.py"
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)
            exec(code, module.__dict__)


def build(package: str, name: str = "hot", stems: list[str] = HOT) -> list:
    """Compile and write; where that is not possible, nothing."""
    modules: list = []
    temporary = f"{package}/__pycache__/{name}.{posix.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:  # before compiling: a read-only place costs no time
            modules = _compiled(package, stems)
            data = marshal.dumps(modules)
            file.write(source_hash(0, data) + data)
        posix.rename(temporary, path(package, name))
        _tidy(f"{package}/__pycache__")
    except OSError:
        pass
    finally:
        _remove(temporary)
    return modules


def _tidy(folder: str) -> None:
    """What builders that were killed left behind. One that is still at work begins again next time."""
    for name in posix.listdir(folder):
        if name.startswith(("hot.", "later.")) and name.endswith(".tmp"):
            _remove(f"{folder}/{name}")


def _remove(temporary: str) -> None:
    """Others tidy up as well: that it is gone already must not cost a hook its event."""
    try:
        posix.unlink(temporary)
    except OSError:
        pass


def _compiled(package: str, stems: list[str]) -> list:
    """[(module, stem, time of its source, size, code), …]"""
    modules = []
    for stem in stems:
        with open(f"{package}/{stem}.py", "rb") as file:
            state = posix.fstat(file.fileno())
            code = compile(file.read(), file.name, "exec", dont_inherit=True, optimize=2)
        name = f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".")
        modules.append((name, stem, state.st_mtime_ns, state.st_size, code))
    return modules
