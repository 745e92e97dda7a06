"""`fold(seen, entry)`: take in a transcript one entry at a time, in file order.

Folding changes `seen` in place (a session has a hundred thousand entries) but does nothing else:
no clock, no files. Every rule of what counts as what is here.
"""

from holdfast.core.meter import second_of_day, seconds_after
from holdfast.core.rewind import branch, joined
from holdfast.core.seen import (
    LONGEST_STEP_MS,
    MOST,
    SLOW_STEP_MS,
    Seen,
    counter,
    fingerprint,
    numbers,
    tally,
)
from holdfast.core.speaker import INTERRUPTED, REFUSED, USER
from holdfast.core.transcript import Entry, count, normal_path

#: Words without `test` in them that make it worth reading a command as the shell does: they may run tests.
_MAY_TEST = frozenset(
    "ava bats behat behave busted cargo catch2 check check-all checks ci coveralls courtney ct "
    "ct_run cucumber cucumber-js cypress dart drive e2e electron-mocha espec eunit fastlane "
    "faucet gate ginkgo gradle gradlew integration jasmine jest junit-platform-console kaocha playwright "
    "karma mocha _mocha mvn mvnd mvnw nose nose2 nosetests nox pabot pest phpunit pre-commit "
    "precommit preflight prepush pre-push presubmit proper prove qa R rebar3 robot rspec "
    "shellspec simple-phpunit smoke spec specs tap tape tox trial ts-mocha twisted.trial unit "
    "validate verify wtr org.junit.runner.JUnitCore org.junit.platform.console.ConsoleLauncher".split()
)
_COMMITTING = frozenset("commit rebase merge cherry-pick revert am pull".split())
_SEPARATORS = str.maketrans(";&|()'\"", "       ")
#: Without one of these a command writes nothing that could be taken for another.
_WRITES = ("'", '"', "<<", "#")
_DENIALS = (REFUSED, "User rejected", INTERRUPTED)
_ANSWERING = ("answer", "result", "boundary", "micro")
_ACTING = ("answer", "result", "prompt", "queued")
#: Clients from this one on compact while nobody is there (after 54 minutes, by default). A pause of so many
#: seconds is that; a shorter one may be a person thinking.
_COMPACTS_IDLE, _IDLE_S, _DAY_S = (2, 1, 299), 300, 86_400
IDLE = "idle"
_LONGEST_NAME, _LONGEST_ID = 1024, 64
_MOST_FILES, _MOST_TASKS, _MOST_OPEN = 64, 64, 48
#: What `fold` returns unless the session was rewound.
NOWHERE = -1
#: In place of a command's exit status: it failed without one; nobody knows how it ended.
NO_STATUS, NO_RESULT = -1, -2
#: How the newest line leaves the conversation: with an answer that ends a turn, with one that goes on, with
#: a tool's result, with something from the user's side.
ENDED, GOES_ON, ANSWERED, PROMPTED = "ended", "goes on", "answered", "prompted"


def fold(seen: Seen, entry: Entry) -> int:
    """Take in one entry. Returns NOWHERE, or where an abandoned branch began: a second prompt under
    one parent means that the first, and all that followed it, is no longer part of the session."""
    if entry.agent != seen.agent:  # the session's own lines name no agent
        return NOWHERE
    seen.entries += 1
    if entry.at:
        # A prompt may come hours after the turn before it; an answer or a result belongs to its turn.
        if entry.at[:15] != seen.last_at[:15] and entry.kind in ("answer", "result"):
            _spend(seen, entry)
        seen.last_at = entry.at[:32]
        seen.first_at = seen.first_at or seen.last_at
    if entry.branch and entry.branch != seen.branch:
        seen.branch = entry.branch[:_LONGEST_NAME]
    if entry.cwd and entry.cwd != seen.cwd:
        seen.cwd = normal_path(entry.cwd)[:_LONGEST_NAME]
    if entry.version and entry.version != seen.version:
        seen.version = entry.version[:32]
    kind = entry.kind
    if kind in _ACTING:
        seen.acted_at = seen.last_at
    if kind in _ANSWERING:
        seen.unanswered.clear()
    if kind == "answer":
        seen.tail = ENDED if entry.ends else GOES_ON
        _answer(seen, entry)
    elif kind == "result":
        seen.tail = ANSWERED
        seen.meter.add(entry)
        _results(seen, entry)
    elif kind == "prompt" or kind == "note":
        seen.tail = PROMPTED
        return _prompt(seen, entry)
    elif kind == "queued":
        seen.tail = PROMPTED
        _typed(seen, entry, 0)
    elif kind == "attachment" or kind == "summary":
        seen.meter.add(entry)
    elif kind == "boundary":
        _compaction(seen, entry)
    elif kind == "micro":
        seen.micro += 1
        seen.meter.micro(entry)
    elif kind == "idle":
        _was_idle(seen)
    return NOWHERE


