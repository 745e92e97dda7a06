"""A checkpoint that is due becomes a debt in the state, and is paid: by this hook, or by the next one.

Loaded only when there is one to take. The debt is saved with its uid before anything is written, so that
who pays after a kill finds what was written already instead of writing it twice.
"""

import posix

from holdfast.app import Holdfast
from holdfast.clock import id_time, new_id
from holdfast.core import checkpoint, decide
from holdfast.core.compose import Composer
from holdfast.core.digest import sha256_hex
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import dump, load, text
from holdfast.core.plain import excerpt
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from holdfast.disk import checkpoints, client, sessions, trail, worktree
from holdfast.disk.folder import Folder
from holdfast.disk.words import Words
from holdfast.errors import BadInput, HoldfastError, Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[list], object]
    Leave = Callable[[], object]
    Work = Callable[[Tell, Leave], None]

#: A disk that refuses is not asked again on every tool call.
_AGAIN_MS = 30_000
_PATIENT = ("PreCompact", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStop", decide.ASKED)
_TRIGGERS = {"SessionEnd": "end", decide.ASKED: "manual"}
_LARGEST_ALLOWED = 1 << 16


class Ground:
    """Where a session works: its project, where that stands in git, and the lineage that owns the work."""

    __slots__ = ("branch", "commit", "lineage", "project")

    def __init__(self, project: str, cwd: str = "", agent: str = "") -> None:
        self.project = worktree.real(project or cwd or _cwd())
        # An agent may have been given a working tree of its own; its files go to the project, which stays.
        tree = worktree.find(cwd if agent and cwd else self.project)
        self.branch = tree.branch if tree else ""
        self.commit = tree.commit if tree else ""
        owner = f"{tree.common}\n{tree.root}" if tree else self.project
        self.lineage = sha256_hex(f"{owner}\n{agent}".encode("utf-8", "surrogatepass"))[:16]


def _cwd() -> str:
    try:
        return posix.getcwd()
    except OSError:
        return "/"


def owe(state: State, event: Event, app: Holdfast, why: str) -> None:
    """Unless one is owed already: then that one is paid first, and covers this."""
    owed = state.heard.owed
    if owed:
        owed.update(why=why, trigger=_trigger(event))
        return
    ground = Ground(state.heard.project, event.cwd, state.agent)
    newest = checkpoints.head(app.home, ground.lineage)
    # In a lineage uids sort by what came first even when the clock is set back.
    uid = new_id(max(event.at, id_time(newest.get("uid", "")) + 1))
    state.heard.owed = {
        "uid": uid,
        "parent": newest.get("id", ""),
        "at": event.at,
        "why": why,
        "trigger": _trigger(event),
        "tries": 0,
    }


def _trigger(event: Event) -> str:
    if event.name == "PreCompact" and event.data.get("trigger") == "manual":
        return "manual"
    return _TRIGGERS.get(event.name, "auto")


def is_time(state: State, event: Event) -> bool:
    owed = state.heard.owed
    waited = event.at - owed.get("tried_at", 0)
    return event.name in _PATIENT or owed["tries"] < 2 or not 0 <= waited < _AGAIN_MS


def count(state: State, event: Event) -> None:
    owed = state.heard.owed
    owed.update(tries=owed["tries"] + 1, tried_at=event.at)


def pay(state: State, event: Event, app: Holdfast, reading: Reading, transcript: str) -> dict:
    """Take the checkpoint that is owed. Its entry in the index, or {} if that was not possible now."""
    why = state.heard.owed["why"]
    try:
        entry, is_new = _taken(state, event, app, reading, transcript)
        if not is_new:
            # Written by one that could not say so any more. It counts, but not for what came after.
            before = {name: state.heard.saved.get(name, 0) for name in decide.reached(state)}
            _paid(state, entry, event, app, before, 0)
            owe(state, event, app, why)
            count(state, event)
            sessions.save(app.home, state)
            entry, _ = _taken(state, event, app, reading, transcript)
    except Late:
        raise
    except (OSError, ValueError, HoldfastError) as problem:
        _failed(state, app, problem)
        return {}
    _paid(state, entry, event, app, decide.reached(state), decide.rung(reading.fill))
    return entry


def _taken(
    state: State, event: Event, app: Holdfast, reading: Reading, transcript: str
) -> tuple[dict, bool]:
    """(entry in the index, whether it says what is so now)."""

    def take(tell: "Tell", leave: "Leave" = dict) -> None:
        draft = _draft(state, event, app, reading, transcript)
        digest = sha256_hex(draft.body.encode())
        checkpoints.take(app.home, draft, lambda entry: tell([entry, entry["sha256"] == digest]), leave)

    told: list = []
    if app.in_hook:
        told.append(_by_a_child(take))
    else:
        take(told.append)
    entry, is_new = told[0]
    return entry, is_new


def _by_a_child(work: "Work") -> list:
    """What `work` tells, until it leaves. A process in a write that does not come back cannot even be
    killed; so a child is left to it, and who waits for this hook does not wait for the disk. The debt is in
    the state: if the child is done after all, the next hook finds what it has written. The child is not
    waited for: it may be tidying up, and this process ends before long."""
    read, write = posix.pipe()
    child = posix.fork()
    if not child:
        try:
            _work_apart(work, write)
        finally:
            posix._exit(0)
    posix.close(write)
    parts: list[bytes] = []
    try:
        while piece := posix.read(read, 1 << 16):
            parts.append(piece)
    except Late:
        if not parts:  # else it is taken
            raise
    finally:
        posix.close(read)
    said = load(b"".join(parts).decode()) if parts else "whoever was to write it was killed"
    if type(said) is not list:
        raise HoldfastError(str(said))
    return said


def _work_apart(work: "Work", write: int) -> None:
    posix.setsid()  # when the client ends its hooks, this is finished
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(nothing, fd)
    try:
        work(lambda told: posix.write(write, dump(told).encode()), lambda: posix.dup2(nothing, write))
    except (OSError, ValueError, HoldfastError) as problem:
        posix.write(write, dump(f"{type(problem).__name__}: {problem}").encode())
    except (TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError) as problem:
        # A mistake of ours. Where and what kind; its message may hold text of the session.
        place = problem.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}" if place else ""
        posix.write(write, dump(f"{type(problem).__name__} in {where}").encode())


