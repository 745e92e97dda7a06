"""All that is known of a session, as a file to be read: a brief names it for what it has no room for."""

from holdfast.app import Holdfast
from holdfast.books import DATA, note
from holdfast.core.facts import USER, Facts
from holdfast.core.fence import TYPED, inert, not_typed
from holdfast.core.state import State
from holdfast.disk import files
from holdfast.errors import BadInput


def keep(
    app: Holdfast,
    state: State,
    facts: Facts,
    tasks: list[tuple[str, str]],
    errors: list[str],
    of: str = "",
    later: bool = False,
) -> str:
    """Where it is, made anew unless it says all that is known now; "" where that is not possible. `of`: the
    session that the facts are of, if it is another; then that one's file is as good. `later`: so is one of
    less, because somebody comes at once who makes it anew."""
    path = _kept(app, State(of), facts, of) if of else ""
    path = path or _kept(app, state, facts, of)
    if path or not facts.units:
        return path
    if later and files.is_there(_path(app, state)):
        return _path(app, state)
    lines = [_head(of or state.session, facts), DATA, *_known(facts, tasks, errors), *_said(facts)]
    path = _path(app, state)
    try:
        files.replace(path, "\n".join([*lines, ""]).encode("utf-8", "replace"), durable=False)
    except OSError as problem:
        note(app, state, "degraded.overflow", f"{type(problem).__name__}: {problem}"[:300])
        return ""
    return path


def _kept(app: Holdfast, state: State, facts: Facts, of: str) -> str:
    """Where it is, if it is of these facts."""
    head = _head(of or state.session, facts).encode("utf-8", "replace") + b"\n"
    try:
        is_there = files.read_head(_path(app, state), len(head)) == head
    except (OSError, BadInput):
        return ""
    return _path(app, state) if is_there else ""


def _path(app: Holdfast, state: State) -> str:
    return app.home.session(state.session, state.agent) + "/overflow.md"


def _head(session: str, facts: Facts) -> str:
    """Tells which facts it is made from."""
    return f"# What holdfast knows of session {session}, from byte {facts.start} to {facts.offset}"


def _known(facts: Facts, tasks: list[tuple[str, str]], errors: list[str]) -> list[str]:
    """What is known by being looked at."""
    touched = facts.touched
    found = [f"Branch: {facts.branch}"] if facts.branch else []
    found += [f"Commit: {said}" for _, said in touched.commits]
    found += [f"Task ({status}): {subject}" for status, subject in tasks]
    found += [f"Not resolved: {error}" for error in errors]
    for path, (_, edits, _, _, _, symbols) in touched.files.items():
        changed = f", {edits} edit{'' if edits == 1 else 's'}: {', '.join(symbols)}" if edits else ""
        found.append(f"File: {path}{changed}")
    found += [f"Test run: {run.named} → {run.shown()}" for run in touched.tests()]
    for command, (_, _, failed, last, named, *_) in touched.commands.items():
        if not named:
            found.append(f"Command: {command} → {'failed: ' if failed else ''}{last}")
    return [inert(line) for line in found]


def _said(facts: Facts) -> list[str]:
    """Every unit, turn by turn."""
    sayings = {saying[5]: saying for saying in facts.sayings}
    found: list[str] = []
    turn = -1
    for number, words, *_ in facts.units:
        saying = sayings[number]
        if saying[2] != turn and not facts.start:
            turn = saying[2]
            found.append(f"## Turn {turn}")
        found.append(TYPED + inert(words) if saying[0] == USER else not_typed(words))
    return found
