"""Every key of config.yaml, in one table. Defaults, what a value may be, the names of environment variables
and the list in docs/configuration.md follow from it.

Whether a value stands in the file, in the environment or behind a flag, `parse` reads it.
"""

from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: (key, default, what it takes, what it is for). A number takes (least, most), a word is one of those; and
#: where the default is true or false, that is what it takes; where it is an empty text, a path, or, with
#: ("text",), a word. Literals only: it is loaded as one constant.
KEYS = (
    ("window", 0, (1000, 99999999), "tokens the window holds, if you know better than the client"),
    ("ladder.checkpoint", 60, (1, 100), "% full at which a checkpoint is taken"),
    (
        "ladder.warning",
        70,
        (1, 100),
        "% full of L1 Warning; earlier in fast sessions, later in slow ones",
    ),
    ("ladder.prompt_warning", 80, (1, 100), "% full from which the next prompt brings a warning"),
    ("ladder.advisory", 85, (1, 100), "% full of L2 Advisory: a checkpoint, and the session saves itself"),
    ("ladder.alert", 93, (1, 100), "% full of L3 Yellow Alert: a checkpoint is taken"),
    ("ladder.critical", 97, (1, 100), "% full of L4 Critical: a checkpoint, and the session saves itself"),
    ("guard.velocity_samples", 3, (2, 17), "newest samples from which the pace is measured"),
    ("guard.velocity_percent", 5, (1, 100), "% of the room per operation at which a rung comes early"),
    ("guard.operations_ahead", 3, (1, 100), "operations before a rung at which it comes early"),
    ("guard.dynamic_samples", 10, (3, 17), "newest samples to which the first warning adapts"),
    ("guard.least_left", 16, (1, 99), "% left below which the first warning never moves"),
    ("guard.thrash_compactions", 3, (2, 16), "compactions close together: something refills the window"),
    ("guard.thrash_turns", 10, (1, 255), "turns within which they are close together"),
    ("guard.tell_model", True, (), "whether the model is advised, once a cycle, where it should act"),
    ("orchestrator.room_percent", 60, (1, 100), "% full up to which an orchestrator has room"),
    ("orchestrator.specs", 3, (1, 100), "large specs an orchestrator takes on in one session"),
    ("checkpoints.active_minutes", 30, (1, 1440), "minutes of work after which one is taken"),
    ("checkpoints.first_turns", 2, (1, 100), "turns to the first, and to one whenever the agent rests"),
    ("checkpoints.every_turns", 5, (1, 100), "turns of work after which the next is taken"),
    ("checkpoints.keep_days", 7, (1, 36500), "days they are kept; pinned and newest ones for good"),
    ("checkpoints.share", False, (), "whether git shows the folder they are in"),
    ("sessions.keep_days", 90, (30, 36500), "days a session is remembered whose transcript is gone"),
    (
        "compaction.block_unverified",
        "never",
        ("never", "manual"),
        "which compaction waits for a failed save",
    ),
    ("compaction.at", 0, (0, 100), "% full at which the plugin's mod starts one, after a turn; 0: never"),
    (
        "compaction.at_breakpoint",
        0,
        (0, 100),
        "% full from which it also starts one after a commit or passing tests; 0: never",
    ),
    ("preservation.characters", 6000, (1000, 10000), "length of what the summariser is told to keep"),
    ("preservation.tasks", 10, (1, 25), "active tasks in it"),
    ("preservation.files", 20, (1, 100), "modified files in it"),
    ("preservation.test_commands", 5, (1, 100), "test commands in it"),
    ("preservation.decisions", 15, (1, 100), "key decisions in it"),
    ("preservation.errors", 8, (1, 100), "unresolved errors in it"),
    ("brief.tokens", 1500, (200, 2700), "tokens told after a compaction, or when a session begins"),
    ("brief.follow_up_tokens", 400, (0, 2700), "tokens told with the next prompt, of what a summary lost"),
    ("brief.session_tokens", 60000, (0, 9999999), "tokens told into one session all in all; 0: nothing"),
    (
        "brief.startup_hours",
        24,
        (0, 8760),
        "hours a checkpoint is told to new sessions; 0: never (unfinished work is named)",
    ),
    ("board.keep_hours", 24, (1, 8760), "hours a message stands on the board of a project"),
    ("board.tokens", 400, (0, 2700), "tokens of messages told with one prompt or batch of calls; 0: none"),
    ("budget.active_task", 5, (0, 100), "% of a brief that tasks, errors and next steps are guaranteed"),
    ("budget.project_background", 5, (0, 100), "% of it for what was decided and what did not work"),
    ("budget.operator_preferences", 5, (0, 100), "% of it for what you answered and refused"),
    ("budget.safety_constraints", 15, (0, 100), "% of it for rules and standing instructions"),
    ("budget.ambient_knowledge", 0, (0, 100), "% of it for all else"),
    (
        "memory.embedder",
        "wordllama",
        ("wordllama", "minilm", "none"),
        "what deep memory compares texts by; none: by their words alone",
    ),
    ("recall.tokens", 1500, (100, 2500), "tokens a recall answers with, at most"),
    ("vault.path", "", (), "Obsidian vault whose daily note gets a line when a session ends"),
    ("cold.from_percent", 70, (1, 100), "% full from which finished work is summarised"),
    ("cold.every_turns", 10, (1, 1000), "turns between two looks for it"),
    ("cold.after_turns", 20, (1, 250), "turns without being named after which it is cold"),
    ("watcher.stall_minutes", 10, (1, 1440), "minutes of silence in a turn after which it has stalled"),
    ("watcher.loop_calls", 6, (2, 24), "times the same command in a row, or the same failure: a loop"),
    ("watcher.stagger_seconds", 5, (0, 60), "seconds between two checkpoints that it asks for at once"),
    (
        "watcher.model",
        "",
        ("text",),
        "model that gives a second opinion on odd sessions; empty: rules only",
    ),
    ("watcher.escalation_model", "", ("text",), "larger model that is asked where the first one wants it"),
    ("store.url", "", ("text",), "PostgreSQL that a team shares; empty: tasks in store.db in home"),
    ("store.pool", 8, (1, 100), "connections to it that one process has at most"),
    ("store.timeout_seconds", 10, (1, 300), "seconds for which anybody waits for it"),
    (
        "team.projects",
        "",
        ("text",),
        "projects the team is told of: globs on host/path; empty: all with an origin",
    ),
    (
        "team.collections",
        "topics,checkpoints,decisions,issues,cold,saves,learned",
        ("text",),
        "what of deep memory the team is told of, with commas",
    ),
    ("team.bodies", True, (), "whether checkpoints travel with all they say, or only their catalogue"),
    ("team.machine", "", ("text",), "what the team calls this machine; empty: by its host name"),
    ("team.outbox_mb", 256, (1, 99999), "MB that may wait for the team's store before events are let go"),
    ("vectors.url", "", ("text",), "Qdrant that holds the vectors of a team; empty: its PostgreSQL does"),
    ("watcher.base_url", "", ("text",), "where the Messages API is asked, if not at Anthropic's"),
    ("watcher.tokens_per_day", 200000, (0, 99999999), "tokens these models may cost in a day"),
    ("watcher.timeout_seconds", 20, (1, 300), "seconds for which one of them is waited for"),
    ("service.port", 8100, (0, 65535), "port the service listens on; 0: one that is free"),
    ("service.timeout_seconds", 30, (1, 3600), "seconds after which an operation of it is given up"),
    (
        "service.otlp",
        False,
        (),
        "send its figures to OTEL_EXPORTER_OTLP_ENDPOINT, by OpenTelemetry's protocol",
    ),
    ("service.healthy_below", 50, (1, 100), "% of the window from which the service says warning"),
    (
        "auto_context.enabled",
        True,
        (),
        "whether sessions are saved at breakpoints, and as the window fills",
    ),
    ("auto_context.thresholds.warning", 70, (1, 100), "% of the window: the service advises to save"),
    ("auto_context.thresholds.critical", 85, (1, 100), "% of the window: it advises to save and restart"),
    ("auto_context.hooks.git_commit", True, (), "whether a commit is a breakpoint"),
    ("auto_context.hooks.test_result", True, (), "whether a test run is a breakpoint"),
    (
        "auto_context.poll_interval_seconds",
        60,
        (1, 86400),
        "seconds between two looks of scripts; of the watcher too, if set (else 30)",
    ),
)
DEFAULTS: "dict[str, Any]" = {row[0]: row[1] for row in KEYS}
#: Of these, none may be below the one before it.
_RISING = (
    [key for key in DEFAULTS if key.startswith("ladder.")],
    ["service.healthy_below", "auto_context.thresholds.warning", "auto_context.thresholds.critical"],
)
PREFIX, HOME = "HOLDFAST_", "HOLDFAST_HOME"  # where the file is cannot stand in the file
_ON, _OFF = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_LONGEST, _PATH = 32, 1024
_TEXT = ("text",)