def _paid(state: State, entry: dict, event: Event, app: Holdfast, reached: dict, rung: int) -> None:
    saved = {name: entry[name] for name in ("uid", "id", "path")}
    cycle = state.seen.compacted
    rung = max(rung, decide.saved_rung(state))  # a rung that was left meanwhile is not saved again
    saved.update(reached, at=event.at, rung=rung, cycle=cycle)
    state.heard.saved, state.heard.owed, state.heard.active = saved, {}, 0
    sessions.save(app.home, state)
    said = {name: entry[name] for name in ("uid", "id", "trigger", "reason", "kept")}
    trail.note(app.home, "checkpoint.taken", session=state.session, agent=state.agent, **said)


def _failed(state: State, app: Holdfast, problem: Exception) -> None:
    owed = state.heard.owed
    owed["what"] = str(problem)[:300]
    sessions.save(app.home, state)
    said = {"session": state.session, "agent": state.agent, "why": owed["why"]}
    trail.note(app.home, "degraded.checkpoint", **said, what=owed["what"])


def _draft(
    state: State, event: Event, app: Holdfast, reading: Reading, transcript: str
) -> checkpoints.Draft:
    owed = state.heard.owed
    ground = Ground(state.heard.project, event.cwd, state.agent)
    redactor = Redactor(checkpoints.seal_key(app.home), _allowed(ground.project))
    words = Words(transcript)
    tasks = client.tasks(app.client_dir, state.session) if not state.agent else {}
    composer = Composer(state, words, redactor.text, ground.project, tasks)
    try:
        sections, summary = composer.sections(), composer.summary()
    finally:
        words.close()
    if words.trouble:
        whose = {"session": state.session, "agent": state.agent}
        trail.note(app.home, "degraded.words", **whose, what=words.trouble)
    note = text(event.data, "note") if event.name == decide.ASKED else ""
    if note:
        sections["Goal"].append(f"Note by whoever saved this: {excerpt(redactor.text(note), 500)}")
    fields = {
        "trigger": owed["trigger"],
        "reason": owed["why"],
        "project": ground.project,
        "lineage": ground.lineage,
        "session_id": state.session,
        "agent_id": state.agent,
        "parent": owed["parent"],
        "branch": redactor.text(excerpt(ground.branch, 200)),
        "commit": ground.commit,
        "used_tokens": reading.used,
        "window": reading.window,
        "summary": summary,
    }
    return checkpoints.Draft(owed["uid"], owed["at"], ground.project, fields, _body(sections, redactor))


def _body(sections: dict[str, list[str]], redactor: Redactor) -> str:
    """Redacted once more as a whole: a secret may stand on two lines. Where that would take a section's
    name along, line by line."""
    body = checkpoint.body(sections)
    whole = redactor.text(body)
    names = [line for line in body.split("\n") if line.startswith("## ")]
    if [line for line in whole.split("\n") if line.startswith("## ")] == names:
        return whole
    return "\n".join(redactor.text(line) for line in body.split("\n"))


def _allowed(project: str) -> frozenset[str]:
    """What this project says is no secret, one value a line."""
    try:
        with Folder.open(project, ".claude") as folder:  # a link could name any file of the user's
            lines = folder.read("holdfast-allow", _LARGEST_ALLOWED).decode("utf-8", "replace")
    except (OSError, ValueError, BadInput):
        return frozenset()
    return frozenset(line.strip() for line in lines.split("\n") if line.strip() and line[0] != "#")