def _spend(seen: Seen, entry: Entry) -> None:
    """Remember how long the step took that ends here, where it was long."""
    took = 1000 * seconds_after(seen.last_at, entry.at)
    if took >= SLOW_STEP_MS:
        _keep(seen, "slow", [entry.offset, min(took, LONGEST_STEP_MS)])


def waits_for_result(seen: Seen) -> bool:
    """Whether a call of the newest turn has no result yet. One of an earlier turn will get none."""
    newest = seen.turned[-1] if seen.turned else 0
    return any(call[2] >= newest for call in seen.open.values())


def _keep(seen: Seen, name: str, item: object) -> None:
    places = getattr(seen, name)
    places.append(item)
    # Cut rarely: deleting from the front on every append would move the whole list each time.
    if len(places) > 2 * MOST[name]:
        del places[: -MOST[name]]


def _prompt(seen: Seen, entry: Entry) -> int:
    parent = branch(entry)
    if not _retyped(seen, parent, entry.offset) and entry.offset not in (end for _, end in seen.dead):
        for known, offset, _, _ in reversed(seen.prompts):
            if known == parent:
                return int(offset)
    seen.unanswered.append((parent, entry.offset, _before(seen)))
    _typed(seen, entry, parent)
    return NOWHERE


def _typed(seen: Seen, entry: Entry, parent: int) -> None:
    """A prompt, or another line of the user's side. One that was queued has no place to go back to."""
    seen.prompted += 1
    is_typed = entry.plan or entry.speaker == USER
    _keep(seen, "prompts", [parent, entry.offset, entry.length, _asks(entry, is_typed)])
    if entry.kind != "note":
        seen.typed += is_typed
        seen.messages += 1
    if entry.plan:
        _keep(seen, "plans", [entry.offset, entry.length])
    if entry.denied:
        _keep(seen, "rejections", [entry.offset, entry.length])
    if entry.task:
        _came_back(seen, entry)
    seen.meter.add(entry)


def _asks(entry: Entry, is_typed: bool) -> int:
    """Who asks for work: 1 a person, 2 the lead of this subagent; 0 nobody."""
    return 1 if is_typed else 2 if entry.kind == "prompt" else 0


def _came_back(seen: Seen, entry: Entry) -> None:
    """An agent in the background reports long after the call that started it has returned."""
    task, status = entry.task
    for row in seen.agents:
        if row[0] == task:
            row[3:] = (
                entry.offset,
                entry.length,
                (status or "completed") if len(status) <= 32 else "unknown",
            )


def _before(seen: Seen) -> tuple:
    meter = dict(seen.meter.__dict__, tail=seen.meter.tail.copy(), curve=seen.meter.curve.copy())
    return meter, seen.entries - 1, seen.prompted, seen.typed, seen.messages


def _retyped(seen: Seen, parent: int, here: int) -> bool:
    """Whether this prompt replaces one that was not answered yet. It is by far the commonest way
    back, and the only one that can be gone without reading the file again."""
    for known, offset, (meter, entries, prompted, typed, messages) in seen.unanswered:
        if known == parent:
            seen.meter.__dict__ = meter
            seen.entries, seen.prompted, seen.typed = entries + 1, prompted, typed
            seen.messages = messages
            seen.prompts = [p for p in seen.prompts if p[1] < offset]
            seen.rejections = [r for r in seen.rejections if r[0] < offset]
            seen.plans = [p for p in seen.plans if p[0] < offset]
            seen.unanswered = [u for u in seen.unanswered if u[1] < offset]
            seen.dead = joined(seen.dead, offset, here)
            return True
    return False


def _answer(seen: Seen, entry: Entry) -> None:
    if entry.failed:
        return
    if seen.meter.answer(entry):
        seen.turns += 1
        seen.messages += 1
        _keep(seen, "turned", entry.offset)
    if entry.says:
        _keep(seen, "said", [entry.offset, entry.length])
    for call, tool, given in entry.uses:
        _use(seen, entry, call, tool, given)


