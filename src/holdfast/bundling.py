"""How the files are made that `bundle` loads: which modules each holds, compiled, in one write."""

import _imp
import marshal
import posix
from _ast import AsyncFunctionDef, ClassDef, FunctionDef, PyCF_ONLY_AST

from holdfast.bundle import LAYOUT, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ast import Module
    from typing import Any

#: What every hook loads, in an order in which each needs only those before it. A test compares this with
#: what a hook loads. `bundle` has to be the second: launch.py begins with it.
HOT = (
    "__init__ bundle errors clock core/__init__ core/config core/jsontext core/events core/sizes "
    "core/transcript core/meter core/seen core/rewind core/fold core/heard core/state core/gauge "
    "core/ladder core/forecast core/thrash core/guard core/decide core/lines disk/__init__ disk/home "
    "disk/files disk/trail disk/compiled disk/sessions disk/transcripts app watch engine hook"
).split()

#: What the statusline needs besides, and what a commit or a test run does.
LINE = ["disk/wiring", "statusline"]
TREE = ["disk/worktree"]

#: And what a checkpoint, a block and a brief need.
LATER = (
    "apart core/plain core/fence core/judge core/keyed core/families core/marked core/shaped core/digest "
    "core/redact core/spoken core/rules core/cues core/touched core/units core/quoted core/compose "
    "core/facts core/worth core/budget core/checkpoint disk/outbox disk/index disk/folder disk/checkpoints "
    "disk/marks disk/kept disk/noted disk/client disk/gathered disk/worktree disk/words disk/probe "
    "disk/spool disk/results disk/instructions disk/budgets material core/brief books overflow reconcile "
    "binding restoring saving"
).split()

GROUPS = {"hot": HOT, "line": LINE, "tree": TREE, "later": LATER}


def build(package: str, group: str = "hot") -> list:
    """Compile and write; where that is not possible, nothing."""
    modules: list = []
    temporary = f"{package}/__pycache__/{group}.{posix.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:  # before compiling: a read-only place costs no time
            # What is loaded later is also made later, in the middle of an event: as fast as can be.
            modules = _compiled(package, GROUPS[group], bare=group == "hot")
            data = marshal.dumps(modules)
            file.write(_imp.source_hash(LAYOUT, data) + data)
        posix.rename(temporary, path(package, group))
        _tidy(f"{package}/__pycache__")
    except OSError:
        pass
    finally:
        _remove(temporary)
    return modules


def _tidy(folder: str) -> None:
    """What builders that were killed left behind. One that is still at work begins again next time."""
    for name in posix.listdir(folder):
        if name.partition(".")[0] in GROUPS and name.endswith(".tmp"):
            _remove(f"{folder}/{name}")


def _remove(temporary: str) -> None:
    """Others tidy up as well: that it is gone already must not cost a hook its event."""
    try:
        posix.unlink(temporary)
    except OSError:
        pass


def _compiled(package: str, stems: list[str], bare: bool) -> list:
    """[(module, stem, time of its source, size, code), …]"""
    modules = []
    for stem in stems:
        with open(f"{package}/{stem}.py", "rb") as file:
            state = posix.fstat(file.fileno())
            source: Any = file.read()
            if bare:
                source = compile(source, file.name, "exec", PyCF_ONLY_AST, dont_inherit=True)
                _strip(source)
            code = compile(source, file.name, "exec", dont_inherit=True, optimize=2)
        name = f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".")
        modules.append((name, stem, state.st_mtime_ns, state.st_size, code))
    return modules


def _strip(tree: "Module | ClassDef") -> None:
    """Take the annotations off functions and methods. They are for readers and checkers; to have them made
    costs every hook a fiftieth of an interpreter start. It doubles the time that compiling takes."""
    for node in tree.body:
        if isinstance(node, ClassDef):
            _strip(node)
        elif isinstance(node, (FunctionDef, AsyncFunctionDef)):
            node.returns = None
            given = node.args
            for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if arg:
                    arg.annotation = None
