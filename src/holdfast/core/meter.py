"""What is in the window: the last usage the API reported, and the size of all that came after.

The API's usage is exact but one response old. What was added since is counted in units (see
`sizes`) and turned into tokens by a ratio the session teaches: each new response tells what the
units since the last one really cost. Sums, and the newest of each list, so the meter does not grow with
the session.
"""

from holdfast.core.transcript import Entry, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Units per token before the session has taught us: newer models have a finer tokenizer.
_RATIO_NEW, _RATIO_OLD = 2.5, 3.0
_OLD_TOKENIZER = ("4-5", "4-6", "4-1", "4-2", "claude-3")
_PRIOR_TOKENS, _DECAY = 3000, 0.98
_LOWEST, _HIGHEST = 1.5, 4.5
_TEACHES = (_LOWEST / 1.25, _HIGHEST * 1.25)
_TEACHES_FROM = 300
#: System prompt, tools and CLAUDE.md, which no line shows; more where attachments are not written.
_BASE, _BASE_NO_ATTACHMENTS = 33_000, 40_000
_BASE_RANGE = (5_000, 60_000)
#: Files the client re-reads after a compaction, where it writes no line for them.
_REREAD = 9_000
#: A microcompaction frees more than it says.
_MICRO = 1.3
#: Models that do not get their earlier thinking back with the next prompt.
_DROPS_THINKING = ("sonnet-4-5", "sonnet-4-2", "haiku-4-5", "opus-4-1", "opus-4-2", "claude-3")
#: Newest lines remembered by size, to know what a compaction kept verbatim.
_TAIL = 48
#: Characters of a uuid that tell one of these lines from another.
_MARK = 12
#: Newest turns whose usage is remembered: sixteen steps from one to the next.
_CURVE = 17
#: A pause counts as at most so many seconds of work.
_PAUSE_S, _DAY_S = 300, 86_400

FIELDS = (
    "context given cache_read cache_creation output final own_units own_tokens thought_units "
    "thought_tokens added_units added_tokens drop since_units since_tokens taught_units taught_tokens "
    "base base_after_compaction compacted attachments writes_attachments highest peak "
    "steps step_tokens step_seconds"
).split()


