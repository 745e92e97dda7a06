"""The parts of holdfast besides its hooks, each asked by `doctor` whether it works here.

A part is one function, `(app) -> checks`, and its name in PARTS. Nothing is begun or changed by asking.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from holdfast.app import Holdfast
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.disk import files
from holdfast.errors import HoldfastError
from holdfast.install import commands, place
from holdfast.memory.lint import findings
from holdfast.memory.place import memory_of, project_of
from holdfast.memory.topics import Memory
from holdfast.ops.upkeep import Check
from holdfast.ops.words import many

_PATIENCE_S = 5
_LARGEST = 4096


def slash_commands(app: Holdfast) -> Iterator[Check]:
    """A file of somebody else's in the place of one of ours is what the client reads; one in a project also
    instead of the plugin's."""
    strange = False
    for folder in dict.fromkeys(os.path.dirname(path) for path in place.candidates(app)):
        try:
            found = commands.foreign(folder)
        except OSError as problem:
            strange = True
            fix = "make it yours and readable again, or remove it"
            yield Check("commands", False, f"{problem.filename} cannot be read: {problem.strerror}", fix)
            continue
        for path in found:
            strange = True
            name = os.path.basename(path).removesuffix(".md")
            what = "the skill" if name == "SKILL" else f"/holdfast:{name}"
            fix = f"move {path} away, then run: holdfast install"
            yield Check("commands", False, f"{path} is not holdfast's, and stands in place of {what}", fix)
    if not strange:
        yield Check("commands", True, "nothing else stands in place of /holdfast:save, load and report")


def service(app: Holdfast) -> Iterator[Check]:
    """Whoever serves holds the lock, and has said where."""
    if not _is_held(app.home.root + "/serve.lock"):
        yield Check("service", True, "it does not run; to start it: holdfast serve")
        return
    try:
        said = load(files.read(app.home.root + "/serve.json", _LARGEST).decode())
        url = urlsplit(said["url"])  # type: ignore[index]
        _ask(url.scheme, url.hostname or "", url.port or 0)
    except (OSError, http.client.HTTPException, KeyError, TypeError, *UNREADABLE) as problem:
        what = f"it runs, and does not answer: {type(problem).__name__}"
        yield Check(
            "service", False, what, "stop it (fuser serve.lock in home says who), then: holdfast serve"
        )
        return
    yield Check("service", True, f"answers at {url.geturl()}")


def watcher(app: Holdfast) -> Iterator[Check]:
    """It is not needed for anything to be saved, and nothing starts it by itself."""
    if _is_held(app.home.root + "/watch.lock"):
        yield Check("watcher", True, "it runs")
        return
    what = "it does not run; hooks save without it. To notice stuck or dead sessions: holdfast watch"
    yield Check("watcher", True, f"{what} (or holdfast watch --once in cron)")


def _is_held(path: str) -> bool:
    """This process holds no lock of its own: closing the descriptor gives up nothing else."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        os.lockf(fd, os.F_TEST, 0)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(fd)
    return False


def _ask(scheme: str, host: str, port: int) -> None:
    """Whether somebody is there; under a certificate of its own that is all that can be known."""
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE_S)
    try:
        connection.connect()
        if scheme == "http":
            connection.request("GET", "/live")
            if connection.getresponse().status != http.client.OK:
                raise http.client.HTTPException
    finally:
        connection.close()


def client_memory(app: Holdfast) -> Iterator[Check]:
    """The client's own memory of this project."""
    try:
        project = project_of(app, None)
        memory = Memory(memory_of(app, project))
        found = findings(memory, project)
    except (OSError, HoldfastError) as problem:
        yield Check(
            "topics", False, str(problem), "mend that, or move it away; holdfast memory lint looks again"
        )
        return
    what = f"{many(len(memory.topics), 'topic')} in {memory.folder}"
    more = f"; `holdfast memory lint` has {many(len(found), 'remark')}" if found else ""
    yield Check("topics", True, what + more)


def team(app: Holdfast) -> Iterator[Check]:
    """What of a team's store is well, and could be better; whether it answers, `status` has said."""
    if not app.config["store.url"]:
        return
    try:
        from holdfast.ops.team import status as asked  # which loads a database's driver

        found = asked(app)
    except (HoldfastError, ModuleNotFoundError):
        return  # said by `status`
    if not found.ok:
        return
    role = f"this machine asks as {found.role}"
    if found.limited:
        yield Check("team", True, f"{role}, who sees the projects it is in")
    elif found.members:
        fix = "holdfast team member add NAME --project host/path, and its address as store.url here"
        yield Check("team", False, f"{role}, whom no policy limits: agents here reach every project", fix)
    else:
        yield Check("team", True, f"{role}, who owns the tables; there are no members yet")


#: In the order in which they are told.
PARTS: tuple[Callable[[Holdfast], Iterator[Check]], ...] = (
    slash_commands,
    service,
    watcher,
    client_memory,
    team,
)
