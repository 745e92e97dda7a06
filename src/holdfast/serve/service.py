"""`serve`: the service from its start to its end. One for each home, which its lock decides."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import posix
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType

from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput, HoldfastError, MissingExtra
from holdfast.extras import extra_command
from holdfast.ops.asking import SESSION
from holdfast.serve import token

VERSION = 1
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LARGEST = 4096
_BACKLOG = 128
#: What the lock is called, and the file that says where it is: of the service, and of one for a team.
_OWN, _TEAM = "serve", "serve-team"


@dataclass(frozen=True)
class Served:
    """`already`: another one served here, and this one did not."""

    url: str
    pid: int
    already: bool

    def __str__(self) -> str:
        return (
            f"already running at {self.url} (pid {self.pid})" if self.already else f"{self.url} has stopped"
        )


def serve(
    app: Holdfast,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    expose: bool = False,
    cert: str | None = None,
    key: str | None = None,
    team: bool = False,
) -> Served:
    """Every operation over HTTP, for this user alone, until it is stopped. Where it runs already: says so.

    Parameters
    ----------
    port
        Listen on this port; 0: on one that is free. Without it: service.port, which is 8100.
    host
        Listen at this address.
    expose
        Let other machines in: host may be another address, with a certificate and its key.
    cert
        File with the certificate, PEM.
    key
        File with its key.
    team
        For the members of the team instead, each by a token of `team token add` and with their own rights:
        its tasks, boards, checkpoints, events and memory, and nothing of this home.
    """
    port = app.config["service.port"] if port is None else port
    if not 0 <= port <= 65535:
        raise BadInput(f"--port is {port}; it takes 1 to 65535, or 0 for one that is free")
    _refuse_strangers(host, expose, cert, key)
    # It outlives the session in which it was started, and others ask.
    app.environ.pop(SESSION, None)
    posix.environ.pop(SESSION.encode(), None)
    files.make_dir(app.home.root)
    name = _TEAM if team else _OWN
    lock = files.Lock(f"{app.home.root}/{name}.lock")
    if not lock.attempt():
        return running(app.home, name)
    with lock, _listening(host, port) as listener:
        run, how = _for_team(app) if team else _for_user(app)
        names = [f"[{name}]" if ":" in name else name for name in dict.fromkeys([host, *_LOOPBACK])]
        hosts = [f"{name}:{listener.getsockname()[1]}" for name in names]
        url = f"{'https' if cert else 'http'}://{hosts[0]}"
        with _told(app.home, name, url):
            ended = run(listener=listener, hosts=hosts, ready=_say(f"{url} ({how})\n"), cert=cert, key=key)
    if not ended:
        os._exit(0)  # the interpreter would wait for its threads
    return Served(url, os.getpid(), already=False)


def _say(words: str) -> Callable[[], None]:
    def ready() -> None:
        sys.stdout.write(words)
        sys.stdout.flush()

    return ready


def _for_user(app: Holdfast) -> tuple[Callable[..., bool], str]:
    """What runs it, and how one is let in."""
    server = _server()
    return partial(server.run, app, token=token.kept(app.home)), f"token in {app.home.root}/token"


def _for_team(app: Holdfast) -> tuple[Callable[..., bool], str]:
    """It acts for others, so it has to be whom no policy limits."""
    from holdfast.ops.team import owned

    return partial(_server().run_shared, app, owned(app)), "tokens by `holdfast team token add`"


def _server() -> ModuleType:
    try:
        from holdfast.serve import server
    except ImportError as problem:
        raise MissingExtra(
            f"the service needs {problem.name}, of the extra `serve`: {extra_command('serve')}"
        ) from None
    return server


def _refuse_strangers(host: str, expose: bool, cert: str | None, key: str | None) -> None:
    if bool(cert) != bool(key):
        raise BadInput("--cert and --key belong together; give both")
    if host in _LOOPBACK:
        return
    if not (expose and cert):
        raise BadInput(
            f"--host {host!r} would let other machines in; without --expose, --cert and --key the service "
            "listens on this machine only: 127.0.0.1, localhost or ::1"
        )
    if _is_every(host):
        raise BadInput(f"--host {host!r} is every address at once; name the one others reach it by")


def _is_every(host: str) -> bool:
    """As the system reads it: `0` is every address, too, and so is no name. What it cannot read it does not
    listen on, either."""
    try:
        found = {address[0] for *_, address in socket.getaddrinfo(host or "0", None)}
    except (OSError, UnicodeError):
        return False
    return any(ipaddress.ip_address(address).is_unspecified for address in found)


def running(home: Home, name: str = _OWN) -> Served:
    """What the one that has the lock says of itself; it may be starting or stopping."""
    try:
        said = load(files.read(f"{home.root}/{name}.json", _LARGEST).decode())
        return Served(said["url"], said["pid"], already=True)  # type: ignore[index]
    except (OSError, KeyError, TypeError, *UNREADABLE):
        return Served("an address it has not told yet", 0, already=True)


def _listening(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as problem:
        listener.close()
        why = getattr(problem, "strerror", "") or "it is no name of a machine"
        raise HoldfastError(
            f"port {port} of {host} cannot be had: {why}. If something else has it, name "
            "another with --port, or --port 0 for one that is free"
        ) from None
    return listener


@contextlib.contextmanager
def _told(home: Home, name: str, url: str) -> Iterator[None]:
    """Where others find the service, while it runs; after a kill the lock tells that it does not."""
    path = f"{home.root}/{name}.json"
    said = {"v": VERSION, "url": url, "pid": os.getpid(), "at": rfc3339(now())}
    files.replace(path, dump(said).encode() + b"\n", durable=False)
    try:
        yield
    finally:
        os.unlink(path)
