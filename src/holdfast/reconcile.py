"""What was so when work was saved, looked at again before it is told.

It is verified, or changed and how, or neither can be known. Read-only: git's own files, the files that
were edited, the transcript after the checkpoint.
"""

import posix

from holdfast.clock import at
from holdfast.core import spoken
from holdfast.core.brief import short
from holdfast.core.facts import Facts
from holdfast.core.fold import NO_RESULT
from holdfast.core.jsontext import text
from holdfast.core.outcome import FAILED, PASSED, Outcome, outcome
from holdfast.core.plain import ago, excerpt, one_line
from holdfast.core.seen import Seen, fingerprint
from holdfast.core.state import State
from holdfast.disk import files, probe, transcripts
from holdfast.disk.words import Words
from holdfast.errors import BadInput, HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

_FILES, _TESTS, _EDITS, _LONGEST_LINE = 12, 3, 4, 238
#: Bytes of a file that are read; characters of a line that are shown; so much of a line another must have
#: to be its successor; what stands between the lines of an edit.
_LARGEST, _SHOWN, _ALIKE, _GLUE = 1 << 18, 70, 0.5, " ⏎ "
_LONGEST_COMMAND = 200
#: What is said of tests that fail.
_FAILS = ("fail", "red ", "broken", "schlägt", "fehl", "falla", "échou", "失败", "不通过", "失敗", "падает")
_ABOUT = ("test", "spec", "assert", "suite", "prueba", "测试", "テスト", "тест", " → ")
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
    """What was found; `at` is when it is looked for. `stale`: files in which a line that was written is not
    any more; `has_passed`: whether tests that failed have passed since."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.verified: list[str] = []
        self.changed: list[str] = []  # a line each
        self.unsure: list[str] = []
        self.stale: dict[str, str] = {}  # path -> what is so now
        self.has_passed = False

    def git(self, name: str, was: str, now: str) -> None:
        if was and now and was not in (now, "HEAD") and "[redacted:" not in was:
            self.changed.append(f"Changed since: {name} was {was}, is {now}")
        elif was == now != "":
            self.verified.append(f"{name} {now}")

    def written(self, edits: list[list], redact: "Redact") -> None:
        """Whether the lines that were written last stand in their files: the newest of each file in rows of
        `[turn, path, lines]`, which are redacted, and may be cut short. To be looked at before `files`."""
        newest = {path: lines for _, path, lines in edits}
        for path, lines in list(newest.items())[-_EDITS:]:
            try:
                there = files.read(path, _LARGEST).decode("utf-8", "replace").split("\n")
            except (OSError, ValueError, HoldfastError):  # gone, or large: `files` says so
                continue
            plain = ["", *filter(None, map(one_line, there)), ""]
            own = ["", *filter(None, map(str.strip, lines.split(_GLUE))), ""]
            for before, line, behind in zip(own, own[1:], own[2:], strict=False):
                if "[redacted:" not in line and not _stands(line, plain):
                    now = excerpt(redact(_successor(before, line, behind, plain)), _SHOWN)
                    what = f"is now `{now}`" if now else "is not in it any more"
                    self.stale[path] = f"`{excerpt(line, _SHOWN)}` {what}"
                    break

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
            elif path in self.stale:
                how = f", {_sizes(before[0], now[0])}" if before and before[:2] != now[:2] else ""
                when = f"{ago(self.at - now[1])}{how}"
                # By a person, or a formatter: the checkpoint saw it so, and the session wrote it otherwise.
                was_so = _is_same(before, now) if before else now[1] <= since
                head = "Changed before it was saved" if was_so else "Changed since"
                self.changed.append(f"{head}: {name} ({when}): {self.stale[path]}")
            elif number in own or not before:
                if now[1] > since:
                    other.append(f"{name} ({ago(self.at - now[1])})")
                else:
                    self.unsure.append(f"{name} (its content is not known from then)")
            elif _is_same(before, now):
                unread = f"{name} (size and time are the same; its content was not read)"
                (self.verified if now[2] else self.unsure).append(name if now[2] else unread)
            elif not before[1] < now[1] <= since:
                other.append(f"{name} ({ago(self.at - now[1])}, {_sizes(before[0], now[0])})")
        self.changed += [f"Gone since: {', '.join(gone)}"] if gone else []
        self.changed += [f"Changed since: {', '.join(other)}"] if other else []

    def tests(self, facts: Facts, done: Seen, transcript: str, run: dict, since: int) -> None:
        """Whether those that failed were run again: by the session itself, or, in the last `run` of the
        working tree, by anybody `since`."""
        known = facts.touched.tests()
        failed = [one for one in known if one.has_failed][-_TESTS:]
        again = _runs(done, transcript) if failed else {}
        is_new = bool(run) and at(run["at"]) > since
        # A run that does not say what it ran can only be that of the one command that is known.
        only = excerpt(known[0].named, _LONGEST_COMMAND) if len(known) == 1 else ""
        ran = run.get("command") or only
        still = False
        for one in failed:
            shown, ended = f"`{excerpt(one.named, 80)}`", again.get(one.named)
            by = ended.ended if ended else ""
            said = f" ({ended.said()})" if ended else ""
            if not ended and is_new and ran == excerpt(one.named, _LONGEST_COMMAND):
                by = PASSED if run["passed"] else FAILED
            elif by == PASSED:
                self.changed.append(
                    f"Changed since: {shown} failed, and passed when it was run again{said}"
                )
            if by == FAILED:
                self.verified.append(f"{shown} still fails{said}")
            elif by != PASSED:
                again_said = f"was run again: {ended.said()}" if ended else "was not seen to be run again"
                self.unsure.append(f"{shown} (failed, and {again_said})")
            still |= by != PASSED
        self.has_passed = bool(failed) and not still
        if is_new and known and run["passed"] == bool(failed):
            self.changed.append(f"Changed since: tests {_outcome(run, self.at)}")

    def outdated(self, line: str) -> bool:
        """Whether a line tells of tests that fail which have passed since."""
        low = line.lower()
        return self.has_passed and any(map(low.__contains__, _FAILS)) and any(map(low.__contains__, _ABOUT))

    def news(self) -> list[str]:
        """What is no longer so."""
        return [excerpt(line, _LONGEST_LINE) for line in self.changed]

    def lines(self) -> list[str]:
        found = [f"Verified: {', '.join(self.verified)}"] if self.verified else []
        found += self.changed
        found += [f"Not verified: {', '.join(self.unsure)}"] if self.unsure else []
        return [excerpt(line, _LONGEST_LINE) for line in found]


def _is_same(before: list, now: list) -> bool:
    """Whether a file is as it was: by its content, or, where that was not read, by size and time."""
    return bool(before[2] == now[2] if before[2] and now[2] else before[:2] == now[:2])


def _stands(line: str, there: list[str]) -> bool:
    """Whether it is there, however it is laid out: a formatter changes blanks and quotes."""
    whole = line.removesuffix(" …")
    if whole != line:
        return any(one.startswith(whole) for one in there)
    return line in there or _bare(line) in map(_bare, there)


def _bare(line: str) -> str:
    bare = ""
    for word in line.replace('"', "'").rstrip(",;").split():
        bare += f" {word}" if bare[-1:].isalnum() and word[0].isalnum() else word
    return bare


def _successor(before: str, line: str, behind: str, there: list[str]) -> str:
    """What is in its place: a line like it that stands between the same neighbours, or beside one of them
    with the same words, or that gives the same name another value; "" where nothing shows that."""
    same_name = []
    for above, other, below in zip(there, there[1:], there[2:], strict=False):
        held = above == before, below == behind
        if _alike(line, other) < _ALIKE:
            continue
        words, others = _names(line), _names(other)
        if (all(held) and before and behind) or (any(held) and (words <= others or others <= words)):
            return other
        same_name += [other] if _named(line) and _named(line) == _named(other) else []
    return same_name[0] if len(same_name) == 1 else ""


def _alike(line: str, other: str) -> float:
    """How much of the longer both begin and end with."""
    shorter = min(len(line), len(other))
    begins = next((n for n in range(shorter) if line[n] != other[n]), shorter)
    ends = next((n for n in range(shorter - begins) if line[-1 - n] != other[-1 - n]), shorter - begins)
    return (begins + ends) / max(len(line), len(other))


def _names(line: str) -> set[str]:
    """The words in it that are no numbers."""
    apart = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in line).split()
    return {word for word in apart if not word[0].isdecimal()}


def _named(line: str) -> str:
    """What it defines or sets, up to the sign behind it; "" if it does neither."""
    ends = [at for at in (line.find(":"), line.find("=")) if at > 0]
    return line[: min(ends)].rstrip() if ends and line[min(ends) : min(ends) + 2] != "==" else ""


def _outcome(run: dict, now: int) -> str:
    by = f"`{excerpt(run['command'], 80)}`, " if run["command"] else ""
    many = f"{run['count']} tests, " if run["count"] and run["passed"] else ""
    many = many or (f"{run['failed']} of {run['count']}, " if run["count"] else "")
    return f"{'passed' if run['passed'] else 'failed'} ({by}{many}{ago(now - at(run['at']))})"


def _runs(done: Seen, transcript: str) -> dict[str, Outcome]:
    """What runs tests -> how its last run among these ended."""
    found: dict[str, Outcome] = {}
    words = Words(transcript)
    for what, offset, length, result, size, status, is_test in done.commands:
        if not is_test or status == NO_RESULT:
            continue
        for command, call in _calls(words(offset, length)):
            if fingerprint(command) == what:
                ended = outcome(command, status, _answer(words(result, size), call))
                if ended:
                    found[one_line(ended.named)] = ended
    words.close()
    return found


def _calls(records: list) -> list[tuple[str, str]]:
    """(command, id) of every call of a shell."""
    blocks = [
        block for record in records for block in spoken.blocks(record) if type(block.get("input")) is dict
    ]
    return [(text(block["input"], "command"), text(block, "id")) for block in blocks]


def _answer(records: list, call: str) -> str:
    for record in records:
        for block in spoken.blocks(record):
            if text(block, "tool_use_id") == call:
                return spoken.joined(block.get("content"))
    return ""


def _sizes(was: int, now: int) -> str:
    return f"{was:,} → {now:,} bytes" if was != now else f"{now:,} bytes as before"
