"""What was so when work was saved, looked at again before it is told.

It is verified, or changed and how, or neither can be known. Read-only: git's own files, the files that
were edited, the transcript after the checkpoint.
"""

import posix

from holdfast.core.brief import short
from holdfast.core.facts import Facts
from holdfast.core.fold import NO_RESULT
from holdfast.core.plain import ago, excerpt
from holdfast.core.seen import Seen, fingerprint
from holdfast.core.state import State
from holdfast.core.touched import bare, is_check
from holdfast.disk import probe, transcripts
from holdfast.errors import BadInput

_FILES, _TESTS, _LONGEST_LINE = 12, 3, 238
#: Bytes after a checkpoint that are looked at, and the seconds for it.
_MOST, _SECONDS = 1 << 20, 0.1


def edited(facts: Facts) -> list[str]:
    """The files that are looked at again: of those that were edited the ones worked with last."""
    return [path for path, row in facts.touched.files.items() if row[1]][-_FILES:]


def after(state: State, transcript: str) -> Seen:
    """What the session did after its last checkpoint, as far as its transcript tells."""
    start = state.heard.saved.get("offset", 0)
    try:
        stop = posix.stat(transcript).st_size if start else 0
        return transcripts.fold_part(state.seen, transcript, start, stop, _MOST, _SECONDS)
    except (OSError, ValueError, BadInput):
        return Seen(state.agent)


class Probe:
    """What was found; `at` is when it is looked for."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.verified: list[str] = []
        self.changed: list[str] = []  # a line each
        self.unsure: list[str] = []

    def git(self, name: str, was: str, now: str) -> None:
        if was and now and was not in (now, "HEAD") and "[redacted:" not in was:
            self.changed.append(f"Changed since: {name} was {was}, is {now}")
        elif was == now != "":
            self.verified.append(f"{name} {now}")

    def files(self, paths: list[str], cwd: str, was: dict, key: bytes, since: int, done: Seen) -> None:
        """`was`: the marks they had. `done`: what the session did after that, and `since`: until when. What
        it changed itself, by an edit or a command, is no news."""
        here = probe.marks(paths, key)
        own = {row[0] for row in done.edits}
        gone, other = [], []
        for path in paths:
            number, name = fingerprint(path), short(path, cwd)
            now, before = here.get(str(number)), was.get(str(number))
            if now == []:
                self.unsure.append(f"{name} (there was no time to look at it)")
            elif not now:
                # Gone since only if it was there then; under a name without its secrets nothing is found.
                gone += [name] if (before or not was) and "[redacted:" not in path else []
            elif number in own or not before:
                if now[1] > since:
                    other.append(f"{name} ({ago(self.at - now[1])})")
                else:
                    self.unsure.append(f"{name} (its content is not known from then)")
            elif before[2] and before[2] == now[2]:
                self.verified.append(name)
            elif before[:2] == now[:2] and not (before[2] and now[2]):
                self.unsure.append(f"{name} (size and time are the same; its content was not read)")
            elif not before[1] < now[1] <= since:
                other.append(f"{name} ({ago(self.at - now[1])}, {_sizes(before[0], now[0])})")
        self.changed += [f"Gone since: {', '.join(gone)}"] if gone else []
        self.changed += [f"Changed since: {', '.join(other)}"] if other else []

    def tests(self, facts: Facts, done: Seen) -> None:
        """Whether those that failed were run again."""
        ended = {row[0]: row[5] for row in done.commands if row[5] != NO_RESULT}
        failed = [one for one, row in facts.touched.commands.items() if row[2] and is_check(one)]
        for command in failed[-_TESTS:]:
            shown, status = f"`{excerpt(bare(command), 80)}`", ended.get(fingerprint(command))
            if status is None:
                self.unsure.append(f"{shown} (failed, and was not seen to be run again)")
            elif status:
                self.verified.append(f"{shown} still fails")
            else:
                self.changed.append(f"Changed since: {shown} failed, and passed when it was run again")

    def news(self) -> list[str]:
        """What is no longer so."""
        return [excerpt(line, _LONGEST_LINE) for line in self.changed]

    def lines(self) -> list[str]:
        found = [f"Verified: {', '.join(self.verified)}"] if self.verified else []
        found += self.changed
        found += [f"Not verified: {', '.join(self.unsure)}"] if self.unsure else []
        return [excerpt(line, _LONGEST_LINE) for line in found]


def _sizes(was: int, now: int) -> str:
    return f"{was:,} → {now:,} bytes" if was != now else f"{now:,} bytes as before"
