"""memory.db in home: opened, locked, and told damaged from busy.

Every open, write, checkpoint of the log and close happens under one kernel lock (`memory.db.lock`), which
is blocking and freed by the kernel: SQLite's own waiting loses turns, and a race in its write-ahead log
cannot come up where nobody else is at it. Readers need no lock once they are in. A file that is damaged is
set aside, one of a newer holdfast is left alone; neither is ever deleted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from holdfast.core import speaker
from holdfast.core.ascribed import claims
from holdfast.disk import files
from holdfast.errors import BadInput, Damaged
from holdfast.memory import vectorfile

VERSION = 3
_SCHEMA = """
CREATE TABLE items (id INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, collection TEXT NOT NULL,
  project TEXT NOT NULL, lineage TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL,
  origin TEXT NOT NULL, by TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
  first_at INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, files TEXT NOT NULL,
  thread TEXT NOT NULL, seq INTEGER NOT NULL, shape TEXT NOT NULL);
CREATE INDEX by_thread ON items (thread, seq);
CREATE INDEX by_time ON items (project, first_at);
CREATE TABLE places (path TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (path, id)) WITHOUT ROWID;
CREATE INDEX by_item ON places (id);
CREATE VIRTUAL TABLE words USING fts5(text, near, far, scope, tokenize = 'porter unicode61');
CREATE TABLE vectors (id INTEGER PRIMARY KEY, model TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE read (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('changes', 0);
"""
#: What version 2 has besides: when a vector was made, and by what the database is told from another.
_SECOND = """
ALTER TABLE vectors ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
CREATE INDEX by_change ON vectors (change);
INSERT INTO counters VALUES ('vectors', 0), ('database', random());
"""
#: Version 2 took for the user's what the lead of a subagent asked, and what a hook or the client said.
_THEIRS = "SELECT id, agent, text, thread, seq FROM items WHERE origin = 'user' ORDER BY thread, seq"
#: Items of one saying have places that differ in less than this.
_SAYING = 128
_FILES = ("", "-wal", "-shm")
_TABLES = ("items", "places", "words", "vectors", "read", "counters")
#: Busy, read-only, no room, no access: that is no damage.
_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}


class Database:
    """`gone`: ids whose vectors this transaction takes away; `version`: as it was found."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.gone: list[int] = []
        self.version = VERSION
        files.make_dir(os.path.dirname(path))
        with self.locked():
            self.db = self._opened()

    def close(self) -> None:
        with self.locked():
            self.db.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """By a descriptor of our own: it holds against other threads of this process as well."""
        fd = files.open_shared(self.path + ".lock", alone=True)
        try:
            yield
        finally:
            os.close(fd)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing. What SQLite cannot write is an OSError, as it is for files."""
        with self.locked():
            self.gone = []
            try:
                self.db.execute("BEGIN IMMEDIATE")
                try:
                    yield self.db
                    if self.gone:  # whoever has them mapped looks again
                        self.db.execute("UPDATE counters SET value = value + 1 WHERE name = 'vectors'")
                    with vectorfile.without(self.path + vectorfile.END, self.gone):
                        self.db.execute("COMMIT")
                finally:
                    if self.db.in_transaction:
                        self.db.execute("ROLLBACK")
            except sqlite3.OperationalError as problem:
                raise OSError(5, f"SQLite says: {problem}", self.path) from problem

    def _opened(self) -> sqlite3.Connection:
        if os.path.islink(self.path) or (os.path.exists(self.path) and not os.path.isfile(self.path)):
            raise BadInput(f"{self.path} is not a plain file; move it away, then: holdfast memory rebuild")
        try:
            return self._try()
        except sqlite3.DatabaseError as problem:
            if problem.sqlite_errorcode & 0xFF in _PASSING:
                raise OSError(5, f"SQLite says: {problem}", self.path) from problem
        try:
            return self._try()  # only what is found twice is damage
        except sqlite3.DatabaseError as problem:
            aside = set_aside(self.path)
            raise Damaged(
                f"{self.path} was damaged ({problem}) and is set aside as {aside}; "
                "files hold what was in it: holdfast memory rebuild"
            ) from problem

    def _try(self) -> sqlite3.Connection:
        if not os.path.exists(self.path):
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        with ExitStack() as unless_whole:
            unless_whole.callback(db.close)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise BadInput(
                    f"{self.path} has version {version}, and this holdfast knows {VERSION}: "
                    "update holdfast, or move the file away and run `holdfast memory rebuild`"
                )
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")
            if not version:
                made = f"{_SCHEMA} {_SECOND} PRAGMA user_version = {VERSION};"
                db.executescript(f"BEGIN IMMEDIATE; {made} COMMIT;")
            self.version = version or VERSION
            for table in _TABLES:
                db.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()  # noqa: S608
            unless_whole.pop_all()
        return db


def second(db: sqlite3.Connection) -> bool:
    """Version 1 made version 2, in the transaction of whoever indexes its words anew; False where another
    has done it meanwhile."""
    if db.execute("PRAGMA user_version").fetchone()[0] >= 2:
        return False
    for statement in _SECOND.split(";"):
        db.execute(statement)
    db.execute("PRAGMA user_version = 2")
    return True


def third(db: sqlite3.Connection) -> tuple[list[int], dict[int, str]]:
    """Version 2 made version 3, in which only what the user typed is theirs, and an instruction. Return the
    items that have to go: what others say that the user said, which may be what a summary made up (what is
    no summary's comes back when its session is read again); and of those that have another speaker now the
    threads."""
    if db.execute("PRAGMA user_version").fetchone()[0] >= VERSION:
        return [], {}
    changed = _ascribed(db)
    db.execute("UPDATE items SET kind = 'other' WHERE kind = 'instruction' AND origin <> 'user'")
    said = "collection IN ('sessions', 'decisions', 'issues') AND origin = 'assistant'"
    rows = db.execute(f"SELECT id, session, text FROM items WHERE {said}").fetchall()  # noqa: S608
    gone = [(at, session) for at, session, words in rows if claims(words)]
    for session in {session for _, session in gone if session}:
        its = (f"%/sessions/{session}/%facts.json", f"%/{session}.jsonl")
        db.execute("DELETE FROM read WHERE path LIKE ? OR path LIKE ?", its)
    db.execute(f"PRAGMA user_version = {VERSION}")
    return [at for at, _ in gone], changed


def _ascribed(db: sqlite3.Connection) -> dict[int, str]:
    """Give what a hook, the client or the lead of a subagent said to them."""
    changed: dict[int, str] = {}
    last: tuple[str, int] = ("", -1)
    who = speaker.USER
    for at, agent, text, thread, seq in db.execute(_THEIRS).fetchall():
        saying = thread, seq // _SAYING
        if saying != last or not thread:
            who = speaker.of_words(text)
        if who == speaker.USER and agent:
            who = speaker.AGENT
        last = saying
        if who != speaker.USER:
            db.execute("UPDATE items SET origin = ?, by = ? WHERE id = ?", (who, who, at))
            changed[at] = thread
    return changed


def mend(path: str) -> None:
    """What is damaged, if only in places, is set aside as a whole, before it is made anew."""
    try:
        base = Database(path)
    except Damaged:
        return  # that set it aside
    try:
        with base.writing() as db:
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as problem:
        found = str(problem)
    finally:
        base.close()
    if found != "ok":
        with base.locked():
            set_aside(path)


def set_aside(path: str) -> str:
    """With its log, without which it says something else; its vectors are of no use to anybody."""
    aside = files.aside(path)
    vectorfile.remove(path + vectorfile.END)
    for end in _FILES:
        if os.path.exists(path + end):
            os.rename(path + end, aside + end)
    return aside
