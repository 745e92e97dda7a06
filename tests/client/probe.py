"""A hook that writes down what it is told, one line a call, and says nothing.

It shares no code with holdfast: it is the witness holdfast's own counting is compared with.
Usage: probe.py FILE
"""

import json
import os
import sys

payload = json.loads(sys.stdin.buffer.read())
line = json.dumps(payload, separators=(",", ":")).encode() + b"\n"
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(fd, line)  # one write: hooks of one moment run side by side
