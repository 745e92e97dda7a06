"""Made sessions, and what a checkpoint says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.compose import Composer
from holdfast.core.lines import Account, records
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from session import Script, folded, text, use

PROJECT = "/home/mira/tidegate"


def words_of(data: bytes) -> Callable[[int, int], list]:
    return lambda offset, length: records(data[offset : offset + length], Account()) if length else []


def composer(script: Script, tasks: dict | None = None, words: Callable | None = None) -> Composer:
    state = State("s1")
    state.seen = folded(script.lines)
    return Composer(state, words or words_of(script.bytes()), Redactor(b"k").text, PROJECT, tasks or {})


def sections(script: Script, **given: Any) -> dict[str, list[str]]:
    return composer(script, **given).sections()


def edited(
    script: Script, path: str, old: str = "old", new: str = "new", line: int = 1, hunks: int = 1
) -> None:
    call = f"e{script.count}"
    script.answer(use(call, "Edit", file_path=path, old_string=old, new_string=new))
    patch = [{"newStart": line + 10 * n, "newLines": 2} for n in range(hunks)]
    script.result(call, result={"structuredPatch": patch})


def ran(script: Script, command: str, output: str = "ok", failed: bool = False) -> None:
    call = f"b{script.count}"
    script.answer(use(call, "Bash", command=command))
    script.result(call, content=output, **({"is_error": True} if failed else {}))


def plain(item: str) -> str:
    """Without where it was said."""
    return item.rpartition(" (turn ")[0] or item.rpartition(" (entry ")[0]


def everything(secret: str = "") -> Script:
    """One of each, `secret` in all of it."""
    script = Script()
    script.answer(text("before anything"))
    script.prompt(f"start {secret}\n\nNever touch {secret}")
    script.answer(text(f"because {secret}"))
    edited(script, f"{PROJECT}/{secret}a.py", f"old {secret}", f"new {secret}")
    ran(script, f"curl {secret}", f"Exit code 1\n{secret}", failed=True)
    ran(script, f"pytest {secret}", f"1 passed {secret}")
    script.answer(use("t", "TaskCreate", subject=f"task {secret}"))
    script.result("t", result={"task": {"id": "1"}})
    script.answer(use("d", "TodoWrite", todos=[{"content": f"todo {secret}", "status": "pending"}]))
    script.result("d")
    script.answer(use("p", "ExitPlanMode", plan=f"plan {secret}"))
    script.result("p")
    script.answer(use("a", "Agent", description=f"agent {secret}", subagent_type="Explore"))
    script.result("a", content=[text(f"found {secret}")], result={"status": "completed", "agentId": "a1"})
    ran(script, "rm x", f"The user doesn't want to. the user said:\nno {secret}", failed=True)
    script.answer(text(f"next {secret}"))
    return script
