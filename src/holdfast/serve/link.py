"""`dashboard`: a link that opens the pages of the service which runs here, once."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.disk.home import Home
from holdfast.errors import HoldfastError, MissingExtra, NotFound
from holdfast.serve import token
from holdfast.serve.login import LINK
from holdfast.serve.service import running

_PATIENCE_S = 10
_NONE = "no service runs here: start one with `holdfast serve`, then ask again"


@dataclass(frozen=True)
class Opened:
    """`url` opens the dashboard once, within five minutes."""

    url: str

    def __str__(self) -> str:
        return f"{self.url}\n(opens once, within five minutes; the browser is then known for a week)"


def dashboard(app: Holdfast) -> Opened:
    """A link to the dashboard of the service that runs here: gauges, forecasts, checkpoints, live."""
    return Opened(link(app.home))


def link(home: Home) -> str:
    try:
        url = running(home).url
        known = token.read(home.root + "/token")
    except FileNotFoundError:
        raise NotFound(_NONE) from None
    if not url.startswith("http"):
        raise NotFound(_NONE)
    headers = {"Authorization": f"Bearer {known}", "Content-Type": "application/json"}
    asked = urllib.request.Request(url + LINK, data=b"", method="POST", headers=headers)  # noqa: S310  ours
    try:
        with urllib.request.urlopen(asked, timeout=_PATIENCE_S, context=_trusting(url)) as answer:  # noqa: S310
            return url + str(json.load(answer)["path"])
    except urllib.error.HTTPError as problem:
        said = json.load(problem).get("error", "")
        raise (MissingExtra if problem.code == MissingExtra.status else HoldfastError)(said) from None
    except OSError:
        raise NotFound(_NONE) from None


def _trusting(url: str) -> ssl.SSLContext | None:
    """What listens there has this home's lock; its certificate names it to other machines, not to us."""
    if not url.startswith("https"):
        return None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
