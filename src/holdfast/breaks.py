"""Breakpoints: a commit and a test run are moments at which work is saved. Loaded only when there was one.

What is spooled becomes a save of its environment, once (`settle`), and, where a session of that working
tree has work that is not saved, the reason for a checkpoint (`take_in`). A hook leaves the saves to a child
that nobody waits for.
"""

from _thread import allocate_lock

from holdfast.apart import left_to_a_child
from holdfast.app import Holdfast
from holdfast.clock import at, now, rfc3339
from holdfast.core import decide, started
from holdfast.core.events import Event, calls, command, exit_code, was_run
from holdfast.core.fold import commits, runs_tests
from holdfast.core.jsontext import text
from holdfast.core.outcome import outcome
from holdfast.core.plain import excerpt, one_line
from holdfast.core.seen import counter
from holdfast.core.state import State
from holdfast.core.testruns import run_of
from holdfast.disk import checkpoints, git, results, saves, spool, trail, worktree
from holdfast.disk.home import is_safe_name
from holdfast.errors import HoldfastError
from holdfast.material import Ground, redactor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.config import Config
    from holdfast.core.outcome import Outcome
    from holdfast.core.redact import Redactor
    from holdfast.disk.worktree import Worktree

_KEYS = {spool.TESTS: "auto_context.hooks.test_result"}
_COMMITS = "auto_context.hooks.git_commit"
_SUBJECT, _LOOKED_AT = 80, 1 << 14
#: Seconds that git has to say what a commit is: nobody waits.
_PATIENCE_S = 5.0
_LONGEST_COMMAND = 200
#: Tools that change no file. What a command or an agent does, nobody knows.
_LOOKING = frozenset(
    "Read NotebookRead Grep Glob LS WebFetch WebSearch TodoWrite TaskCreate TaskUpdate".split()
)
_GIT = "git"
#: In a process with threads the kernel's lock is everybody's.
_ALONE = allocate_lock()


def is_wanted(config: "Config", kind: str) -> bool:
    return bool(config["auto_context.enabled"] and config[_KEYS.get(kind, _COMMITS)])


def take_in(
    state: State, event: Event, app: Holdfast, ran: list[dict], tree: "Worktree | None"
) -> list[str]:
    """What happened since, noted in the state: why a checkpoint is due, and which commit is green.
    `ran` are the calls, in `tree`, that may have been breakpoints. The working trees to be settled."""
    heard = state.heard
    if tree:
        said = spool.entries(app.home, spool.key(tree.root))  # before any of these
        untold = _untold(ran, [one for one in said if one["uid"] > heard.broke.get("uid", "")])
        untold = untold if is_wanted(app.config, spool.TESTS) else []
        stood = [call for call in untold if _stood(call, event)]
        # Asked once: in a large tree git takes most of the time that there is.
        clean = any((ended := _ended(call)) and ended.is_good for call in stood) and _is_clean(app, tree)
        for call in ran:
            if call in untold:
                _tested(app, call, tree, clean and call in stood)
            if commits(command(call)) and is_wanted(app.config, spool.COMMIT):
                _committed(state, app, tree, said)
    places = dict.fromkeys([heard.tree, *([spool.key(tree.root)] if tree else [])])
    found = [entry for place in places for entry in spool.entries(app.home, place)]
    found = [entry for entry in found if entry["uid"] > heard.broke.get("uid", "")]
    due = []
    reported = event.data.get("breakpoints", []) if event.name == decide.BROKE else []
    wanted = [entry for entry in [*found, *reported] if is_wanted(app.config, entry["kind"])]
    for entry in wanted:
        if entry["kind"] != spool.TESTS:
            due.append(entry)
            continue
        if entry["passed"] and entry["commit"] and entry["clean"]:
            heard.green = [entry["commit"], entry["at"]]
        if decide.is_news(state, entry["passed"], app.config):
            heard.tests = [int(entry["passed"]), decide.work(state)]
            due.append(entry)
    newest = max((entry["uid"] for entry in found), default=heard.broke.get("uid", ""))
    if found or reported:
        heard.broke = {**heard.broke, **decide.broke(state, due, event.at), "uid": newest}
    if wanted:
        heard.broke.update({"rest": []} if _begins_anew(event, ran) else decide.rest(state, wanted))
    return [place for place in places if spool.names(app.home, place)]


def _untold(ran: list[dict], said: list[dict]) -> list[dict]:
    """The test runs among these of which whoever they started has `said` nothing, in what is not taken in
    yet. What was said stands for one run: of those that name its runner, if any does, the first that is not
    known to have ended otherwise."""
    left = [call for call in ran if runs_tests(command(call))]
    for one in said:
        if one["kind"] != spool.TESTS:
            continue
        runner = one["command"].partition(" ")[0]
        named = [call for call in left if runner in command(call)] or left
        its = [call for call in named if (ended := _ended(call)) is None or ended.is_good == one["passed"]]
        left = [call for call in left if call is not its[0]] if its else left
    return left


