"""Text that goes into a session, between two marks that nobody could know who wrote any of it.

What a tool printed, a file held or a web page said may speak to the model. It comes out as data: on lines
of its own, without anything invisible, unable to end the fence or to open one of the client's own. What
stands between such marks when a session is read is holdfast's own, and is not taken in again.
"""

from holdfast.core.plain import length, one_line

#: Begins a line that a person typed. Nobody else's may.
TYPED = "> "
_NAME = "holdfast-"
_MARK = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_LONGEST_MARK = 48
#: Nothing we say is longer: so far the end of a fence is looked for.
_LONGEST = 12_000
#: What stands around the fence where the summariser is told what to keep.
BLOCK, RULES_TITLE = "COMPACTION PRESERVATION INSTRUCTIONS (holdfast", "COMPACTION RULES:"
RULES = (
    "Include ALL active/in-progress tasks with their current status",
    "Include the complete modified files list",
    "Preserve all key decisions: these explain WHY things were done",
    "Note any unresolved errors so work can resume correctly",
    "Keep the git diff summary so the state of changes is clear",
    "For PRE-COMPUTED SUMMARIES: use them verbatim, do not re-summarize",
    "Preserve next steps and in-progress work state",
    "Do NOT discard any pending/in-progress task context",
)
#: How a line is quoted, and a list numbered.
_QUOTED, _NUMBERED = " \t>`*•", "0123456789. "
#: What a client, or holdfast, would take for a mark of its own.
_OPENERS = (
    *("</", "<system", "<holdfast", "<user", "<assistant", "<human", "<command", "<local-command"),
    *("<task-", "<tool_", "<function_", "<invoke", "<antml", "<bash-", "<persisted-", "<ide_", "<|"),
    *("<analysis>", "<summary>"),
)
_WIDEST = max(map(len, _OPENERS))


def fenced(mark: str, says: str, lines: list[str], most: int = 1 << 30) -> str:
    """`says` is ours and tells what the lines are; the lines are data. Where all of it would have more
    than `most` characters the last lines are left out: a fence that is cut off has no end."""
    head, end = f"<{_NAME}{mark}>\n{says}\n", f"</{_NAME}{mark}>"
    room = most - length(head) - len(end)
    body = ""
    for line in filter(None, map(inert, lines)):
        line += "\n"
        room -= length(line)
        if room < 0:
            break
        body += line
    return head + body + end


def inert(line: str) -> str:
    line = one_line(line)
    at = line.find("<")
    while at >= 0:
        if line[at : at + _WIDEST].lower().startswith(_OPENERS):
            line = f"{line[:at]}‹{line[at + 1 :]}"
        at = line.find("<", at + 1)
    return line


def not_typed(line: str) -> str:
    """A line that nobody typed does not begin as those do."""
    line = inert(line)
    return "›" + line[1:] if line.startswith(TYPED[0]) else line


def outside(words: str) -> str:
    """Without what holdfast itself once said: from `<holdfast-…>` to its end. Where that has been lost,
    to the next empty line, of which we write none. And without what it says around that."""
    words = _unfenced(words)
    if BLOCK not in words and RULES_TITLE not in words:
        return words
    return "\n".join(line for line in words.split("\n") if not _is_ours(line))


def _is_ours(line: str) -> bool:
    line = line.strip(_QUOTED)
    return line.startswith(BLOCK) or line == RULES_TITLE or line.lstrip(_NUMBERED) in RULES


def _unfenced(words: str) -> str:
    start = words.find("<" + _NAME)
    if start < 0:
        return words
    kept, done = [], 0
    while start >= 0:
        opened = words.find(">", start, start + _LONGEST_MARK)
        name = words[start + 1 : opened]
        after = start + 1
        if opened >= 0 and _MARK.issuperset(name):
            kept.append(words[done:start])
            done = after = _end(words, f"</{name}>", opened)
        start = words.find("<" + _NAME, after)
    kept.append(words[done:])
    return "".join(kept)


def _end(words: str, closing: str, opened: int) -> int:
    last = min(len(words), opened + _LONGEST)
    end = words.find(closing, opened, last)
    if end >= 0:
        return end + len(closing)
    empty = words.find("\n\n", opened, last)
    return empty if empty >= 0 else last
