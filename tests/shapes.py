"""Sessions of every shape in which one is met: short, odd, damaged, long gone.

Each is a transcript, the hooks that were heard of it, and what became of the file.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from hooks import event, run_silently
from session import Script, text, use

#: A session of which the client writes no transcript.
NEVER_WRITTEN = "never-written"
#: What a compaction's summary may hold.
SUMMARY = "The user said to keep the port at 8123. src/gate.py was edited; the test fails."


def _worked(script: Script, turns: int, context: int = 30_000) -> None:
    """A prompt, and turns that edit, run and decide."""
    script.prompt("keep the port at 8123 and fix the tide table; never touch harbour.toml")
    for turn in range(turns):
        call = f"{script.session}-{script.count}"
        script.answer(
            text("We go with the lunar table because the solar one drifts."),
            use(f"{call}-e", "Edit", file_path="src/gate.py", old_string="a", new_string=f"b{turn}"),
            context=context + 900 * turn,
        )
        script.result(f"{call}-e", "ok", {"structuredPatch": [{"newStart": 3, "newLines": 1, "lines": []}]})
        script.answer(use(f"{call}-t", "Bash", command="pytest -q"), context=context + 900 * turn + 300)
        script.result(f"{call}-t", "Exit code 1\n1 failed, 2 passed in 0.10s", is_error=True)


def _compacted(script: Script, times: int, *, summary: bool = True, fall: bool = True) -> None:
    for _ in range(times):
        _worked(script, 2, context=150_000)
        script.boundary()
        if summary:
            script.line("user", isCompactSummary=True, message={"role": "user", "content": SUMMARY})
        script.answer(text("going on"), context=20_000 if fall else 160_000)


def empty(script: Script) -> None:
    """A file without a line."""


def mode_only(script: Script) -> None:
    script.lines.append(b'{"type":"mode","mode":"normal","sessionId":"%s"}\n' % script.session.encode())


def asked_only(script: Script) -> None:
    script.prompt("hello?")


def one_answer(script: Script) -> None:
    script.answer(text("Hello."), context=17_060)


def tiny(script: Script) -> None:
    script.prompt("hi")
    script.answer(text("Hello."), context=300, output=1)


def no_usage(script: Script) -> None:
    _worked(script, 3)
    script.lines = [line.replace(b'"usage"', b'"unused"') for line in script.lines]


def zero_usage(script: Script) -> None:
    script.prompt("go")
    for _ in range(3):
        script.answer(context=10, output=0, input_tokens=0)


def falling(script: Script) -> None:
    """Another model, or a rewind: usage falls without a compaction."""
    _worked(script, 2, context=120_000)
    _worked(script, 2, context=40_000)
    _worked(script, 2, context=90_000)
    _worked(script, 2, context=20_000)


def switched(script: Script) -> None:
    _worked(script, 2, context=90_000)
    script.model = "claude-haiku-4-5"
    _worked(script, 2, context=30_000)


def unknown_model(script: Script) -> None:
    script.model = "llama-70b"
    _worked(script, 2)


def over_full(script: Script) -> None:
    _worked(script, 3, context=215_000)


def rewound(script: Script) -> None:
    _worked(script, 1)
    parent = script.leaf
    _worked(script, 1)
    script.leaf = parent
    _worked(script, 2)


def compacted_once(script: Script) -> None:
    _compacted(script, 1)


def compacted_six_times(script: Script) -> None:
    _compacted(script, 6)


def compacted_and_no_more(script: Script) -> None:
    _worked(script, 2, context=150_000)
    script.boundary()


def compacted_without_summary(script: Script) -> None:
    _compacted(script, 2, summary=False)


def compacted_to_no_avail(script: Script) -> None:
    _compacted(script, 2, fall=False)


def subagents_only(script: Script) -> None:
    for number in range(3):
        script.line(
            "assistant",
            isSidechain=True,
            agentId=f"a{number}",
            message={"id": f"m{number}", "role": "assistant", "content": [text("looking")]},
        )


def torn(script: Script) -> None:
    _worked(script, 3)
    script.lines[-1] = script.lines[-1][:40]


def spliced(script: Script) -> None:
    """Two writers at once, bytes that are no text, a line of nothing, wrong types."""
    _worked(script, 3)
    script.lines[2:2] = [
        script.lines[3][:60] + script.lines[4],
        b"\x00\xff\xfe\x80\n",
        b"\n",
        b"[]\n",
        b'{"type":"assistant","message":{"usage":{"input_tokens":"many"},"content":5}}\n',
        b'{"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":-1}}\n',
        b'{"type":"user","message":{"content":[{"type":"tool_result","content":[7,null]}]}}\n',
    ]


def without_times(script: Script) -> None:
    _compacted(script, 1)
    script.lines = [line.replace(b'"timestamp"', b'"timeless"') for line in script.lines]


def wrong_times(script: Script) -> None:
    _compacted(script, 1)
    script.lines = [line.replace(b"2026-03-01T10", b"2226-13-99T77") for line in script.lines]


def foreign(script: Script) -> None:
    script.prompt("请修复潮汐表，永远不要动 harbour.toml。测试必须全部通过 🌊")
    script.answer(text("نستخدم جدول القمر لأن جدول الشمس ينحرف"), context=40_000)
    script.prompt("¿Y por qué no el solar? «Nunca» lo toques.")
    script.answer(text("ไม่ใช้ตารางสุริยะ เพราะคลาดเคลื่อน"), context=41_000)
    script.prompt("\u202eright to left\u202c \ud83c half a pair")
    script.answer(text("ok"), context=42_000)


def running(script: Script) -> None:
    _worked(script, 2)
    script.answer(use("still", "Bash", command="make world"), context=60_000)


#: Name -> what is in the transcript.
SHAPES: dict[str, Callable[[Script], None]] = {
    made.__name__: made
    for made in (
        *(empty, mode_only, asked_only, one_answer, tiny, no_usage, zero_usage, falling, switched),
        *(unknown_model, over_full, rewound, compacted_once, compacted_six_times, compacted_and_no_more),
        *(compacted_without_summary, compacted_to_no_avail, subagents_only, torn, spliced),
        *(without_times, wrong_times, foreign, running),
    )
}
#: Shapes of which the hooks heard and the file is not what they were told: what is done to it.
LOST: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 3]),
    "replaced": lambda path: path.write_bytes(_bytes("other", falling)),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


def _bytes(session: str, made: Callable[[Script], None]) -> bytes:
    script = Script(session)
    made(script)
    return script.bytes()


def lay_out(folder: Path, project: Path, home: Path) -> dict[str, Path]:
    """Every shape as a session of this project, in the client's folder, each met by the hooks that a client
    would have run, and once more as one that no hook has heard of. Gives their transcripts by session."""
    found: dict[str, Path] = {}
    for name, made in SHAPES.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(_bytes(name, made).replace(b"/home/mira/tidegate", str(project).encode()))
        hear(name, path, project, home)
        unheard = folder / f"unheard-{name}.jsonl"
        unheard.write_bytes(path.read_bytes().replace(name.encode(), unheard.stem.encode()))
        found |= {name: path, unheard.stem: unheard}
    for name, spoil in LOST.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(_bytes(name, compacted_once))
        hear(name, path, project, home)
        spoil(path)
        found[name] = path
    found[NEVER_WRITTEN] = folder / f"{NEVER_WRITTEN}.jsonl"
    hear(NEVER_WRITTEN, found[NEVER_WRITTEN], project, home)
    return found


def hear(session: str, path: Path, project: Path, home: Path) -> None:
    """Run the hooks that a client would have run for it."""
    common = {"session": session, "transcript": path, "cwd": str(project)}
    compacted = "compact" in session
    for name, fields in (
        ("SessionStart", {}),
        ("UserPromptSubmit", {}),
        ("PostToolBatch", {"tool_use_id": f"{session}-call"}),
        *((("PreCompact", {}), ("PostCompact", {"compact_summary": SUMMARY})) if compacted else ()),
        ("SubagentStop", {}),
        *(() if session == "running" else (("Stop", {}), ("SessionEnd", {}))),
    ):
        run_silently(event(name, **common, **fields), home)


def huge(path: Path, megabytes: int) -> None:
    """A long session, of real proportions: most of it is what tools printed."""
    chance = random.Random(7)
    script = Script("huge")
    with path.open("wb") as file:
        while file.tell() < megabytes << 20:
            _compacted(script, 1)
            for _ in range(40):
                call = f"h{script.count}"
                script.answer(use(call, "Read", file_path=f"src/part{script.count}.py"), context=80_000)
                script.result(call, "".join(chance.choices("abcdefgh \n", k=30_000)))
            file.write(script.bytes())
            script.lines.clear()
