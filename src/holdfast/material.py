"""What a checkpoint, a preservation block and a brief are made from, read and redacted once per event."""

import posix

from holdfast.apart import by_a_child
from holdfast.app import GATHERED, Holdfast
from holdfast.core import partial
from holdfast.core.compose import Composer, Member
from holdfast.core.digest import sha256_hex
from holdfast.core.events import Event, goes_on
from holdfast.core.facts import Facts
from holdfast.core.plain import excerpt
from holdfast.core.redact import Redactor
from holdfast.core.settled import Settled
from holdfast.core.state import State
from holdfast.core.worth import Item, weighed
from holdfast.disk import checkpoints, client, files, gathered, results, spool, trail, worktree
from holdfast.disk.folder import Folder
from holdfast.disk.home import is_safe_name
from holdfast.disk.words import Words
from holdfast.errors import BadInput, is_shut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from holdfast.core.spoken import Redact

    Asked = TypeVar("Asked")

_LARGEST_ALLOWED = 1 << 16
#: Bytes of transcript whose facts one event may take in, and the seconds for it.
_MOST = (3 << 20, 0.3)
_MOST_AT = {"PreCompact": (8 << 20, 0.9), "SessionStart": (8 << 20, 0.7), "SessionEnd": (4 << 20, 0.3)}
#: Characters of a checkpoint: 4,000 tokens, and what of them the facts have in any case.
_ROOM, _AT_LEAST = 13_000, 3_500
_COLD = 8


class Ground:
    """Where a session works: its project, where that stands in git, and the lineage that owns the work."""

    __slots__ = ("branch", "commit", "lineage", "project", "tree")

    def __init__(self, project: str, cwd: str = "", agent: str = "") -> None:
        self.project = worktree.real(project or cwd or _cwd())
        # An agent may have been given a working tree of its own; its files go to the project, which stays.
        tree = self.tree = worktree.find(cwd if agent and cwd else self.project)
        self.branch = tree.branch if tree else ""
        self.commit = tree.commit if tree else ""
        owner = f"{tree.common}\n{tree.root}" if tree else self.project
        self.lineage = sha256_hex(f"{owner}\n{agent}".encode("utf-8", "surrogatepass"))[:16]


def _cwd() -> str:
    try:
        return posix.getcwd()
    except OSError:
        return "/"


