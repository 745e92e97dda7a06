"""How full the window is, and how we know: `measure(state) -> Reading`.

The window is what the model can hold; capacity is where the client will compact, derived the way
the client derives it. They differ by up to a fifth, which is why meters that show only one of them
are not believed.
"""

from holdfast.core.seen import numbers
from holdfast.core.state import State

SMALL, LARGE = 200_000, 1_000_000
#: The client keeps room for an answer and a margin before it compacts. Older ones kept more.
_ANSWER, _ANSWER_OLD, _OLD_CLIENT = 20_000, 32_000, (2, 1, 25)
_MARGIN = 13_000
#: Without compaction the client refuses to go on this much before the room for an answer.
_LAST_ROOM = 3_000
#: part of a model's id -> (window, whether the client compacts before the API refuses)
_MODELS = (
    ("claude-3", SMALL, False),
    ("opus-4-1", SMALL, False),
    ("opus-4-2", SMALL, False),
    ("opus-4@", SMALL, False),
    ("sonnet-4-2", SMALL, False),
    ("sonnet-4@", SMALL, False),
    ("haiku-4-5", SMALL, False),
    ("sonnet-4-5", SMALL, False),
    ("opus-4-5", SMALL, False),
    ("sonnet-4-6", SMALL, True),
    ("opus-4-6", SMALL, True),
    ("opus-4-7", LARGE, True),
    ("opus-4-8", LARGE, True),
    ("opus-5", LARGE, True),
    ("sonnet-5", LARGE, True),
    ("haiku-5", LARGE, True),
    ("fable-5", LARGE, True),
)
#: From these clients on, a model it does not know has the large window, and is compacted ahead of time.
_UNKNOWN_LARGE, _UNKNOWN_AHEAD = (2, 1, 323), (2, 1, 270)
#: Clients up to this one compacted every model ahead of time (real sessions with 2.1.122 to 2.1.148, and
#: 2.1.110, which was driven there; 2.1.200 does not).
_ALL_AHEAD = (2, 1, 148)
#: With the beta header these are large, and the client waits for the API's refusal.
_REACTIVE_1M = ("sonnet-4-5", "sonnet-4-6")
#: A compaction this much below the derived threshold shows that the client knows better. One far below has
#: other reasons, of which every release brings more; unless the one before it was just as full.
_TAUGHT, _LEAST_TAUGHT = 0.97, 30_000
_FAR, _ALIKE = 0.8, 0.03

#: Shares of the window per message, read, edit, other tool and subagent: the last but one resort.
_WEIGHTS = (0.01, 0.02, 0.015, 0.005, 0.05)
_BYTES_PER_TOKEN = 4


class Reading:
    """One measurement. `percent` is of the window, `fill` of the capacity; both may pass 100."""

    __slots__ = (
        "capacity",
        "context",
        "estimated",
        "fill",
        "model",
        "output",
        "percent",
        "source",
        "until_compaction",
        "used",
        "window",
        "window_source",
    )

    def __init__(
        self,
        context: float,
        output: float,
        estimated: float,
        source: str,
        window: int,
        capacity: int,
        window_source: str,
        model: str,
    ) -> None:
        self.context = round(context)  # equals the client's own count, where the source is usage
        self.output = round(output)
        self.estimated = round(estimated)
        self.used = max(0, self.context + self.output + self.estimated)
        self.source = source
        self.window = window
        self.capacity = capacity
        self.window_source = window_source
        self.model = model
        self.percent = round(100 * self.used / window, 1)
        self.fill = round(100 * self.used / capacity, 1)
        self.until_compaction = max(0, capacity - self.used)


def measure(state: State, size: int = 0, window: int = 0) -> Reading:
    """`size` is the transcript's length in bytes, `window` the user's own setting (0: none)."""
    model = _model(state)
    room, source = _window(state, model, window)
    capacity, source = _capacity(state, model, room, source)
    context, output, estimated, how = _used(state, size, room)
    return Reading(context, output, estimated, how, room, capacity, source, model)


def _model(state: State) -> str:
    """The transcript names the model of each response, but not whether it has the large window; what
    was told names it as it was asked for. They may speak of different models, then the newer counts."""
    said, told = state.seen.meter.model, state.heard.model
    if not said or _same(told, said) or (told and state.heard.model_at >= state.seen.turns):
        return told or said
    return said


