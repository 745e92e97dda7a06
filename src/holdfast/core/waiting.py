"""Prompts that waited in the client's queue while the model worked, and were written down nowhere else.

Clients before 2.1.97 note only that a prompt was put into the queue, and later that it was taken out: it
has gone to the model with the next results. Newer ones write it down again, as an attachment: then that
line counts, and what waited is dropped.
"""

from holdfast.core import speaker, spoken
from holdfast.core.jsontext import text
from holdfast.core.seen import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

#: Where such a row stands: in the queue; taken out of it; and results came since.
_WAITS, _GIVEN, GIVEN_BEFORE = range(3)
_MOST, _LONGEST = 48, 8_000


def queue(rows: list, record: dict, offset: int, redact: "Redact") -> None:
    """Take in one line of the queue. A row is [fingerprint, offset, words, where it stands]."""
    what, words = text(record, "operation"), text(record, "content").strip()
    if what == "enqueue":
        is_prompt = speaker.of_words(words) == speaker.USER and not words.startswith("/")
        kept = spoken.redacted(words, redact)[:_LONGEST] if is_prompt else ""
        rows.append([fingerprint(words), offset, kept, _WAITS])
        del rows[:-_MOST]
    elif what == "popAll":  # back to where it was typed
        rows[:] = [row for row in rows if row[3] != _WAITS]
    elif words:  # a client that writes it down again
        drop(rows, words)
    elif what in ("dequeue", "remove"):
        first = next((row for row in rows if row[3] == _WAITS), None)
        if first and what == "remove" and first[2]:
            first[3] = _GIVEN
        elif first:  # it begins a turn, in a line of its own
            rows.remove(first)


def drop(rows: list, words: str) -> None:
    """Forget one that is written down again."""
    known = fingerprint(words.strip())
    twin = next((row for row in rows if row[0] == known), None)
    if twin:
        rows.remove(twin)


def answered(rows: list) -> None:
    """Note that results came: what was taken out of the queue went to the model with them."""
    for row in rows:
        if row[3] == _GIVEN:
            row[3] = GIVEN_BEFORE


def late(rows: list, since: int = _GIVEN) -> list:
    """Return, once, those that have gone to the model and were not written down again."""
    found = [row for row in rows if row[3] >= since]
    rows[:] = [row for row in rows if row[3] < since]
    return found
