"""Some lines in the client's CLAUDE.md, for those who ask for them: put at its end, taken out to the byte.

They stand between two marks. The first says what had to be put before it and carries the hash of the lines,
so that those that somebody has changed are not taken for ours: they are neither replaced nor removed.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from importlib.resources import files as resources

from holdfast.app import Holdfast
from holdfast.errors import HoldfastError
from holdfast.install.place import Place
from holdfast.installed import program
from holdfast.memory import swap

#: Begins the first mark.
MARK = b"<!-- holdfast:begin"
_END = b"<!-- holdfast:end -->\n"
_BLOCK = re.compile(MARK + rb" (new|[0-2]) ([0-9a-f]{16}) -->\n(.*?)" + re.escape(_END), re.DOTALL)
_TRIES = 50
_NEVER = "Sessions are not saved automatically: `auto_context.enabled` is off."


def beside(settings: Place) -> Place:
    """The client reads it where its settings are, as they are named."""
    named = settings.client_folder + "/CLAUDE.md"
    return Place(named, os.path.realpath(named), settings.scope, settings.roots)


def added(raw: bytes | None, text: bytes) -> bytes:
    """The same with our lines as they are now; as it is where somebody has changed them."""
    here = [found for found in _BLOCK.finditer(raw or b"") if _is_ours(found)]
    if here:
        return (raw or b"").replace(here[0][0], _block(here[0][1], text), 1)
    if raw is not None and MARK in raw:
        return raw
    before = b"" if not raw else b"\n" if raw.endswith(b"\n") else b"\n\n"
    how = b"new" if raw is None else b"%d" % len(before)
    return (raw or b"") + before + _block(how, text)


def removed(raw: bytes | None) -> bytes | None:
    """The same without them; None where there would be no file if it were not for us."""
    for found in _BLOCK.finditer(raw or b""):
        if not raw or not _is_ours(found):
            continue
        before, after = raw[: found.start()], raw[found.end() :]
        if found[1] == b"new":
            return before + after or None
        gap = b"\n" * int(found[1])
        if before.endswith(gap):
            before = before.removesuffix(gap)
            if after and before and not before.endswith(b"\n"):  # its last line had no end
                before += b"\n"
        return before + after
    return raw


def settle(place: Place, temporary: str, text: bytes | None) -> bool:
    """Put them there, or, None, take them out; whether anything changed. Needs the lock."""
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # left by a process that was killed
    for _ in range(_TRIES):
        raw = place.read()
        wanted = removed(raw) if text is None else added(raw, text)
        if wanted == raw:
            return False
        place.refuse_if_not_ours_to_edit()
        if swap.put(place.path, raw, wanted, temporary):
            return True
    raise HoldfastError(f"{place.path} was changed by another program each time; run this again")


def _block(how: bytes, lines: bytes) -> bytes:
    return MARK + b" %s %s -->\n" % (how, _hash(lines)) + lines + _END


def _is_ours(found: re.Match[bytes]) -> bool:
    return _hash(found[3]) == found[2]


def _hash(lines: bytes) -> bytes:
    return hashlib.sha256(lines).hexdigest()[:16].encode()


def text_for(app: Holdfast) -> bytes:
    """Our lines as they are true here: when sessions save themselves, and the command that exists."""
    source = resources("holdfast.install") / "texts" / "snippet.md"
    saves = _NEVER
    if app.config["auto_context.enabled"]:
        saves = f"At {app.config['ladder.advisory']}% usage, sessions auto-save."
    said = source.read_text("utf-8").replace("{{saves}}", saves)
    return said.replace("{{command}}", program(app)).encode()
