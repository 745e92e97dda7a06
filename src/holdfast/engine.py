"""One event from beginning to end: lock, catch up, measure, save, reply.

`handle` is the only place where something that was decided is done. Hooks call it; so will whoever
else brings an event.
"""

import posix
import time

from holdfast import bundle, watch
from holdfast.app import READ, Holdfast
from holdfast.clock import elapsed
from holdfast.core import guard
from holdfast.core.decide import (
    AFTER,
    ASKED,
    BROKE,
    OWED,
    SAVE_DUE,
    due,
    is_cold_due,
    is_save_pending,
    is_time,
)
from holdfast.core.events import Event, calls, command
from holdfast.core.fold import ANSWERED, ENDED, PROMPTED, commits, runs_tests, waits_for_result
from holdfast.core.gauge import Reading, measure
from holdfast.core.heard import MEASURED, STATUSLINE
from holdfast.core.jsontext import text
from holdfast.core.state import State
from holdfast.disk import compiled, files, sessions, trail, transcripts
from holdfast.errors import MISTAKES, BadInput, HoldfastError, Late, is_shut

#: Bytes of transcript a hook may read, and seconds it may take. A tool call waits for its hook:
#: 2 MB are some 30 ms. Where the person or a compaction is waited for anyway, more. What is beyond that is
#: left to a child (`catchup`).
_MOST = (2 << 20, 0.3)
_MOST_AT = {
    "SessionStart": (16 << 20, 0.8),
    "UserPromptSubmit": (8 << 20, 0.3),
    "Stop": (16 << 20, 0.8),
    "PreCompact": (16 << 20, 0.6),
    "SessionEnd": (16 << 20, 0.6),
    ASKED: (64 << 20, 4.0),
    BROKE: (64 << 20, 4.0),
}
#: When the client's task files are looked at: when a state is wanted, not on every tool call.
_TASKS_AT = ("SessionStart", "PreCompact", "Stop")
#: When what agents of the session owe is paid: an agent that has ended has no hook of its own any more.
_AGENTS_AT = ("SessionStart", "PreCompact", "Stop", "StopFailure", "SessionEnd")
#: After these nothing else may come that would read what is still being written.
_LAST_CHANCES = ("PreCompact", "SubagentStop")
#: The newest lines reach the file up to a tenth of a second after the hook.
_SETTLE_S, _SETTLE_STEP_S, _SETTLE_MOST = 0.25, 0.02, (2 << 20, 0.1)
_SETTLED = 4
#: When what a session did so far is worth remembering for those that come.
_TEACHES = ("PreCompact", "SessionEnd")
#: When something may have to be said into the session, and when what a summary lost can be put back.
_SPEAKS = ("PreCompact", "SessionStart", "PostCompact")
_SAID = ("PreCompact", "SessionStart")  # of those, when something is
_BATCH = "PostToolBatch"
_ADDS = ("UserPromptSubmit", _BATCH)
#: In the environment of a client that a part of holdfast has started: which.
STARTED = "CONTEXTS_STARTED_BY"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.disk.worktree import Worktree
    from holdfast.material import Material


class Reply:
    """What the client is sent, what was measured, and the checkpoint that was taken, as it stands in the
    index. `rest`: what else is to be done, as an event, when the client has been answered. `unread`: the
    transcript, where not all of it could be read."""

    __slots__ = ("checkpoint", "reading", "rest", "stdout", "unread")

    def __init__(
        self,
        reading: Reading | None = None,
        stdout: str = "",
        checkpoint: dict | None = None,
        rest: Event | None = None,
        unread: str = "",
    ) -> None:
        self.reading = reading
        self.stdout = stdout
        self.checkpoint = checkpoint or {}
        self.rest = rest
        self.unread = unread