def _use(seen: Seen, entry: Entry, call: str, tool: str, given: dict) -> None:
    seen.calls += 1
    tally(seen.tools, tool)[0] += 1
    what, is_test = 0, 0
    if tool == "Bash":
        command = given.get("command")
        if type(command) is str:
            what = fingerprint(command)
            is_test = 1 if runs_tests(command) else 0
    elif tool == "TaskUpdate":
        _task(seen, entry, given.get("taskId"), given.get("status"))
    elif tool == "TodoWrite":
        _todos(seen, entry, given.get("todos"))
    elif tool == "ExitPlanMode":
        _keep(seen, "plans", [entry.offset, entry.length])
    else:
        path = given.get("file_path") or given.get("notebook_path")
        if type(path) is str:
            what = fingerprint(normal_path(path))
    counted = counter(tool)
    setattr(seen, counted, getattr(seen, counted) + 1)
    if call:
        seen.open[call[:_LONGEST_ID]] = [tool[:64], what, entry.offset, entry.length, is_test]
        if len(seen.open) > _MOST_OPEN:
            del seen.open[next(iter(seen.open))]


def runs_tests(command: str) -> bool:
    """Whether a shell command runs tests."""
    if "test" not in command and "Test" not in command and _MAY_TEST.isdisjoint(_names(command)):
        return False
    from holdfast.core import testruns  # few commands name any

    return testruns.runs_tests(command)


def _names(command: str) -> list[str]:
    return [word.rpartition("/")[2] for word in command.translate(_SEPARATORS).split()]


def commits(command: str) -> bool:
    """Whether a shell command may leave another commit: `git commit`, `git -C lib rebase` …"""
    words = command.translate(_SEPARATORS).split()
    if not any(names_commit(words[at : at + 14]) for at, word in enumerate(words) if word.endswith("git")):
        return False
    if not any(mark in command for mark in _WRITES):
        return True
    from holdfast.core import started  # few commands name a commit, and write something

    return any(map(names_commit, started.calls(command)))


def names_commit(words: list[str]) -> bool:
    if words[0].rpartition("/")[2] != "git":
        return False
    rest = iter(words[1:12])
    for given in rest:
        if given in _COMMITTING:
            return True
        if not given.startswith("-"):
            break
        if given in ("-C", "-c"):
            next(rest, "")
    return False


def _results(seen: Seen, entry: Entry) -> None:
    for call, failed, result, error in entry.results:
        if call:
            _keep(seen, "answered", fingerprint(call))
        tool, what, offset, length, is_test = seen.open.pop(call[:_LONGEST_ID], ("", 0, 0, 0, 0))
        if not tool:
            continue  # its call lies before the part that was read
        row = tally(seen.tools, tool)
        row[2] += int(entry.units)
        if failed:
            row[1] += 1
            seen.failures += 1
        if entry.cut_short:
            if tool == "Bash":
                _keep(
                    seen, "commands", [what, offset, length, entry.offset, entry.length, NO_RESULT, is_test]
                )
            continue  # it may have succeeded
        denied = entry.denied or (failed and error.startswith(_DENIALS))
        if denied:
            _keep(seen, "rejections", [entry.offset, entry.length])
        elif what:
            _outcome(seen, entry, what, failed, offset, length)
        if tool == "Bash":
            status = exit_status(failed, error)
            _keep(seen, "commands", [what, offset, length, entry.offset, entry.length, status, is_test])
        elif counter(tool) == "subagents":
            _agent(seen, entry, call, offset, length, result)
        elif tool == "TaskCreate" and type(result) is dict and type(result.get("task")) is dict:
            _task(seen, entry, result["task"].get("id"), "pending", (offset, length))
        elif what and not failed:
            _file(seen, tool, what, (offset, length, entry.offset, entry.length), result)


def _outcome(seen: Seen, entry: Entry, what: int, failed: bool, offset: int, length: int) -> None:
    """An error stays open until the very same thing succeeds."""
    if failed:
        _keep(seen, "errors", [what, offset, length, entry.offset, entry.length, 0])
        return
    for error in seen.errors:
        if error[0] == what and not error[5]:
            error[5] = entry.offset


def exit_status(failed: bool, error: str) -> int:
    """NO_STATUS where it failed without a code (interrupted, timed out)."""
    if not failed:
        return 0
    _, found, rest = error.partition("Exit code ")
    digits = rest[:3].split("\n")[0].strip() if found else ""
    return int(digits) if digits.isdecimal() and digits.isascii() else NO_STATUS


