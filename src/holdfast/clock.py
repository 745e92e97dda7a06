"""The only reader of time. Inside the program time is epoch milliseconds; on disk RFC 3339 UTC."""

import time


def now() -> int:
    return int(time.time() * 1000)


#: Seconds that only go forward, for budgets: the wall clock may be set back in the middle.
elapsed = time.monotonic


def rfc3339(at: int) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 1000))}.{at % 1000:03d}Z"
