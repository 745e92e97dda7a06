"""What holdfast says into a session: before a compaction, after it, and when a session begins.

Each thing once, within an allowance, fenced and booked. Loaded only when there is something to say.
"""

from holdfast import binding, overflow
from holdfast.app import Holdfast
from holdfast.books import DATA, book, forget, keep, mark
from holdfast.clock import at
from holdfast.core import brief, partial, workstate
from holdfast.core.events import Event
from holdfast.core.facts import Facts
from holdfast.core.fence import TYPED, fenced, inert
from holdfast.core.jsontext import dump, text
from holdfast.core.outcome import tells_failure
from holdfast.core.plain import PER_TOKEN, ago, excerpt, length, one_line
from holdfast.core.seen import fingerprint
from holdfast.core.state import State
from holdfast.core.workstate import FINISHED, OPEN
from holdfast.core.worth import weighed
from holdfast.disk import checkpoints, files, gathered, lineages, results, spool
from holdfast.disk.kept import Kept
from holdfast.disk.lineages import Left
from holdfast.errors import HoldfastError, is_full, is_shut
from holdfast.material import Ground, Material, progress, redactor_of
from holdfast.reconcile import Probe, after, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The client shows the model a preview of anything longer; and a path beyond this is not named.
_LONGEST, _LONGEST_PATH = 9_500, 500
#: Characters of a fence's marks and line ends.
_MARKS = 64
#: So many works that nobody has finished are offered, each with so much of its goal.
_OFFERED, _LONGEST_GOAL = 4, 140
#: Names the session that was started with its context as the first prompt.
HANDED = "CONTEXTS_SESSION"
_HOUR_MS = 3_600_000
#: What was said last is no task, though it may be a step.
_GO_ON = ("[ ] Go on from: ", "[ ] Answer: ", "[ ] The user asked last: ")
#: Behind what is so no more.
_PAST = " (said before the tests passed)"
#: The brief comes last into the window, behind words that may have changed what it says.
_NEWER = " What was said since stands above in full, and is newer."


def say(event: Event, state: State, app: Holdfast, material: "Callable[[], Material]") -> str:
    """What the hook prints. PreCompact's text is pasted as it is; everything else is the client's JSON."""
    if event.name == "PreCompact":
        from holdfast import preserving  # each of these is said at another event

        refused = preserving.refusal(event, state, app)
        if not refused:
            forget(app, state)
        return refused or preserving.block(event, state, app, material())
    if event.name == "PostCompact":
        from holdfast import receipts

        receipts.book(event, state, app, material())
        return ""
    if event.name != "SessionStart":
        return _followed_up(event, state, app)
    why, said = _added(event, state, app, material)
    if not said:
        return ""
    try:
        book(event, state, app, why, len(said))
    except OSError as problem:
        if not is_shut(problem):
            raise
        app.full = problem
        why, said = _added(event, state, app, material)  # which now says so
    spoken = {"hookEventName": event.name, "additionalContext": said}
    return dump({"hookSpecificOutput": spoken})


def _followed_up(event: Event, state: State, app: Holdfast) -> str:
    """What the model and the person are told of the last summary."""
    from holdfast import receipts

    said, notice = receipts.follow_up(state, app, lambda key: _allowance(state, app, key))
    try:
        if said:
            book(event, state, app, "follow-up", len(said))
    except OSError as problem:
        if not is_shut(problem):
            raise
        app.full = problem
    reply: dict = {"systemMessage": notice} if notice else {}
    if said:
        reply["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": said}
    return dump(reply) if reply else ""


def _added(
    event: Event, state: State, app: Holdfast, material: "Callable[[], Material]"
) -> tuple[str, str]:
    """(why, text)."""
    source = text(event.data, "source")
    if _allowance(state, app) <= 0:
        return "", ""
    if source == "compact":
        return "compact", _after_compaction(event, state, app, material())
    if source in ("resume", "fork"):
        return source, _changed(event, state, app, material())
    if source not in ("startup", "clear"):
        return "", ""
    ground = Ground(state.heard.project, event.cwd, state.agent)
    begun = _begun(event, state, app, ground)
    rules = binding.at_start(app, ground, _allowance(state, app), _LONGEST - length(begun))
    return source, "\n".join(filter(None, (begun, rules)))


# After a compaction


