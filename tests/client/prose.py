"""What people and models say in a session, with names that nobody has said before.

The sentences are modelled on real sessions; what makes each of them a fact (names, numbers, ids) is drawn
from a seed. So nothing can be tuned to fixed strings, and a fact that turns up somewhere came from where it
was said: its tokens stand nowhere else.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from string import Formatter
from typing import NamedTuple

KINDS = ("instruction", "decision", "dead end", "value", "open error")

_ONSETS = "b br c cl d dr f fl g gr h j k kr l m n p pl qu r s sk sl st t tr v vr w z zw".split()
_VOWELS = "a e i o u au ei oo".split()
_CODAS = "b ck d g l ld lm m n nk p r rb rn s sp t v x z".split()

_THINGS = (
    "importer scheduler collector renderer mailer resolver exporter gateway parser planner uploader "
    "validator crawler formatter dispatcher archiver"
).split()

#: The user's. Nothing in them but {thing} is an ordinary word's place: every other one is made up.
INSTRUCTIONS = (
    "From now on run {a} before every commit that touches {b}.",
    "never edit anything under {a}/, that folder belongs to the {b} people",
    "Don't use {a} for the fixtures, use {b} instead.",
    "please always pass --{a} when you call {b}, I keep forgetting to say it",
    "no, not {a}. We agreed on {b} for all new {thing} code, keep it that way",
    "Keep {a} out of the public API, {b} is the only name customers should ever see.",
    "I don't want a new dependency on {a}. If you need that, write it by hand in {b}.py",
    "stop adding {a} comments, and name new test files {b}_test, that's our convention",
    "make sure the {a} output stays byte for byte the same, {b} parses it",
    "When you're unsure about {a}, ask me first instead of guessing from {b}.",
    "commit messages start with {a}: for anything in {b}, always",
    "we only support {a} on the {b} boxes, so nothing that needs more than that please",
    "Leave the {a} tests alone unless I say so, {b} owns them.",
    "and remember: {a} must never be called from the {b} thread",
)
#: What a caller asks of a subagent besides its task.
ORDERS = (
    "Report only, do not change {a}; {b} is off limits too.",
    "Look at {a} first and never run anything with --{b}.",
    "Always cite the {a} line you mean, and leave {b} out of it.",
    "Only the {a} part matters; do not touch the {b} files.",
)
#: The assistant's.
DECISIONS = (
    "I'll go with {a} rather than {b} because it keeps the {c} path cheap.",
    "Going with {a} here: {b} would mean rewriting {c} as well.",
    "Decision: the {thing} keeps {a} and {b} stays out, since {c} cannot be migrated twice.",
    "Both would work, but I settled on {a} instead of {b}; it survives a {c} restart.",
    "I'm choosing {a} over {b} so that {c} needs no schema change.",
    "We'll keep the rows in {a}, not in {b}, because {c} reads them without a lock.",
    "I decided against {b}: it doubles what {c} has to hold in memory. {a} it is.",
    "Using {a} for this rather than {b}, which has no way to cancel a {c} job.",
    "The simplest that can work is {a}, so I take that over {b}; {c} stays as it is.",
    "Chose {a} instead of {b}, the reason being that {c} has to stay readable by the old {thing}.",
)
DEAD_ENDS = (
    "That approach doesn't work: {a} drops the {b} header on every retry.",
    "Tried {a} for this, no luck: {b} rejects anything it did not write itself.",
    "{a} turned out to be a dead end, it never sees what {b} wrote.",
    "Patching {a} didn't help; the value is overwritten later by {b} anyway.",
    "OK, so {a} is out. It can't reach {b} from inside the sandbox.",
    "I was wrong about {a}: it only helps the {b} path, which we don't use.",
    "This won't work through {a} because {b} is loaded before it.",
    "Neither flag of {a} has any effect, {b} ignores both. Reverting that.",
    "Reverting the {a} change: it made {b} slower, not faster.",
    "Going through {a} isn't viable, {b} is frozen upstream until next year.",
)
VALUES = (
    "For the record, {a} listens on port {port} in staging.",
    "The work sits on branch `{branch}`, cut from {sha}.",
    "I pinned {a} at {version}; anything newer breaks the build.",
    "The failing job is run {run} of the {a} pipeline.",
    "Measured: {a} takes {ms} ms per batch, over 200 batches.",
    "{ticket} tracks the {a} half of this.",
    "The {a} bundle that works has checksum {sha}.",
    "The limit is set at `{a}.py:{line}`.",
    "Note that {a} was last deployed from {sha} with {version}.",
)
#: (command, what it prints, exit status). The commands are scripts of the project.
FAILURES = (
    ("sh tools/check {a}", "FAIL {a}: expected {line} rows from {b}, got 0", 1),
    ("sh tools/build {a}", "{a}.c:{line}: undefined reference to '{b}'", 2),
    ("sh tools/lint {a}", "{a}:{line}: E41 '{b}' is never closed", 1),
    ("sh tools/replay {a}", "Traceback (most recent call last):\\nKeyError: '{b}'", 1),
)
#: What is said besides, and is no fact. {path} is a file of the project.
TASKS = (
    "ok, now {path} please",
    "can you look at {path}? the levels there look off to me",
    "Looks good. Go on with the {thing} next.",
    "yes, do that, then have a look at {path}",
    "hm, is {path} still used by the {thing}? if not clean it up",
    "go ahead with the rest of the {thing}",
    "Can you double check {path} against what we have in git?",
    "next one: {path}, same as before",
)
NARRATION = (
    "Let me look at {path}.",
    "Now the {thing}.",
    "Checking what the {thing} does with it.",
    "Next is {path}.",
    "Let me see what changed there.",
    "One more look at {path} before I go on.",
    "That reads fine. On to the {thing}.",
    "Good, that matches. Let me check {path} as well.",
)
ENDINGS = (
    "{path} is done and the check passes.",
    "I went through {path}; the levels are consistent with the rest now.",
    "That part of the {thing} is in order.",
    "Nothing else stood out in {path}.",
    "The {thing} reads the same files as before.",
    "Want me to go on with the {thing}?",
)
ERRANDS = (
    "have an agent go through the {thing} while you wait",
    "Send an agent over {path} and the files around it, I want a second look at the levels.",
    "let an agent survey the {thing}, then tell me what it found",
)
SURVEYS = (
    "Go through {path} and the files around it and say which levels look wrong.",
    "Survey the {thing}: read its files one by one and list what is inconsistent.",
)


class Said(NamedTuple):
    """A fact in somebody's words; whoever is told all its tokens, near each other, was told the fact."""

    kind: str
    text: str
    tokens: tuple[str, ...]


