"""A task, for the conductor's tests: notes in a journal when it begins and when it has ended.

Usage: worker.py FOLDER TASK SECONDS [wait-for TASK | fail-once | fail | print TEXT]

If it finds itself at work beside another of the same task, it notes that, too.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

folder, task, seconds, *more = sys.argv[1:]
journal = Path(folder, "journal")


def note(what: str) -> None:
    fd = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{what} {task}\n".encode())
    os.close(fd)


lock = os.open(f"{folder}/{task}.lock", os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note("beside")
note("begin")
if more[:1] == ["wait-for"]:
    end = time.monotonic() + 30
    while f"begin {more[1]}" not in journal.read_text() and time.monotonic() < end:
        time.sleep(0.01)
if more[:1] == ["print"]:
    print(more[1], sys.stdin.read())
time.sleep(float(seconds))
tried = journal.read_text().split("\n").count(f"begin {task}")
if more == ["fail"] or (more == ["fail-once"] and tried == 1):
    note("fail")
    sys.exit(3)
note("end")