def _after_compaction(event: Event, state: State, app: Holdfast, material: Material) -> str:
    facts, tasks, errors = material.facts, material.tasks, material.errors
    whole = overflow.keep(app, state, facts, tasks, errors, later=bool(state.heard.owed))
    says = f"Kept by holdfast from before the compaction. {DATA}"
    stays = 0 < material.stays_from <= (facts.sayings[-1][1] if facts.sayings else -1)
    says += (_NEWER if stays else "") + _unsaved(app)
    lacks = partial.sentence(facts)
    says += f" {lacks}" if lacks else ""
    saved = state.heard.saved.get("path", "")
    says += _more(saved if saved and files.is_there(saved) else "", whole)
    now = _now(event, state, app, material) + material.workflows[:1] + _open_agents(material)
    room = _allowance(state, app) - (len(says) + _MARKS + sum(map(len, now))) / PER_TOKEN
    budget = binding.budget(app, material.ground.project)
    bound = binding.after_compaction(app, material, room, budget)
    if bound:
        says, room = says + binding.SAYS, room - len(binding.SAYS) / PER_TOKEN
    lines = brief.lines(facts, material.weighed, room, tasks, errors, budget, bound)
    if not lines and not lacks:
        return ""
    said = fenced(mark(), says, now + lines, _LONGEST)
    keep(app, state, said)
    return said


def _open_agents(material: Material) -> list[str]:
    """A summary forgets who is still at work for the session."""
    return [member.line() for member in material.team if member.is_open]


def _allowance(state: State, app: Holdfast, key: str = "brief.tokens") -> int:
    """Tokens that may be said now, of all that may be said into one session."""
    spent = state.heard.injected[1] if state.heard.injected else 0
    return int(min(app.config[key], app.config["brief.session_tokens"] - spent))


def _unsaved(app: Holdfast) -> str:
    if not app.full:
        return ""
    why = "The disk is full" if is_full(app.full) else "holdfast's folder cannot be written"
    return f" {why}: nothing could be saved, and this is said from memory."


def _more(path: str, whole: str) -> str:
    """Where there is more: the checkpoint, and all that this has no room for."""
    named = ((" More: ", path), (" All of it: ", whole))
    return "".join(f"{says}{inert(path)}" for says, path in named if 0 < len(path) <= _LONGEST_PATH)


def _now(event: Event, state: State, app: Holdfast, material: Material) -> list[str]:
    """What somebody else has changed since the checkpoint. How the session itself has left what it edited
    after it only the next one knows."""
    probe, saved = _git(event, state, material), state.heard.saved
    marks = saved.get("files", {})
    if marks:
        done = after(state, material.transcript)
        own = {row[0] for row in done.edits}
        numbers = {path: fingerprint(path) for path in edited(material.facts)}
        paths = [path for path, number in numbers.items() if str(number) in marks and number not in own]
        probe.files(paths, material.facts.cwd, marks, checkpoints.known_key(app.home), saved["at"], done)
    return probe.news()


def _git(event: Event, state: State, material: Material) -> Probe:
    """Where the project stands, against what the conversation knows."""
    probe, facts, ground = Probe(event.at), material.facts, material.ground
    probe.git("branch", facts.branch, material.branch())
    if not any(ground.commit[:7] in said for _, said in facts.touched.commits):  # one it made itself
        probe.git("commit", state.heard.saved.get("commit", "")[:12], ground.commit[:12])
    return probe


# When a session begins


def _begun(event: Event, state: State, app: Holdfast, ground: Ground) -> str:
    """Of the work that was done here before, unless that has been handed to it."""
    is_new = event.data.get("source") == "startup"
    if is_new and app.environ.get(HANDED) == state.session:
        return ""
    keeps = app.config["checkpoints.keep_days"] * 24 * _HOUR_MS
    found = lineages.left(app.home, ground.lineage, state.session)
    found = [one for one in found if 0 <= event.at - one.created < keeps]
    live = [one for one in found if one.is_live(event.at)]
    over = [one for one in found if one not in live]
    young = next((one for one in over if event.at - one.created < _young(app)), None)
    if young and any(one.state.heard.resumed == young.uid for one in live):
        young = None  # that one is at it
    if not is_new:
        newest = young or next(iter(live), None)
        return _offered(event, app, ground, newest) if newest else ""
    if young:
        return _resuming(event, state, app, ground, young, [one for one in found if one is not young])
    offers = [_at_work(event, app, ground, one) for one in live[:1]]
    lines = _unfinished(app, ground, over, event.at, "Unfinished: ")
    if lines:
        says = f"holdfast knows of unfinished work here. Nothing of it is loaded. {DATA}"
        offers.append(fenced(mark(), says, lines, _LONGEST))
    return "\n".join(offers)


