"""How far the workflows are that concern a session: for its checkpoint, and for when it goes on.

`holdfast run` keeps conductor-state.json in holdfast's own folder. A file of that name in a project says
nothing: whoever made the project wrote it.
"""

import posix

from holdfast.clock import at
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, load, text
from holdfast.core.plain import excerpt, quoted
from holdfast.disk import files, process, trail
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import MISTAKES, HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

NAME = "conductor-state.json"
#: The newest so many workflows are looked at, of each so many bytes; so many of them are said.
_MOST, _LARGEST, _SAID = 12, 4 << 20, 3
_LONGEST, _NAMED, _LONGEST_NAME = 700, 6, 60
#: One that failed or was stopped so long ago is no longer under way.
_WEEK_MS = 7 * 24 * 3_600_000
_LEFT = "left in the middle: its `holdfast run` is gone"
#: In this order; `starting` may or may not have been started.
_GROUPS = (
    ("done", ("done",)),
    ("running", ("running", "starting")),
    ("failed", ("failed",)),
    ("stopped", ("stopped",)),
    ("waiting", ("waiting",)),
)


def progress(
    home: Home, session: str, folders: "Collection[str]", now: int, redact: "Callable[[str], str]"
) -> list[str]:
    """A line for each workflow that started this session, or that is under way in one of these folders or
    below: the newest first. Each is redacted."""
    found = []
    for path in _newest(home.workflows):
        try:
            state = _read(path)
            if _concerns(state, session, folders, now):
                found.append(excerpt(redact(_line(state, session)), _LONGEST))
        except FileNotFoundError:
            continue  # nothing was begun
        except (OSError, HoldfastError, *MISTAKES, *UNREADABLE) as problem:
            what = f"{path}: {type(problem).__name__}: {problem}"
            trail.note(home, "degraded.workflow", session=session, what=excerpt(redact(what), 300))
        if len(found) == _SAID:
            break
    return found


def _newest(root: str) -> list[str]:
    """Their states, by when they changed last."""
    try:
        paths = [f"{root}/{name}/{NAME}" for name in posix.listdir(root) if is_safe_name(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(paths, key=_changed, reverse=True)[:_MOST]


def _changed(path: str) -> float:
    try:
        return posix.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _read(path: str) -> dict:
    """Of a version that is known, and of the workflow whose folder it lies in."""
    state = load(files.read(path, _LARGEST).decode("utf-8"))
    if type(state) is not dict or state.get("v") != 1:
        raise ValueError("not of a version that is known")
    workflow = text(state, "workflow").encode("utf-8", "surrogateescape")
    if not path.removesuffix("/" + NAME).endswith(sha256_hex(workflow)[:12]):
        raise ValueError("of another workflow")
    return state


def _concerns(state: dict, session: str, folders: "Collection[str]", now: int) -> bool:
    if any(one["id"] == session for one in state["sessions"]):
        return True
    folder = text(state, "folder")
    if not any(folder == one or folder.startswith(one.rstrip("/") + "/") for one in folders if one):
        return False
    return state["status"] != "done" and now - at(state["changed"]) < _WEEK_MS


def _line(state: dict, session: str) -> str:
    status, tasks = text(state, "status"), state["tasks"]
    pid = state.get("pid", 0)  # not known of one that an earlier version began
    is_left = status == "running" and process.is_gone(int(pid), at(state["changed"]))
    here = [name for name, node in state["nodes"].items() if node["status"] in ("running", "failed")]
    done = sum(task["status"] == "done" for task in tasks.values())
    parts = [
        f"Workflow {quoted(state['workflow'])}: {_LEFT if is_left else status}"
        + (f", at {_listed(here)}" if here else ""),
        f"{done} of {len(tasks)} tasks done",
    ]
    for group, statuses in _GROUPS:
        names = [_named(name, task, session) for name, task in tasks.items() if task["status"] in statuses]
        if names:
            parts.append(
                f"{'under way then' if is_left and group == 'running' else group}: {_listed(names)}"
            )
    if is_left or status in ("failed", "stopped"):
        parts.append("the same `holdfast run` goes on with it")
    return "; ".join([*parts, f"as of {state['changed']}"])


def _named(name: str, task: dict, session: str) -> str:
    why = [excerpt(task["why"], _LONGEST_NAME)] if task["why"] and task["status"] == "failed" else []
    here = ["this session"] if task["session"] == session and task["status"] != "waiting" else []
    more = ", ".join(why + here)
    return excerpt(name, _LONGEST_NAME) + (f" ({more})" if more else "")


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
