"""The state of sessions on disk: loaded, saved and sampled under the session's lock."""

import posix

from holdfast.clock import rfc3339
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import dump
from holdfast.core.state import State, parse
from holdfast.disk import files, trail
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import BadInput, Damaged, is_full

_LARGEST_STATE = 16 << 20
#: How many agents are looked at: each is a file to be read while somebody waits.
_MOST_AGENTS = 256
#: As `State.render` writes it; in a text the quotes would be escaped.
_OWED, _UNSAVED = b'"owed":{', b'"autosave":{'


def lock(folder: str) -> files.Lock:
    files.make_dir(folder)
    return files.Lock(folder + "/lock")


def load(home: Home, session: str, agent: str = "") -> State:
    """The saved state, or a new one. A file that is damaged, or not to be opened, is set aside, never
    deleted: what can be rebuilt is rebuilt from the transcript."""
    path = home.session(session, agent) + "/state.json"
    try:
        return _read(path, session, agent)
    except FileNotFoundError:
        return State(session, agent)
    except (Damaged, BadInput, OSError) as problem:
        if isinstance(problem, OSError) and not _is_barred(problem):
            raise
        aside = files.try_aside(path)
        trail.note(
            home,
            "degraded.state",
            session=session,
            agent=agent,
            what=str(problem),
            aside=aside.rpartition("/")[2],
        )
        return State(session, agent)


def _is_barred(problem: OSError) -> bool:
    """Whether it will be the same next time."""
    from errno import EACCES, ELOOP, ENXIO, EPERM  # seldom asked for

    return problem.errno in (EACCES, EPERM, ELOOP, ENXIO)


def peek(home: Home, session: str, agent: str = "") -> State | None:
    """The saved state, for looking only: None when there is none, Damaged raises."""
    path = home.session(session, agent) + "/state.json"
    try:
        return _read(path, session, agent)
    except FileNotFoundError:
        return None
    except BadInput as problem:
        raise Damaged(str(problem)) from problem


def _read(path: str, session: str, agent: str) -> State:
    state = parse(files.read(path, _LARGEST_STATE), path)
    if (state.session, state.agent) != (session, agent):
        raise Damaged(f"{path} is the state of another session")
    return state


def owing(home: Home, session: str) -> list[State]:
    """Those of its agents that owe a checkpoint. One that is in a hook just now pays itself."""
    folder = home.session(session) + "/agents"
    try:
        names = posix.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in [name for name in names if is_safe_name(name)][:_MOST_AGENTS]:
        try:
            if _OWED not in files.read(f"{folder}/{name}/state.json", _LARGEST_STATE):
                continue
            held = lock(f"{folder}/{name}")
            if held.attempt():
                with held:
                    state = peek(home, session, name)
                found += [state] if state and state.heard.owed else []
        except (OSError, BadInput, Damaged):
            continue  # `status` says so
    return found


def with_pending_save(home: Home, most: int) -> list[str]:
    """Sessions whose own save was not made: their hook was killed over it. Of those that changed last."""
    changed = []
    for name in names(home):
        try:
            changed.append((posix.stat(home.session(name) + "/state.json").st_mtime_ns, name))
        except OSError:
            continue
    found = []
    for _, name in sorted(changed)[-most:]:
        try:
            if _UNSAVED in files.read(home.session(name) + "/state.json", _LARGEST_STATE):
                found.append(name)
        except (OSError, BadInput):
            continue  # `status` says so
    return found


def save(home: Home, state: State) -> None:
    """Old or new, never half. Not fsynced: what a power cut takes is read again."""
    path = home.session(state.session, state.agent) + "/state.json"
    files.replace(path, state.render(), durable=False)


def sample(home: Home, state: State, reading: Reading, at: int) -> None:
    """One line per measurement that differs from the last; none from half a transcript that holds no
    response, which says nothing of the whole. One that cannot be written costs nothing else; why is noted
    once, unless the disk is full."""
    if state.sampled[:2] == [reading.used, reading.source] or not reading.used:
        return
    if state.seen.start and not reading.context:
        return
    state.sampled, before = [reading.used, reading.source], state.sampled[2:]
    line = {
        "v": 1,
        "at": rfc3339(at),
        "used": reading.used,
        "context": reading.context,
        "window": reading.window,
        "capacity": reading.capacity,
        "source": reading.source,
        "model": reading.model,
        "turn": state.seen.turns,
    }
    path = home.session(state.session, state.agent) + "/samples.jsonl"
    try:
        files.append_line(path, dump(line).encode())
    except OSError as problem:
        if is_full(problem):
            raise
        what = f"{type(problem).__name__}: {problem}"[:300]
        state.sampled.append(what)
        if before != [what]:
            trail.note(home, "degraded.samples", session=state.session, agent=state.agent, what=what)


def names(home: Home) -> list[str]:
    """Ids of every session holdfast has a folder for."""
    try:
        return sorted(name for name in posix.listdir(home.sessions) if is_safe_name(name))
    except (FileNotFoundError, NotADirectoryError):
        return []
