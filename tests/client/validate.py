"""Ask the pinned client whether the plugin and its marketplace are as they should be: what it only warns of
counts, and what the plugin directory would refuse.

    PYTHONPATH=tests python -m client.validate      exit 1: they are not; 3: there is no client to ask
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from client.binary import Unavailable, ensure
from client.client import namespace
from skipping import NOT_TESTED, SKIPPED

REPO = Path(__file__).resolve().parents[2]
#: What is asked of it, and how strictly: a marketplace is not what the directory takes.
ASKED = (("plugin", "--strict", "--profile", "directory"), (".", "--strict"))
NO_CLIENT = 3
_WITHIN_S = 120


def validated(binary: Path, place: Path, *strictly: str) -> subprocess.CompletedProcess[str]:
    """What the client says of a folder; it reaches nothing but this machine, and has a home of its own."""
    with tempfile.TemporaryDirectory(prefix="holdfast-validate-") as home:
        return subprocess.run(
            [*namespace(), str(binary), "plugin", "validate", *strictly, str(place)],
            env={
                "HOME": home,
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "DISABLE_AUTOUPDATER": "1",
            },
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )


def main() -> int:
    try:
        if SKIPPED:
            raise Unavailable(NOT_TESTED)
        namespace()
        binary = ensure()
    except Unavailable as problem:
        print(f"holdfast: {problem}", file=sys.stderr)
        return NO_CLIENT
    worst = 0
    for name, *strictly in ASKED:
        done = validated(binary, REPO / name, *strictly)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main())