def _file(seen: Seen, tool: str, what: int, places: tuple, result: object) -> None:
    key = str(what)
    row = seen.files.pop(key, None) or [0, 0, 0, 0, 0]
    row[3:] = places[:2]
    seen.files[key] = row  # newest last
    if len(seen.files) > _MOST_FILES:
        del seen.files[next(iter(seen.files))]
    if counter(tool) == "reads":
        row[0] += 1
        return
    row[2 if tool == "Write" else 1] += 1
    line, lines, hunks = 0, 0, 0
    patch = result.get("structuredPatch") if type(result) is dict else None
    if type(patch) is list and patch and type(patch[0]) is dict:
        line, lines = _changed_line(patch[0]), count(patch[0].get("newLines"))
        hunks = len(patch)
    _keep(seen, "edits", [what, *places, line, lines, hunks])


def _changed_line(hunk: dict) -> int:
    """A hunk begins with up to three lines that did not change."""
    line, lines = count(hunk.get("newStart")), hunk.get("lines")
    for text in lines[:8] if type(lines) is list else ():
        if type(text) is not str or text[:1] != " ":
            break
        line += 1
    return line


def _agent(seen: Seen, entry: Entry, call: str, offset: int, length: int, result: object) -> None:
    status, agent = "failed", ""
    if type(result) is dict:
        said = result.get("status")
        status = said if type(said) is str and len(said) <= 32 else "completed"
        named = result.get("agentId")
        agent = named if type(named) is str and len(named) <= 64 else ""
    _keep(seen, "agents", [agent or call[:64], offset, length, entry.offset, entry.length, status])


def _task(seen: Seen, entry: Entry, task: object, status: object, place: tuple = ()) -> None:
    if type(task) is not str or not task or len(task) > 64:
        return
    row = seen.tasks.setdefault(task, ["pending", entry.offset, entry.length])
    if place:
        row[1], row[2] = place
        seen.worked.pop(task, None)  # one before it had the same id
    if type(status) is str and len(status) <= 32:
        row[0] = status
        _worked(seen, task, status, entry.offset)
    if len(seen.tasks) > _MOST_TASKS:
        finished = (t for t, r in seen.tasks.items() if r[0] in ("completed", "deleted"))
        oldest = next(finished, next(iter(seen.tasks)))
        del seen.tasks[oldest]
        seen.worked.pop(oldest, None)


def _worked(seen: Seen, task: str, status: str, offset: int) -> None:
    """Between which places a task was worked on; 0 where that was not said, or is not so any more."""
    began, ended = seen.worked.get(task, (0, 0))
    if status == "completed":
        seen.worked[task] = [began, ended or offset]
    elif status == "in_progress":
        seen.worked[task] = [began or offset, 0]
    elif ended:
        seen.worked[task] = [began, 0]


def _todos(seen: Seen, entry: Entry, todos: object) -> None:
    if type(todos) is not list:
        return
    states = [t.get("status") for t in todos if type(t) is dict]
    totals = [states.count(s) for s in ("pending", "in_progress", "completed")]
    seen.todos = [entry.offset, entry.length, *totals]


def _compaction(seen: Seen, entry: Entry) -> None:
    seen.compacted += 1
    _keep(
        seen,
        "compactions",
        [
            seen.last_at,
            IDLE if entry.trigger == "auto" and _is_idle(seen, entry) else entry.trigger[:16],
            entry.pre_tokens,
            entry.post_tokens,
            entry.offset,
            seen.meter.model,
        ],
    )
    seen.messages = seen.reads = seen.edited = seen.tools_used = seen.subagents = 0
    seen.meter.compact(entry.kept)


def _is_idle(seen: Seen, entry: Entry) -> bool:
    """Whether nobody did anything for so long that a lack of space was not the reason."""
    then, now = second_of_day(seen.acted_at), second_of_day(entry.at)
    if then < 0 or now < 0 or numbers(seen.version) < _COMPACTS_IDLE:
        return False
    paused = (now - then) % _DAY_S - entry.lasted_s
    return paused > _IDLE_S or (now >= then and seen.acted_at[:10] != entry.at[:10])


def _was_idle(seen: Seen) -> None:
    """The client says so after the compaction, and before anything else is done."""
    newest = seen.compactions[-1] if seen.compactions else None
    if newest and newest[1] != "manual" and (not seen.turned or seen.turned[-1] < newest[4]):
        newest[1] = IDLE
