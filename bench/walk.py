"""What a scan with nothing new cannot do without: python -m walk FOLDER looks at every transcript."""

import posix
import sys

inside = [sys.argv[1]]
while inside:
    for entry in posix.scandir(inside.pop()):
        if entry.is_dir(follow_symlinks=False):
            inside.append(entry.path)
        elif entry.name.endswith(".jsonl"):
            entry.stat(follow_symlinks=False)