def _resuming(
    event: Event, state: State, app: Holdfast, ground: Ground, left: Left, others: list[Left]
) -> str:
    earlier = Earlier(app, left.kept, left.state)
    whole = overflow.keep(app, state, earlier.facts, earlier.tasks, [], earlier.state.session)
    finished = " Its work was finished then." if left.work == FINISHED else ""
    says = (
        f"## Resuming from Checkpoint\n{left.id}, saved {ago(event.at - left.created)} by an earlier "
        f"session here.{finished} {DATA}{_unsaved(app)}{_more(left.path, whole)}"
    )
    state.heard.resumed = left.uid
    lacks = partial.sentence(earlier.facts)
    says += f" {lacks}" if lacks else ""
    checked = earlier.checked(app, ground, event.at)
    offers = [_at_work(event, app, ground, one) for one in others if one.is_live(event.at)][:1]
    ended = [one for one in others if not one.is_live(event.at)]
    offers += _unfinished(app, ground, ended, event.at, "Unfinished before that: ")
    around = sum(map(length, (says, *checked, *offers))) + _MARKS + len(checked) + len(offers)
    room = _allowance(state, app) - around / PER_TOKEN
    return fenced(mark(), says, [*checked, *earlier.lines(room), *offers], _LONGEST)


def _unfinished(app: Holdfast, ground: Ground, found: list[Left], now: int, head: str) -> list[str]:
    """A line for each of those that nobody has finished; of the same goal the newest."""
    redact = redactor_of(app, ground.project).text
    lines: dict[str, str] = {}
    for one in found:
        goal = excerpt(redact(one.kept.goal), _LONGEST_GOAL)
        if one.work == OPEN and goal not in lines:
            way = _to_load(app, ground, one.id)
            lines[goal] = f"{head}{goal} ({ago(now - one.created)})" + (f"; {way} loads it" if way else "")
    rest, way = len(lines) - _OFFERED, _to_load(app, ground)
    more = [f"{rest} more" + (f": {way} names them" if way else "")] if rest > 0 else []
    return [*list(lines.values())[:_OFFERED], *more]


def _to_load(app: Holdfast, ground: Ground, checkpoint: str = "") -> str:
    from holdfast.installed import load_command  # after a compaction nothing is offered

    return load_command(app, ground.project, checkpoint)


def _at_work(event: Event, app: Holdfast, ground: Ground, left: Left) -> str:
    whose = f"a session that is still at work ({left.session[:36]})"
    return _named(event, app, ground, left, whose)


def _named(event: Event, app: Holdfast, ground: Ground, left: Left, what: str) -> str:
    way = _to_load(app, ground, left.id)
    return (
        f"holdfast has a checkpoint of {what}, saved {ago(event.at - left.created)}. Nothing of it is "
        f"loaded{f'; {way} would' if way else ''}."
    )


class Earlier:
    """What a checkpoint was made from, as far as it is still known, to be told to another session."""

    def __init__(self, app: Holdfast, kept: Kept, state: State) -> None:
        self.kept, self.state = kept, state
        steps = [_step(item) for item in kept.sections["Next Steps"]]
        self.tasks = [step for step in steps if step[1]]
        # A session that went on after this one knows by now what was not so then.
        later = text(self.state.heard.saved, "uid") > kept.fields["uid"]
        self.facts = Facts() if later else _facts_of(app, self.state)
        self.budget = binding.budget(app, kept.fields["project"])
        self.probe = Probe(0)

    def checked(self, app: Holdfast, ground: Ground, now: int) -> list[str]:
        """What was so when it was saved, looked at again."""
        probe, fields, facts = Probe(now), self.kept.fields, self.facts
        done = after(self.state, self.state.heard.transcript)
        redact = redactor_of(app, ground.project).text
        probe.git("branch", fields["branch"], excerpt(redact(ground.branch), 200))
        probe.git("commit", fields["commit"][:12], ground.commit[:12])
        saved = self.state.heard.saved
        marks = saved.get("files", {}) if saved.get("uid") == fields["uid"] else {}
        since = at(fields["created"])
        said = facts.touched.edits or workstate.edits(self.kept.sections, fields["project"])
        probe.written(said, redact)
        paths = edited(facts) or [path for _, path, _ in said]
        probe.files(
            paths, facts.cwd or fields["project"], marks, checkpoints.known_key(app.home), since, done
        )
        transcript = self.state.heard.transcript
        probe.tests(facts, done, transcript, last_run(app, ground), _tested_until(self.state, since))
        facts.touched.edits = [row for row in facts.touched.edits if row[1] not in probe.stale]
        self.probe = probe
        return probe.lines() + progress(app, ground, self.state.session, now, redact)[:1]

    def lines(self, room: float) -> list[str]:
        """So many tokens of it, after it was `checked`."""
        if self.facts.units:
            lines = brief.lines(self.facts, weighed(self.facts), room, self.tasks, [], self.budget)
        else:
            lines = _from_sections(self.kept, int(room * PER_TOKEN))
        return [
            line + _PAST if self.probe.outdated(line) else line
            for line in lines
            if not _is_run(line, self.probe)
        ]


