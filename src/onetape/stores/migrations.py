"""The shape of the SQLite log, one step per version. A step that was released is never changed: add another.

Clustered by hand: the row id of a tape record or event is its session's number
and its own number in one (`place`), so that a session lies together, a page is one
range, and no second index has to be kept.
"""

import sqlite3

from onetape.errors import Refused

STEPS = (
    """
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        native_session_id TEXT,
        created_at INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        owner TEXT,
        words TEXT NOT NULL,
        row BLOB NOT NULL
    );
    CREATE INDEX sessions_by_age ON sessions (created_at, number);
    CREATE INDEX sessions_by_native_id ON sessions (native_session_id);
    CREATE TABLE tape (
        place INTEGER PRIMARY KEY,
        t REAL NOT NULL,
        dir TEXT NOT NULL,
        payload BLOB NOT NULL,
        extra BLOB
    );
    CREATE TABLE events (
        place INTEGER PRIMARY KEY,
        cause INTEGER,
        body BLOB NOT NULL
    );
    CREATE TABLE log (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL
    );
    CREATE INDEX log_by_session ON log (session);
    CREATE TABLE asks (
        session INTEGER NOT NULL,
        ask_id TEXT NOT NULL,
        status TEXT NOT NULL,
        ask BLOB NOT NULL,
        PRIMARY KEY (session, ask_id)
    ) WITHOUT ROWID;
    CREATE TABLE sources (
        path TEXT PRIMARY KEY,
        stamp TEXT NOT NULL,
        session_id TEXT,
        outcome TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE passages (
        place INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        kind TEXT NOT NULL,
        item_id TEXT,
        tool TEXT,
        paths TEXT NOT NULL,
        words TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE search USING fts5 (words, content='passages', content_rowid='place', tokenize='unicode61 remove_diacritics 2');
    CREATE TABLE turns (
        place INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        mark TEXT NOT NULL,
        usage BLOB NOT NULL
    );
    CREATE INDEX turns_by_mark ON turns (mark);
    CREATE INDEX asks_by_status ON asks (status) WHERE status = 'requested';
    """,
)


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Brings a file up to this version of onetape, step by step, each in a transaction of its own."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(STEPS):
        raise Refused(f"{name} was written by a newer onetape (its log is of version {version}, ours of {len(STEPS)}): update onetape")
    for number in range(version, len(STEPS)):
        _take(connection, number)


def _take(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while we waited for the lock.
        if connection.execute("PRAGMA user_version").fetchone() == (number,):
            for statement in STEPS[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