class Meter:
    """`context` is 0 while unknown: before the first response and right after a compaction."""

    context = given = cache_read = cache_creation = output = 0
    final = False
    own_units = own_tokens = 0.0  # of the last response itself
    thought_units = thought_tokens = 0.0  # thinking since the last prompt
    added_units = added_tokens = 0.0  # since the first line of the last response
    drop = 0.0  # taken away since
    since_units = since_tokens = 0.0  # since the last compaction, or the start
    taught_units = taught_tokens = 0.0
    base = 0.0
    base_after_compaction = compacted = attachments = writes_attachments = False
    highest = 0  # largest context seen
    peak = 0  # largest since the last compaction
    # Since the session or its model began: steps, and sums of 100 × the roots of what each added and took.
    steps = step_tokens = step_seconds = 0
    message = ""  # id of the last response
    model = ""

    def __init__(self) -> None:
        self.tail: list = []  # [start of the uuid, units, tokens]
        self.curve: list = []  # [context, second of the day] of the newest turns since the last compaction

    # -- what is known

    def ratio(self) -> float:
        model = self.model
        prior = _RATIO_OLD if has_old_tokenizer(model) else _RATIO_NEW
        units = self.taught_units + prior * _PRIOR_TOKENS
        return min(_HIGHEST, max(_LOWEST, units / (self.taught_tokens + _PRIOR_TOKENS)))

    def written(self, ratio: float) -> float:
        """Tokens of the last response. Some clients store the count of the stream's first moment;
        then the text is the better witness."""
        if self.final:
            return self.output
        return max(self.output, self.own_units / ratio + self.own_tokens)

    def added(self, ratio: float) -> float:
        """Tokens that came after the last response, as far as the transcript shows."""
        return self.added_units / ratio + self.added_tokens - self.drop

    def bare(self) -> float:
        """What fills the window before anything was said."""
        return self.base or (_BASE if self.writes_attachments else _BASE_NO_ATTACHMENTS)

    def from_text(self, ratio: float) -> float:
        """The whole context, from the text since the last compaction alone."""
        base = self.bare()
        taught = self.base and self.base_after_compaction
        if self.compacted and not self.attachments and not taught:
            base += _REREAD
        return base + max(0.0, self.since_units / ratio + self.since_tokens)

    @property
    def has_text(self) -> bool:
        return self.since_units > 0

    # -- what happens

    def answer(self, entry: Entry) -> bool:
        """Whether it begins a new turn, and not another line of the last one."""
        if entry.model and entry.model != self.model:
            self.model = entry.model[:128]
            # What another model held says nothing of this one's window, nor its steps of this one's.
            self.highest = self.steps = self.step_tokens = self.step_seconds = 0
        message = entry.message[:64]
        begins = not message or message != self.message
        usage = entry.usage
        if begins:
            self.message = message
            if usage:
                self._learn(usage.context)
                self._step(usage.context, entry.at)
                self.added_units = self.added_tokens = self.own_units = self.own_tokens = 0.0
                self.drop = 0.0
                self.output, self.final = 0, False
        units = entry.units + entry.thought_units
        tokens = entry.tokens + entry.thought_tokens
        self.thought_units += entry.thought_units
        self.thought_tokens += entry.thought_tokens
        self.since_units += units
        self.since_tokens += tokens
        self._remember(entry.uuid, units, tokens)
        if usage:
            self._take(usage, entry.final)
            self.own_units += units
            self.own_tokens += tokens
        else:
            self.added_units += units
            self.added_tokens += tokens
        return begins

    def _take(self, usage: Usage, final: bool) -> None:
        self.context = usage.context
        self.given = usage.input
        self.cache_read = usage.cache_read
        self.cache_creation = usage.cache_creation
        self.output = max(self.output, usage.output)
        self.final = self.final or final
        self.highest = max(self.highest, self.context)
        self.peak = max(self.peak, self.context)

    def _learn(self, context: int) -> None:
        if not self.context:
            rest = context - self.since_units / self.ratio() - self.since_tokens
            if _BASE_RANGE[0] <= rest <= _BASE_RANGE[1]:
                self.base, self.base_after_compaction = rest, self.compacted
            return
        if self.drop:
            return
        units, tokens = self.added_units, context - self.context - self.added_tokens
        if self.final:
            tokens -= self.output
        else:
            units, tokens = units + self.own_units, tokens - self.own_tokens
        if units < _TEACHES_FROM or tokens <= 0 or not _TEACHES[0] <= units / tokens <= _TEACHES[1]:
            return
        self.taught_units = self.taught_units * _DECAY + units
        self.taught_tokens = self.taught_tokens * _DECAY + tokens

    def _step(self, context: int, at: str) -> None:
        second = second_of_day(at)
        if self.curve:
            before, then = self.curve[-1]
            second = then if second < 0 else second
            self.steps += 1
            self.step_tokens += round(100 * root(context - before))
            self.step_seconds += round(100 * root(seconds_between(then, second)))
        self.curve.append([context, max(0, second)])
        if len(self.curve) > 2 * _CURVE:
            del self.curve[:-_CURVE]

    def add(self, entry: Entry) -> None:
        """A line of the user's side: prompt, result, attachment, summary."""
        if entry.kind == "attachment":
            self.attachments = self.writes_attachments = True
        elif entry.kind in ("prompt", "queued") and drops_thinking(self.model):
            spent = self.thought_units / self.ratio() + self.thought_tokens
            self.drop += spent
            self.since_tokens -= spent
            self.thought_units = self.thought_tokens = 0.0
        self.added_units += entry.units
        self.added_tokens += entry.tokens
        self.since_units += entry.units
        self.since_tokens += entry.tokens
        self._remember(entry.uuid, entry.units, entry.tokens)

    def micro(self, entry: Entry) -> None:
        saved = entry.saved_tokens * _MICRO
        self.drop += saved
        self.since_tokens -= saved

    def compact(self, kept: "Iterable[object]") -> None:
        """`kept` are the uuids of the lines that stay in the window as they were."""
        units = tokens = 0.0
        kept = {uuid[:_MARK] for uuid in kept if type(uuid) is str}
        for mark, size, fixed in self.tail:
            if mark in kept:
                units += size
                tokens += fixed
        self.since_units, self.since_tokens = units, tokens
        self.context = self.given = self.cache_read = self.cache_creation = self.output = 0
        self.own_units = self.own_tokens = self.thought_units = self.thought_tokens = 0.0
        self.added_units = self.added_tokens = self.drop = 0.0
        self.message = ""
        self.peak = 0
        self.curve = []
        self.compacted, self.attachments = True, False

    def _remember(self, uuid: str, units: float, tokens: float) -> None:
        if units or tokens:
            self.tail.append([uuid[:_MARK], int(units), int(tokens)])
            if len(self.tail) > 2 * _TAIL:
                del self.tail[:-_TAIL]

    # -- on disk

    def to_json(self) -> dict:
        saved: dict = {name: _short(getattr(self, name)) for name in FIELDS if getattr(self, name)}
        saved["message"] = self.message
        saved["model"] = self.model
        saved["tail"] = self.tail[-_TAIL:]
        saved["curve"] = self.curve[-_CURVE:]
        return saved

    @classmethod
    def from_json(cls, saved: dict) -> "Meter":
        meter = cls()
        for name in (*FIELDS, "message", "model", "tail", "curve"):
            if name in saved:
                setattr(meter, name, saved[name])
        return meter


def drops_thinking(model: str) -> bool:
    """Whether its earlier thinking leaves the window with the next prompt."""
    return any(name in model for name in _DROPS_THINKING)


def _short(value: float) -> float:
    return round(value, 1) if type(value) is float else value


def has_old_tokenizer(model: str) -> bool:
    """Whether the same text is fewer tokens to it than to newer models."""
    return any(name in model for name in _OLD_TOKENIZER)


def root(amount: float) -> float:
    """The square root, with its sign. Steps are averaged by their roots: one large result then counts for
    a few turns and not for thirty, and what is averaged may be of any size."""
    size: float = abs(amount) ** 0.5
    return size if amount >= 0 else -size


def seconds_between(then: int, now: int) -> int:
    """Seconds of work between two seconds of the day."""
    return min(_PAUSE_S, (now - then) % _DAY_S)


def seconds_after(before: str, after: str) -> int:
    """Seconds from one RFC 3339 time to another less than a day later; 0 where it is not later."""
    then, now = second_of_day(before), second_of_day(after)
    if then < 0 or now < 0 or after <= before:
        return 0
    return (now - then) % _DAY_S


def second_of_day(at: str) -> int:
    """Of an RFC 3339 time; -1 for what is none."""
    digits = at[11:13] + at[14:16] + at[17:19]
    if not (len(digits) == 6 and digits.isascii() and digits.isdecimal()):
        return -1
    return int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
