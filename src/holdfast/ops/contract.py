"""`context usage` and `context auto-save`: what scripts ask for, with exactly the fields they read."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.disk import saves
from holdfast.errors import BadInput
from holdfast.installed import resume_command
from holdfast.ops.context import action_at, measured, status_of
from holdfast.ops.saves import Draft, Saved, keep

#: No window holds more, and nobody has used more.
_MOST = 99_999_999
#: The window where nobody says how large it is, and no session is named.
WINDOW = 200_000


@dataclass(frozen=True)
class Used:
    used: int
    max: int
    percent: float
    status: str
    action: dict[str, object]

    def __str__(self) -> str:
        return f"{self.used:,} of {self.max:,} tokens ({self.percent} %): {self.status}"


@dataclass(frozen=True)
class AutoSaved:
    status: str
    session_id: str
    percent_at_save: float
    restart_command: str
    message: str

    def __str__(self) -> str:
        return self.message


def usage(
    app: Holdfast,
    *,
    used_tokens: int | None = None,
    max_tokens: int | None = None,
    session: str | None = None,
) -> Used:
    """How full a window is, and what to do about it. More than it holds is shown as it is.

    Parameters
    ----------
    used_tokens
        Tokens in the window. Without it a session is measured.
    max_tokens
        Tokens the window holds; only with used_tokens. Without it: the window of the session, else 200000.
    session
        Measure the session with this id, or, with used_tokens, its window. Without it: the newest session.
    """
    if used_tokens is None:
        reading = measured(app, session)
        return _used(app, reading.used, reading.window)
    most = window(app, max_tokens, session)
    _check(used_tokens, most)
    return _used(app, used_tokens, most)


def window(app: Holdfast, most: int | None, session: str | None) -> int:
    """Tokens a window holds: as it is said, else as the session's was measured, else the usual number."""
    if most is None:
        return measured(app, session).window if session else WINDOW
    if session is not None:
        raise BadInput("give max_tokens or session, not both: the window of a session is measured")
    return most


def auto_save(
    app: Holdfast,
    *,
    environment: str,
    used_tokens: int,
    max_tokens: int | None = None,
    inferred_task: str | None = None,
    inferred_context: str | None = None,
    project: str | None = None,
    session: str | None = None,
) -> AutoSaved:
    """Save where work stands because its window is full, and say how to go on.

    Parameters
    ----------
    environment
        Under which name it is found again.
    used_tokens
        Tokens in the window; more than it holds is saved all the same.
    max_tokens
        Tokens the window holds. Without it: the window of the session, else 200000.
    inferred_task
        What is being done.
    inferred_context
        What whoever goes on has to know.
    project
        The folder of the work. Without it: the one this environment was saved from before, else the one
        with the newest checkpoint.
    session
        The id of the session whose window it is.
    """
    most = window(app, max_tokens, session)
    draft = drafted(environment, used_tokens, most, inferred_task, inferred_context, project)
    return answered(app, keep(app, [draft])[0])


def drafted(
    environment: str,
    used_tokens: int,
    max_tokens: int,
    inferred_task: str | None = None,
    inferred_context: str | None = None,
    project: str | None = None,
) -> Draft:
    """What an auto-save keeps; nothing is written yet."""
    _check(used_tokens, max_tokens)
    percent = 100 * used_tokens / max_tokens
    return Draft(
        environment,
        saves.AUTO,
        task=inferred_task or f"[Auto-save at {percent:.0f}% context]",
        context=inferred_context or f"Automatic save triggered at {used_tokens}/{max_tokens} tokens",
        next_steps="Continue from auto-save point",
        tags=("auto-save", f"tokens-{used_tokens}"),
        project=project or "",
        used=used_tokens,
        max=max_tokens,
    )


def answered(app: Holdfast, saved: Saved) -> AutoSaved:
    """`restart_command` is what scripts read, literally; `message` names the command that exists here."""
    return AutoSaved(
        status="saved",
        session_id=saved.id,
        percent_at_save=round(100 * saved.used / saved.max, 1),
        restart_command=f"rs {saved.environment}",
        message=f"Session saved. Run '{resume_command(app, saved.environment)}' to continue.",
    )


def _used(app: Holdfast, used: int, most: int) -> Used:
    percent = 100 * used / most
    status, action = status_of(percent, app.config), action_at(percent, app.config)
    return Used(used, most, round(percent, 1), status, action)


def _check(used: int, most: int) -> None:
    if not 1 <= most <= _MOST:
        raise BadInput(f"max_tokens is {_shown(most)}; a window holds 1 to {_MOST} tokens")
    if not 0 <= used <= _MOST:
        raise BadInput(f"used_tokens is {_shown(used)}; it takes 0 to {_MOST}")


def _shown(number: int) -> str:
    """Some numbers have thousands of digits, and some are more than Python would write."""
    return str(number) if abs(number) < 10**18 else "a number of more than 18 digits"
