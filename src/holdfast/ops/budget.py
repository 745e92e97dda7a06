"""The context budget of a project: what a brief may hold, and who decided so."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from holdfast import binding
from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core import brief, budget
from holdfast.core.budget import (
    COMPARTMENTS,
    MOST_EVICTED,
    MOST_PINS,
    Budget,
    compartment,
    ident,
    tokens_of,
)
from holdfast.core.plain import PER_TOKEN, excerpt, one_line
from holdfast.core.rules import marked
from holdfast.core.worth import Item, together
from holdfast.disk import budgets, files
from holdfast.errors import BadInput, NotFound
from holdfast.material import Looked, redactor_of
from holdfast.memory.place import project_of
from holdfast.ops.context import read_all

_MOST_TEXT = 1 << 24
_LEFT_OUT = 8
_ID = 10


@dataclass(frozen=True)
class Compartment:
    """`tokens` are guaranteed in a brief of the usual length; `set_by`: default, file, project."""

    name: str
    share: int
    priority: int
    tokens: int
    set_by: str


@dataclass(frozen=True)
class Pinned:
    id: str
    compartment: str
    text: str
    at: str


@dataclass(frozen=True)
class Allotted:
    project: str
    brief_tokens: int
    compartments: list[Compartment]
    free_share: int
    pinned: list[Pinned]
    evicted: dict[str, str]


@dataclass(frozen=True)
class Estimated:
    """`percent` is of a brief of the usual length; `fits`: compartments whose guarantee holds all of it."""

    characters: int
    tokens: int
    percent: float
    fits: list[str]


@dataclass(frozen=True)
class Planned:
    """`state`: rule, pinned, told, left out or evicted."""

    id: str
    state: str
    tokens: int
    text: str


@dataclass(frozen=True)
class Part:
    name: str
    guaranteed: int
    used: int
    items: list[Planned]


@dataclass(frozen=True)
class BriefPlan:
    session: str
    project: str
    tokens: int
    used: int
    parts: list[Part]


def show(app: Holdfast, *, project: str | None = None) -> Allotted:
    """The five compartments of the context budget, what is pinned and what is evicted.

    Parameters
    ----------
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    folder = project_of(app, project)
    return _shown(app, folder, budgets.read(app.home, folder))


