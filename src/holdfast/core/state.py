"""All that is known of one session (or one subagent of it): what was seen and what was heard."""

from holdfast.core.events import Event
from holdfast.core.heard import PROMPT, Heard, hear
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import Seen, checksum, numbers
from holdfast.errors import Damaged

VERSION = 1
_HEAD = b'{"v":%d,"sum":' % VERSION
#: Bytes up to which what came since a summary was asked for is taken to stand in the window as it is. More
#: hardly fits there: then that summary was given up, and of the one that came nobody was told.
_STAYS = 1 << 19
#: Clients before this one say twice a minute of an agent that is running that it has ended.
_ENDS, _ENDS_ONCE = "SubagentStop", (2, 1, 311)


class State:
    """`seen` is a cache of the transcript; `heard` is the truth of what only the hooks were told.
    `behind` is a second view being built from the start of a transcript whose newest part had to
    be read first; once it reaches the end it takes the place of `seen`."""

    def __init__(self, session: str, agent: str = "") -> None:
        self.session = session
        self.agent = agent
        self.seen = Seen(agent)
        self.behind: Seen | None = None
        self.heard = Heard()
        # What the last sample said: used, source, and why it could not be written.
        self.sampled: list = [0, ""]

    @property
    def has_transcript(self) -> bool:
        return bool(self.seen.entries)

    def overlay(self, event: Event) -> None:
        """The event on stdin is newer than the file: remember what the file does not say yet."""
        heard, seen = self.heard, self.seen
        before = heard.last
        hear(heard, event)
        if heard.last == _ENDS and not self.has_ended:
            heard.last = before
        # What was told just now is stamped with what had been read by then.
        if heard.model_at < 0:
            heard.model_at = seen.turns
        for waiting in heard.pending.values():
            waiting[2:] = waiting[2:] or [seen.prompted, seen.turns]
        if len(heard.told) == 2:
            heard.told += [seen.turns, seen.compacted]
        if event.name == "PreCompact":
            heard.compacting = seen.compacted + 1
        elif event.name == "SessionStart":
            heard.awaits = []
            is_compact = event.data.get("source") == "compact"
            if is_compact:
                # The summary is in the window, but neither it nor the boundary in the transcript.
                heard.awaits = [heard.compacting or seen.compacted + 1, seen.turns]
            if not (is_compact and heard.compacting):  # nor has a client a summary that another one made
                heard.summarised = []
            heard.compacting = 0
        self.settle()

    @property
    def has_ended(self) -> bool:
        """Whether a subagent of which the client says so is really at its end."""
        client = numbers(self.seen.version)
        return not (client and client < _ENDS_ONCE and self.seen.open)

    @property
    def stays_from(self) -> int:
        """Where in the transcript begins what stands in the window word for word, beside the summary; 0:
        that is not known, or a summary that came later has it."""
        seen = self.seen
        offset, rereads = self.heard.summarised or (0, 0)
        newest = seen.compactions[-1][4] if seen.compactions else -1
        is_known = rereads == seen.rereads and newest < offset and seen.offset - offset <= _STAYS
        return offset if is_known else 0

    def settle(self) -> None:
        """Forget what was pending and has by now been read, or was sent with a response that has."""
        seen, pending = self.seen, self.heard.pending
        for call in seen.answered:
            pending.pop(str(call), None)
        for what, (_, _, prompted, turns) in list(pending.items()):
            # One response may have been on its way to the file when this was told; a second has it.
            later = seen.turns - turns
            if later > 1 or (what == PROMPT and (later or seen.prompted > prompted)):
                del pending[what]

    @property
    def awaits_boundary(self) -> bool:
        """A compaction was heard of that the transcript does not show yet. One response may still
        have been on its way to the file; a second one means that the boundary will not come."""
        if not self.heard.awaits:
            return False
        compaction, turns = self.heard.awaits
        return bool(self.seen.compacted < compaction and self.seen.turns <= turns + 1)

    def render(self) -> bytes:
        """JSON that begins with its version and a checksum of everything after it."""
        saved = {
            "session": self.session,
            "agent": self.agent,
            "seen": self.seen.to_json(),
            "behind": self.behind.to_json() if self.behind else None,
            "heard": self.heard.to_json(),
            "sampled": self.sampled,
        }
        rest = dump(saved)[1:].encode()
        return b"%s%d,%s" % (_HEAD, checksum(rest), rest)


def parse(data: bytes, where: str) -> State:
    """The state that `render` wrote, to the byte; anything else is Damaged."""
    try:
        start = data.index(b",", len(_HEAD)) + 1
        if not data.startswith(b"%s%d," % (_HEAD, checksum(data, start))):
            raise ValueError("its checksum does not fit")
        saved: dict = load(data.decode("utf-8"))  # type: ignore[assignment]
        state = State(saved["session"], saved["agent"])
        state.seen = Seen.from_json(saved["seen"], state.agent)
        if saved["behind"]:
            state.behind = Seen.from_json(saved["behind"], state.agent)
        state.heard = Heard.from_json(saved["heard"])
        state.sampled = saved["sampled"]
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(f"{where} is not a state holdfast can read: {problem}") from problem
    return state
