"""All that is known of one session (or one subagent of it): what was seen and what was heard."""

from holdfast.core.events import Event
from holdfast.core.heard import PROMPT, Heard, hear
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import Seen
from holdfast.errors import Damaged

VERSION = 1


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
        self.sampled = [0, ""]  # what the last sample said: used, source

    @property
    def has_transcript(self) -> bool:
        return bool(self.seen.entries)

    def overlay(self, event: Event) -> None:
        """The event on stdin is newer than the file: remember what the file does not say yet."""
        hear(self.heard, event)
        if event.name == "UserPromptSubmit":
            self.heard.pending[PROMPT][2:] = [self.seen.prompted, self.seen.turns]
        elif event.name == "SessionStart" and event.data.get("source") == "compact":
            # The summary is in the window, but neither it nor the boundary in the transcript.
            self.heard.awaits = self.seen.compacted + 1
        self.settle()

    def settle(self) -> None:
        """Forget what was pending and has by now been read."""
        pending = self.heard.pending
        for call in self.seen.answered:
            pending.pop(str(call), None)
        prompt = pending.get(PROMPT)
        if prompt and (self.seen.prompted > prompt[2] or self.seen.turns > prompt[3]):
            del pending[PROMPT]

    @property
    def awaits_boundary(self) -> bool:
        """A compaction was heard of that the transcript does not show yet."""
        return self.heard.awaits > self.seen.compacted

    def render(self) -> bytes:
        saved = {
            "v": VERSION,
            "session": self.session,
            "agent": self.agent,
            "seen": self.seen.to_json(),
            "behind": self.behind.to_json() if self.behind else None,
            "heard": self.heard.to_json(),
            "sampled": self.sampled,
        }
        return dump(saved).encode()


def parse(data: bytes, where: str) -> State:
    """The state that `render` wrote; anything else is Damaged."""
    try:
        saved = load(data.decode("utf-8"))
        if type(saved) is not dict or saved.get("v") != VERSION:
            raise ValueError("not a state of this version")
        state = State(saved["session"], saved["agent"])
        state.seen = Seen.from_json(saved["seen"], state.agent)
        if saved["behind"]:
            state.behind = Seen.from_json(saved["behind"], state.agent)
        state.heard = Heard.from_json(saved["heard"])
        state.sampled = saved["sampled"]
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(f"{where} is not a state holdfast can read ({problem}); it is set aside") from problem
    return state
