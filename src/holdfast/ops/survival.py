"""What survives a compaction: the facts of a session, what the summariser is asked to keep, what is put
back, and how much of it a summary kept. The same functions the hooks use, on any transcript, to look at."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass

from holdfast import binding, receipts
from holdfast.app import Holdfast
from holdfast.core import brief as briefs
from holdfast.core import checkpoint
from holdfast.core import preserve as preserves
from holdfast.core import receipt as judged
from holdfast.core.fence import inert
from holdfast.core.lines import Account, records
from holdfast.core.plain import PER_TOKEN
from holdfast.core.spoken import summary
from holdfast.core.state import State
from holdfast.errors import BadInput, NotFound
from holdfast.material import Looked
from holdfast.ops.context import find, newest, of_file, read, read_all

_ALL = 1 << 62
_MOST_TOKENS = 100_000
#: Characters of a checkpoint that are none of its items: the names of its sections, and what stands above.
_AROUND = 900


@dataclass(frozen=True)
class Text:
    """Something a session would be told, and how long it is."""

    text: str
    tokens: int
    session: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Found:
    """A session's facts, in the sections of a checkpoint."""

    sections: dict[str, list[str]]
    tokens: int
    session: str

    def __str__(self) -> str:
        return checkpoint.body(self.sections).strip()


@dataclass(frozen=True)
class Receipts:
    session: str
    receipts: list[dict[str, object]]

    def __str__(self) -> str:
        if not self.receipts:
            return "no compaction of this session has a receipt yet"
        return "\n\n".join(_shown(line) for line in self.receipts)


def _shown(line: dict[str, object]) -> str:
    head = f"compaction {line['compaction']}"
    if line.get("at"):
        head += f", {line['at']}, checkpoint {line.get('checkpoint') or 'none'}"
    return f"{head}\n{judged.render(line)}"


def facts(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, tokens: int = 4000
) -> Found:
    """What whoever goes on has to know, found in a transcript, as a checkpoint would keep it.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    tokens
        How long it may be (characters / 3.5). Files, tasks and commands are in it whatever it takes.
    """
    room = _characters(tokens)
    made = _made(app, transcript, session)
    made.room = room - _AROUND
    sections = {name: made.sections.get(name, []) for name in checkpoint.SECTIONS}
    return Found(sections, _tokens(checkpoint.body(sections)), made.state.session)


def preserve(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, tokens: int | None = None
) -> Text:
    """What the client's summariser would be asked to keep if the session were compacted now.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    tokens
        How long it may be (characters / 3.5); else `preservation.characters`. Instructions, tasks and rules
        are in it whatever it takes.
    """
    room = 0 if tokens is None else _characters(tokens)
    made = _made(app, transcript, session)
    tasks, errors = made.tasks, made.errors
    text = preserves.block(
        made.facts, made.weighed, tasks, errors, [], made.cold(), "looked at", "looked-at", app.config, room
    )
    return Text(text, _tokens(text), made.state.session)


def brief(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, tokens: int | None = None
) -> Text:
    """What the session would be told after a compaction: what a summary loses, most valuable first.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    tokens
        How long it may be (characters / 3.5); else `brief.tokens`.
    """
    tokens = app.config["brief.tokens"] if tokens is None else tokens
    _characters(tokens)
    made = _made(app, transcript, session)
    granted = binding.budget(app, made.ground.project)
    bound = binding.after_compaction(app, made, tokens, granted)
    lines = briefs.lines(made.facts, made.weighed, tokens, made.tasks, made.errors, granted, bound)
    text = "\n".join(map(inert, lines))  # an agent may be the one who looks
    return Text(text, _tokens(text), made.state.session)


def receipt(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, tokens: int | None = None
) -> Receipts:
    """What the client's summaries kept of what was saved before each compaction, item by item.

    Parameters
    ----------
    transcript
        Judge the newest summary in this transcript file.
    session
        Show the receipts of the session with this id. Without either: of the newest session.
    tokens
        With a transcript: how long the checkpoint may be that the summary is held against.
    """
    if tokens is not None and transcript is None:
        raise BadInput(
            "--tokens goes with --transcript: receipts that were kept are of what was saved then"
        )
    room = None if tokens is None else _characters(tokens)
    if transcript is None:
        name = find(app, session if session is not None else newest(app))[0].session
        return Receipts(name, receipts.every(app, name))
    state, path = read_all(app, transcript, session)
    return Receipts(state.session, [_judged(app, state, path, room)])


def _judged(app: Holdfast, state: State, path: str, room: int | None) -> dict[str, object]:
    """The newest summary in a file, against what could have been saved before it."""
    if not state.seen.compactions:
        raise NotFound(f"{path} holds no compaction; without one there is no summary to judge")
    boundary = state.seen.compactions[-1][4]
    with tempfile.TemporaryDirectory() as folder:
        before = os.path.join(folder, os.path.basename(path))
        with open(path, "rb") as whole, open(before, "wb") as part:
            part.write(whole.read(boundary))
            told = _summary(whole.read())
        shutil.copymode(path, before)
        earlier = of_file(app, before)
        read(earlier, before, _ALL)
        made = Looked(earlier, app, before)
        made.room = made.room if room is None else room - _AROUND
        kept = judged.score(made.sections, made.redactor.text(told), *made.facts.evidence())
    return {"compaction": state.seen.compacted, **kept}


def _summary(after: bytes) -> str:
    """The first one there, whatever spaces whoever wrote the file puts into its JSON."""
    for raw in after.split(b"\n"):
        if b"isCompactSummary" in raw:
            for record in records(raw + b"\n", Account()):
                if record.get("isCompactSummary") is True:
                    return summary(record)
    return ""


def _made(app: Holdfast, transcript: str | None, session: str | None) -> Looked:
    state, path = read_all(app, transcript, session)
    return Looked(state, app, path)


def _characters(tokens: int) -> int:
    if not 50 <= tokens <= _MOST_TOKENS:
        raise BadInput(f"--tokens is {tokens}; a text has 50 to {_MOST_TOKENS:,}")
    return int(tokens * PER_TOKEN)


def _tokens(text: str) -> int:
    return int(len(text) / PER_TOKEN)
