"""What `/holdfast:save`, `/holdfast:load` and `/holdfast:report` print; loaded only for them.

The client runs `launch.py command save` before it asks the model anything, and puts what is printed into
the prompt. So the answer is short.

What the person typed behind a command never passes through a shell: the client would paste it into the
command line as it is. The hook that is given the prompt, as data, leaves it in the session's folder
(`remember`), and the command that is run a moment later takes it from there.
"""

import posix

from holdfast import engine, loading
from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core import decide, guard
from holdfast.core.events import Event
from holdfast.core.gauge import Reading, measure
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.core.ladder import BELOW
from holdfast.core.plain import ago, excerpt, one_line, quoted
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from holdfast.disk import checkpoints, client, files, sessions, trail
from holdfast.disk.kept import look
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.installed import says_why, shell_command

#: As a person types it.
PREFIX = "/holdfast:"  # hook.py looks for it, too
_LONGEST_NOTE = 500
#: How long what was typed waits for the command that asks for it.
_WAITS_MS = 60_000
_LARGEST_WORDS = 1 << 14


def run(words: list[str], app: Holdfast) -> str:
    """`words` is what follows `launch.py command`. Whatever is wrong is said in one sentence."""
    try:
        session = _session(app)
        given = _redacted(app, " ".join(words[1:])) or _remembered(app, session, words[:1])
        if words[:1] == ["save"]:
            return _save(app, session, given)
        if words[:1] == ["load"]:
            return loading.load(app, session, _project(_state(app, session)), given)
        if words[:1] == ["report"]:
            return _report(app, session)
        raise BadInput("holdfast has the commands save, load and report, and no other")
    except HoldfastError as problem:
        return f"holdfast: {one_line(str(problem))}."
    except OSError as problem:
        where = f" ({one_line(str(problem.filename))})" if problem.filename else ""
        why = says_why(app, "", "doctor") if words[:1] != ["report"] else ""
        more = f"; {why} says more" if why else ""
        return f"holdfast: {problem.strerror or 'a file cannot be used'}{where}{more}."


def _session(app: Holdfast) -> str:
    session = app.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        shell = shell_command(app)
        raise BadInput(
            "these commands are typed in the client, which says of which session they are "
            "(CLAUDE_CODE_SESSION_ID)" + (f"; outside of it use `{shell} checkpoint`" if shell else "")
        )
    app.home.session(session)  # an id that cannot be one is refused here
    return session


# -- what was typed behind the command


def remember(event: Event, app: Holdfast) -> None:
    """Called with every prompt that begins with PREFIX: keep its words for the command it starts."""
    command, *rest = text(event.data, "prompt").removeprefix(PREFIX).split(None, 1) or [""]
    words = _redacted(app, "".join(rest))
    folder = app.home.session(event.session)
    with sessions.lock(folder):
        said = {"v": 1, "at": event.at, "command": command[:32], "words": words}
        files.replace(folder + "/asked.json", dump(said).encode(), durable=False)


def _redacted(app: Holdfast, words: str) -> str:
    """The beginning. What is cut off before it was redacted is cut off between two words: half a secret
    would not be known as one."""
    if len(words) > _LARGEST_WORDS:
        words = words[: max(words.rfind(end, 0, _LARGEST_WORDS) for end in (" ", "\n")) + 1]
    return excerpt(Redactor(checkpoints.seal_key(app.home)).text(words), _LONGEST_NOTE)


def _remembered(app: Holdfast, session: str, command: list[str]) -> str:
    """What was typed behind this command just now. It is asked for once."""
    path = app.home.session(session) + "/asked.json"
    try:
        said = load(files.read(path, 1 << 16).decode("utf-8", "replace"))
        posix.unlink(path)
    except (FileNotFoundError, NotADirectoryError, *UNREADABLE):
        return ""
    if type(said) is not dict or [said.get("command")] != command or type(said.get("at")) is not int:
        return ""
    return text(said, "words") if abs(now() - said["at"]) < _WAITS_MS else ""


# -- save


