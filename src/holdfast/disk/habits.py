"""What this user's sessions did before, for the forecast: home/habits.json.

One row for each of the newest sessions: its model, and how much a turn added and took. A row is the whole
session so far, so writing it again changes nothing. Without the file a forecast is a little less sharp, and
it fills again as sessions go on: it is never waited for.
"""

from holdfast.core.forecast import Habit, habit
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import checksum
from holdfast.core.state import State
from holdfast.disk import files, trail
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

VERSION = 1
_HEAD = b'{"v":%d,"sum":' % VERSION
_LARGEST = 1 << 16
_MOST = 24
#: Turns from which on a session says how this user works.
_LEAST_STEPS = 20


def of(home: Home, model: str) -> Habit:
    """As far as past sessions tell; what is typical where they do not, or cannot be read."""
    try:
        return habit(model, _read(home).values())
    except (OSError, BadInput, Damaged):
        return habit(model, ())


def bring_up(home: Home, state: State) -> bool:
    """Write down what a session has done so far. False where it is too short or an agent's, and where that
    is not possible now: another session is writing, or the disk will not."""
    meter = state.seen.meter
    if state.agent or meter.steps < _LEAST_STEPS:
        return False
    tokens, seconds = (
        (max(0, hundredths) / 100 / meter.steps) ** 2
        for hundredths in (meter.step_tokens, meter.step_seconds)
    )
    try:
        files.make_dir(home.root)
        lock = files.Lock(home.root + "/habits.lock")
        if not lock.attempt():
            return False
        with lock:
            sessions = _known(home)
            sessions.pop(state.session, None)
            sessions[state.session] = [meter.model, meter.steps, round(tokens), round(seconds, 1)]
            rest = dump({"sessions": dict([*sessions.items()][-_MOST:])})[1:].encode()
            files.replace(_path(home), b"%s%d,%s" % (_HEAD, checksum(rest), rest), durable=False)
    except OSError:
        return False
    return True


def _known(home: Home) -> dict[str, list]:
    """What stands there. What is damaged is set aside and made anew, session by session."""
    try:
        return _read(home)
    except FileNotFoundError:
        return {}
    except (Damaged, BadInput) as problem:
        aside = files.set_aside(_path(home))
        trail.note(home, "degraded.habits", what=str(problem), aside=aside.rpartition("/")[2])
        return {}


def _read(home: Home) -> dict[str, list]:
    path = _path(home)
    data = files.read(path, _LARGEST)
    written, _, rest = data.removeprefix(_HEAD).partition(b",")
    try:
        if not data.startswith(_HEAD) or written != b"%d" % checksum(rest):
            raise ValueError("its checksum does not fit")
        sessions: dict[str, list] = load("{" + rest.decode())["sessions"]  # type: ignore[index]
        if any([type(value) for value in row] != [str, int, int, float] for row in sessions.values()):
            raise ValueError("a row is none")
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(f"{path} is not what holdfast writes there: {problem}") from problem
    return sessions


def _path(home: Home) -> str:
    return home.root + "/habits.json"
