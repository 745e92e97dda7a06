"""What the plugin's mod is answered when it has reported what the client measured.

The mod runs inside the client, which tells it the window and the usage of every session, also of one that
has no screen and so no statusline. It runs `launch.py measured` after every turn, with that on stdin in the
statusline's own form. And it can do what no hook can: start a compaction, between two turns. It does so
when it is told to, here; whatever stands in the way (a turn that has begun meanwhile) the client knows.
"""

from holdfast.app import Holdfast
from holdfast.core.decide import compaction_due
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import dump
from holdfast.core.state import State
from holdfast.disk import trail


def answer(state: State, event: Event, app: Holdfast, reading: Reading) -> str:
    """Nothing, or that a compaction is to be started now."""
    at = compaction_due(state, event, reading, app.config)
    if not at:
        return ""
    trail.note(app.home, "compaction.asked", session=state.session, fill=reading.fill, threshold=at)
    return dump({"compact": True})
