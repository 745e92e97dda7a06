"""What is optional, and how it is installed."""

import os
import sys


def extra_command(extra: str) -> str:
    """The command that adds an extra to the holdfast that runs: in its clone, else by the name under which
    it is distributed. The package `holdfast` on the public index is somebody else's."""
    clone = __file__.rpartition("/src/holdfast/")[0]
    private = f"{clone}/.venv/bin/python"
    if clone and os.path.exists(f"{clone}/pyproject.toml"):
        python = private if os.path.exists(private) else sys.executable
        return f"{python} -m pip install -e '{clone}[{extra}]'"
    return f"{sys.executable} -m pip install 'holdfast-agent[{extra}]'"
