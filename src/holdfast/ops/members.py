"""`team member …`, `team token …`: who is in a team, and by what its shared service knows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url

from holdfast.app import Holdfast
from holdfast.disk import trail
from holdfast.errors import BadInput
from holdfast.ops.team import ready
from holdfast.team import members, tokens

_LARGEST_PASSWORD = 1000
_BECAME = {
    members.GONE: "its role is gone",
    members.LOCKED: "its role may log in no more; it owns something on the server, else it would be gone",
    members.KEPT: "its role stays: it was not made for this team",
}


@dataclass(frozen=True)
class NewMember:
    """`url` is to be handed over, and not shown again; without a password where the role had one."""

    who: str
    projects: list[str]
    url: str
    is_new: bool

    def __str__(self) -> str:
        head = f"{self.who} sees {', '.join(self.projects)}"
        if not self.is_new:
            return f"{head}; the role was there before and keeps its password"
        return f"{head}. To hand over, shown only now:\n  holdfast team join '{self.url}'"


@dataclass(frozen=True)
class Left:
    """`role`: gone; locked, where it owns something on the server and so cannot be dropped; or kept, where
    it was not made for this team."""

    who: str
    projects: list[str]
    role: str

    def __str__(self) -> str:
        if self.projects:
            return f"{self.who} still sees {', '.join(self.projects)}"
        return f"{self.who} sees nothing any more; {_BECAME[self.role]}"


@dataclass(frozen=True)
class NewToken:
    """`token` is shown only now."""

    token: str
    name: str
    who: str
    expires: str

    def __str__(self) -> str:
        about = f"of {self.who}, until {self.expires}; shown only now, revoked by its name, {self.name}"
        return f"{self.token}\n({about})"


@dataclass(frozen=True)
class Revoked:
    name: str
    who: str

    def __str__(self) -> str:
        return f"token {self.name} of {self.who} is worth nothing any more"


class Members(list[members.Member]):
    """Who is in which projects."""


class Tokens(list[tokens.Token]):
    """Tokens of a shared service, whatever they are still worth."""


def member_add(
    app: Holdfast, name: str, *, project: tuple[str, ...] = (), password_file: Path | None = None
) -> NewMember:
    """Let somebody into projects of the team: a role of their own, and the address to hand over.

    Parameters
    ----------
    name
        The name of the role.
    project
        What it may see, as host/path; may be given several times; * is everything.
    password_file
        File with the password it gets. Without it: one is made up.
    """
    password = _password(password_file) if password_file else ""
    store = ready(app)
    try:
        added = members.add(store, name, project, password)
    finally:
        store.close()
    trail.note(app.home, "team.member", who=name, projects=added.projects)
    address = make_url(app.config["store.url"]).set(username=name)
    address = address.set(password=added.password) if added.password else address._replace(password=None)
    url = address.render_as_string(hide_password=False).replace(" ", "%20")  # which it leaves as they are
    return NewMember(name, added.projects, url, bool(added.password))


def member_remove(app: Holdfast, name: str, *, project: tuple[str, ...] = ()) -> Left:
    """Take somebody out of projects, or of the team: at once, tokens included. What they wrote stays.

    Parameters
    ----------
    name
        The name of the role.
    project
        Only out of this one; may be given several times. Without it: out of all.
    """
    store = ready(app)
    try:
        left, role = members.remove(store, name, project)
    finally:
        store.close()
    trail.note(app.home, "team.member", who=name, projects=left)
    return Left(name, left, role)


def member_list(app: Holdfast) -> Members:
    """Who is in which projects; for a member: itself."""
    store = ready(app)
    try:
        return Members(members.list_all(store))
    finally:
        store.close()


def token_add(app: Holdfast, name: str, *, days: int = 90) -> NewToken:
    """Make a token with which a member is known to the team's shared service; shown once.

    Parameters
    ----------
    name
        The member.
    days
        How long it is good for.
    """
    store = ready(app)
    try:
        made = tokens.add(store, name, days)
    finally:
        store.close()
    trail.note(app.home, "team.token", token=made.name, who=name, state="valid")
    return NewToken(made.token, made.name, made.who, made.expires)


def token_list(app: Holdfast) -> Tokens:
    """Tokens of the team's shared service: whose, until when. The tokens themselves nobody has."""
    store = ready(app)
    try:
        return Tokens(tokens.list_all(store))
    finally:
        store.close()


def token_revoke(app: Holdfast, token: str) -> Revoked:
    """Make a token worthless, from the next request on.

    Parameters
    ----------
    token
        Its name, as `team token list` shows it.
    """
    store = ready(app)
    try:
        found = tokens.revoke(store, token)
    finally:
        store.close()
    trail.note(app.home, "team.token", token=found.name, who=found.who, state="revoked")
    return Revoked(found.name, found.who)


def _password(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        said = file.read(_LARGEST_PASSWORD).partition("\n")[0]
    if not said or not said.isprintable():
        raise BadInput(f"{path} holds no password: it takes one line that can be printed")
    return said