def _is_run(line: str, probe: Probe) -> bool:
    """Whether it says only that tests failed which have passed since: that is said already."""
    return probe.has_passed and tells_failure(line) and not line.startswith(TYPED)


def last_run(app: Holdfast, ground: Ground) -> dict:
    """How the tests of the working tree ended last, whoever ran them."""
    known = results.of(app.home, spool.key(ground.tree.root)) if ground.tree else {}
    found: dict = known.get("tests", {})
    return found


def _tested_until(state: State, since: int) -> int:
    """When the session can have run tests last: a checkpoint may be taken of what was done long before."""
    try:
        last = at(state.seen.last_at)
    except ValueError:
        return since
    return last if 0 <= since - last < 24 * _HOUR_MS else since


def _facts_of(app: Holdfast, old: State) -> Facts:
    try:
        return gathered.load(app.home, old)
    except (OSError, HoldfastError):
        return Facts()


def _step(item: str) -> tuple[str, str]:
    words = _without_place(item)
    if words.startswith("[x] "):
        return "completed", words[4:]
    is_open = words.startswith("[ ] ") and not words.startswith(_GO_ON)
    return ("pending", words[4:]) if is_open else ("", "")


def _without_place(item: str) -> str:
    words, found, place = item.rpartition(" (turn ")
    return words if found and place.endswith(")") else item


def _from_sections(kept: Kept, room: int) -> list[str]:
    """The checkpoint itself, what is open first, where the facts it was made from are gone."""
    order = (
        "Goal",
        "Standing Instructions",
        "Next Steps",
        "Active Issues",
        "Key Decisions",
        "What Changed",
    )
    rest = [name for name in kept.sections if name not in order]
    lines: list[str] = []
    for name in (*order, *rest):
        for item in kept.sections[name]:
            line = one_line(f"{name}: {_without_place(item)}")[:240]
            room -= len(line) + 1
            if room < 0:
                return lines
            lines.append(line)
    return lines


def _young(app: Holdfast) -> int:
    """A checkpoint older than this, in milliseconds, is not brought up by itself."""
    return int(app.config["brief.startup_hours"] * _HOUR_MS)


def _offered(event: Event, app: Holdfast, ground: Ground, left: Left) -> str:
    if left.is_live(event.at):
        return _at_work(event, app, ground, left)
    return _named(event, app, ground, left, "the work here")


def _changed(event: Event, state: State, app: Holdfast, material: Material) -> str:
    """A session that goes on holds its conversation; only what is no longer so has to be said. A fork has
    no checkpoint of its own yet: then what its conversation knows is all there is to compare."""
    try:
        since = at(state.seen.last_at)
    except ValueError:
        return ""  # nothing was said yet, or nobody knows when
    probe, marks = _git(event, state, material), state.heard.saved.get("files", {})
    done = after(state, material.transcript)
    facts, ground = material.facts, material.ground
    probe.files(edited(facts), facts.cwd, marks, checkpoints.known_key(app.home), since, done)
    probe.tests(facts, done, material.transcript, last_run(app, ground), since)
    lines = probe.news() + material.workflows + _open_agents(material)
    says = f"holdfast looked at what has changed since this session last worked. {DATA}"
    return fenced(mark(), says, lines, _LONGEST) if lines else ""
