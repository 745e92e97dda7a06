"""The sessions of this user: those hooks have told of and those whose transcripts are found."""

from __future__ import annotations

from holdfast.app import Holdfast
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.fills import Session
    from holdfast.ops.spent import Spending


def list_all(
    app: Holdfast, folder: str | None = None, *, scan: bool = False, limit: int = 20
) -> list[Session] | Spending:
    """Every session of this user, newest first: how full its window is, or what it has used.

    Parameters
    ----------
    folder
        Scan the transcripts below this folder instead of the client's own.
    scan
        Count the tokens of every response in every transcript: input, cache, output, by session and model.
    limit
        How many to show; 0 for all. A scan counts all of them.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    if scan:
        from holdfast.ops.spent import spending

        return spending(app, folder, limit)
    if folder is not None:
        raise BadInput(f"{folder!r} is a folder to scan: holdfast sessions --scan {folder}")
    from holdfast.ops.fills import newest

    return newest(app, limit)
