"""`monitor`, for scripts that know how full a window is: it says what to do about it, and saves in time.

With CONTEXTS_URL a service is asked; where that does not answer, or without it, all is done here.
"""

from __future__ import annotations

import ipaddress
import json
import os
import sys
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from holdfast.app import Holdfast
from holdfast.core.plain import excerpt
from holdfast.disk import files
from holdfast.errors import BadInput, HoldfastError
from holdfast.installed import program, resume_command
from holdfast.ops import asking
from holdfast.ops.contract import WINDOW, auto_save, usage, window
from holdfast.ops.saves import bring_up, named

_URL = "CONTEXTS_URL"
_PATIENCE_S = 2
_LARGEST = 1 << 16
_USAGE = "Usage: holdfast monitor <used_tokens> [max_tokens]"


@dataclass(frozen=True)
class Watched:
    """`action` is what the window calls for; `saved` is the answer of an auto-save, empty without one."""

    action: str
    said: list[str]
    saved: dict[str, object]
    exit_code: int = 0

    @property
    def is_quiet(self) -> bool:
        """Below the limits there is nothing to say, and scripts expect no word."""
        return True

    def __str__(self) -> str:
        return "\n".join(self.said)


def monitor(app: Holdfast, used: int | None = None, max: int | None = None) -> Watched:  # noqa: A002
    """Say what a window that is so full calls for, and save where work stands before it is too late.

    Parameters
    ----------
    used
        Tokens in the window.
    max
        Tokens the window holds. Without it: the window of the session this runs in, else 200000.
    """
    if used is None:
        return Watched("", [_USAGE], {}, exit_code=1)
    max = _window(app) if max is None else max  # noqa: A001
    here = usage(app, used_tokens=used, max_tokens=max)  # which refuses what cannot be
    service = _Service(app) if app.environ.get(_URL) else None
    answer = service.usage(used, max) if service else None
    action = str((answer or asdict(here))["action"]["type"])
    if action == "save_and_restart" and app.config["auto_context.enabled"]:
        environment = named(app, None)
        bring_up(app, os.getcwd())
        saved = service.auto_save(environment, used, max) if service else None
        if saved is None:
            saved = asdict(
                auto_save(
                    app, environment=environment, used_tokens=used, max_tokens=max, project=os.getcwd()
                )
            )
        said = [
            f"Context critical ({used}/{max}). Auto-saving...",
            json.dumps(saved, separators=(",", ":")),
            f"Session saved. Recommend: {resume_command(app, environment)}",
        ]
        return Watched(action, said, saved)
    command = f"{program(app)} ss"
    warned = [f"Context warning ({used}/{max}). Consider: {command}"] if action != "none" else []
    return Watched(action, warned, {})


def _window(app: Holdfast) -> int:
    """Of the session in which this runs, if it is one that can be measured."""
    try:
        return window(app, None, asking.session(app) or None)
    except HoldfastError:
        return WINDOW


class _Service:
    """Another process that does it. Once it has not answered, it is not asked again."""

    def __init__(self, app: Holdfast) -> None:
        self._url = _checked(app.environ[_URL])
        self._token = _token(app)
        self._saves_within_s = app.config["service.timeout_seconds"] + 1
        self._is_there = True

    def usage(self, used: int, most: int) -> dict[str, Any] | None:
        asked = urlencode({"used_tokens": used, "max_tokens": most})
        answer = self._ask(f"/context/usage?{asked}")
        if answer is None:
            return None
        kind = answer["action"].get("type") if isinstance(answer.get("action"), dict) else None
        return answer if kind in ("none", "save", "save_and_restart") else self._failed("is no usage")

    def auto_save(self, environment: str, used: int, most: int) -> dict[str, Any] | None:
        wanted = {"environment": environment, "used_tokens": used, "max_tokens": most}
        answer = self._ask("/context/auto-save", {**wanted, "project": os.getcwd()})
        if answer is None or answer.get("status") == "saved":
            return answer
        return self._failed("does not say that it has saved")

    def _ask(self, path: str, body: dict[str, object] | None = None) -> dict[str, Any] | None:
        """The answer; None if there is none, which is said. No proxy is asked and no redirection followed:
        another would be sent the token."""
        if not self._is_there:
            return None
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= {"Content-Type": "application/json"} if body else {}
        made = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        # A save that is only late must not be made twice.
        patience = self._saves_within_s if body else _PATIENCE_S
        connection = made(self._url.hostname or "", self._url.port, timeout=patience)
        try:
            data = json.dumps(body) if body else None
            connection.request("POST" if body else "GET", self._url.path.rstrip("/") + path, data, headers)
            reply = connection.getresponse()
            if reply.status != HTTPStatus.OK:
                return self._failed(f"is {reply.status} {reply.reason}")
            answer = json.loads(reply.read(_LARGEST))
        except (OSError, HTTPException, ValueError) as problem:
            return self._failed(f"is none ({getattr(problem, 'strerror', '') or type(problem).__name__})")
        finally:
            connection.close()
        return answer if isinstance(answer, dict) else self._failed("is no object")

    def _failed(self, what: str) -> dict[str, Any] | None:
        """No answer, which is said."""
        self._is_there = False
        sys.stderr.write(
            f"holdfast: the answer of {self._url.geturl()} {excerpt(what, 200)}; it is done here\n"
        )
        return None


def _checked(url: str) -> SplitResult:
    """BadInput for what must not be sent the token, or would write it into somebody's log."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise BadInput(f"{_URL} is no address; it takes one such as http://localhost:8100") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        raise BadInput(f"{_URL} takes an address such as http://localhost:8100")
    if parts.query or parts.fragment or parts.username or parts.password or " " in url:
        raise BadInput(
            f"{_URL} holds more than an address: a token belongs in the header, and is taken from the "
            "file `token` in holdfast's home"
        )
    if parts.scheme == "http" and not _is_here(host):
        raise BadInput(f"{_URL} leads to another machine without TLS; use https")
    return parts


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _token(app: Holdfast) -> str:
    """Empty where there is none: then the service says what is wrong."""
    try:
        token = files.read(f"{app.home.root}/token", 4096).decode("ascii").strip()
    except (OSError, BadInput, ValueError):
        return ""
    return token if token.isprintable() else ""