class Config:
    """What every key is set to: defaults < file < environment < flags."""

    __slots__ = ("_values", "environment", "file", "flags")

    def __init__(
        self,
        file: "dict[str, Any] | None" = None,
        environment: "dict[str, Any] | None" = None,
        flags: "dict[str, Any] | None" = None,
    ) -> None:
        self.file = file or {}
        self.environment = environment or {}
        self.flags = flags or {}
        self._values = {**DEFAULTS, **self.file, **self.environment, **self.flags}

    def __getitem__(self, key: str) -> "Any":
        return self._values[key]


#: Where nothing was set.
STANDARD = Config()


def parse(key: str, text: str) -> "Any":
    """The value a text gives to a key. BadInput goes on after the name: `is …; it takes …`."""
    default, takes = DEFAULTS[key], _takes(key)
    value: object = None
    if type(default) is bool:
        value = True if text.lower() in _ON else False if text.lower() in _OFF else None
    elif type(default) is int:
        if text.isascii() and text.isdecimal() and len(text) < 10 and takes[0] <= int(text) <= takes[1]:
            value = int(text)
    elif takes == _TEXT:
        value = text if len(text) <= _PATH and text.isprintable() and " " not in text else None
    elif not takes:
        is_path = text.startswith(("/", "~/")) and text.isprintable() and len(text) <= _PATH
        value = text if is_path or not text else None
    elif text in takes:
        value = text
    if value is None:
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        raise BadInput(f"is {shown!r}; it takes {expected(key)}")
    return value


