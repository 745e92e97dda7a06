"""What is said of an account that was made from a part of the transcript."""

from holdfast.core.facts import Facts


def sentence(facts: Facts) -> str:
    """How much of the transcript has been read, and what is known of the rest; "" where all of it has."""
    if facts.start <= 0 or facts.offset <= 0:
        return ""
    lacking = facts.skimmed + facts.unread or facts.start
    read = max(0, facts.offset - lacking)
    said = (
        f"holdfast came late to this transcript: {100 * read // facts.offset} % of it is read so far "
        f"({_mb(read)} of {_mb(facts.offset)} MB, the newest)."
    )
    if facts.skimmed:
        said += f" Of {_mb(facts.skimmed)} MB more it knows what was typed and said, not what tools did."
    if facts.unread:
        said += f" {_mb(facts.unread)} MB are not read at all yet."
    return said


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}" if size < 10_000_000 else f"{size // 1_000_000}"
