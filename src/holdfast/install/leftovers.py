"""What is left of holdfast: the proof after an uninstall, and the removal of its home."""

from __future__ import annotations

import os
import shlex
import shutil

from holdfast.app import Holdfast
from holdfast.disk.wiring import MARK
from holdfast.errors import BadInput, HoldfastError
from holdfast.install import commands, githooks, place, record, server, snippet
from holdfast.install.jsonspan import decode, parse
from holdfast.install.settings import found
from holdfast.memory import swap

#: Everything holdfast puts into its home (docs/formats.md). A folder that holds anything else is not
#: removed: HOLDFAST_HOME may point to a folder that is not ours alone.
_OURS = frozenset(
    "advisor.json advisor.json.lock advisor.json.tmp backups board budgets checkpoints config.json "
    "config.json.tmp config.lock config.yaml config.yaml.tmp costs.json costs.json.lock costs.json.tmp "
    "environments events.jsonl events.jsonl.1 habits.json habits.json.tmp habits.lock install.json "
    "install.json.tmp install.lock machine.json machine.json.tmp machine.lock memory-forgotten.jsonl "
    "memory-forgotten.jsonl.tmp memory-learned.jsonl memory-learned.jsonl.tmp memory-spool.jsonl "
    "memory-spool.jsonl.lock memory-spool.jsonl.taken memory-untold.jsonl memory-untold.jsonl.tmp "
    "memory.db memory.db-shm memory.db-wal memory.db.lock memory.db.vectors memory.db.vectors.tmp "
    "memory.lock outbox results scans seal.key seal.key.tmp seal.lock serve-team.json serve-team.json.tmp "
    "serve-team.lock serve.json serve.json.tmp serve.lock sessions spool store.db store.db-shm "
    "store.db-wal store.db-wal.synced store.db.lock token token.tmp token.tmp.tmp watch.lock "
    "workflows".split()
)
_SET_ASIDE = (
    "config.json.damaged-",
    "habits.json.damaged-",
    "memory.db.damaged-",
    "outbox.",  # of a team that was left, by one who was killed over it
    "seal.key.damaged-",
)


#: Where settings run something, and, where they are no settings, any line. What else names holdfast is the
#: user's own: a permission they gave.
_LINE = "line "
_RUNS = ("hooks", "statusLine", _LINE)


def verify(app: Holdfast) -> tuple[list[str], list[str]]:
    """The settings files looked through, and where the user's own words name holdfast; an error that lists
    what is left of it."""
    looked: list[str] = []
    left: list[str] = []
    own: list[str] = []
    known = [wiring.settings for wiring in record.load(app.home) if wiring.scope != server.SCOPE]
    for path in dict.fromkeys([*place.candidates(app), *known]):
        raw = swap.current(path)
        if raw is not None:
            looked.append(path)
            for where in _named_in(raw, path):
                (left if where.startswith(_RUNS) else own).append(f"{path}: {where}")
    for folder in dict.fromkeys(os.path.dirname(path) for path in place.candidates(app)):
        left += [f"{folder}/{name}" for name in commands.FILES if os.path.lexists(f"{folder}/{name}")]
        left += (
            [f"{folder}/CLAUDE.md"] if snippet.MARK in (swap.current(f"{folder}/CLAUDE.md") or b"") else []
        )
    left += [hook.hook for hook in record.git_hooks(app.home) if githooks.is_in(hook.hook)]
    left += server.left(app)
    if left:
        raise HoldfastError(
            "something of holdfast is left:\n  " + "\n  ".join(left) + "\n"
            "take it out with `holdfast uninstall` (in a project's folder: --project; of a repository: "
            "--git) or by hand"
        )
    return looked, own


def _named_in(raw: bytes, path: str) -> list[str]:
    try:
        return found(parse(decode(raw, path), path).data)
    except BadInput:  # not JSON: the client does not read it either, but what it says is still there
        lines = raw.split(b"\n")
        return [f"{_LINE}{i + 1}" for i, line in enumerate(lines) if MARK.encode() in line]


def _runs_us(raw: bytes, path: str) -> bool:
    return any(where.startswith(_RUNS) for where in _named_in(raw, path))


def refuse_purge(app: Holdfast, settings: str) -> None:
    """An error if home may not be removed, once `settings` is clean: while another settings file is
    wired, its hooks would only make home again."""
    home = app.home.root
    if not os.path.lexists(home):
        return
    if os.path.islink(home) or not os.path.isdir(home):
        raise BadInput(f"{home} is not a folder of holdfast's own but a link or a file; remove it by hand")
    there = set(os.listdir(home)) - _OURS
    foreign = sorted(name for name in there if not name.startswith(_SET_ASIDE))
    if foreign:
        raise BadInput(
            f"{home} is not removed, because holdfast did not make {', '.join(foreign[:5])} in it. "
            "Nothing was changed; look at it and remove it by hand, or run this without --purge"
        )
    for wiring in record.load(app.home):
        if wiring.scope == server.SCOPE:  # it goes with the user's settings
            continue
        raw = swap.current(wiring.settings)
        if wiring.settings != settings and raw is not None and _runs_us(raw, wiring.settings):
            raise BadInput(
                f"{wiring.settings} is wired, too. Nothing was changed; first run `holdfast uninstall` "
                f"for it{' in that folder, with --project' if wiring.scope == 'project' else ''}"
            )

    for hook in record.git_hooks(app.home):
        if githooks.is_in(hook.hook):
            raise BadInput(
                f"{hook.hook} runs holdfast with every commit. Nothing was changed; first run "
                f"`holdfast uninstall --git {shlex.quote(hook.repository)}`"
            )


def remove_home(home: str) -> None:
    shutil.rmtree(home)
