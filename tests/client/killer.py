"""Becomes another command, and is killed at some random moment of its life, or after it.

Usage: killer.py FILE COMMAND...    a line is written to FILE when the kill came in time
"""

import os
import random
import signal
import sys
import time

#: A hook of ours lives some 20 to 50 ms.
_LONGEST_S = 0.05

log, command = sys.argv[1], sys.argv[2:]
victim = os.pidfd_open(os.getpid())  # not its number: that may be somebody else's by then
if os.fork() == 0:
    os.closerange(0, 3)  # the client waits until nobody holds the hook's pipes
    time.sleep(random.uniform(0, _LONGEST_S))
    try:
        signal.pidfd_send_signal(victim, signal.SIGKILL)
    except ProcessLookupError:
        os._exit(0)
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, b"killed\n")
    os._exit(0)
os.execv(command[0], command)
