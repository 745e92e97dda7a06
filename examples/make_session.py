"""Writes session.jsonl, a session that never was: python examples/make_session.py [PATH]"""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.demo.story import story

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("session.jsonl")
    target.write_bytes(story().encode())
