"""Runs beside the demo and outlives it: starts its service, and when the demo is gone, however it went,
stops the service and removes everything.

    python janitor.py FOLDER

It is told that the demo is gone by its standard input, which ends with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys


def main(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    argv = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
    service = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    try:
        while os.read(0, 4096):
            pass
    finally:
        service.terminate()
        try:
            service.wait(10)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()
        # A hook that had begun may still be writing: what it has just made goes with the second look.
        for _ in range(2):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
