"""What the API said of every response in a transcript, and where the client compacted; nothing else of it.

Lines that cannot hold a count of tokens are not parsed, and of the others only what is asked for is: this
reads a transcript several times as fast as a fold. What a line is gets decided by parsing it, never by what
stands in it somewhere: the client repeats whole requests in lines of its own, and tools print transcripts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder
from msgspec.structs import astuple

from holdfast.core.jsontext import UNREADABLE, load, text
from holdfast.core.lines import LONGEST, Account, records
from holdfast.core.transcript import MOST_TOKENS, count
from holdfast.disk import files, transcripts
from holdfast.errors import BadInput

#: Every count that makes up a context has a name that ends so, and a context of zero tokens does not exist.
#: The longer a mark is, the faster it is found.
_USAGE, _COMPACTION = b'input_tokens"', b'compact_boundary"'
_CHUNK = 1 << 18


class Response(NamedTuple):
    """What a response read and wrote. It spans several lines, and the last of them is right."""

    message: str  # its id; the entry's where it has none
    at: str
    model: str
    input: int
    cache_read: int
    cache_creation: int
    output: int
    aside: bool  # not of the file's own conversation: a subagent's, or an advisor's


class Compaction(NamedTuple):
    at: str
    trigger: str
    before: int
    after: int


class Part(NamedTuple):
    """The responses in a part of a file, and how that part is known again."""

    start: int
    offset: int
    identity: list[int]
    responses: dict[str, tuple]  # message -> what a Response says from its model on
    problem: str = ""


def curve(path: str) -> list[Response | Compaction]:
    """Every response, where its first line stands, and every compaction."""
    found: dict[str, tuple] = {}
    fd = files.open_regular(path)
    try:
        for raw in _marked(fd, 0, os.fstat(fd).st_size, (_USAGE, _COMPACTION)):
            for line in _lines(raw):
                _take(line, found)
                if line.type == "system" and line.subtype == "compact_boundary":
                    said = line.compact_metadata
                    row = Compaction(line.timestamp, said.trigger, said.pre_tokens, said.post_tokens)
                    found[f"compaction {len(found)}"] = row
    finally:
        os.close(fd)
    return [
        row if isinstance(row, Compaction) else Response(message, *row) for message, row in found.items()
    ]


def read_on(path: str, size: int, offset: int, identity: list[int]) -> Part:
    """What the first `size` bytes of a file hold beyond those that were read; all of it where they are not
    there any more. A last line that may still be written to is left for the next time, too."""
    try:
        fd = files.open_regular(path)
    except (OSError, BadInput) as problem:
        return Part(offset, offset, identity, {}, str(problem))
    found: dict[str, tuple] = {}
    try:
        start = 0 if transcripts.changed(identity, offset, fd, size) else offset
        for raw in _marked(fd, start, size, (_USAGE,)):
            for line in _lines(raw):
                _take(line, found)
        offset = _last_line(fd, start, size)
        rows = {message: row[1:] for message, row in found.items()}
        return Part(start, offset, transcripts.identity(fd, offset), rows)
    finally:
        os.close(fd)


def _marked(fd: int, start: int, stop: int, marks: tuple[bytes, ...]) -> Iterator[bytes]:
    """Every line that holds one of `marks`. Lines too long to be held are passed over."""
    size = _CHUNK
    while start < stop and (data := os.pread(fd, min(size, stop - start), start)):
        end = len(data) if start + len(data) >= stop else data.rfind(b"\n") + 1
        if end:
            places = {}
            for mark in marks:
                at = 0
                while (place := data.find(mark, at, end)) >= 0:
                    begin = data.rfind(b"\n", at, place) + 1 or at
                    places[begin] = at = data.find(b"\n", place) + 1 or end
            for begin in sorted(places):
                yield data[begin : places[begin]]
            start, size = start + end, _CHUNK
        elif size < LONGEST:
            size *= 2
        else:
            start = _line_end(fd, start + len(data), stop)


def _line_end(fd: int, at: int, stop: int) -> int:
    while at < stop and (data := os.pread(fd, min(_CHUNK, stop - at), at)):
        found = data.find(b"\n") + 1
        if found:
            return at + found
        at += len(data)
    return stop


def _last_line(fd: int, start: int, stop: int) -> int:
    """Where the line begins that reaches to `stop` without an end."""
    while stop > start:
        begin = max(start, stop - _CHUNK)
        found = os.pread(fd, stop - begin, begin).rfind(b"\n") + 1
        if found:
            return begin + found
        stop = begin
    return start


_Count = Annotated[int, Meta(ge=0, lt=MOST_TOKENS)]


class _Used(Struct, frozen=True, gc=False):
    type: str = ""
    model: str = ""
    input_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    output_tokens: _Count = 0


class _Usage(_Used, frozen=True, gc=False):
    iterations: list[_Used] | None = None


class _Message(Struct, frozen=True, gc=False):
    id: str = ""
    model: str = ""
    usage: _Usage = _Usage()


class _Told(Struct, frozen=True, gc=False):
    type: str = ""
    message: _Message = _Message()


class _Progress(Struct, frozen=True, gc=False):
    message: _Told = _Told()


class _Compacted(Struct, frozen=True, gc=False, rename="camel"):
    trigger: str = ""
    pre_tokens: _Count = 0
    post_tokens: _Count = 0


class _Line(Struct, frozen=True, gc=False, rename="camel"):
    """What is made of a line; the parser passes over everything else."""

    type: str = ""
    subtype: str = ""
    uuid: str = ""
    timestamp: str = ""
    is_sidechain: bool = False
    message: _Message = _Message()
    data: _Progress = _Progress()
    compact_metadata: _Compacted = _Compacted()


_parse = Decoder(_Line).decode


def _lines(raw: bytes) -> list[_Line]:
    """What stands on one line: parsed, else read with tolerance, else salvaged. Of a last line that is not
    whole yet, nothing."""
    if raw.startswith(b"{"):  # the parser would pass over blanks before it, which are damage
        try:
            return [_parse(raw)]
        except (MsgspecError, ValueError, RecursionError):
            pass
        try:
            return [_tolerant(load(raw.decode("utf-8", "surrogateescape")))]  # type: ignore[arg-type]
        except UNREADABLE:
            pass
    return [_tolerant(record) for record in records(raw, Account())] if raw.endswith(b"\n") else []


def _tolerant(record: dict) -> _Line:
    """Of a record in which something is not what it should be, the rest."""
    told, said = _inner(_inner(record, "data"), "message"), _inner(record, "compactMetadata")
    return _Line(
        type=text(record, "type"),
        subtype=text(record, "subtype"),
        uuid=text(record, "uuid"),
        timestamp=text(record, "timestamp"),
        is_sidechain=record.get("isSidechain") is True,
        message=_message(_inner(record, "message")),
        data=_Progress(_Told(text(told, "type"), _message(_inner(told, "message")))),
        compact_metadata=_Compacted(
            text(said, "trigger"), count(said.get("preTokens")), count(said.get("postTokens"))
        ),
    )


def _message(value: dict) -> _Message:
    usage = _inner(value, "usage")
    parts = usage.get("iterations")
    found = [_Used(**_used(part)) for part in parts if type(part) is dict] if type(parts) is list else None
    return _Message(text(value, "id"), text(value, "model"), _Usage(**_used(usage), iterations=found))


def _used(value: dict) -> dict[str, Any]:
    labels, counts = _Used.__struct_fields__[:2], _Used.__struct_fields__[2:]
    return {name: text(value, name) for name in labels} | {name: count(value.get(name)) for name in counts}


def _inner(value: dict, key: str) -> dict:
    found = value.get(key)
    return found if type(found) is dict else {}


def _take(line: _Line, found: dict[str, tuple]) -> None:
    """The response a line is of, into `found`: message -> what a Response says from its time on."""
    message, aside = line.message, line.is_sidechain
    if line.type != "assistant":
        if line.type != "progress" or line.data.message.type != "assistant":
            return
        message, aside = line.data.message.message, True  # older clients repeat here what a subagent says
    used, identity = message.usage, message.id or line.uuid
    given, read, made = used.input_tokens, used.cache_read_input_tokens, used.cache_creation_input_tokens
    if identity and (given or read or made):
        found[identity] = (line.timestamp, message.model, given, read, made, used.output_tokens, aside)
    if used.iterations and len(used.iterations) > 1:
        advice = [part for part in used.iterations if part.type == "advisor_message"]  # of another model
        for number, part in enumerate(advice):
            _, model, *counts = astuple(part)
            if identity and any(counts[:3]):
                found[f"{identity}/{number}"] = (line.timestamp, model, *counts, True)
