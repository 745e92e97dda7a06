"""The rungs of the ladder: what a fill means. Of `fill`, so that each can be reached on every model."""

#: (fill in %, name), lowest first.
RUNGS = (
    (60, "checkpoint"),
    (70, "L1 warning"),
    (80, "prompt warning"),
    (85, "L2 advisory"),
    (93, "L3 alert"),
    (97, "L4 critical"),
)
BELOW = "normal"


def level(fill: float) -> str:
    """The highest rung that has been reached."""
    return next((name for rung, name in reversed(RUNGS) if fill >= rung), BELOW)
