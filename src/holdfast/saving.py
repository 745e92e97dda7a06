"""A checkpoint that is due becomes a debt in the state, and is paid: by this hook, or by the next one.

Loaded only when there is one to take. The debt is saved with its uid before anything is written, so that
who pays after a kill finds what was written already instead of writing it twice.
"""

from holdfast import overflow
from holdfast.apart import by_a_child
from holdfast.app import Holdfast
from holdfast.clock import id_time, new_id
from holdfast.core import checkpoint, decide, workstate
from holdfast.core.digest import sha256_hex
from holdfast.core.events import Event
from holdfast.core.fold import commits
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import text
from holdfast.core.plain import excerpt
from holdfast.core.state import State
from holdfast.disk import checkpoints, lineages, noted, probe, sessions, trail
from holdfast.errors import MISTAKES, HoldfastError, Late
from holdfast.material import Ground, Material
from holdfast.reconcile import edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.apart import Leave, Tell
    from holdfast.core.redact import Redactor


def owe(state: State, event: Event, app: Holdfast, why: str) -> None:
    """Unless one is owed already: then that one is paid first, and covers this."""
    owed = state.heard.owed
    if owed:
        owed.update(why=why, trigger=decide.trigger(state, event, why))
        if not decide.is_optional(state, event, why):
            owed.pop("optional", None)
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
        "trigger": decide.trigger(state, event, why),
        "tries": 0,
    }
    if decide.is_optional(state, event, why):
        state.heard.owed["optional"] = 1


def count(state: State, event: Event) -> None:
    owed = state.heard.owed
    owed.update(tries=owed["tries"] + 1, tried_at=event.at)


def pay(
    state: State,
    event: Event,
    app: Holdfast,
    reading: Reading,
    rung: int,
    material: "Callable[[], Material]",
) -> dict:
    """Take the checkpoint that is owed. Its entry in the index, or {} if that was not possible now."""
    why = state.heard.owed["why"]
    try:
        if "optional" in state.heard.owed and _is_only_talk(material(), app):
            _drop(state, app)
            return {}
        entry, is_new, marks = _taken(state, event, app, reading, material())
        if not is_new:
            # Written by one that could not say so any more. It counts, but not for what came after.
            before = {name: state.heard.saved.get(name, 0) for name in decide.reached(state)}
            was_blocked = "blocked" in state.heard.owed
            _paid(state, entry, event, app, before, 0, {})
            owe(state, event, app, why)
            if was_blocked:  # a compaction waits once
                state.heard.owed["blocked"] = 1
            count(state, event)
            sessions.save(app.home, state)
            entry, _, marks = _taken(state, event, app, reading, material())
    except Late:
        raise
    except (OSError, HoldfastError, *MISTAKES) as problem:
        _failed(state, app, problem)
        return {}
    _paid(state, entry, event, app, decide.reached(state), rung, marks)
    if event.name in ("SessionEnd", "PostCompact"):  # whoever goes on from here finds it made
        made = material()
        overflow.keep(app, state, made.facts, made.tasks, made.errors)
    return entry


def _is_only_talk(made: Material, app: Holdfast) -> bool:
    return workstate.is_only_talk(
        made.sections, lambda: lineages.told(app.home, made.ground.lineage, made.state)
    )


def _drop(state: State, app: Holdfast) -> None:
    """What was due is not taken: there is nothing to go on with."""
    state.heard.owed, state.heard.active, state.heard.talked = {}, 0, decide.work(state)
    sessions.save(app.home, state)


