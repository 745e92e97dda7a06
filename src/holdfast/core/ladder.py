"""The rungs of the ladder: what a fill means. Of `fill`, so that each can be reached on every model."""

CHECKPOINT, WARNING, PROMPT, ADVISORY, ALERT, CRITICAL = 60, 70, 80, 85, 93, 97
#: (fill in %, name), lowest first. The warning on a prompt is no level: a prompt has to come for it.
LEVELS = (
    (CHECKPOINT, "proactive checkpoint"),
    (WARNING, "L1 Warning"),
    (ADVISORY, "L2 Advisory"),
    (ALERT, "L3 Yellow Alert"),
    (CRITICAL, "L4 Critical"),
)
BELOW = "normal"
#: Per operation, in percent of the room, from which on the next rung is raised early; and how many
#: operations are looked ahead.
FAST, AHEAD = 5.0, 3


def name_of(rung: int) -> str:
    return next((name for at, name in LEVELS if at == rung), BELOW)


def reached(fill: float, pace: float = 0.0, first: float = WARNING) -> int:
    """The highest rung that counts: where the window stands, or the one above when it fills so fast (`pace`
    in percent per operation) that this will not be long. `first` is where the first warning is now."""
    found = 0
    for rung, _ in LEVELS:
        threshold = first if rung == WARNING else rung
        if fill < threshold:
            is_near = pace > FAST or fill + AHEAD * pace >= threshold
            return rung if pace > 0 and is_near else found
        found = rung
    return found
