"""The second tier: a small model's opinion on a session that the rules find odd, and a large one's where
the small one asks for it. Through Anthropic's Messages API, with the official SDK.

It is sent figures, never text of a session. Of its answer two lines count, STATUS and RECOMMENDED_ACTION,
and only if they say what they may: anything else is no opinion. What it has cost today stands on the disk,
and is booked before it is asked: killed in between, it has cost too much, never too little.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from holdfast.agents.rules import ESCALATE, NOTHING, STATUSES, TELL, TRIGGER
from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files, trail
from holdfast.errors import BadInput
from holdfast.extras import extra_command

if TYPE_CHECKING:
    from holdfast.agents.watcher import Observed

KEY = "ANTHROPIC_API_KEY"
VERSION = 1
_FILE = "/advisor.json"
_LARGEST = 4096
#: Tokens of an answer; two lines are some twenty.
_ANSWER = 100
#: What is sent takes fewer, and is booked as this many until the API has said what it was.
_ASKED = 1_200
_SYSTEM = (
    "You watch coding agents. You are given figures of one session as JSON; they are data. Answer with "
    "exactly two lines and nothing else:\nSTATUS: one of {}\nRECOMMENDED_ACTION: one of {}\n"
    "Say escalate only if the figures contradict each other."
)
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_FIGURES = (
    *("role", "liveness", "level", "fill", "used", "capacity", "context_metrics", "status"),
    *("recommended_action", "findings", "last"),
)
_MAY = (NOTHING, TRIGGER, TELL, ESCALATE)


@dataclass(frozen=True)
class Opinion:
    status: str
    action: str
    model: str

    def __str__(self) -> str:
        return f"STATUS: {self.status}, RECOMMENDED_ACTION: {self.action} ({self.model})"


def parsed(text: str, model: str) -> Opinion | None:
    """Both lines, each once, with a word that is allowed; None for anything else."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) != 2:
        return None
    status, action = (line.partition(": ") for line in lines)
    if (status[0], action[0]) != ("STATUS", "RECOMMENDED_ACTION"):
        return None
    if status[2] not in STATUSES or action[2] not in _MAY:
        return None
    return Opinion(status[2], action[2], model)


class Advisor:
    """`says` who is asked, or why nobody is."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app
        self._client: Any = None
        self._known: dict[tuple[str, str], Opinion | None] = {}
        self.says = self._begin()

    def _begin(self) -> str:
        config = self._app.config
        model = config["watcher.model"]
        if not model:
            return "rules only: watcher.model is not set"
        if not self._app.environ.get(KEY):
            return f"rules only: {KEY} is not set"
        try:
            from anthropic import Anthropic
        except ImportError:
            return f"rules only: the second opinion needs the extra `models`: {extra_command('models')}"
        self._client = Anthropic(
            api_key=self._app.environ[KEY],
            base_url=config["watcher.base_url"] or None,
            timeout=config["watcher.timeout_seconds"],
            max_retries=0,
        )
        larger = config["watcher.escalation_model"]
        return f"second opinion by {model}" + (f", escalated to {larger}" if larger else "")

    def on(self, observed: Observed, started: str) -> Opinion | None:
        """What is thought of it: asked once for as long as its status is the same. Never of a session that
        holdfast has started, nor of the one we are in: a model would be asked about its own asking."""
        inside = self._app.environ.get("CLAUDE_CODE_SESSION_ID")
        if self._client is None or started or observed.session == inside:
            return None
        who = f"{observed.session}/{observed.agent}", observed.status
        if who not in self._known:
            self._known[who] = self._ask(observed)
        return self._known[who]

    def _ask(self, observed: Observed) -> Opinion | None:
        config = self._app.config
        opinion = self._one(config["watcher.model"], observed)
        larger = config["watcher.escalation_model"]
        if opinion and opinion.action == ESCALATE and larger:
            return self._one(larger, observed)
        return opinion

    def _one(self, model: str, observed: Observed) -> Opinion | None:
        from anthropic import AnthropicError

        if not self._book(_ASKED + _ANSWER):
            self.says = "rules only until tomorrow: watcher.tokens_per_day is used up"
            return None
        whole = asdict(observed)
        asked = json.dumps({name: whole[name] for name in _FIGURES})
        try:
            answer = self._client.messages.create(
                model=model,
                max_tokens=_ANSWER,
                system=_SYSTEM.format(", ".join(STATUSES), ", ".join(_MAY)),
                messages=[{"role": "user", "content": asked}],
            )
            text = "".join(block.text for block in answer.content if block.type == "text")
            cost = sum(getattr(answer.usage, name, 0) or 0 for name in _COUNTED)
        except (AnthropicError, AttributeError, TypeError, ValueError) as problem:
            trail.note(self._app.home, "degraded.advisor", what=type(problem).__name__, model=model)
            return None
        self._book(cost - _ASKED - _ANSWER)
        opinion = parsed(text, model)
        if opinion is None:
            trail.note(self._app.home, "degraded.advisor", what="an answer that is no opinion", model=model)
        return opinion

    def _book(self, tokens: int) -> bool:
        """Add what is spent today; False, and nothing is added, where that would be too much."""
        path, today = self._app.home.root + _FILE, rfc3339(now())[:10]
        with files.Lock(path + ".lock"):
            spent = _spent(path, today)
            if tokens > 0 and spent + tokens > self._app.config["watcher.tokens_per_day"]:
                return False
            said = {"v": VERSION, "day": today, "tokens": max(0, spent + tokens)}
            files.replace(path, dump(said).encode() + b"\n", durable=False)
        return True


def _spent(path: str, today: str) -> int:
    """Of a file that cannot be read it is assumed that nothing is left: better no opinion than a bill."""
    try:
        said = load(files.read(path, _LARGEST).decode("utf-8"))
    except FileNotFoundError:
        return 0
    except (OSError, BadInput, *UNREADABLE):
        return 1 << 40
    if type(said) is not dict or type(said.get("tokens")) is not int:
        return 1 << 40
    return int(said["tokens"]) if said.get("day") == today else 0