def _taken(
    state: State, event: Event, app: Holdfast, reading: Reading, material: Material
) -> tuple[dict, bool, dict]:
    """(entry in the index, whether it says what is so now, marks of the files that were edited)."""
    draft, paths = _draft(state, event, app, reading, material), edited(material.facts)

    def take(tell: "Tell", leave: "Leave" = dict) -> None:
        digest = sha256_hex(draft.body.encode())

        def taken(entry: dict) -> None:
            tell([entry, entry["sha256"] == digest])  # at once: the files may be on another, slower disk
            tell([probe.marks(paths, checkpoints.known_key(app.home))])

        checkpoints.take(app.home, draft, taken, leave, app.config)

    told: list = []
    if app.in_hook:
        told += by_a_child(app, take)
    else:
        take(told.extend)
    entry, is_new, *rest = told
    marks = {name: mark for name, mark in rest[0].items() if mark} if rest else {}
    return entry, is_new, marks


def _paid(
    state: State, entry: dict, event: Event, app: Holdfast, reached: dict, rung: int, marks: dict
) -> None:
    saved = {name: entry[name] for name in ("uid", "id", "path", "commit")}
    cycle = state.seen.compacted
    rung = max(rung, decide.saved_rung(state))  # a rung that was left meanwhile is not saved again
    saved.update(reached, at=event.at, rung=rung, cycle=cycle, files=marks)
    state.heard.saved, state.heard.owed, state.heard.active = saved, {}, 0
    state.heard.broke.pop("why", "")  # the breakpoint, too, is behind it
    if state.heard.asked:
        state.heard.asked["done"] = entry["id"]
    sessions.save(app.home, state)
    said = {name: entry[name] for name in ("uid", "id", "trigger", "reason", "kept")}
    trail.note(app.home, "checkpoint.taken", session=state.session, agent=state.agent, **said)
    noted.note(app.home, state.session, state.agent, entry["path"])


def _failed(state: State, app: Holdfast, problem: Exception) -> None:
    owed = state.heard.owed
    ours = isinstance(problem, (OSError, HoldfastError))  # others' words may hold text of the session
    owed["what"] = (str(problem) if ours else type(problem).__name__)[:300]
    sessions.save(app.home, state)
    said = {"session": state.session, "agent": state.agent, "why": owed["why"]}
    trail.note(app.home, "degraded.checkpoint", **said, what=owed["what"])


def _draft(
    state: State, event: Event, app: Holdfast, reading: Reading, material: Material
) -> checkpoints.Draft:
    owed, ground, redactor = state.heard.owed, material.ground, material.redactor
    sections = {name: list(items) for name, items in material.sections.items()}
    note = text(event.data, "note") if event.name == decide.ASKED else ""
    if note:
        sections["Goal"].append(f"Note by whoever saved this: {excerpt(redactor.text(note), 500)}")
    known = lambda: lineages.told(app.home, ground.lineage, state)  # noqa: E731
    stands = workstate.of(sections, bool(ground.commit), known, _committed(material))
    fields = {
        "trigger": owed["trigger"],
        "reason": owed["why"],
        "project": ground.project,
        "lineage": ground.lineage,
        "session_id": state.session,
        "agent_id": state.agent,
        "parent": owed["parent"],
        "branch": material.branch(),
        "commit": ground.commit,
        "used_tokens": reading.used,
        "window": reading.window,
        "summary": material.summary,
        "work": stands,
    }
    return checkpoints.Draft(owed["uid"], owed["at"], ground.project, fields, _body(sections, redactor))


def _committed(material: Material) -> int:
    """The turn of the session's last commit; -1: it made none, or nobody knows."""
    touched, start = material.facts.touched, material.facts.start
    said = [turn for turn, words in touched.commits if words.startswith("[")]
    ran = [row[1] for command, row in touched.commands.items() if not row[2] and commits(command)]
    return -1 if start else max([-1, *said, *ran])


def _body(sections: dict[str, list[str]], redactor: "Redactor") -> str:
    """Redacted once more as a whole: a secret may stand on two lines. Where that would take a section's
    name along, line by line."""
    body = checkpoint.body(sections)
    whole = redactor.text(body)
    names = [line for line in body.split("\n") if line.startswith("## ")]
    if [line for line in whole.split("\n") if line.startswith("## ")] == names:
        return whole
    return "\n".join(redactor.text(line) for line in body.split("\n"))
