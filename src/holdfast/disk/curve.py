"""The usage curve of a transcript, and nothing else of it.

Lines without a usage object are not parsed, which makes this several times faster than a fold.
"""

import posix

from holdfast.core.lines import Account, records
from holdfast.core.seen import Seen
from holdfast.core.transcript import Usage, usage
from holdfast.disk import files
from holdfast.disk.transcripts import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def usages(path: str) -> "Iterator[tuple[str, str, Usage]]":
    """(message id, model, Usage) of every main-chain response, in order; of each its last line."""
    seen = Seen()
    account = Account()
    fd = files.open_regular(path)
    try:
        last: tuple[str, str, Usage] | None = None
        size = posix.fstat(fd).st_size
        for _, raw, _ in lines(seen, fd, size, account, 1e18):
            if b'"usage"' not in raw or b'"assistant"' not in raw:
                continue
            for record in records(raw, account):
                if record.get("type") != "assistant" or record.get("isSidechain") is True:
                    continue
                message = record.get("message")
                found = usage(message.get("usage")) if type(message) is dict else None
                if found is None:
                    continue
                here = (str(message.get("id")), str(message.get("model")), found)
                if last and last[0] != here[0]:
                    yield last
                last = here
        if last:
            yield last
    finally:
        posix.close(fd)
