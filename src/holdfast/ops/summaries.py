"""Summaries of finished work: find them, look at them, take them away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core import cold
from holdfast.disk import sessions, summaries
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.ops.context import whole_id

_LEAST_PREFIX = 4


@dataclass(frozen=True)
class Summary:
    """One summary in the form it has on disk; `problem`: why it cannot be read, and then nothing else. One
    without an id stands for a folder of them that cannot be looked into."""

    id: str
    session_id: str
    agent_id: str
    task_id: str
    kind: str
    subject: str
    start_turn: int
    end_turn: int
    compressed_at: str
    files_modified: list[str]
    commands_run: list[str]
    key_outcomes: list[str]
    errors_resolved: list[str]
    partial: bool
    entry: str
    line: str
    path: str
    problem: str


class Summaries(list[Summary]):
    """Newest first."""


@dataclass(frozen=True)
class Cleared:
    """`left`: folders that cannot be looked into."""

    removed: Summaries
    left: Summaries

    @property
    def exit_code(self) -> int:
        return 1 if self.left else 0


def list_all(app: Holdfast, *, session: str | None = None, limit: int = 20) -> Summaries:
    """Summaries of work that was finished long ago, newest first.

    Parameters
    ----------
    session
        Only those of the session with this id.
    limit
        How many to show; 0 for all.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    return Summaries(_found(app, session)[: limit or None])


def show(app: Holdfast, name: str, *, session: str | None = None) -> Summary:
    """What is kept of one piece of finished work.

    Parameters
    ----------
    name
        Its id or the beginning of it, or the task's id.
    session
        Of the session with this id.
    """
    chosen = _chosen(app, name, session)
    if chosen.problem:
        raise Damaged(
            f"{chosen.problem}; look at the file, or remove it: holdfast summaries clear {chosen.id}"
        )
    return chosen


def clear(
    app: Holdfast, name: str | None = None, *, session: str | None = None, everything: bool = False
) -> Cleared:
    """Remove summaries, and look through the finished work of their sessions again.

    What is still in a session's transcript is summarised again with its next tool call from 70 % on.

    Parameters
    ----------
    name
        Only this one: its id or the beginning of it, or the task's id.
    session
        Those of the session with this id.
    everything
        Those of every session.
    """
    if name is None and session is None and not everything:
        raise BadInput("which? Name one, or give --session ID, or --everything for those of every session")
    if everything and (name is not None or session is not None):
        raise BadInput("--everything goes with neither a name nor --session")
    found = _found(app, session) if name is None else [_chosen(app, name, session)]
    going, left = Summaries(one for one in found if one.id), Summaries(one for one in found if not one.id)
    for one in going:
        summaries.remove(app.home, one.session_id, [one.id], one.agent_id)
    cleared = {(one.session_id, one.agent_id) for one in going}
    if session is not None and name is None:
        cleared.add((whole_id(app, session), ""))
    for whose, agent in sorted(cleared):
        _look_again(app, whose, agent)
    return Cleared(going, left)


def _look_again(app: Holdfast, session: str, agent: str) -> None:
    """Forget when this session was last looked through, and how far."""
    with sessions.lock(app.home.session(session, agent)):
        state = sessions.peek(app.home, session, agent)
        if state and state.heard.cold:
            state.heard.cold = []
            sessions.save(app.home, state)


def _chosen(app: Holdfast, name: str, session: str | None) -> Summary:
    found = [one for one in _found(app, session) if one.id]
    exact = [one for one in found if name in (one.id, one.task_id)]
    if not exact and len(name) >= _LEAST_PREFIX:
        exact = [one for one in found if one.id.startswith(name) or one.task_id.startswith(name)]
    if not exact:
        where = f" of session {session}" if session else ""
        raise NotFound(f"no summary {name[:80]!r}{where}; `holdfast summaries list` shows those there are")
    if len(exact) > 1:
        known = "\n  ".join(f"{one.id} (session {one.session_id}): {one.subject}" for one in exact[:10])
        raise BadInput(f"{len(exact)} summaries are called {name[:80]!r}; name one by its id:\n  {known}")
    return exact[0]


def _found(app: Holdfast, session: str | None) -> list[Summary]:
    """Of one session, or of all; newest first."""
    if session is None:
        names = sessions.names(app.home)
    else:
        names = [session := whole_id(app, session)]
        if not os.path.isdir(app.home.session(session)):
            raise NotFound(
                f"no session {session!r} is known here; `holdfast sessions` lists those that are"
            )
    found = [one for name in names for one in _of(app, name)]
    return sorted(found, key=lambda one: (one.compressed_at, one.end_turn), reverse=True)


def _of(app: Holdfast, session: str) -> Iterator[Summary]:
    """Of one session and its agents. A folder that cannot be looked into must not hide the others."""
    try:
        agents = summaries.agents(app.home, session)
    except OSError as problem:
        agents = [""]
        yield _amiss(session, "", "", f"{app.home.session(session)}/agents", problem)
    for agent in agents:
        try:
            stems = summaries.stems(app.home, session, agent)
        except OSError as problem:
            yield _amiss(session, agent, "", f"{app.home.session(session, agent)}/summaries", problem)
            continue
        for stem in stems:
            yield _one(app, session, agent, stem)


def _one(app: Holdfast, session: str, agent: str, stem: str) -> Summary:
    path = f"{app.home.session(session, agent)}/summaries/{stem}{summaries.SUFFIX}"
    try:
        said = summaries.read(app.home, session, stem, agent)
    except (HoldfastError, OSError) as problem:  # one that is damaged must not hide the others
        return _amiss(session, agent, stem, path, problem)
    shown = {name: said[name] for name in summaries.FIELDS if name != "place"}
    return Summary(**shown, id=stem, line=cold.line(said), path=path, problem="")


def _amiss(session: str, agent: str, stem: str, path: str, problem: Exception) -> Summary:
    why = f"{path} cannot be read: {problem.strerror}" if isinstance(problem, OSError) else str(problem)
    empty: list[str] = []
    return Summary(
        *(stem, session, agent, "", "", "", 0, 0, ""),
        *(empty, empty, empty, empty, False, "", "", path, why),
    )
