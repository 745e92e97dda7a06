"""The agents of a session, as their own hooks told of them: what each was given to do, whether it is still
at it, where it works and what it said last. For the lead's checkpoint, and for a lead that has lost them.
"""

import posix

from holdfast.core.compose import FINISHED, Member
from holdfast.core.jsontext import UNREADABLE, load, text
from holdfast.core.plain import ago, excerpt
from holdfast.core.spoken import joined
from holdfast.core.state import State
from holdfast.disk import files, sessions, worktree
from holdfast.disk.home import Home, is_safe_name
from holdfast.disk.words import Words
from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The newest so many are looked at; the others ended long ago, or will be heard of again.
_MOST = 8
_LARGEST_META = 1 << 16
_LOOKED_AT = 4_000
_MOST_WORDS = 1 << 18
#: The last hook of one that has finished.
_LAST = "SubagentStop"
#: Nothing for so long: nobody knows.
_SILENT_MS = 15 * 60_000


def roster(home: Home, lead: State, at: int, redact: "Callable[[str], str]") -> list[Member]:
    """Those that have told of themselves, the oldest first. Where there is none, it is one failed look."""
    folder = home.session(lead.session) + "/agents"
    try:
        names = [name for name in posix.listdir(folder) if is_safe_name(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    newest = sorted(names, key=lambda name: _changed(f"{folder}/{name}/state.json"))[-_MOST:]
    found = []
    for name in newest:
        try:
            state = sessions.peek(home, lead.session, name)
        except (OSError, HoldfastError):
            continue  # `status` says so
        if state:
            found.append(_member(state, lead, at, redact))
    return sorted(found, key=lambda one: one.last_at)


def _changed(path: str) -> float:
    try:
        return posix.stat(path).st_mtime
    except OSError:
        return 0.0


def _member(state: State, lead: State, at: int, redact: "Callable[[str], str]") -> Member:
    heard = state.heard
    stem = (heard.transcript or lead.heard.transcript).removesuffix(".jsonl")
    own = f"{stem}/subagents/agent-{state.agent}"
    meta = _meta(own + ".meta.json")
    said = _last_words(state, own + ".jsonl")
    tree = worktree.find(heard.cwd) if heard.cwd else None
    more = f"; last said: {excerpt(redact(said), 160)}" if said else ""
    if tree and tree.commit:
        branch = excerpt(redact(tree.branch), 80)
        more += f"; {f'branch {branch}' if branch else 'detached'} at {tree.commit[:12]}"
    if heard.saved.get("id"):
        more += f"; checkpoint {heard.saved['id']}"
    return Member(
        state.agent,
        excerpt(heard.role or text(meta, "agentType"), 40),
        excerpt(redact(text(meta, "description")[:_LOOKED_AT]), 120),
        _status(state, lead, at),
        more,
        heard.last_at,
    )


def _status(state: State, lead: State, at: int) -> str:
    heard = state.heard
    if heard.last == _LAST:
        return FINISHED
    if heard.last_at < lead.heard.begun:
        return "lost when its client ended"
    when = ago(at - heard.last_at)
    if at - heard.last_at >= _SILENT_MS:
        return f"silent, heard of {when}"
    return f"still running, heard of {when}"


def _meta(path: str) -> dict:
    """What the client notes of an agent when it starts it."""
    try:
        said = load(files.read(path, _LARGEST_META).decode("utf-8"))
    except (OSError, HoldfastError, ValueError, *UNREADABLE):
        return {}
    return said if type(said) is dict else {}


def _last_words(state: State, path: str) -> str:
    words = Words(path, _MOST_WORDS)
    try:
        for place in reversed(state.seen.said[-4:]):
            for record in words(*place):
                message = record.get("message") if record.get("type") == "assistant" else None
                said = joined(message.get("content")).strip() if type(message) is dict else ""
                if said:
                    return said[:_LOOKED_AT]
    finally:
        words.close()
    return ""