class Material:
    """Made when something is to be written or said; each part of it when it is first needed."""

    def __init__(
        self, state: State, event: Event, app: Holdfast, transcript: str, key: bytes = b""
    ) -> None:
        self.state = state
        self.app = app
        self.ground = Ground(state.heard.project, event.cwd, state.agent)
        self.redactor = redactor_of(app, self.ground.project, key)
        self.transcript = transcript
        self._limits = _MOST_AT.get(event.name, _MOST)
        self._keeps = not goes_on(event)
        self._at = event.at
        self._team: list[Member] | None = None
        self._workflows: list[str] | None = None
        self._facts: Facts | None = None
        self._sections: dict[str, list[str]] | None = None
        self.room = _ROOM
        self.summary = ""
        self._weighed: list[Item] | None = None
        self._settled: Settled | None = None
        self._steps: list = []  # tasks and errors

    @property
    def facts(self) -> Facts:
        if self._facts is None:
            known = gathered.load(self.app.home, self.state)
            before = known.offset
            most, seconds = self._limits
            if gathered.is_partial(known) or self.state.seen.offset - known.offset > most:
                if self._keeps and known.offset and not known.start and not self.app.full:
                    gathered.keep_whole(self.app.home, self.state)
                known = gathered.furthest(self.app.home, self.state, known, self.transcript)
            self._facts = self._gather(known, most, min(seconds, self.app.left(GATHERED)))
            if self._keeps and (self._facts is not known or self._facts.offset != before):
                self._facts.worths = []
                self._weighed = weighed(self._facts)  # a brief need not weigh again
                self._save(self._facts)
        return self._facts

    def _save(self, facts: Facts) -> None:
        try:
            gathered.save(self.app.home, self.state, facts)
        except OSError as problem:  # they are gathered again, from where they were
            if not (self.app.full or is_shut(problem)):
                raise

    def _gather(self, known: Facts, most: int, seconds: float) -> Facts:
        return gathered.bring_up(known, self.state, self.transcript, self.redactor.text, most, seconds)

    @property
    def is_partial(self) -> bool:
        """Whether something was gathered, and not from all of the transcript."""
        return self._facts is not None and gathered.is_partial(self._facts)

    @property
    def stays_from(self) -> int:
        """Where in the transcript begins what need not be told, for it stands in the window; 0: nowhere."""
        since = self.state.stays_from
        return since if self.facts.start < since else 0

    @property
    def weighed(self) -> list[Item]:
        if self._weighed is None:
            self._weighed = weighed(self.facts, 0 if self._keeps else self.stays_from)
        return self._weighed

    @property
    def settled(self) -> Settled:
        if self._settled is None:
            self._settled = Settled(self.facts)
        return self._settled

    @property
    def sections(self) -> dict[str, list[str]]:
        if self._sections is None:
            from holdfast.core.told import fill  # a brief needs no sections

            asked = self._ask(lambda made: (made.sections(), made.summary(), made.steps(), made.errors()))
            self._sections, self.summary, *self._steps = asked
            used = sum(len(item) + 3 for items in self._sections.values() for item in items)
            fill(
                self._sections,
                self.facts,
                self.weighed,
                max(_AT_LEAST, self.room - used),
                self.state.heard.pressed,
                self.settled,
            )
            self._sections["Active Issues"] += filter(None, [partial.sentence(self.facts)])
        return self._sections

    @property
    def tasks(self) -> list[tuple[str, str]]:
        """(status, subject)."""
        return self._known()[0]

    @property
    def errors(self) -> list[str]:
        return self._known()[1]

    def _known(self) -> tuple[list[tuple[str, str]], list[str]]:
        if not self._steps:  # without the rest, which a brief does not need
            self._steps = self._ask(lambda made: [made.steps(), made.errors()])
        steps, errors = self._steps
        return steps, errors

    def _ask(self, what: "Callable[[Composer], Asked]") -> "Asked":
        state, app = self.state, self.app
        words = Words(self.transcript)
        tasks = client.tasks(app.client_dir, state.session) if not state.agent else {}
        tree = self.ground.tree
        run = results.of(app.home, spool.key(tree.root)) if tree else {}
        redact, project = self.redactor.text, self.ground.project
        composer = Composer(state, words, redact, project, tasks, run, self.team, self.workflows)
        try:
            said = what(composer)
        finally:
            words.close()
        if words.trouble:
            whose = {"session": state.session, "agent": state.agent}
            trail.note(app.home, "degraded.words", **whose, what=words.trouble)
        return said

    @property
    def team(self) -> "list[Member]":
        """The agents of the session, as they stand now."""
        if self._team is None:
            self._team, home, state = [], self.app.home, self.state
            if not state.agent and files.is_there(home.session(state.session) + "/agents"):
                from holdfast.disk.team import roster  # most sessions have none

                self._team = roster(home, state, self._at, self.redactor.text)
        return self._team

    @property
    def workflows(self) -> list[str]:
        """How far each is that started this session, or is under way where it works."""
        if self._workflows is None:
            self._workflows = progress(
                self.app, self.ground, self.state.session, self._at, self.redactor.text
            )
        return self._workflows

    def cold(self) -> list[str]:
        """Summaries of work that is done with, ready to be kept verbatim."""
        from holdfast.core.cold import verbatim  # for the block alone
        from holdfast.disk import summaries

        state = self.state
        try:
            newest = summaries.newest(self.app.home, state.session, _COLD, state.agent)
        except OSError as problem:  # the block does without them
            whose = {"session": state.session, "agent": state.agent}
            trail.note(
                self.app.home, "degraded.summaries", **whose, what=f"{type(problem).__name__}: {problem}"
            )
            return []
        return [line for summary in newest for line in verbatim(summary)]

    def branch(self) -> str:
        return excerpt(self.redactor.text(self.ground.branch), 200)


class Looked(Material):
    """The same for whoever only looks: all of the transcript, and nothing is written."""

    def __init__(self, state: State, app: Holdfast, transcript: str) -> None:
        nothing = Event("", state.session, 0, {"cwd": state.seen.cwd})
        super().__init__(state, nothing, app, transcript, checkpoints.known_key(app.home) or bytes(32))
        self._facts = self._gather(Facts(), 1 << 62, 1e9)
        self._team, self._workflows = [], []  # what is under way nobody can tell by a transcript

    def cold(self) -> list[str]:
        """A copy may have a name that no session has."""
        return super().cold() if is_safe_name(self.state.session) else []


def progress(app: Holdfast, ground: Ground, session: str, now: int, redact: "Redact") -> list[str]:
    """A line for each workflow that `holdfast run` carries out for this session or where it works."""
    if not files.is_there(app.home.workflows):
        return []
    from holdfast.disk.conducted import progress as found  # most people have none

    folders = [ground.project, ground.tree.root if ground.tree else ""]
    return found(app.home, session, folders, now, redact)


def redactor_of(app: Holdfast, project: str, key: bytes = b"") -> Redactor:
    """Placeholders are made with this user's key; what the project says is no secret stays."""
    return Redactor(key or _key(app), _allowed(project))


def _key(app: Holdfast) -> bytes:
    """Made once, with writes that a disk may not answer to."""
    known = checkpoints.known_key(app.home)
    if app.full and not known:  # none can be made: of what is said now, nothing is compared later
        return posix.urandom(32)
    if known or not app.in_hook:
        return known or checkpoints.seal_key(app.home)
    (made,) = by_a_child(app, lambda tell, _: tell([checkpoints.seal_key(app.home).hex()]))
    return bytes.fromhex(made)


def _allowed(project: str) -> frozenset[str]:
    """What this project says is no secret, one value a line."""
    try:
        with Folder.open(project, ".claude") as folder:  # a link could name any file of the user's
            lines = folder.read("holdfast-allow", _LARGEST_ALLOWED).decode("utf-8", "replace")
    except (OSError, ValueError, BadInput):
        return frozenset()
    return frozenset(line.strip() for line in lines.split("\n") if line.strip() and line[0] != "#")
