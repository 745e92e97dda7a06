"""What is optional, and how it is installed."""

import os
import shlex
import sys
from importlib.util import find_spec


def extra_command(extra: str) -> str:
    """The command that adds an extra to the holdfast that runs: in its clone, else by the name under which
    it is distributed. The package `holdfast` on the public index is somebody else's."""
    clone = __file__.rpartition("/src/holdfast/")[0]
    private = f"{clone}/.venv/bin/python"
    if clone and os.path.exists(f"{clone}/pyproject.toml"):
        python = private if os.path.exists(private) else sys.executable
        return f"{_pip(python)} -e {shlex.quote(f'{clone}[{extra}]')}"
    return f"{_pip(sys.executable)} {shlex.quote(f'holdfast-agent[{extra}]')}"


def _pip(python: str) -> str:
    """How packages are added to an environment; uv makes them without pip."""
    name, beside = shlex.quote(python), os.path.dirname(python)
    is_mine = os.path.realpath(sys.prefix) == os.path.realpath(os.path.dirname(beside))
    has_pip = find_spec("pip") if is_mine or python == sys.executable else os.path.exists(f"{beside}/pip")
    return f"{name} -m pip install" if has_pip else f"uv pip install --python {name}"
