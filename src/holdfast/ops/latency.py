"""What a hook costs here and now: the very launcher the client runs, timed beside a bare interpreter."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass

import holdfast
from holdfast.app import Holdfast
from holdfast.errors import HoldfastError

_ROUNDS, _PATIENCE_S = 5, 10


@dataclass(frozen=True)
class Latency:
    """Medians in milliseconds; `ratio` is that of the two."""

    hook_ms: float
    bare_ms: float
    ratio: float

    def __str__(self) -> str:
        return f"{self.hook_ms:.1f} ms, {self.ratio:.2f} × a bare interpreter start ({self.bare_ms:.1f} ms)"


def latency(app: Holdfast) -> Latency:  # noqa: ARG001  every operation has one
    """What one hook costs on this machine now, beside a bare interpreter start. Tried aside."""
    python = os.path.realpath(sys.executable)
    launch = os.path.join(os.path.dirname(os.path.realpath(holdfast.__file__)), "launch.py")
    event = {"session_id": "latency", "hook_event_name": "PostToolBatch", "tool_calls": [], "cwd": "/"}
    with tempfile.TemporaryDirectory(prefix="holdfast-latency-") as folder:
        environ = {"HOME": folder, "HOLDFAST_HOME": folder + "/home", "PATH": os.environ.get("PATH", "")}
        hooks, bare = [], []
        for _ in range(_ROUNDS + 1):
            hooks.append(_timed([python, "-I", "-S", launch], json.dumps(event).encode(), environ))
            bare.append(_timed([python, "-I", "-S", "-c", "pass"], b"", environ))
    hook_ms, bare_ms = (
        1000 * statistics.median(times[1:]) for times in (hooks, bare)
    )  # the first warms up
    return Latency(round(hook_ms, 2), round(bare_ms, 2), round(hook_ms / bare_ms, 3))


def _timed(argv: list[str], given: bytes, environ: Mapping[str, str]) -> float:
    began = time.perf_counter()
    try:
        subprocess.run(argv, input=given, env=environ, capture_output=True, check=True, timeout=_PATIENCE_S)  # noqa: S603
    except (subprocess.SubprocessError, OSError) as problem:
        raise HoldfastError(f"a hook could not be tried: {problem}; see `holdfast doctor`") from None
    return time.perf_counter() - began
