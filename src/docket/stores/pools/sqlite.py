"""The machine's own store of pools: one SQLite file in the person's state folder.

Rules:
1. Every change is one immediate transaction, written through to the disk before it counts (write-ahead log,
   synchronous FULL): a run spends nothing that a power cut could make the pool forget.
2. A writer waits for another at most `_BUSY_MS`, then LOCKED is said.
3. A file that is damaged, of another program or of a newer docket is refused with what to do; nothing is ever reset by
   itself. A store that must exist is never made anew. That another file was put in the place of the opened one, or that
   it was taken away, is found before the next change: what is booked where nobody else reads counts for nobody.
4. The folder (0700) and its files (0600) are the person's alone from their creation: the empty file is put there before
   SQLite opens it, which gives its mode to those that it makes beside it. No name in a tree leads to them.

A connection belongs to the thread that opened it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from docket.errors import DocketError, UnavailableError
from docket.formats.amount import Usd
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits, Taken, first_day
from docket.host.disk import FILE_MODE, SYSTEM_DISK, Disk, Folder, reported
from docket.host.durable import publish
from docket.stores.pools.grants import answer
from docket.stores.pools.port import Balance, PoolRun, RunShare

POOLS_DIR = "pools"
POOLS_FILE = "pools.sqlite3"

_APPLICATION_ID = 0x646B7470
_VERSION = 1
_BUSY_MS = 5000
_SCHEMA = """
CREATE TABLE pools (
    name TEXT PRIMARY KEY, daily INTEGER, weekly INTEGER, total INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE days (
    pool TEXT NOT NULL REFERENCES pools(name) ON DELETE CASCADE, day TEXT NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0, unknown INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (pool, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    pool TEXT NOT NULL REFERENCES pools(name) ON DELETE CASCADE, run TEXT NOT NULL,
    granted INTEGER NOT NULL DEFAULT 0, spent INTEGER NOT NULL DEFAULT 0, unknown INTEGER NOT NULL DEFAULT 0,
    number TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, boot TEXT NOT NULL,
    lock BLOB NOT NULL, ledger BLOB NOT NULL, entered_at TEXT NOT NULL, PRIMARY KEY (pool, run)
) STRICT, WITHOUT ROWID;
"""
_REASONS = {
    sqlite3.SQLITE_BUSY: Reason.LOCKED,
    sqlite3.SQLITE_LOCKED: Reason.LOCKED,
    sqlite3.SQLITE_FULL: Reason.NO_SPACE,
    sqlite3.SQLITE_READONLY: Reason.READ_ONLY,
    sqlite3.SQLITE_PERM: Reason.NOT_PERMITTED,
    sqlite3.SQLITE_CANTOPEN: Reason.NOT_PERMITTED,
    sqlite3.SQLITE_CORRUPT: Reason.POOLS_DAMAGED,
    sqlite3.SQLITE_NOTADB: Reason.POOLS_DAMAGED,
}
_IN_WORDS = {
    Reason.LOCKED: "other runs keep it busy",
    Reason.NO_SPACE: "the disk is full",
    Reason.READ_ONLY: "it cannot be written",
    Reason.NOT_PERMITTED: "it cannot be opened",
    Reason.POOLS_DAMAGED: "it is damaged",
}
_DAMAGED_HINT = "put the file aside and set the pools anew (docket pools set); what they had counted is lost with it"


class SqlitePools:
    """Pools in one file; as `PoolStore`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection
        self._identity = _identity_of(path)

    @classmethod
    def open(cls, state_home: Path, *, create: bool = False, disk: Disk = SYSTEM_DISK) -> SqlitePools:
        """Open the store below the folder of all projects' state; NOT_FOUND where it is not and is not to be made."""
        path = state_home / POOLS_DIR / POOLS_FILE
        if create:
            with disk.folder(path.parent, create=True) as folder:
                folder.make_private()
                _make_file(folder)
        elif not path.is_file():
            raise UnavailableError(
                Reason.NOT_FOUND, "there is no pool on this machine", hint="docket pools set NAME makes one"
            )
        _make_private(path)
        with _told(path):
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(path))}?mode=rw", uri=True, isolation_level=None, timeout=_BUSY_MS / 1000
            )
        store = cls(path, connection)
        try:
            store._prepare(create=create)
        except DocketError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._connection.close()

    # ---- what pools there are

    def names(self) -> tuple[str, ...]:
        """Return the names of all pools."""
        with _told(self._path):
            return tuple(name for (name,) in self._connection.execute("SELECT name FROM pools ORDER BY name"))

    def define(self, name: str, limits: PoolLimits) -> None:
        """Make a pool or change its limits."""
        values = [None if limit is None else limit.micros for limit in map(limits.of, Period)]
        with self._changing() as database:
            database.execute(
                "INSERT INTO pools VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "daily = excluded.daily, weekly = excluded.weekly, total = excluded.total",
                (name, *values),
            )

    def reset(self, name: str) -> None:
        """Forget what was taken."""
        with self._changing() as database:
            self._limits(name)
            database.execute("DELETE FROM days WHERE pool = ?", (name,))

    def remove(self, name: str) -> None:
        """Forget a pool that no run is in."""
        with self._changing() as database:
            self._limits(name)
            (runs,) = database.execute("SELECT count(*) FROM runs WHERE pool = ?", (name,)).fetchone()
            if runs:
                who = "1 run draws" if runs == 1 else f"{runs} runs draw"
                raise UnavailableError(
                    Reason.IN_USE, f"{who} on the pool {name}", hint=f"docket pools show {name} names them"
                )
            database.execute("DELETE FROM pools WHERE name = ?", (name,))

    def balance(self, name: str, day: str) -> Balance:
        """Return a pool as it stands."""
        with self._reading():
            limits = self._limits(name)
            taken = {period: self._taken(name, first_day(period, day)) for period in Period}
            rows = self._connection.execute(
                "SELECT run, number, pid, started, boot, lock, ledger, entered_at, granted, spent, unknown FROM runs "
                "WHERE pool = ? ORDER BY entered_at, run",
                (name,),
            ).fetchall()
        return Balance(name=name, limits=limits, taken=taken, shares=tuple(map(_share, rows)))

    # ---- what runs take

    def enter(self, name: str, run: PoolRun) -> PoolLimits:
        """Put a run into a pool."""
        process = run.process
        with self._changing() as database:
            limits = self._limits(name)
            database.execute(
                "INSERT INTO runs (pool, run, number, pid, started, boot, lock, ledger, entered_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    name, run.run_id, run.docket_number, process.pid, process.started, process.boot_id,
                    os.fsencode(run.lock_path), os.fsencode(run.ledger_path), run.entered_at,
                ),
            )  # fmt: skip
        return limits

    def reserve(self, name: str, run_id: str, ask: PoolAsk, day: str) -> PoolAnswer:
        """Grant what fits."""
        with self._changing() as database:
            limits = self._limits(name)
            granted, taken = self._run(name, run_id)
            (others,) = database.execute(
                "SELECT coalesce(sum(max(granted - spent - unknown, 0)), 0) FROM runs WHERE pool = ? AND run != ?",
                (name, run_id),
            ).fetchone()
            by_period = {period: self._taken(name, first_day(period, day)).micros for period in Period}
            said = answer(limits, by_period, others_held=others, own=(granted, taken.micros), ask=ask)
            database.execute(
                "UPDATE runs SET granted = ? WHERE pool = ? AND run = ?", (said.granted_micros, name, run_id)
            )
        return said

    def settle(self, name: str, run_id: str, taken: Taken, day: str) -> None:
        """Book the growth on a day."""
        with self._changing() as database:
            _, before = self._run(name, run_id)
            spent = max(0, taken.spent_micros - before.spent_micros)
            unknown = max(0, taken.unknown_micros - before.unknown_micros)
            if not (spent or unknown):
                return
            database.execute(
                "INSERT INTO days VALUES (?, ?, ?, ?) ON CONFLICT (pool, day) DO UPDATE SET "
                "spent = spent + excluded.spent, unknown = unknown + excluded.unknown",
                (name, day, spent, unknown),
            )
            database.execute(
                "UPDATE runs SET spent = spent + ?, unknown = unknown + ? WHERE pool = ? AND run = ?",
                (spent, unknown, name, run_id),
            )

    def give_back(self, name: str, run_id: str, granted_micros: int) -> None:
        """Lower a run's grant."""
        with self._changing() as database:
            database.execute(
                "UPDATE runs SET granted = min(granted, max(?, spent + unknown)) WHERE pool = ? AND run = ?",
                (granted_micros, name, run_id),
            )

    def release(self, name: str, run_id: str) -> None:
        """End a run's part."""
        with self._changing() as database:
            database.execute("DELETE FROM runs WHERE pool = ? AND run = ?", (name, run_id))

    # ---- the file

    def _prepare(self, *, create: bool) -> None:
        with _told(self._path):
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise _damaged(self._path, "its check fails")
        if self._version() == 0 and create:
            with self._changing() as database:
                if self._version() == 0:
                    for statement in _SCHEMA.split(";")[:-1]:
                        database.execute(statement)
                    database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    database.execute(f"PRAGMA user_version = {_VERSION}")
        self._check_version()

    def _version(self) -> int:
        with _told(self._path):
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _check_version(self) -> None:
        with _told(self._path):
            (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        version = self._version()
        if application != _APPLICATION_ID:
            raise _damaged(self._path, "it is not docket's, or was never finished")
        if version != _VERSION:
            raise UnavailableError(
                Reason.UNKNOWN_FORMAT, f"{self._path} was written by a newer docket (its version is {version})"
            )

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that is either durable at its end or never was."""
        with _told(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_place()
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a commit that failed may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with _told(self._path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("COMMIT")

    def _check_place(self) -> None:
        if _identity_of(self._path) != self._identity:
            raise UnavailableError(
                Reason.POOLS_DAMAGED,
                f"the pools of this machine were replaced while they were in use: {self._path}",
                hint="a run counts on in the file that it began with; start it again",
            )

    def _limits(self, name: str) -> PoolLimits:
        row = self._connection.execute("SELECT daily, weekly, total FROM pools WHERE name = ?", (name,)).fetchone()
        if row is None:
            known = self.names()
            hint = f"pools: {', '.join(known)}" if known else f"docket pools set {name} makes it"
            raise UnavailableError(Reason.NOT_FOUND, f"there is no pool called {name}", hint=hint)
        daily, weekly, total = (None if micros is None else Usd(micros) for micros in row)
        return PoolLimits(daily_usd=daily, weekly_usd=weekly, total_usd=total)

    def _taken(self, name: str, since: str) -> Taken:
        row = self._connection.execute(
            "SELECT coalesce(sum(spent), 0), coalesce(sum(unknown), 0) FROM days WHERE pool = ? AND day >= ?",
            (name, since),
        ).fetchone()
        return Taken(*row)

    def _run(self, name: str, run_id: str) -> tuple[int, Taken]:
        row = self._connection.execute(
            "SELECT granted, spent, unknown FROM runs WHERE pool = ? AND run = ?", (name, run_id)
        ).fetchone()
        if row is None:
            raise UnavailableError(Reason.NOT_FOUND, f"the run is not in the pool {name}")
        return row[0], Taken(row[1], row[2])


def _share(row: tuple[str, str, int, str, str, bytes, bytes, str, int, int, int]) -> RunShare:
    run_id, number, pid, started, boot_id, lock, ledger, entered_at, granted, spent, unknown = row
    taken = Taken(spent, unknown)
    run = PoolRun(
        run_id=run_id,
        docket_number=number,
        process=ProcessIdentity(pid=pid, started=started, boot_id=boot_id),
        lock_path=os.fsdecode(lock),
        ledger_path=os.fsdecode(ledger),
        entered_at=entered_at,
    )
    return RunShare(run=run, taken=taken, held_micros=max(0, granted - taken.micros))


def _make_file(folder: Folder) -> None:
    if folder.identity(POOLS_FILE) is not None:
        return
    try:
        publish(folder, POOLS_FILE, b"", overwrite=False)
    except UnavailableError as error:
        if error.reason != Reason.ALREADY_EXISTS:  # made by another process at the same moment
            raise


def _make_private(path: Path) -> None:
    """Take from the files what an earlier version let others do with them.

    None is opened for it: closing one again would end the locks that this process has on it. The database is first, for
    what SQLite makes from then on has its mode.
    """
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        file = path.with_name(name)
        with reported("restrict", file), suppress(FileNotFoundError):
            status = file.lstat()
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and mode & ~FILE_MODE:
                file.chmod(mode & FILE_MODE)


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into docket's reasons."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        reason = Reason.IO_ERROR if code is None else _REASONS.get(code & 0xFF, Reason.IO_ERROR)
        if reason is Reason.POOLS_DAMAGED or (code is None and isinstance(error, sqlite3.DatabaseError)):
            raise _damaged(path, str(error)) from error
        words = _IN_WORDS.get(reason, str(error))
        raise UnavailableError(reason, f"the pools of this machine are out of reach: {path}: {words}") from error


def _damaged(path: Path, what: str) -> UnavailableError:
    return UnavailableError(
        Reason.POOLS_DAMAGED, f"the pools of this machine cannot be read: {path}: {what}", hint=_DAMAGED_HINT
    )
