"""One note of the trail as a sentence for people. What has no sentence of its own shows its fields."""

from __future__ import annotations

from typing import Any

from holdfast.core.ladder import BELOW
from holdfast.ops.words import many, who

#: Said already, or for programs: a time, an id that nobody remembers.
_UNSAID = frozenset({"v", "at", "event", "session", "agent", "when", "uid"})
_BRIEFS = {
    "compact": "the session was given back what its summary lost",
    "follow-up": "the session was given what had become of it since",
    "board": "the session was given what the board has for it",
    "advice": "the session was told how full its window is",
}
_SENTENCES = {
    "catchup.began": "holdfast came late to a transcript of {bytes} bytes and reads it in the background",
    "catchup.done": "a transcript that holdfast came late to is read: {bytes} bytes in {seconds} s",
    "checkpoint.taken": "checkpoint {id}: {reason}",
    "session.saved": "the session saved itself for {environment}, {fill} % full: holdfast rs {environment}",
    "breakpoint.saved": "a good place to stop was saved: {id}",
    "restore.receipt": "the summary kept {kept} of {items} items, lost {lost}, contradicted {contradicted}",
    "injection.block": "the compaction was told what its summary must keep ({tokens} tokens)",
    "compaction.asked": "the client was asked to compact at {fill} %",
    "compaction.blocked": "a compaction was held back: {what}",
    "board.posted": "{from} wrote to {to} on the board ({type})",
    "board.acknowledged": "{by} has done what a message on the board asked for",
    "task.added": "task {task} was added by {by}",
    "task.claimed": "task {task} was claimed by {holder}",
    "task.finished": "task {task} was finished by {holder}",
    "task.released": "task {task} is open again, {holder} had it ({why})",
    "team.backup": "the team's store was backed up: {rows} rows",
    "team.member": "who is in the team changed: {who}",
    "team.pruned": "of the team's store what is older than {days} days was removed: {rows} rows",
    "team.restored": "the team's store was restored: {rows} rows",
    "team.token": "a token of {who} is {state}: {token}",
    "team.joined": "this home is in a team now",
    "team.left": "this home is in no team any more",
    "team.migrated": "the team's store is at schema {schema} now, it was at {found}",
    "watch.found": "the watcher finds it {status}: {why}",
}


def sentence(note: dict[str, Any]) -> str:
    event = str(note.get("event", ""))
    said = {name: value for name, value in note.items() if name not in _UNSAID and value not in ("", None)}
    try:
        if event == "CONTEXT_PRESSURE":
            return _pressure(said)
        if event == "injection.brief":
            words = _BRIEFS.get(said["why"], f"the session was told something ({said['why']})")
            return f"{words} ({said['tokens']:,} tokens)"
        if event == "board.delivered":
            return f"{many(len(said['ids']), 'message')} of the board delivered" + _by(said)
        if event.startswith("degraded."):
            part, what = event.partition(".")[2], said.get("what")
            return f"{part} degraded: {what}" if what else f"{part} is well again"
        return _SENTENCES[event].format_map({name: _figure(value) for name, value in said.items()})
    except (KeyError, TypeError, ValueError, AttributeError):  # of another version, or damaged
        return ", ".join(f"{name} {value}" for name, value in said.items())


def _pressure(said: dict[str, Any]) -> str:
    words = f"{said['level']} at {said['fill']:.1f} %"
    if said["level"] == BELOW:
        return f"the window has room again: {words}"
    early = " ahead of its threshold, the window fills fast" if said.get("early") else ""
    left = f"; about {said['turns'][1]} turns left" if said.get("turns") else ""
    return f"reached {words}{early}{left}"


def _by(said: dict[str, Any]) -> str:
    return f" to {who(said['by'])}" if said.get("by") else ""


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else who(str(value))
