"""What a file of the client's shall hold next, and what it would hold without holdfast. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from holdfast.clock import now, rfc3339
from holdfast.install import record
from holdfast.install.jsonedit import meaning, rewrite
from holdfast.install.jsonspan import Node, decode, parse
from holdfast.install.place import Place
from holdfast.install.record import Wiring, sha256
from holdfast.install.settings import ABSENT, Launcher, is_ours

_EMPTY = "{}\n"  # what a file is made from that was not there
_HASHES = 8  # how many results of install are remembered that lead back to the same bytes

NOT_WIRED = "holdfast is not wired here; nothing to do"
TO_THE_BYTE = "is what it was before install, to the byte"
REMOVED = "removed: install had made it"
OWN, CHAINED, LEFT_ALONE = "holdfast's", "holdfast's, with yours in it", "left alone"
EDITED = "holdfast's entries taken out; what was changed since install is kept"


class Edit(NamedTuple):
    """What is ours in one kind of file: hooks and statusline (`settings`), the server (`server`). `wired`
    takes what the file says, and what it would say without us."""

    wired: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
    unwired: Callable[[dict[str, Any], Collection[str] | None, Any], dict[str, Any]]
    containers: Callable[[dict[str, Any]], set[str]]
    check: Callable[[Node, str, str], None]


@dataclass(frozen=True)
class Plan:
    """None stands for no file. `base` is what uninstalling will bring back. `outcome` is for people: what
    became of the statusline, or how the wiring was undone."""

    before: bytes | None
    after: bytes | None
    base: bytes | None = None
    wiring: Wiring | None = None
    outcome: str = ""


def for_install(
    target: Place,
    before: bytes | None,
    known: Wiring | None,
    edit: Edit,
    launcher: Launcher,
    folders: list[str],
) -> Plan:
    text = _EMPTY if before is None else decode(before, target.path)
    root = parse(text, target.path)
    edit.check(root, text, target.path)
    dirs = dict.fromkeys([*(known.created_dirs if known else []), *folders])
    if not _has_ours(root.data, edit):
        known = None  # of an earlier life of this file
    base, _ = without_ours(target, before, known, edit)
    base_data = {} if base is None else parse(decode(base, target.path), target.path).data
    new = edit.wired(root.data, base_data)
    after = rewrite(text, new, target.path).encode()
    before_sha256 = "" if base is None else sha256(base)
    earlier = known.after_sha256 if known and known.before_sha256 == before_sha256 else []
    wiring = Wiring(
        settings=target.path,
        scope=target.scope,
        before_sha256=before_sha256,
        after_sha256=[*(h for h in earlier if h != sha256(after)), sha256(after)][-_HASHES:],
        backup="",
        created_file=base is None or bool(known and known.created_file),
        created_dirs=list(dirs),
        created=sorted(edit.containers(new) - edit.containers(base_data)),
        python=launcher.python,
        launch=launcher.launch,
        at=known.at if known and after == before else rfc3339(now()),
        project=os.path.realpath(os.path.dirname(target.client_folder))
        if target.scope == "project"
        else "",
    )
    if not is_ours(new.get("statusLine")):
        return Plan(before, after, base, wiring, LEFT_ALONE)
    wiring = replace(wiring, statusline_before=base_data.get("statusLine", ABSENT))
    return Plan(before, after, base, wiring, OWN if wiring.statusline_before is ABSENT else CHAINED)


def for_uninstall(target: Place, before: bytes | None, known: Wiring | None, edit: Edit) -> Plan:
    after, outcome = without_ours(target, before, known, edit)
    return Plan(before, after, outcome=outcome)


def without_ours(
    target: Place, raw: bytes | None, known: Wiring | None, edit: Edit
) -> tuple[bytes | None, str]:
    """The same file without holdfast, and how it was arrived at. If it is what install left, that is the
    very file from before; if it was changed since, the edit is undone entry by entry."""
    if raw is None:
        return None, NOT_WIRED
    if known and known.holds(raw) and record.is_intact(known):
        original = record.original(known)
        return original, REMOVED if original is None else TO_THE_BYTE
    text = decode(raw, target.path)
    data = parse(text, target.path).data
    if not _has_ours(data, edit):
        return raw, NOT_WIRED
    created, statusline = (known.created, known.statusline_before) if known else (None, ABSENT)
    new = edit.unwired(data, created, statusline)
    if known and known.created_file and not new:
        return None, REMOVED
    return rewrite(text, new, target.path).encode(), EDITED


def _has_ours(data: dict[str, Any], edit: Edit) -> bool:
    return meaning(edit.unwired(data, (), ABSENT)) != meaning(data)
