"""What the model was really sent after a compaction: which parts of it were put there, and what they hold.

Everything a hook brings into a conversation arrives inside a system reminder. What stands outside of one
(what was typed, said, returned by a tool, and the summary) is the conversation itself: the kept tail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from client.api import words
from client.plan import Cut, Fact

_REMINDER = re.compile(r"<system-reminder>(.*?)</system-reminder>", re.S)
_BRIEF = "SessionStart hook additional context:"
_INSTRUCTIONS, _AFTER_THEM = "Additional Instructions:\n", "REMINDER: Do NOT call any tools."
#: A fact is told when its tokens stand within this many characters, as they do where it was said.
_NEAR = 400


class Sent(NamedTuple):
    #: What was put into the conversation, piece by piece.
    given: list[str]
    #: The conversation.
    kept: str

    @classmethod
    def of(cls, request: dict) -> Sent:
        messages = request["body"]["messages"]
        text = "\n".join(words(message["content"]) for message in messages if message["role"] != "system")
        told = [words(message["content"]) for message in messages if message["role"] == "system"]
        return cls(told + _REMINDER.findall(text), _REMINDER.sub("\n", text))

    @property
    def briefs(self) -> list[str]:
        """What hooks of SessionStart gave; of those that came before a compaction nothing is left."""
        return [piece.partition(_BRIEF)[2] for piece in self.given if _BRIEF in piece]

    def tells(self, fact: Fact) -> bool:
        return any(is_told(fact.said.tokens, piece) for piece in self.given)

    def keeps(self, fact: Fact) -> bool:
        return all(token in self.kept for token in fact.said.tokens)


def is_told(tokens: tuple[str, ...], text: str) -> bool:
    """Whether all tokens stand near each other: near each place of the first of them is looked."""
    places = (match.start() for match in re.finditer(re.escape(tokens[0]), text))
    return any(
        all(token in text[max(0, place - _NEAR) : place + _NEAR] for token in tokens) for place in places
    )


class Seen(NamedTuple):
    """One compaction as the requests show it."""

    kind: str
    #: What was printed for the summary.
    block: str
    #: The first request that has the summary in place of the conversation.
    after: dict


def chain_of(cut: Cut) -> str:
    return "agent" if cut.kind == "subagent" else "main"


def observe(cut: Cut, requests: list[dict]) -> Seen | None:
    """How a compaction really went; None if it did not."""
    chain = [
        request
        for request in requests
        if request["kind"] == chain_of(cut) or cut.marker in request["turn"].get("say", "")
    ]
    asked = next((at for at, one in enumerate(chain) if cut.marker in one["turn"].get("say", "")), 0)
    later = (at for at in range(asked + 1, len(chain)) if cut.marker in _text(chain[at]))
    swapped = next(later, 0)
    if not asked or not swapped:
        return None
    kind = "threshold"
    if chain_of(cut) == "agent":
        kind = "subagent"
    elif swapped > asked + 1:
        kind = "precomputed"
    elif "error" in chain[asked - 1]["turn"]:
        kind = "reactive"
    prompt = words(chain[asked]["body"]["messages"][-1]["content"])
    block = prompt.rpartition(_INSTRUCTIONS)[2].partition(_AFTER_THEM)[0] if _INSTRUCTIONS in prompt else ""
    return Seen(kind, block.strip(), chain[swapped])


def _text(request: dict) -> str:
    return "\n".join(words(message["content"]) for message in request["body"]["messages"])


def strangers(facts: Iterable[Fact], requests: list[dict]) -> list[str]:
    """Names of these facts that were sent though they are none of this session's."""
    names = {token for fact in facts for token in fact.said.tokens if re.search("[a-z]{6}", token)}
    found = re.compile("|".join(map(re.escape, sorted(names))) or "(?!)")
    return sorted({name for request in requests for name in found.findall(_text(request))})
