"""Which session asks: an agent's command, or the server that its client started for it."""

from __future__ import annotations

import os

from holdfast.app import Holdfast
from holdfast.core.state import State
from holdfast.disk import sessions
from holdfast.errors import BadInput, Damaged

#: The client sets it for all it starts.
SESSION = "CLAUDE_CODE_SESSION_ID"
#: How many sessions are looked at, those that changed last.
_MOST = 50


def session(app: Holdfast) -> str:
    """Its id; "" where it is nobody's.

    The client names the session in the environment of all it starts. A server outlives it: after `/clear`
    the same client is in another session, and the server is still the one it had. So one that has ended
    is followed to the session that our own parent, that client, has begun since.
    """
    told = app.environ.get(SESSION, "")
    known = _peek(app, told) if told else None
    if known is None or not known.heard.ended:
        return told
    client = os.getppid()
    for name in _newest_first(app)[:_MOST]:
        other = _peek(app, name)
        if other and other.heard.process == client and not other.heard.ended:
            return name
    return ""


def _peek(app: Holdfast, name: str) -> State | None:
    try:
        return sessions.peek(app.home, name)
    except (BadInput, Damaged):
        return None


def _newest_first(app: Holdfast) -> list[str]:
    names = sessions.names(app.home)
    return sorted(names, key=lambda name: os.stat(app.home.session(name)).st_mtime, reverse=True)