def written(value: object) -> str:
    """A value as `parse` reads it."""
    return str(value).lower() if type(value) is bool else str(value)


def fits(key: str, value: object) -> bool:
    """Whether it is a value that `parse` could have given to a key there is."""
    if key not in DEFAULTS or type(value) is not type(DEFAULTS[key]):
        return False
    try:
        return bool(parse(key, written(value)) == value)
    except BadInput:
        return False


def expected(key: str) -> str:
    """What a key takes, in words."""
    default, takes = DEFAULTS[key], _takes(key)
    if type(default) is bool:
        return "true or false"
    if type(default) is int:
        return f"a whole number from {takes[0]} to {takes[1]}"
    if takes == _TEXT:
        return "a word without spaces"
    return " or ".join(takes) or "a path that begins with / or ~/"


def _takes(key: str) -> tuple:
    return next(row[2] for row in KEYS if row[0] == key)


def variable(key: str) -> str:
    """The environment variable of a key: HOLDFAST_LADDER_WARNING of ladder.warning."""
    return PREFIX + key.upper().replace(".", "_")


def of_environment(environ: dict[str, str]) -> "tuple[dict[str, Any], str]":
    """(values, what is wrong with others). A variable that is empty says nothing."""
    found, wrong = {}, []
    if any(name.startswith(PREFIX) and name != HOME for name in environ):
        for key in DEFAULTS:
            text = environ.get(variable(key), "").strip()
            try:
                if text:
                    found[key] = parse(key, text)
            except BadInput as problem:
                wrong.append(f"{variable(key)} {problem}")
    return found, "; ".join(wrong)


def fallen(config: Config) -> list[tuple[str, str, str]]:
    """(key, the one after it, what is wrong) wherever the second is below the first."""
    found = []
    for lower, *higher in _RISING:
        for upper in higher:
            if config[lower] > config[upper]:
                what = f"{lower} is {config[lower]} and {upper} {config[upper]}, which may not be less"
                found.append((lower, upper, what))
            lower = upper
    return found