def handle(event: Event, app: Holdfast) -> Reply:
    """A batch of calls is waited for, again and again: what takes longer than to measure and to speak is
    left for when it has been answered."""
    if event.name == "SubagentStop" and not event.agent_type:
        return Reply()  # the client's own summariser, at every compaction: no agent of the session
    if event.name in _SPEAKS:
        _prepare(event, app)
    with _locked(event, app):
        state = sessions.load(app.home, event.session, event.agent)
        _take_in(state, event, app)
        is_waited_for = app.in_hook and event.name == _BATCH
        broken = _breakpoints(state, event, app, is_waited_for)
        waits = _mail(state, event, app)
        reading = measure(state, state.seen.offset, app.window)
        now = watch.look(state, app, reading)
        once = _Once(state, event, app)
        says = event.name in _SPEAKS or (state.heard.lost and event.name in _ADDS)
        tells = [] if says or waits else watch.due(state, event, app, reading, now)  # one thing at a time
        if tells and broken is None:  # a rung is told with what was saved at it, and so saved first
            broken = _breakpoints(state, event, app)
        is_cold = is_cold_due(state, event, reading.fill, app.config)
        later = is_waited_for and not tells and _owes(state, event, now.rung, app)
        saves = _saves_session(state, event, app, reading)
        taken = {} if app.full else _remember(state, event, app, reading, now.rung, once, later)
        if saves and not app.full and _is_apart(event, app):
            _make_save(state, event, app)
        # Where nothing can be saved, what is to be said is said from memory; of the ladder nothing, for it
        # would be said every time.
        tells = [] if app.full else tells
        if state.heard.asked and not later:
            _by_mail("acknowledge", state, event, app)
        answer = _say(event, state, app, once) if says else ""
        if waits and not answer and not app.full:
            answer = _by_mail("deliver", state, event, app)
        elif tells:
            answer = watch.tell(tells, event, state, app, reading, now)
        elif not says:
            answer = _report(event, state, app, reading, now)
        if is_cold and not is_waited_for and not app.full:
            from holdfast import coldwork  # every ten turns at most

            coldwork.compress(state, app, _path(state, event))
        if event.name in _TEACHES:
            watch.remember(state, app)
        if event.name == "SessionEnd":
            _end(event, state, app)
        unread = _path(state, event) if (state.behind or once.is_partial) and not app.full else ""
    if event.name in _AGENTS_AT and not event.agent:
        _pay_for_agents(event, app)
    if broken:
        from holdfast import breaks

        breaks.leave(app, broken)
    if not app.full and (later or broken is None or (is_cold and is_waited_for)):
        rest = Event(AFTER, event.session, event.at, event.data)
        return Reply(reading, answer, taken, rest, unread)
    if saves and not app.full and not _is_apart(event, app):
        where = {"cwd": event.cwd, "transcript_path": event.transcript}
        return Reply(reading, answer, taken, Event(SAVE_DUE, event.session, event.at, where), unread)
    return Reply(reading, answer, taken, None, unread)


def _is_apart(event: Event, app: Holdfast) -> bool:
    """Whether the client waits for nothing that is done now."""
    return event.name in (AFTER, SAVE_DUE) or not app.in_hook


def _saves_session(state: State, event: Event, app: Holdfast, reading: Reading) -> bool:
    """Whether the session is to be saved under its environment. What is due is in the state before it is
    made, as a checkpoint is."""
    level = guard.save_due(state, event, reading, app.config)
    if level and app.config["auto_context.enabled"]:
        from holdfast import autosave  # twice in a cycle

        autosave.schedule(state, event, app, reading, level)
    return not state.agent and is_save_pending(state, event.at)


def _make_save(state: State, event: Event, app: Holdfast) -> None:
    load_more(app)
    from holdfast import autosave

    autosave.make(state, event, app)


def _ask_whose(event: Event, app: Holdfast) -> None:
    """Older clients do not say that a compaction is a subagent's."""
    if event.agent or not files.is_there(app.home.session(event.session) + "/agents"):
        return
    from holdfast import whose

    event.agent = whose.agent_of(event, app)


def _locked(event: Event, app: Holdfast) -> "files.Lock | files.Unlocked":
    """The session's lock. Where it cannot be had because nothing can be written, a compaction is spoken at
    all the same; what else there is would be of no use without being remembered."""
    try:
        held = sessions.lock(app.home.session(event.session, event.agent))
        held.take()
    except OSError as problem:
        if event.name not in _SAID or not is_shut(problem):
            raise
        app.full = problem
        return files.Unlocked()
    return held