def estimate(
    app: Holdfast, text: str | None = None, *, file: str | None = None, project: str | None = None
) -> Estimated:
    """How many tokens a text would take, and where it would fit.

    Parameters
    ----------
    text
        The text itself.
    file
        Or a file that holds it.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    if (text is None) == (file is None):
        raise BadInput("give a text, or a file that holds it: holdfast budget estimate --file PATH")
    if file is not None:
        text = _content(file)
    folder = project_of(app, project)
    made = budget.of(app.config, budgets.read(app.home, folder))
    usual = app.config["brief.tokens"]
    size = len(text or "")
    fits = [name for name in made.order if 0 < size <= made.room(name, usual)]
    tokens = tokens_of(text or "")
    return Estimated(size, tokens, round(100 * tokens / usual, 1), fits)


def _content(file: str) -> str:
    try:
        return files.read(os.path.abspath(file), _MOST_TEXT).decode("utf-8", "replace")
    except FileNotFoundError:
        raise NotFound(f"there is no file {file[:200]!r}; --file takes the path of one") from None
    except (OSError, ValueError) as problem:
        raise BadInput(f"{file[:200]!r} cannot be read: {problem}") from None


def plan(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, tokens: int | None = None
) -> BriefPlan:
    """What a brief of a session would hold now, compartment by compartment, and what it would leave out.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    tokens
        How long the brief may be (characters / 3.5); else `brief.tokens`.
    """
    usual = app.config["brief.tokens"] if tokens is None else tokens
    if not 50 <= usual <= 100_000:
        raise BadInput(f"--tokens is {usual}; a brief has 50 to 100,000")
    made = _looked(app, transcript, session)
    folder = made.ground.project
    granted = budget.of(app.config, budgets.read(app.home, folder))
    bound = binding.after_compaction(app, made, usual, granted)
    every = together(list(made.weighed), brief.known_items(made.facts, made.errors))
    lines = brief.lines(made.facts, made.weighed, usual, made.tasks, made.errors, granted, bound)
    told = set(lines)
    used = sum(len(line) + 1 for line in lines)
    parts = []
    for name in granted.order:
        items = [_planned(item, told, granted) for item in every if compartment(item) == name]
        first = [
            Planned(pin.id, "pinned", tokens_of(pin.text), pin.text)
            for pin in granted.pins
            if pin.compartment == name
        ]
        if name == budget.SAFETY:
            first = [Planned(ident(line), "rule", tokens_of(line), line) for line in bound] + first
        shown = first + [item for item in items if item.state != "left out"]
        taken = sum(item.tokens for item in shown if item.state != "evicted")
        shown += [item for item in items if item.state == "left out"][:_LEFT_OUT]
        parts.append(Part(name, int(granted.room(name, usual) / PER_TOKEN), taken, shown))
    return BriefPlan(made.state.session, folder, usual, int(used / PER_TOKEN), parts)


def put(
    app: Holdfast,
    compartment: str,
    share: int | None = None,
    *,
    priority: int | None = None,
    reset: bool = False,
    project: str | None = None,
) -> Allotted:
    """Set the share and the priority of a compartment, for one project.

    Parameters
    ----------
    compartment
        active_task, project_background, operator_preferences, safety_constraints or ambient_knowledge.
    share
        Percent of a brief that it is guaranteed. All together are at most 100.
    priority
        Who is served first where there is not room for all: 1 before 5.
    reset
        As the configuration says, again.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    name = _compartment(compartment)
    if share is None and priority is None and not reset:
        raise BadInput("what shall be set? Give a share, --priority, or --reset")
    if share is not None and not 0 <= share <= 100:
        raise BadInput(f"the share is {share}; it takes 0 to 100 percent")
    if priority is not None and not 1 <= priority <= 9:
        raise BadInput(f"--priority is {priority}; it takes 1 (first) to 9")

    def change(saved: dict) -> None:
        for key, value in (("shares", share), ("priorities", priority)):
            known = saved.setdefault(key, {})
            if reset:
                known.pop(name, None)
            if value is not None:
                known[name] = value
        total = sum(budget.of(app.config, saved).shares.values())
        if total > 100:
            raise BadInput(f"the shares would come to {total} %; take some from another compartment first")

    return _changed(app, project, change)


def pin(
    app: Holdfast,
    what: str,
    *,
    compartment: str = "active_task",
    session: str | None = None,
    project: str | None = None,
) -> Allotted:
    """Something that comes first in every brief of a project, until it is unpinned.

    Parameters
    ----------
    what
        The text, or the id of something that `budget plan` shows.
    compartment
        What it is about.
    session
        The session whose plan showed the id; else the newest.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    name = _compartment(compartment)
    folder = project_of(app, project)
    words = _said(app, what, session) if _is_id(what) else what
    words = excerpt(redactor_of(app, folder).text(words[: 1 << 14]), budget.LONGEST)
    if not words:
        raise BadInput("there is nothing to pin: the text is empty")

    def change(saved: dict) -> None:
        pins = [row for row in saved.get("pins", []) if row[0] != ident(words)]
        if len(pins) >= MOST_PINS:
            raise BadInput(f"{MOST_PINS} are pinned already; unpin one first: holdfast budget show")
        saved["pins"] = [*pins, [ident(words), name, words, rfc3339(now())]]
        saved["evicted"] = [row for row in saved.get("evicted", []) if row[0] != ident(words)]

    return _changed(app, folder, change)


def unpin(app: Holdfast, what: str, *, project: str | None = None) -> Allotted:
    """No longer first in every brief.

    Parameters
    ----------
    what
        The id or the text of what is pinned.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """

    def change(saved: dict) -> None:
        pins = saved.get("pins", [])
        saved["pins"] = [row for row in pins if row[0] not in (what, ident(what))]
        if saved["pins"] == pins:
            raise NotFound(f"{what[:80]!r} is not pinned; `holdfast budget show` lists what is")

    return _changed(app, project, change)


def evict(
    app: Holdfast, what: str, *, back: bool = False, session: str | None = None, project: str | None = None
) -> Allotted:
    """Something that no brief of a project tells any more.

    Parameters
    ----------
    what
        The id of something that `budget plan` shows, or its whole text.
    back
        Let it be told again.
    session
        The session whose plan showed the id; else the newest.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    folder = project_of(app, project)
    key = what if _is_id(what) else ident(what)

    def bring_back(saved: dict) -> None:
        known = saved.get("evicted", [])
        saved["evicted"] = [row for row in known if row[0] != key]
        if saved["evicted"] == known:
            raise NotFound(f"{what[:80]!r} is not evicted; `holdfast budget show` lists what is")

    if back:
        return _changed(app, folder, bring_back)
    words = _said(app, what, session) if _is_id(what) else what
    if marked(words):
        raise BadInput("a rule marked (CRITICAL) or (ENFORCED) is not evicted; change it where it stands")
    shown = excerpt(redactor_of(app, folder).text(words[: 1 << 14]), 80)
    if not shown:
        raise BadInput("there is nothing to evict: the text is empty")

    def change(saved: dict) -> None:
        known = [row for row in saved.get("evicted", []) if row[0] != key]
        saved["evicted"] = [*known, [key, shown, rfc3339(now())]][-MOST_EVICTED:]
        saved["pins"] = [row for row in saved.get("pins", []) if row[0] != key]

    return _changed(app, folder, change)


