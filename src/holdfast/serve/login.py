"""Who may look: a link that opens the pages once, and the cookie a browser has from then on.

A cookie is sent to every port of this machine, and behind another port may be another user. So ours is
bound to a path that nobody can guess (it comes from the token): a browser sends it nowhere else. It opens
the pages and their web socket, never an operation; those take the token alone.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import secrets
from collections import OrderedDict

from holdfast.clock import now

#: Where a browser enters, and what every page's path begins with.
ROOT = "/dashboard"
ENTER = f"{ROOT}/enter"
LINK = f"{ROOT}/link"
ONCE = "once"
#: Seconds in which a link opens; how long the cookie does.
LINK_S, COOKIE_S = 300, 7 * 24 * 3600
_COOKIE = "holdfast"
#: Links that may be open at once: whoever asks for more has the token, and lost the first ones.
_MOST_LINKS = 32


_SAID = """<!doctype html><html lang="en"><meta charset="utf-8"><title>holdfast</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<body style="font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto 0;padding:0 1.5rem">
<h1 style="font-size:1.1rem">holdfast</h1><p>{}</p>
"""


class Login:
    def __init__(self, token: str, scheme: str = "http") -> None:
        self._key = token.encode()
        self._secure = "; Secure" if scheme == "https" else ""
        self._links: OrderedDict[str, int] = OrderedDict()
        self.path = f"{ROOT}/{self._sealed('path')[:16]}"

    def link(self) -> str:
        """What to put behind the service's address, to enter once."""
        code = secrets.token_urlsafe(32)
        self._links[_hidden(code)] = now() + LINK_S * 1000
        while len(self._links) > _MOST_LINKS:
            self._links.popitem(last=False)
        return f"{ENTER}?{ONCE}={code}"

    def enter(self, code: str) -> str | None:
        """The header that sets the cookie; None for a link that is used, old or made up."""
        until = self._links.pop(_hidden(code), 0)
        if until < now():
            return None
        ends = str(now() // 1000 + COOKIE_S)
        value = f"{ends}.{self._sealed('cookie ' + ends)}"
        bound = f"Path={self.path}; Max-Age={COOKIE_S}; HttpOnly; SameSite=Strict{self._secure}"
        return f"{_COOKIE}={value}; {bound}"

    def is_known(self, cookies: bytes) -> bool:
        """Whether one of a request's cookies is ours, and not over. Another server of this machine may have
        set one of the same name beside it."""
        for part in cookies.split(b";"):
            name, _, value = part.strip().partition(b"=")
            ends, _, seal = value.partition(b".")
            if name == _COOKIE.encode() and ends.isdigit() and len(ends) <= 12:
                right = self._sealed("cookie " + ends.decode()).encode()
                if hmac.compare_digest(seal, right) and int(ends) * 1000 > now():
                    return True
        return False

    def _sealed(self, what: str) -> str:
        return hmac.new(self._key, what.encode(), hashlib.sha256).hexdigest()


def _hidden(code: str) -> str:
    """Looked up by its hash, so that how long that takes says nothing of it."""
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


def said(words: str) -> bytes:
    """A page that says one thing, to whoever may not see more."""
    return _SAID.format(html.escape(words)).encode()