def _end(event: Event, state: State, app: Holdfast) -> None:
    from holdfast.disk import noted  # once in a session

    noted.note(app.home, event.session, event.agent)
    if app.config["vault.path"]:
        load_more(app)
        from holdfast import breadcrumb  # only where there is a vault

        breadcrumb.leave(event, state, app)


def _take_in(state: State, event: Event, app: Holdfast) -> None:
    """The transcript as far as it can be read, and the event laid over it."""
    trouble = _read(state, event, app) or app.trouble
    if trouble != state.heard.trouble:  # said once, not with every event
        state.heard.trouble = trouble
        trail.note(app.home, "degraded.session", session=event.session, agent=event.agent, what=trouble)
    if _begins(event) or not state.heard.events:
        _ask_client(state, event, app)
    # The client tells its hooks the project, but not its commands, and `cwd` goes where the model goes.
    told = app.environ.get("CLAUDE_PROJECT_DIR", "") if app.in_hook else ""
    state.heard.project = told or state.heard.project or event.cwd
    if event.name == "SessionStart" and app.in_hook:
        state.heard.process = posix.getppid()  # the client
        state.heard.started = app.environ.get(STARTED, "")[:32]
    if event.name not in (AFTER, SAVE_DUE):  # of these everything was heard before
        state.overlay(event)
    if event.name == "PreCompact":
        state.heard.summarised = _summarised(state, event)
    if event.name in _TASKS_AT and not event.agent:
        _read_tasks(state, app)


class _Once:
    """What is read and redacted for a checkpoint serves the brief as well, and is made for neither when
    neither is wanted."""

    __slots__ = ("_app", "_event", "_made", "_state")

    def __init__(self, state: State, event: Event, app: Holdfast) -> None:
        self._state, self._event, self._app = state, event, app
        self._made: Material | None = None

    def __call__(self) -> "Material":
        if self._made is None:
            from holdfast.material import Material  # most hooks have nothing to save or say

            event = self._event
            self._made = Material(self._state, event, self._app, _path(self._state, event))
        return self._made

    @property
    def is_partial(self) -> bool:
        return self._made is not None and self._made.is_partial


def _say(event: Event, state: State, app: Holdfast, once: _Once) -> str:
    load_more(app)
    from holdfast import restoring  # only a compaction and a beginning are spoken at

    return restoring.say(event, state, app, once)


def _report(event: Event, state: State, app: Holdfast, reading: Reading, now: guard.Look) -> str:
    """What is answered to those who report for the client, and are no hooks."""
    if event.name == STATUSLINE:
        from holdfast import statusline

        return statusline.line(state, reading, now, app)
    if event.name == MEASURED:
        from holdfast import measured

        return measured.answer(state, event, app, reading)
    return ""


def _owes(state: State, event: Event, rung: int, app: Holdfast) -> bool:
    """Whether there is a checkpoint to be taken now."""
    return bool(due(state, event, rung, app.config) or state.heard.owed) and is_time(state, event)


def _remember(
    state: State, event: Event, app: Holdfast, reading: Reading, rung: int, once: _Once, later: bool
) -> dict:
    """What was measured and what is to be saved, where anything can be."""
    try:
        sessions.sample(app.home, state, reading, event.at)
        return _save(state, event, app, reading, rung, once, later)
    except OSError as problem:
        if not is_shut(problem):
            raise
        app.full = problem
        return {}


def _save(
    state: State, event: Event, app: Holdfast, reading: Reading, rung: int, once: _Once, later: bool
) -> dict:
    """The state, and, if not left for later, the checkpoint that is due or still owed. What is owed is on
    disk before it is paid: who is killed over it leaves the debt to the next."""
    why = "" if later else due(state, event, rung, app.config)
    if not (why or state.heard.owed) or later or event.name in (STATUSLINE, SAVE_DUE):
        sessions.save(app.home, state)
        return {}
    load_more(app)
    from holdfast import saving  # most hooks have nothing to save

    if why:
        saving.owe(state, event, app, why)
    if not is_time(state, event):
        sessions.save(app.home, state)
        return {}
    saving.count(state, event)  # before it is made: one that is never finished counts, too
    sessions.save(app.home, state)
    return saving.pay(state, event, app, reading, rung, once)


