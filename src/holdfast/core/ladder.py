"""The rungs of the ladder: what a fill means. Of `fill`, so that each can be reached on every model."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.config import Config

#: What a rung is called in a state: its place on the ladder as long as nobody has moved it.
CHECKPOINT, WARNING, ADVISORY, ALERT, CRITICAL = 60, 70, 85, 93, 97
#: (rung, key of its fill in %, name), lowest first. The warning on a prompt is no level: it has to wait for
#: a prompt.
LEVELS = (
    (CHECKPOINT, "ladder.checkpoint", "proactive checkpoint"),
    (WARNING, "ladder.warning", "L1 Warning"),
    (ADVISORY, "ladder.advisory", "L2 Advisory"),
    (ALERT, "ladder.alert", "L3 Yellow Alert"),
    (CRITICAL, "ladder.critical", "L4 Critical"),
)
PROMPT = "ladder.prompt_warning"
BELOW = "normal"


def name_of(rung: int) -> str:
    return next((name for at, _, name in LEVELS if at == rung), BELOW)


def reached(fill: float, config: "Config", pace: float = 0.0, first: float = 0.0) -> int:
    """The highest rung that counts: where the window stands, or the one above when it fills so fast (`pace`
    in percent per operation) that this will not be long. `first` is where the first warning is now, if
    elsewhere than usual."""
    found = 0
    for rung, key, _ in LEVELS:
        threshold = first if first and rung == WARNING else config[key]
        if fill < threshold:
            is_near = fill + config["guard.operations_ahead"] * pace >= threshold
            is_fast = pace > config["guard.velocity_percent"]
            return rung if pace > 0 and (is_near or is_fast) else found
        found = rung
    return found