def _tested(app: Holdfast, call: dict, tree: "Worktree", clean: bool) -> None:
    ended = _ended(call)
    if ended:
        run = {"passed": ended.is_good, "count": ended.count, "failed": ended.failed + ended.errors}
        spool_run(app, tree, {**run, "seconds": 0.0, "command": ended.named}, clean)


def _committed(state: State, app: Holdfast, tree: "Worktree", said: list[dict]) -> None:
    """What the agent commits itself is a breakpoint, too, unless git has `said` so already."""
    heard = state.heard
    known = {*(one["commit"] for one in said), heard.committed, heard.saved.get("commit", ""), ""}
    made = worktree.made_since(tree, heard.committed, heard.logged)
    if made is None:  # where it ends is all that is known
        made = [(tree.commit, tree.branch)]
    for commit, branch in made:
        if commit not in known:
            known.add(commit)  # where it was merged, it is there once more
            said_of = {"commit": commit, "branch": branch}
            spool.put(app.home, spool.COMMIT, {**spool.about(tree, app.environ), **said_of})
    heard.committed, heard.logged = tree.commit, worktree.log_size(tree)


def _stood(call: dict, event: Event) -> bool:
    """Whether the tree is still the one that the tests of a call ran on, when the batch is over: nothing
    came after them that may have changed it and made a commit of that, or gone to another one."""
    parts = started.calls(command(call))
    while parts and not run_of(parts[-1]):
        if _GIT in parts.pop():
            return False
    every = calls(event)
    after = every[every.index(call) + 1 :] if call in every else []
    return all(
        text(one, "tool_name") in _LOOKING or (runs_tests(command(one)) and _GIT not in command(one))
        for one in after
    )


def _begins_anew(event: Event, ran: list[dict]) -> bool:
    """Whether the same batch went on to edit something after what it ran."""
    every = calls(event)
    after = every[every.index(ran[-1]) + 1 :] if ran and ran[-1] in every else []
    return any(counter(text(call, "tool_name")) == "edited" for call in after)


def spool_run(app: Holdfast, tree: "Worktree", run: dict, clean: bool | None = None) -> None:
    """A test run that is over, for whoever comes next; `clean`: whether the tree is, if that is known."""
    spool.put(app.home, spool.TESTS, _run_in(app, tree, run, clean))


def _ended(call: dict) -> "Outcome | None":
    """How a test run of the agent ended; None where that is not known (yet)."""
    said, given = call.get("tool_response"), call.get("tool_input")
    if type(said) is not str or not was_run(call):
        return None
    in_background = type(given) is dict and given.get("run_in_background") is True
    ended = outcome(command(call), exit_code(call), said, in_background)
    return ended if ended and ended.is_known else None


def leave(app: Holdfast, trees: list[str]) -> None:
    """Settle them, in a hook by a child that is not waited for: nobody was told anything yet. What cannot
    be done waits on, and what was to be said is said."""
    try:
        left_to_a_child(app, lambda: settle(app, trees, wait=not app.in_hook))
    except (OSError, HoldfastError) as problem:
        note(app, problem)


def note(app: Holdfast, problem: Exception, session: str = "") -> None:
    """What could not be done. Of a mistake of ours only its kind: its words may be somebody's."""
    ours = isinstance(problem, (OSError, HoldfastError))
    what = f"{type(problem).__name__}: {problem}"[:300] if ours else type(problem).__name__
    trail.note(app.home, "degraded.breakpoint", what=what, **({"session": session} if session else {}))


def settle(app: Holdfast, trees: list[str], wait: bool = True) -> list[dict]:
    """Saves of what is spooled for these working trees, once each, durable; those that were made.
    Who does not `wait` leaves it to whoever is at it just now."""
    lock = spool.lock(app.home)
    if not wait and not lock.attempt():
        return []
    made: list[dict] = []
    with _ALONE, lock:
        for tree in trees:
            found = spool.entries(app.home, tree)
            made += keep(app, _news(app, tree, found))
            for entry in found:
                if entry["kind"] == spool.TESTS and is_wanted(app.config, spool.TESTS):
                    results.note(app.home, tree, entry)
            for strange in spool.clear(app.home, tree, [entry["uid"] for entry in found]):
                what = f"{one_line(strange)[:80]} in the spool is no breakpoint; it was set aside"
                trail.note(app.home, "degraded.breakpoint", what=what)
    return made


def note_run(app: Holdfast, tree: "Worktree", run: dict) -> None:
    """A run that was reported, and is saved by whoever was told: how the tests ended last."""
    said = {**_run_in(app, tree, run), "at": rfc3339(now())}
    with _ALONE, spool.lock(app.home):
        results.note(app.home, spool.key(tree.root), said)


def _run_in(app: Holdfast, tree: "Worktree", run: dict, clean: bool | None = None) -> dict:
    """Tests that passed say something about a commit only if nothing else was in the tree. Only git can
    tell, and is asked while that is so."""
    command = excerpt(redactor_of(app, tree.root).text(run["command"][:_LOOKED_AT]), _LONGEST_COMMAND)
    clean = run["passed"] and (_is_clean(app, tree) if clean is None else clean)
    return {**spool.about(tree, app.environ), **run, "command": command, "clean": clean}


