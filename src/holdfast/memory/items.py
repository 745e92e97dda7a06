"""What files say, as items of deep memory: each with whose words it is, and where it stands.

Texts come here redacted. Each is put on one line, without what cannot be seen and without what holdfast
itself once said. What says the same in one project and collection has the same uid, and so is one item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from holdfast.clock import at as time_of
from holdfast.core import cues, facts, speaker
from holdfast.core.facts import Facts
from holdfast.core.fence import outside
from holdfast.core.plain import excerpt, one_line
from holdfast.core.touched import OPENED, bare, is_check
from holdfast.memory.shelf import LONGEST, Item
from holdfast.memory.terms import key, shape, storable

#: Who says what the facts of a session hold; all else is the model's.
_SPEAKERS = {
    facts.USER: speaker.USER,
    **dict.fromkeys((facts.AGENT, facts.SENT, facts.LEAD), speaker.AGENT),
}
_COLLECTIONS = {cues.DECISION: "decisions", cues.DEAD_END: "decisions", cues.ISSUE: "issues"}
#: Sections of a checkpoint whose items are items by themselves.
_SECTIONS = {"Key Decisions": "decisions", "Active Issues": "issues"}
_PLACE = re.compile(r" \((?:turn \d+|entry \w+)[^()]*\)$")
_OURS = re.compile(r"(?:^|[\s;&|/])holdfast\b")


class Ground:
    """Where something was said: what all items of one file have in common."""

    def __init__(
        self, project: str, source: str, lineage: str = "", session: str = "", agent: str = "", at: int = 0
    ) -> None:
        self.project = storable(project)
        self.source = storable(source)
        self.lineage = lineage
        self.session = session
        self.agent = agent
        self.at = at

    def item(self, collection: str, text: str, origin: str, uid: str = "", **more: Any) -> Item | None:
        """None where there is nothing to say."""
        text = excerpt(outside(text), LONGEST)
        said = shape(text)
        if not said:
            return None
        given = {"by": origin, "at": self.at, **more, "shape": said}
        given["files"] = tuple(map(storable, more.get("files", ())))
        if "title" in given:
            given["title"] = excerpt(outside(given["title"]), 300)
        if (
            "thread" in given
        ):  # an environment, a lineage may lead through several: each has its own neighbours
            given["thread"] += f" in {self.project}"
        return Item(
            uid or key(collection, self.project, said),
            collection,
            text,
            project=self.project,
            lineage=self.lineage,
            session=self.session,
            agent=self.agent,
            origin=origin,
            source=self.source,
            **given,
        )


def of_topic(ground: Ground, name: str, description: str, kind: str, body: str) -> list[Item]:
    """A topic is what the client wrote down: quoted, whoever it speaks of."""
    found = []
    for number, part in enumerate(_parts(f"{description}\n\n{body}" if description else body)):
        uid = key("topics", ground.source, number)
        place = {"thread": ground.source, "seq": number, "title": name, "kind": kind}
        found.append(ground.item("topics", part, "file", uid, **place))
    return _there(found)


def of_checkpoint(ground: Ground, fields: dict, sections: dict[str, list[str]]) -> list[Item]:
    uid, thread = fields["uid"], f"checkpoint {fields['uid']}"
    goal = [_PLACE.sub("", line) for name in ("Goal", "Next Steps") for line in sections[name]]
    told = ground.item(
        "checkpoints",
        " · ".join([fields["summary"], *goal]),
        "assistant",
        key("checkpoints", uid),
        title=f"checkpoint {fields['id']}",
        thread=f"lineage {fields['lineage']}",
        seq=ground.at,
        kind=fields["trigger"],
    )
    found, number = [told], 0
    for section, collection in _SECTIONS.items():
        for item in sections[section]:
            for line in item.split("\n"):
                number += 1
                words = _PLACE.sub("", line)  # nothing here was typed, whatever it begins with
                found.append(ground.item(collection, words, "assistant", thread=thread, seq=number))
    return _there(found)


def of_summary(ground: Ground, said: dict) -> list[Item]:
    """Finished work; and the errors it met, with what became of them."""
    paths = tuple(said["files_modified"])
    outcome = " · ".join(said["key_outcomes"])
    thread = f"cold {said['task_id']}"
    text = f"{said['subject']}: {outcome}" if outcome else said["subject"]
    place = {"thread": thread, "files": paths, "title": said["subject"], "kind": said["kind"]}
    uid = key("cold", ground.session, ground.agent, said["task_id"])
    found = [ground.item("cold", text, "assistant", uid, seq=0, **place)]
    for number, error in enumerate(said["errors_resolved"], 1):
        fixed = f"{error} – resolved in: {text}"
        place = {"thread": thread, "seq": number, "files": paths, "kind": "resolved"}
        found.append(
            ground.item("issues", fixed, "tool", key("issues", ground.project, shape(error)), **place)
        )
    return _there(found)


def of_facts(ground: Ground, known: Facts, time: Callable[[int], int]) -> list[Item]:
    """All that was said in a session, and what was worked with. `time`: of what stands at an offset."""
    sayings = {saying[5]: saying for saying in known.sayings}
    thread = f"session {ground.session} {ground.agent}".rstrip()
    found: list[Item | None] = []
    number: dict[int, int] = {}
    for saying, text, _, _, cls, _, _ in known.units:
        kind, offset, _, _, entry, _ = sayings[saying]
        count = number[saying] = number.get(saying, -1) + 1
        origin = _SPEAKERS.get(kind, speaker.ASSISTANT)
        cls = cues.OTHER if cls == cues.INSTRUCTION and origin != speaker.USER else cls
        collection = _COLLECTIONS.get(cls, "sessions") if origin != speaker.USER else "sessions"
        # A session that was forked or resumed has copies of its lines; each is said once.
        uid = key("sessions", ground.project, entry, shape(text)) if collection == "sessions" else ""
        place = {"thread": thread, "seq": offset * 128 + min(count, 127), "kind": cls, "at": time(offset)}
        found.append(ground.item(collection, text, origin, uid, files=_named(known, text), **place))
    return _there([*found, *_worked(ground, known)])


def _named(known: Facts, text: str) -> tuple[str, ...]:
    """The files of the session that a text names, by their whole paths."""
    words = {word.strip(".,:;()'\"`") for word in text.split() if "." in word}
    return (
        tuple(
            path
            for path in known.touched.files
            if any(path == word or path.endswith(f"/{word}") for word in words)
        )[:8]
        if words
        else ()
    )


def _worked(ground: Ground, known: Facts) -> Iterator[Item | None]:
    for path, row in known.touched.files.items():
        if row[0]:
            text = f"{path}: {', '.join(row[5])}" if row[5] else path
            kind = "edited" if row[1] else "read"
            yield ground.item(
                "files", text, "tool", key("files", ground.project, path), files=(path,), kind=kind
            )
    for command, (_, _, failed, said, named, _, result) in known.touched.commands.items():
        if _OURS.search(command):
            continue  # what it printed last is what holdfast said
        told = ": ".join(filter(None, (result, said)))
        told = f"{command} → {told}" if told else command
        kind = "failed" if failed else "check" if named or is_check(command) else "ran"
        yield ground.item(
            "commands", told, "tool", key("commands", ground.project, bare(command)), kind=kind
        )
    for _, said in known.touched.commits:
        told = said if said.startswith(OPENED) else f"Committed: {said}"
        yield ground.item("decisions", told, "tool", kind="commit")


def of_save(ground: Ground, said: dict) -> list[Item]:
    text = " · ".join(filter(None, (said["task"], said["context"], said["next_steps"])))
    place = {"title": f"save {said['environment']}", "kind": said["source"], "seq": ground.at}
    thread = f"environment {said['environment']}"
    return _there(
        [ground.item("saves", text, "assistant", key("saves", said["id"]), thread=thread, **place)]
    )


def of_learned(ground: Ground, said: dict) -> list[Item]:
    place = {"title": said["title"], "kind": said["kind"], "files": tuple(said["files"])}
    return _there([ground.item("learned", said["text"], "agent", key("learned", said["uid"]), **place)])


def time_or(words: str, otherwise: int) -> int:
    try:
        return time_of(words)
    except (ValueError, IndexError):
        return otherwise


def _parts(text: str) -> Iterator[str]:
    """Paragraph by paragraph, as many together as fit."""
    held = ""
    for paragraph in text.split("\n\n"):
        for start in range(0, max(1, len(paragraph)), LONGEST):
            piece = one_line(paragraph[start : start + LONGEST])
            if held and len(held) + len(piece) > LONGEST // 2:
                yield held
                held = ""
            held = f"{held} {piece}".strip()
    yield held


def _there(found: Iterable[Item | None]) -> list[Item]:
    return [item for item in found if item is not None]