def _save(app: Holdfast, session: str, note: str) -> str:
    state = _state(app, session)
    transcript = (state.heard.transcript if state else "") or client.transcript(app.client_dir, session)
    data = {"transcript_path": transcript, "cwd": _project(state), "note": note}
    taken = engine.handle(Event(decide.ASKED, session, now(), data), app).checkpoint
    if not taken:
        owing = sessions.peek(app.home, session)
        why = text(owing.heard.owed, "what") if owing else ""
        why = why or f"{says_why(app, '', 'status')} says why"
        raise HoldfastError(f"nothing was saved ({why}); it is owed, and the next hook tries again")
    kept = look(app.home, taken["path"])
    if not kept.is_trusted:
        raise Damaged(f"{taken['path']} was written and reads differently; is the disk failing?")
    where = "" if taken["kept"] == "project" else " (in holdfast's home: the project cannot be written)"
    noted = f' Note: "{note}".' if note else ""
    return one_line(
        f"Checkpoint {taken['id']} is saved and verified: {quoted(taken['path'])}{where}.{noted} "
        f"Summary: {taken['summary']}"
    )


# -- report


def _report(app: Holdfast, session: str) -> str:
    state = sessions.peek(app.home, session)
    if not state:
        shell = shell_command(app)
        why = f"; `{shell} doctor` says why" if shell else ""
        raise NotFound(f"its hooks have heard nothing of this session yet{why}")
    reading = measure(state, state.seen.offset, app.window)
    compacted = max(state.seen.compacted, state.heard.compactions)
    rows = [
        f"window: {reading.used:,} of {reading.window:,} tokens ({reading.percent} %){_estimated(reading)}",
        f"compaction: at {reading.capacity:,}; {reading.until_compaction:,} tokens left, "
        f"{reading.fill} % of that room is used{_rung(app, state, reading)}",
        f"compactions so far: {compacted}",
        f"last checkpoint: {_last(state)}",
    ]
    troubles = _troubles(app, session, state)
    rows += [f"degraded: {trouble}" for trouble in troubles] or ["degraded: nothing"]
    return "\n".join(map(one_line, rows))


def _estimated(reading: Reading) -> str:
    if reading.source == "usage":
        return ""
    return ", what came last estimated" if reading.source == "usage+estimate" else ", estimated"


def _rung(app: Holdfast, state: State, reading: Reading) -> str:
    name = guard.look(state, reading, app.config).level
    return f" ({name})" if name != BELOW else ""


def _last(state: State) -> str:
    saved = state.heard.saved
    if not saved:
        return "none yet"
    turns = decide.unsaved(state)
    return f"{saved['id']}, {ago(now() - saved['at'])}, {turns} turn{'' if turns == 1 else 's'} since"


def _troubles(app: Holdfast, session: str, state: State) -> list[str]:
    found = [app.trouble, state.heard.trouble if state.heard.trouble != app.trouble else ""]
    if state.heard.owed:
        owed = state.heard.owed
        found.append(f"a checkpoint is owed ({owed['why']}): {text(owed, 'what') or 'not tried yet'}")
    if state.behind:
        from holdfast.catchup import progress  # most sessions were met when they began

        found.append(progress(app, state))
    recent = [
        note
        for note in trail.recent(app.home)
        if text(note, "event").startswith("degraded.") and note.get("session") == session
    ]
    if recent:
        what = f"{text(recent[-1], 'event')}, {text(recent[-1], 'what')}"
        found.append(f"{len(recent)} of its hooks noted trouble, the last: {excerpt(what, 200)}")
    return [trouble for trouble in found if trouble]


# -- what all of them need


def _state(app: Holdfast, session: str) -> State | None:
    """For looking only. A damaged one is rebuilt by whoever writes it next."""
    try:
        return sessions.peek(app.home, session)
    except Damaged:
        return None


def _project(state: State | None) -> str:
    """The client tells its hooks, but not its commands; and its folder is wherever the model went."""
    return (state.heard.project or state.heard.cwd if state else "") or posix.getcwd()
