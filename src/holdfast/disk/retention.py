"""How long checkpoints are kept: some days; those that are pinned, each lineage's newest, and those the
newest save of an environment is of, for good.

Only what this user's holdfast has written is ever removed. The index is told first: a checkpoint that is
reported exists, one that exists may for a moment not be reported.
"""

from holdfast.clock import id_time
from holdfast.core import checkpoint
from holdfast.disk import checkpoints, index, marks, saves
from holdfast.disk.folder import TEMPORARY, Folder
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

_DAY_MS = 24 * 3600 * 1000
_MONTH = 30
_UNFINISHED_MS = 3600 * 1000


def prune_folder(
    home: Home, folder: Folder, now: int, most: int, days: int, turn: int = 0, is_asked: bool = True
) -> list[str]:
    """Remove what is older than so many days and may go; the names. At most so many are looked at, others
    the next `turn`: a cloned repository may bring thousands that are not ours. Where nobody has asked for
    it, a clock that may just have leapt is not believed."""
    names, before = folder.names(), now - days * _DAY_MS
    tidy(folder, names, now)
    old = checkpoints.stems_of(names, checkpoints.stem_at(before))
    if not old or marks.damaged(home) or not (is_asked or _is_settled(names, now, days)):
        return []
    pinned, key, saved = marks.pinned(home), checkpoints.seal_key(home), saves.joined(home)
    first = turn * most % len(old)
    going = {}
    for stem in (old[first:] + old[:first])[:most]:
        if f"{folder.path}/{stem}{checkpoints.SUFFIX}" in saved:
            continue
        try:
            data = folder.read(stem + checkpoints.SUFFIX, checkpoint.LARGEST)
            fields = checkpoint.parse(data, stem).fields
        except (OSError, BadInput, Damaged):
            continue
        if id_time(fields["uid"]) > before:
            continue  # taken while the clock was wrong: a uid is never older than the one before it
        if fields["uid"] in pinned or not checkpoint.is_sealed(data, key) or _is_newest(home, fields):
            continue
        going[fields["uid"]] = stem
    if going:
        index.drop(home, list(going), lambda: _remove(folder, list(going.values())))
    return list(going.values())


def _is_settled(names: list[str], now: int, days: int) -> bool:
    """Whether something was saved here the day before, or in the weeks before that, by this clock. One that
    leaps ahead by years makes all of it old; the next day it is believed, or has been set right."""
    since = checkpoints.stem_at(now - max(days, _MONTH) * _DAY_MS)
    recent = checkpoints.stems_of(names, checkpoints.stem_at(now - _DAY_MS // (2 if days == 1 else 1)))
    return bool(recent) and recent[-1] >= since


def _remove(folder: Folder, stems: list[str]) -> None:
    for stem in stems:
        folder.remove(stem + checkpoints.SUFFIX)


def tidy(folder: Folder, names: list[str], now: int) -> None:
    """What those that were killed left unfinished. It was never acknowledged."""
    for name in names:
        if not (name[0] == "." and name.endswith(TEMPORARY)):
            continue
        if id_time(name[1:27]) or checkpoints.is_stem(name[1:18]):
            changed = folder.changed_at(name)
            if 0 < changed < now - _UNFINISHED_MS:
                folder.remove(name)


def _is_newest(home: Home, fields: dict) -> bool:
    """Where the cache does not know, it may be."""
    newest = checkpoints.head(home, fields["lineage"]).get("uid", "")
    return not newest or fields["uid"] >= newest