class Failure(NamedTuple):
    command: str
    #: What the script is called with, by which it finds what to print.
    name: str
    prints: str
    status: int


class Names:
    """No two alike, and none inside another: a name that is found is that name."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made: list[str] = []

    def new(self) -> str:
        while True:
            name = "".join(self._syllable() for _ in range(2))
            alike = any(name in other or other in name for other in self.made)
            if 6 <= len(name) <= 10 and not alike:
                self.made.append(name)
                return name

    def _syllable(self) -> str:
        return "".join(self.random.choice(part) for part in (_ONSETS, _VOWELS, _CODAS))


class Prose:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.random = names.random
        # In turns, from somewhere: a short session, too, has different ones.
        self._next = {id(table): self.random.randrange(len(table)) for table in _TABLES}

    def instruction(self) -> Said:
        return self._said("instruction", INSTRUCTIONS)

    def order(self) -> Said:
        return self._said("instruction", ORDERS)

    def decision(self) -> Said:
        return self._said("decision", DECISIONS)

    def dead_end(self) -> Said:
        return self._said("dead end", DEAD_ENDS)

    def value(self) -> Said:
        return self._said("value", VALUES)

    def failure(self) -> tuple[Said, Failure]:
        command, prints, status = self._turn(FAILURES)
        used: dict[str, str] = {}
        ran, shown = self._fill(command, used), self._fill(prints, used)
        tokens = tuple(value for name, value in used.items() if name in "ab")
        return Said("open error", shown, tokens), Failure(ran, used["a"], shown, status)

    def thing(self) -> str:
        return self.random.choice(_THINGS)

    def chatter(self, table: tuple[str, ...], path: str, sentences: int = 1) -> str:
        chosen = self.random.sample(table, sentences)
        return " ".join(text.format(path=path, thing=self.thing()) for text in chosen)

    def _said(self, kind: str, table: tuple[str, ...]) -> Said:
        used: dict[str, str] = {}
        text = self._fill(self._turn(table), used)
        return Said(kind, text, tuple(value for name, value in used.items() if name != "thing"))

    def _turn(self, table: tuple) -> tuple | str:
        at = self._next[id(table)]
        self._next[id(table)] = at + 1
        return table[at % len(table)]

    def _fill(self, template: str, used: dict[str, str]) -> str:
        for _, field, _, _ in Formatter().parse(template):
            if field and field not in used:
                used[field] = _MAKE.get(field, lambda prose: prose.names.new())(self)
        return template.format(**used)

    def number(self, digits: int) -> str:
        return str(self.random.randrange(10 ** (digits - 1), 10**digits))


_MAKE: dict[str, Callable[[Prose], str]] = {
    "thing": Prose.thing,
    "port": lambda prose: str(prose.random.randrange(20_000, 60_000)),
    "sha": lambda prose: f"{prose.random.randrange(16**6, 16**7):07x}",
    "version": lambda prose: ".".join((prose.number(1), prose.number(2), prose.number(2))),
    "run": lambda prose: prose.number(10),
    "ms": lambda prose: f"{prose.number(3)}.{prose.number(1)}",
    "line": lambda prose: prose.number(3),
    "ticket": lambda prose: f"{prose.names.new()[:3].upper()}-{prose.number(4)}",
    "branch": lambda prose: f"fix/{prose.names.new()}-{prose.names.new()}",
}
_TABLES = (INSTRUCTIONS, ORDERS, DECISIONS, DEAD_ENDS, VALUES, FAILURES)
