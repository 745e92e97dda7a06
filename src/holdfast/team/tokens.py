"""Tokens by which a shared service knows a team's members.

A token is `hft_<name>_<secret>`. The name is no secret: it is what a row is found by, and what `revoke`
takes. Of the secret, 32 random bytes, only the hash is kept, so whoever reads the table can enter nowhere;
of something that random a plain hash is enough. When one ends, the server's clock says.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from holdfast.clock import rfc3339
from holdfast.errors import BadInput, NotFound
from holdfast.store.clocks import moment
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import MEMBERS, TOKENS

PREFIX = "hft_"
_DAY_MS = 24 * 3600 * 1000
_MOST_DAYS = 3650
_NAME, _SECRET = 16, 43
#: What a secret is held against where there is no such token: so that it takes as long as where there is.
_NOBODYS = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
_BY_NAME = select(TOKENS).where(TOKENS.c.name == bindparam("name"))


@dataclass(frozen=True)
class Made:
    token: str
    name: str
    who: str
    expires: str


@dataclass(frozen=True)
class Token:
    """`state`: valid, expired or revoked."""

    name: str
    who: str
    made: str
    expires: str
    state: str


def add(store: PostgreSQL, who: str, days: int) -> Made:
    if not 1 <= days <= _MOST_DAYS:
        raise BadInput(f"--days is {days}; it takes 1 to {_MOST_DAYS:,}")
    name, secret = secrets.token_hex(_NAME // 2), secrets.token_urlsafe(32)
    with store.writing() as connection:
        if connection.scalar(select(MEMBERS.c.who).where(MEMBERS.c.who == who).limit(1)) is None:
            raise NotFound(f"{who[:80]!r} is in no project; first: holdfast team member add")
        expires = moment(connection).at + days * _DAY_MS
        connection.execute(
            insert(TOKENS).values(name=name, who=who, hash=_hash(secret), expires_at=expires)
        )
    return Made(f"{PREFIX}{name}_{secret}", name, who, rfc3339(expires))


def list_all(store: PostgreSQL) -> list[Token]:
    with store.reading() as connection:
        at = moment(connection).at
        order = TOKENS.c.who, TOKENS.c.made_at, TOKENS.c.name
        rows = connection.execute(select(TOKENS).order_by(*order)).all()
    return [
        Token(row.name, row.who, rfc3339(row.made_at), rfc3339(row.expires_at), _state(row, at))
        for row in rows
    ]


def revoke(store: PostgreSQL, name: str) -> Token:
    with store.writing() as connection:
        at = moment(connection).at
        row = connection.execute(_BY_NAME, {"name": name}).one_or_none()
        if row is None:
            raise NotFound(f"there is no token {name[:40]!r}; `holdfast team token list` shows them")
        if not row.revoked_at:
            connection.execute(update(TOKENS).where(TOKENS.c.name == name).values(revoked_at=at))
    return Token(name, row.who, rfc3339(row.made_at), rfc3339(row.expires_at), "revoked")


def parts(token: bytes) -> tuple[str, str] | None:
    """(name, secret) of what may be a token; None for what cannot be one: that is never looked up."""
    if not token.startswith(PREFIX.encode()) or not token.isascii():
        return None
    name, _, secret = token.decode()[len(PREFIX) :].partition("_")
    is_one = len(name) == _NAME and len(secret) == _SECRET
    return (name, secret) if is_one and set(name) <= set("0123456789abcdef") else None


def bearer(store: PostgreSQL, name: str, secret: str) -> str | None:
    """Whose token it is; None where it is nobody's, or not any more."""
    with store.reading() as connection:
        row = connection.execute(_BY_NAME, {"name": name}).one_or_none()
        at = moment(connection).at
    is_right = compare_digest(_hash(secret), row.hash if row else _NOBODYS)
    return row.who if row and is_right and _state(row, at) == "valid" else None


def _state(row: Row[Any], at: int) -> str:

    return "revoked" if row.revoked_at else "valid" if at < row.expires_at else "expired"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