def load_more(app: Holdfast, group: str = "later") -> None:
    """Modules that most hooks do without, at once: one by one they cost more."""
    if not app.in_hook:
        return
    try:
        bundle.load(group)
    except OSError:
        from holdfast import bundling

        bundle.execute(bundling.build(bundle.package(), group))


def _prepare(event: Event, app: Holdfast) -> None:
    _load_early(app)
    _ask_whose(event, app)


def _load_early(app: Holdfast) -> None:
    """What will be needed anyway, before parts of it are. Not where it has first to be made: that takes
    time which reading the transcript needs more."""
    if app.in_hook:
        try:
            bundle.load("later")
        except OSError:
            pass


def _pay_for_agents(event: Event, app: Holdfast) -> None:
    for agent in sessions.owing(app.home, event.session):
        heard = agent.heard
        data = {"agent_id": agent.agent, "cwd": heard.cwd, "transcript_path": heard.transcript}
        try:
            handle(Event(OWED, event.session, event.at, data), app)
        except (OSError, HoldfastError, *MISTAKES):  # the session's own answer does not wait for it
            return


def _path(state: State, event: Event) -> str:
    """Of the transcript, also when this event does not name it."""
    return _transcript(event) or ("" if event.agent else state.heard.transcript)


def _transcript(event: Event) -> str:
    """A subagent is told its parent's transcript; its own stands beside it."""
    if not event.agent:
        return event.transcript
    own = text(event.data, "agent_transcript_path")
    if own or not event.transcript:
        return own
    stem = event.transcript.removesuffix(".jsonl")
    return f"{stem}/subagents/agent-{event.agent}.jsonl"


def _summarised(state: State, event: Event) -> list[int]:
    """How far the transcript stands when a summary is asked for, perhaps long before it is used. Where not
    all of it could be read by now, that is not known; one that a person asked for is used at once."""
    is_all = not state.heard.pending and transcripts.is_at_end(state.seen, _path(state, event))
    is_known = is_all and event.data.get("trigger") == "auto"
    return [state.seen.offset, state.seen.rereads] if is_known else []


def _read(state: State, event: Event, app: Holdfast) -> str:
    """Catch up with the transcript. Why that was not possible, or "": the event counts in any case."""
    path = _path(state, event)
    if not path:
        return ""
    most, seconds = _MOST_AT.get(event.name, _MOST)
    try:
        fills = not app.in_hook or (state.behind is not None and _is_given_up(state, app))
        why = transcripts.catch_up(state, path, most, min(seconds, app.left(READ)), fills)
        if event.name in _LAST_CHANCES and not _is_whole(state, event, path):
            _wait_for_tail(state, event, path, min(_SETTLE_S, app.left(READ)))
    except (OSError, ValueError, BadInput) as problem:  # ValueError: a NUL in the path
        return f"the transcript cannot be read: {type(problem).__name__}"
    return "the transcript is gone" if why == "missing" else ""


def _is_given_up(state: State, app: Holdfast) -> bool:
    """Whether children that were to read on came no further: then every hook does, a little."""
    from holdfast.disk import late  # only of a transcript that was met late

    return late.Place(app.home, state.session, state.agent).has_failed()


def _is_whole(state: State, event: Event, path: str) -> bool:
    """Whether the end of the transcript holds all that hooks were told: every result, and where a turn has
    ended its last answer. Nothing is waited for then."""
    seen, heard = state.seen, state.heard
    if heard.pending or waits_for_result(seen) or not transcripts.is_at_end(seen, path):
        return False
    has_stopped = event.name == "SubagentStop" or heard.stage == "Stop"
    return seen.tail == ENDED or (not has_stopped and seen.tail in (ANSWERED, PROMPTED))


def _wait_for_tail(state: State, event: Event, path: str, seconds: float) -> None:
    """Read on until the file is whole, or has stopped growing and holds every result that was told, never
    long."""
    still, until = 0, elapsed() + seconds
    while elapsed() < until and (still < _SETTLED or state.heard.pending):
        time.sleep(_SETTLE_STEP_S)
        before = state.seen.offset
        transcripts.catch_up(state, path, *_SETTLE_MOST)
        if _is_whole(state, event, path):
            return
        still = still + 1 if state.seen.offset == before else 0