def _is_clean(app: Holdfast, tree: "Worktree") -> bool:
    return bool(tree.commit) and git.is_clean(tree, app.environ)


def _news(app: Holdfast, tree: str, found: list[dict]) -> list[dict]:
    """Without what nobody wants saved, and tests that ended as they did before on the same commit."""
    last = results.of(app.home, tree).get("tests", {})
    news = []
    for entry in found:
        if entry["kind"] == spool.TESTS:
            is_new, last = decide.is_other(last, entry), entry
        else:
            is_new = True
        if is_new and is_wanted(app.config, entry["kind"]):
            news.append(entry)
    return news


def keep(app: Holdfast, entries: list[dict]) -> list[dict]:
    """Saves of these, durable; of one that has its save already none. The caller holds the spool's lock."""
    known: dict[str, list[dict]] = {}
    made = []
    for entry in entries:
        environment = _environment(app, entry)
        if environment not in known:
            known[environment] = saves.of(app.home, environment)
        if not any(_is_same(save, entry) for save in known[environment]):
            save = _save(app, entry, environment)
            known[environment].append(save)
            made.append(save)
    if made:
        saves.add(app.home, made)
    for save in made:
        said = {name: save[name] for name in ("id", "environment", "source")}
        trail.note(app.home, "breakpoint.saved", **said)
    return made


def _is_same(save: dict, entry: dict) -> bool:
    """One commit is one breakpoint, also where git's hook and the session have both told of it."""
    if save["id"] == entry["uid"]:
        return True
    is_commit = entry["kind"] != spool.TESTS and save["source"] == saves.COMMIT
    return is_commit and bool(entry["commit"]) and save["commit"] == entry["commit"]


def _environment(app: Holdfast, entry: dict) -> str:
    named = str(entry["environment"])
    if is_safe_name(named):
        return named
    what = f"CONTEXTS_ENV cannot be the name of an environment; a breakpoint was saved for {spool.DEFAULT}"
    trail.note(app.home, "degraded.breakpoint", what=what)
    return spool.DEFAULT


def _save(app: Holdfast, entry: dict, environment: str) -> dict:
    if not entry["commit"]:  # git keeps its refs in a form that only git reads
        branch, commit = git.asked(entry["root"], app.environ, _PATIENCE_S)
        entry = {**entry, "branch": branch, "commit": commit}
    ground = Ground(entry["root"])
    redactor = redactor_of(app, ground.project)
    newest = checkpoints.head(app.home, ground.lineage)
    is_tests = entry["kind"] == spool.TESTS
    source = saves.TESTS if is_tests else saves.COMMIT
    said, tags = _of_tests(entry) if is_tests else _of_commit(app, entry, redactor)
    save = saves.made(
        at(entry["at"]),
        environment,
        source,
        redactor.text,
        tags,
        **said,
        project=ground.project,
        lineage=ground.lineage,
        joined=saves.TOLD,
        branch=entry["branch"],
        commit=entry["commit"],
        checkpoint=newest.get("path", ""),
        session_id=newest.get("session_id", ""),
    )
    save["id"] = entry["uid"]
    return save


def _of_commit(app: Holdfast, entry: dict, redactor: "Redactor") -> tuple[dict[str, str], list[str]]:
    commit, common = entry["commit"], entry["common"]
    subject, files = git.committed(common, commit, app.environ, _PATIENCE_S)
    said = commit_said(redactor, subject, entry["branch"], commit, files)
    tags = commit_tags(entry["branch"], commit)
    return said, [*tags, "rebase"] if entry["kind"] == spool.SERIES else tags


def _of_tests(entry: dict) -> tuple[dict[str, str], list[str]]:
    return tests_said(entry["passed"], entry["count"], entry["failed"], entry["seconds"], entry["command"])


def commit_said(redactor: "Redactor", message: str, branch: str, commit: str, files: int) -> dict[str, str]:
    """Redacted before it is cut: half a secret looks like none."""
    subject = one_line(redactor.text(message[:_LOOKED_AT]))
    return {
        "task": f"Commit: {subject[:_SUBJECT]}",
        "context": f"Branch: {one_line(branch) or 'HEAD'}, SHA: {commit[:8]}, Files: {files}",
    }


def commit_tags(branch: str, commit: str) -> list[str]:
    return ["git-commit", branch or "HEAD", commit[:8]]


def tests_said(
    passed: bool, count: int, failed: int, seconds: float, command: str
) -> tuple[dict[str, str], list[str]]:
    """In the words of whoever counts. Where nobody has said how many there were, none are told."""
    if passed:
        took = f" in {seconds:.1f}s" if seconds else ""
        task = f"Tests passed: {count} tests{took}" if count else "Tests passed"
        tags = ["tests-passed", f"count-{count}"]
    else:
        task = f"Tests failed: {failed}/{count} failed" if count else "Tests failed"
        tags = ["tests-failed", f"failed-{failed}"]
    context = f"Command: {one_line(command)}" if command else ""
    return {"task": task, "context": context}, tags if count else tags[:1]
