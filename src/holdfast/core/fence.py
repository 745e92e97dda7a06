"""Text that goes into a session, between two marks that nobody could know who wrote any of it.

What a tool printed, a file held or a web page said may speak to the model. It comes out as data: on lines
of its own, without anything invisible, unable to end the fence or to open one of the client's own.
"""

from holdfast.core.facts import FENCE
from holdfast.core.plain import one_line

#: What a client, or holdfast, would take for a mark of its own.
_OPENERS = ("</", "<system", "<holdfast", "<user", "<assistant", "<human", "<command", "<local-command")


def fenced(mark: str, says: str, lines: list[str]) -> str:
    """`says` is ours and tells what the lines are; the lines are data."""
    body = "\n".join(inert(line) for line in lines)
    return f"<{FENCE}{mark}>\n{says}\n{body}\n</{FENCE}{mark}>"


def inert(line: str) -> str:
    line = one_line(line)
    if "<" not in line:
        return line
    lower = line.lower()
    for opener in _OPENERS:
        at = lower.find(opener)
        while at >= 0:
            line = f"{line[:at]}‹{line[at + 1 :]}"
            lower = line.lower()
            at = lower.find(opener)
    return line