def _same(one: str, other: str) -> bool:
    one, other = one.removesuffix("[1m]"), other.removesuffix("[1m]")
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def _used(state: State, size: int, window: int) -> tuple[float, float, float, str]:
    """(context, output, estimate of what came after, how it is known)."""
    seen, heard = state.seen, state.heard
    meter = seen.meter
    ratio = meter.ratio()
    pending = sum(p[0] / ratio + p[1] for p in heard.pending.values())
    if heard.told[2:] == [seen.turns, seen.compacted] and heard.told[0] != meter.context:
        # The client itself knows of a response before the transcript holds it, if there is one.
        return heard.told[0], heard.told[1], pending, "usage+estimate" if pending else "usage"
    if state.awaits_boundary or not seen.entries:
        if state.awaits_boundary or heard.units:
            text = heard.units / ratio + heard.tokens
            return 0, 0, meter.bare() + text, "estimate"
        counted = (heard.messages, heard.reads, heard.edited, heard.tools_used, heard.subagents)
    elif meter.context:
        written = meter.written(ratio)
        # However much was taken away, what fills the window before anything was said is still there.
        after = max(meter.added(ratio) + pending, min(0.0, meter.bare() - meter.context - written))
        return meter.context, written, after, "usage+estimate" if after else "usage"
    elif meter.has_text:
        return 0, 0, meter.from_text(ratio) + pending, "estimate"
    else:
        counted = (seen.messages, seen.reads, seen.edited, seen.tools_used, seen.subagents)
    if any(counted):
        share = sum(n * weight for n, weight in zip(counted, _WEIGHTS, strict=True))
        return 0, 0, min(1.0, share) * window, "weights"
    return 0, 0, min(size / _BYTES_PER_TOKEN, window), "size"


def _window(state: State, model: str, own: int) -> tuple[int, str]:
    if own:
        return own, "config"
    if state.heard.window and _same(state.heard.window_of, model):
        return state.heard.window, "client"
    if "[1m]" in model:
        return LARGE, "model id"
    known = _known(model)
    window, source = (known[1], "model") if known else _of_unknown(model, state.seen.version)
    if window == LARGE and state.heard.client.get("no_1m"):
        window, source = SMALL, "environment"
    if state.seen.meter.highest > window:  # a context that was really there
        return LARGE, "usage"
    return window, source


def _of_unknown(model: str, version: str) -> tuple[int, str]:
    """What the client assumes of a model it does not know."""
    client = numbers(version)
    is_small = model and client and client < _UNKNOWN_LARGE
    return SMALL if is_small else LARGE, "unknown"


def _known(model: str) -> tuple | None:
    return next((row for row in _MODELS if row[0] in model), None)


def _capacity(state: State, model: str, window: int, source: str) -> tuple[int, str]:
    client = state.heard.client
    if client.get("compaction_off"):  # nothing is compacted, and short of the window nothing is sent
        return max(window // 2, window - _ANSWER - _LAST_ROOM), source
    version = numbers(state.seen.version)
    answer = _ANSWER_OLD if version and version < _OLD_CLIENT else _ANSWER
    own = client.get("model_windows", {}).get(model.removesuffix("[1m]"), 0)
    auto = own if client.get("auto_window_from") != "environment" and own else client.get("auto_window", 0)
    if auto:
        source = client.get("auto_window_from", "settings")
        capacity = _threshold(min(auto, window), answer, client)
    elif _ahead(model, window, version):
        capacity = _threshold(window, answer, client)
    else:
        capacity = window
    taught = _taught(state, model, capacity)
    if 0 < taught < capacity * _TAUGHT and source != "config":
        return taught, "compactions"
    return capacity, source


def _taught(state: State, model: str, derived: int) -> int:
    """Where the client last compacted because the window was full, this model and under the settings it has
    now; 0: that is not known."""
    since = state.heard.client.get("since", 0) - state.seen.compacted + len(state.seen.compactions)
    rows = state.seen.compactions[max(0, since) :]
    full = [row[2] for row in rows if row[1] == "auto" and _same(row[5], model)][-2:]
    # A larger context since then shows that it was not compacted for want of room.
    if not full or full[-1] <= max(_LEAST_TAUGHT, state.seen.meter.peak):
        return 0
    is_far = full[-1] < derived * _FAR
    if is_far and (len(full) < 2 or abs(full[0] - full[1]) > _ALIKE * full[1]):
        return 0
    return int(full[-1])


def _ahead(model: str, window: int, version: tuple) -> bool:
    """Whether the client compacts at a threshold by itself, or waits for the API to refuse."""
    if version and version <= _ALL_AHEAD:
        return True
    if window == LARGE and any(name in model for name in _REACTIVE_1M):
        return False
    known = _known(model)
    return known[2] if known else not version or version >= _UNKNOWN_AHEAD


def _threshold(window: int, answer: int, client: dict) -> int:
    effective = window - answer
    threshold = max(window // 2, effective - _MARGIN)  # half of a window with no room for an answer
    percent = client.get("percent", 0)
    if percent:  # can only lower it
        threshold = min(int(effective * percent / 100), threshold)
    return max(1, threshold)


def thousands(tokens: int) -> str:
    """12.3k: as many digits as anybody reads."""
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if tokens < 100_000 else f"{tokens // 1000}k"
