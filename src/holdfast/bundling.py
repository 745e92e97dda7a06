"""How the files are made that `bundle` loads: which modules each holds, compiled, in one write.

What is compiled is what the source says, less what only readers and checkers need, and with imports among
the modules of ours made into what they come to: one name looked up in one module that is there.
"""

import _imp
import marshal
import posix
from _ast import AsyncFunctionDef, ClassDef, FunctionDef, If, ImportFrom, Name, PyCF_ONLY_AST

from holdfast import bundle
from holdfast.bundle import LAYOUT, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _ast import Module, stmt
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

#: What every hook loads, in an order in which each needs only those before it. A test compares this with
#: what a hook loads.
HOT = (
    "__init__ bundle errors clock core/__init__ core/config core/jsontext core/events core/sizes "
    "core/speaker core/transcript core/meter core/seen core/rewind core/fold core/heard core/state "
    "core/gauge core/ladder core/forecast core/thrash core/guard core/decide core/lines disk/__init__ "
    "disk/home disk/files disk/trail disk/compiled disk/sessions disk/transcripts app watch engine hook"
).split()

#: What the statusline needs besides.
LINE = ["disk/wiring", "statusline"]

#: And what a checkpoint, a block and a brief need.
LATER = (
    "apart core/plain core/fence core/judge core/keyed core/families core/marked core/shaped "
    "core/digest core/redact core/spoken core/rules core/cues core/shell core/started core/runners "
    "core/testruns core/printed core/outcome core/touched core/units core/shellfiles core/smalltalk "
    "core/workstate core/quoted core/phrases core/sentences core/steps core/unfinished core/waiting "
    "core/facts core/settled core/compose core/partial core/worth core/budget core/checkpoint "
    "disk/outbox disk/index disk/folder disk/checkpoints disk/marks disk/kept disk/process "
    "disk/lineages disk/noted disk/client disk/late disk/speech disk/gathered disk/worktree disk/words "
    "disk/probe disk/spool disk/results disk/instructions disk/budgets material core/brief books "
    "overflow reconcile binding restoring whose saving"
).split()

GROUPS = {"hot": HOT, "line": LINE, "later": LATER}


def begin() -> None:
    """For launch.py, where there was no bundle: it is made for the next hook, and this one imports."""
    import gc

    gc.disable()
    if not bundle.is_server():
        build(bundle.package())


def build(package: str, group: str = "hot") -> list:
    """Compile and write; where that is not possible, nothing."""
    modules: list = []
    temporary = f"{package}/__pycache__/{group}.{posix.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:  # before compiling: a read-only place costs no time
            modules = _compiled(package, GROUPS[group])
            loader = [marshal.dumps(one[-1]) for one in modules if group == "hot" and one[1] == "bundle"]
            size = sum(map(len, loader)).to_bytes(4, "little")
            data = b"".join([size, *loader, marshal.dumps(modules)])
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


def _compiled(package: str, stems: list[str]) -> list:
    """[(module, stem, time of its source, size, code), …]"""
    modules = []
    there = {_module(stem) for stem in (*HOT, *stems)}
    for stem in stems:
        with open(f"{package}/{stem}.py", "rb") as file:
            state = posix.fstat(file.fileno())
            tree: Any = compile(file.read(), file.name, "exec", PyCF_ONLY_AST, dont_inherit=True)
            _strip(tree)
            tree.body = [made for node in tree.body for made in _linked(node, there)]
            code = compile(tree, file.name, "exec", dont_inherit=True, optimize=2)
        modules.append((_module(stem), stem, state.st_mtime_ns, state.st_size, _lean(code)))
    return modules


def _module(stem: str) -> str:
    return f"holdfast/{stem}".removesuffix("/__init__").replace("/", ".")


def _strip(tree: "Module | ClassDef") -> None:
    """Take the annotations off functions and methods. They are for readers and checkers; to have them made
    costs every hook a fiftieth of an interpreter start."""
    for node in tree.body:
        if isinstance(node, ClassDef):
            _strip(node)
        elif isinstance(node, (FunctionDef, AsyncFunctionDef)):
            node.returns = None
            given = node.args
            for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if arg:
                    arg.annotation = None


def _linked(node: "stmt", there: set[str]) -> "Iterator[stmt]":
    """A statement of a module as it is bundled. `from holdfast.clock import now` costs the import system as
    much as making ten functions; that the module is there is known, so its name is all that is needed."""
    if isinstance(node, If) and isinstance(node.test, Name) and node.test.id == "TYPE_CHECKING":
        for other in node.orelse:
            yield from _linked(other, there)
    elif isinstance(node, ImportFrom) and _is_there(node, there):
        links = (f'{one.asname or one.name} = __linked__["{node.module}"].{one.name}' for one in node.names)
        source = "\n" * (node.lineno - 1) + "; ".join(links)
        tree: Any = compile(source, "", "exec", PyCF_ONLY_AST, dont_inherit=True)
        yield from tree.body
    else:
        yield node


def _is_there(node: ImportFrom, there: set[str]) -> bool:
    """Of a package only its modules are known."""
    if node.module in ("holdfast", "holdfast.core", "holdfast.disk"):
        return all(f"{node.module}.{one.name}" in there for one in node.names)
    return node.module in there


def _lean(code: "CodeType") -> "CodeType":
    """Without the columns of each instruction, a fifth of a file, and with a function's short name as its
    long one. Where a hook failed is told by the line and the short name."""
    inner = tuple(_lean(one) if isinstance(one, type(code)) else one for one in code.co_consts)
    made = code.replace(co_consts=inner, co_qualname=code.co_name, co_linetable=_table(code))
    return made if _lines(made) == _lines(code) else code  # else this interpreter writes them otherwise


def _lines(code: "CodeType") -> "list[list]":
    """[line, how many code units are from there], in the order of the code."""
    found: list[list] = []
    for start, end, line in code.co_lines():
        if not found or found[-1][0] != line:
            found.append([line, 0])
        found[-1][1] += (end - start) // 2
    return found


def _table(code: "CodeType") -> bytes:
    """The lines as CPython's Objects/locations.md tells them: an entry for up to eight code units, of kind
    13 (a line, no columns) or 15 (none)."""
    table, before = bytearray(), code.co_firstlineno
    for line, units in _lines(code):
        for left in range(units, 0, -8):
            kind = 15 if line is None else 13
            table.append(0x80 | kind << 3 | min(left, 8) - 1)
            if line is not None:
                moved, before = line - before, line
                number = moved << 1 if moved >= 0 else -moved << 1 | 1
                while number > 63:
                    table.append(0x40 | number & 63)
                    number >>= 6
                table.append(number)
    return bytes(table)
