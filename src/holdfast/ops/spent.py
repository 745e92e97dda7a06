"""How many tokens sessions have used, by session, file and model."""

from __future__ import annotations

import os
from typing import NamedTuple

from holdfast.app import Holdfast
from holdfast.clock import rfc3339
from holdfast.errors import NotFound
from holdfast.ops.progress import Bar
from holdfast.ops.tally import Transcript, scan


class Tokens(NamedTuple):
    """What responses read and wrote, as the API counted it."""

    responses: int = 0
    input: int = 0
    cache_read: int = 0
    cache_creation: int = 0
    output: int = 0


class Spent(NamedTuple):
    """Of one session, with its subagents' files."""

    session: str
    project: str
    last: str
    tokens: Tokens
    models: list[str]
    files: dict[str, Tokens]


class Spending(NamedTuple):
    """Of all sessions below a folder; `read` are the bytes that were new."""

    folder: str
    files: int
    bytes: int
    read: int
    tokens: Tokens
    models: dict[str, Tokens]
    sessions: list[Spent]
    problems: list[str]


def spending(app: Holdfast, folder: str | None, limit: int) -> Spending:
    """Of every session below a folder, of the client's own without one; the newest are listed."""
    root = os.path.abspath(folder if folder is not None else app.client_dir + "/projects")
    if not os.path.isdir(root):
        raise NotFound(f"{root} is not a folder; name the one that holds the transcripts")
    with Bar("reading transcripts") as bar:
        made = scan(app.home, root, bar.show)
    sessions: dict[tuple[str, str], list[Transcript]] = {}
    for transcript in made.transcripts:
        if transcript.used:
            sessions.setdefault(_session_of(transcript.name), []).append(transcript)
    found = sorted(sessions.items(), key=lambda item: -max(one.changed for one in item[1]))
    models = {model for transcript in made.transcripts for model in transcript.used}
    return Spending(
        folder=root,
        files=len(made.transcripts),
        bytes=sum(transcript.size for transcript in made.transcripts),
        read=made.read,
        tokens=_tokens(made.transcripts),
        models={model: _tokens(made.transcripts, model) for model in sorted(models)},
        sessions=[_spent(*place, transcripts) for place, transcripts in found[: limit or None]],
        problems=made.problems,
    )


def _session_of(name: str) -> tuple[str, str]:
    """(project, session) of a transcript, from where it stands below the projects."""
    *folders, file = name.split("/")
    session = file.removesuffix(".jsonl")
    if "subagents" in folders[1:]:
        folders = folders[: folders.index("subagents", 1)]
        session = folders.pop()
    return "/".join(folders), session


def _spent(project: str, session: str, transcripts: list[Transcript]) -> Spent:
    return Spent(
        session=session,
        project=project,
        last=rfc3339(max(one.changed for one in transcripts) // 1_000_000),
        tokens=_tokens(transcripts),
        models=list(dict.fromkeys(model for one in transcripts for model in one.used)),
        files={one.name: _tokens([one]) for one in transcripts},
    )


def _tokens(transcripts: list[Transcript], model: str | None = None) -> Tokens:
    used = [
        sums for one in transcripts for name, sums in one.used.items() if model is None or name == model
    ]
    return Tokens(*map(sum, zip(*used, strict=True)))