def rebalance(app: Holdfast, *, transcript: str | None = None, session: str | None = None) -> Allotted:
    """Give what compartments of a session do not need of their shares to those that need more.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    """
    made = _looked(app, transcript, session)
    room = app.config["brief.tokens"] * PER_TOKEN
    every = together(list(made.weighed), brief.known_items(made.facts, made.errors))
    wanted = dict.fromkeys(COMPARTMENTS, 0.0)
    for item in every:
        wanted[compartment(item)] += 100 * (len(item.text) + 1) / room

    def change(saved: dict) -> None:
        shares = budget.of(app.config, saved).shares
        saved["shares"] = budget.rebalanced(
            shares, {name: min(100, round(part)) for name, part in wanted.items()}
        )

    return _changed(app, made.ground.project, change)


def _changed(app: Holdfast, project: str | None, change: Callable[[dict], None]) -> Allotted:
    folder = project_of(app, project)
    with budgets.lock(app.home):
        saved = {key: value for key, value in budgets.read(app.home, folder).items() if key != "project"}
        change(saved)
        saved = {key: value for key, value in saved.items() if value}
        budgets.write(app.home, folder, saved)
    return _shown(app, folder, saved)


def _shown(app: Holdfast, project: str, saved: dict) -> Allotted:
    made, usual = budget.of(app.config, saved), app.config["brief.tokens"]
    file = {**app.config.file, **app.config.environment, **app.config.flags}

    def set_by(name: str) -> str:
        if name in saved.get("shares", {}) or name in saved.get("priorities", {}):
            return "project"
        return "file" if f"budget.{name}" in file else "default"

    rows = [
        Compartment(
            name,
            made.shares[name],
            made.priorities[name],
            int(made.room(name, usual) / PER_TOKEN),
            set_by(name),
        )
        for name in made.order
    ]
    pins = [Pinned(pin.id, pin.compartment, pin.text, pin.at) for pin in made.pins]
    free = max(0, 100 - sum(made.shares.values()))
    return Allotted(project, usual, rows, free, pins, made.evicted)


def _planned(item: Item, told: set[str], granted: Budget) -> Planned:
    state = "told" if brief.said(item) in told else "left out"
    state = state if granted.admits(item.text) else "evicted"
    return Planned(ident(item.text), state, tokens_of(item.text), item.text)


def _looked(app: Holdfast, transcript: str | None, session: str | None) -> Looked:
    state, path = read_all(app, transcript, session)
    state.heard.project = state.heard.project or state.seen.cwd
    return Looked(state, app, path)


def _said(app: Holdfast, key: str, session: str | None) -> str:
    """What stands behind an id in the plan of a session."""
    made = _looked(app, None, session)
    every = together(list(made.weighed), brief.known_items(made.facts, made.errors))
    found = next((item.text for item in every if ident(item.text) == key), "")
    if not found:
        raise NotFound(
            f"session {made.state.session} has nothing with the id {key}; see `holdfast budget plan`"
        )
    return found


def _is_id(what: str) -> bool:
    return len(what) == _ID and set(what) <= set("0123456789abcdef")


def _compartment(name: str) -> str:
    known = one_line(name).lower().replace("-", "_")
    if known not in COMPARTMENTS:
        raise BadInput(f"there is no compartment {name[:40]!r}; there are {', '.join(COMPARTMENTS)}")
    return known