def _read_tasks(state: State, app: Holdfast) -> None:
    """The client's own files know a task's state even where no tool call of it is in the transcript."""
    from holdfast.disk import client

    for task, (status, _) in client.tasks(app.client_dir, state.session).items():
        state.heard.tasks[task] = status


def _breakpoints(
    state: State, event: Event, app: Holdfast, is_waited_for: bool = False
) -> list[str] | None:
    """Commits and test runs since: the working trees of which there are some; None: there are some, and
    the client waits. Usually that is one failed look."""
    heard = state.heard
    if event.name == STATUSLINE:
        return []
    if not heard.board or _begins(event):
        _find_tree(state, event)
    ran = _ran(event)
    is_told = event.name == BROKE or files.is_there(f"{app.home.spool}/{heard.tree}")
    if not ran and not is_told:
        return []
    if is_waited_for:
        return None
    load_more(app)
    tree = _tree(event.cwd) if ran else None
    if not tree and not is_told:
        return []
    from holdfast import breaks

    try:
        return breaks.take_in(state, event, app, ran, tree)
    except Late:
        raise
    except (OSError, HoldfastError, *MISTAKES) as problem:  # what else is to be saved does not wait for it
        breaks.note(app, problem, state.session)
        return []


def _find_tree(state: State, event: Event) -> None:
    """The working tree, as the spool names it (by a name that none has, where there is none), its commit:
    only what comes after it is news; and the board of the project, which all its working trees share."""
    from holdfast.disk import spool, worktree

    heard = state.heard
    found = _tree(event.cwd if state.agent and event.cwd else heard.project)
    heard.tree = spool.key(found.root) if found else "none"
    heard.committed = found.commit if found else ""
    heard.logged = worktree.log_size(found) if found else 0
    own = _tree(heard.project) if state.agent else found
    key = spool.key(own.common if own else worktree.real(heard.project or event.cwd or "/"))
    if heard.board[:1] != [key]:
        heard.board, heard.mail = [key], {}


def _mail(state: State, event: Event, app: Holdfast) -> bool:
    """Whether something is to be said that others of the project have posted. Usually there is no board:
    that is one failed look."""
    heard = state.heard
    if event.name in (STATUSLINE, MEASURED):
        return False
    try:
        found = compiled.signature(f"{app.home.board}/{heard.board[0]}.jsonl")
    except (FileNotFoundError, NotADirectoryError):
        return False
    if found != heard.board[1:]:
        heard.board[1:] = found
        _by_mail("take_in", state, event, app)
    return bool(heard.mail.get("waits")) and event.name in (*_ADDS, "SessionStart")


def _by_mail(step: str, state: State, event: Event, app: Holdfast) -> str:
    """One of its steps. The session's own work does not wait for what others say."""
    load_more(app)
    from holdfast import mail

    try:
        said: str = getattr(mail, step)(state, event, app)
    except Late:
        raise
    except (OSError, HoldfastError, *MISTAKES) as problem:
        mail.note(state, app, problem)
        return ""
    return said


def _tree(folder: str) -> "Worktree | None":
    from holdfast.disk import worktree  # not for every tool call

    return worktree.find(folder)


def _ran(event: Event) -> list[dict]:
    """The calls of a batch in which the agent has run what may have been a breakpoint."""
    if event.name not in (_BATCH, AFTER):
        return []
    found = [call for call in calls(event) if text(call, "tool_name") == "Bash"]
    return [call for call in found if commits(command(call)) or runs_tests(command(call))]


def _begins(event: Event) -> bool:
    """Whether the client has just read its settings: it does not when it only compacts."""
    return event.name == "SessionStart" and event.data.get("source") != "compact"


def _ask_client(state: State, event: Event, app: Holdfast) -> None:
    from holdfast.disk import client  # once per session: not worth loading on every tool call

    found = client.settings(app.environ, app.client_dir, event.cwd)
    known = {name: value for name, value in state.heard.client.items() if name != "since"}
    if found != known:  # where it compacted before says nothing any more
        state.heard.client = {**found, "since": state.seen.compacted}
