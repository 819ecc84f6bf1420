"""The checkpoints of a run: signed heads of its ledger while it grows (spec/checkpoint.md).

Rules:
1. One is made at the start, then once a minute or after a thousand events, whichever comes first and only where
   something was appended, and one over the whole ledger at the end. A look is taken once a second.
2. A note is durable in its file before the ledger tells of it; one that the ledger could not tell of is taken back.
3. A checkpoint that cannot be kept is told in the record, once for each time it begins to fail, and the run goes on.
4. A file that lacks its end is put aside: it would contradict the ledger where nothing was forged.
5. Time is the monotonic clock's: whoever sets the other one neither hastens nor stops a checkpoint.

Nothing here waits for the agent, and the agent for nothing here: all but the first and last is a thread's of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from docket.errors import DocketError
from docket.formats.digest import Digest
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.session_events import Note
from docket.formats.merkle import Frontier
from docket.formats.proof.checkpoint import TreeHead
from docket.host.clock import Clock
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.signed_note import checkpoint_text
from docket.stores.appended import Appended
from docket.stores.checkpoint_file import CheckpointFile
from docket.stores.ledger import LedgerWriter

EVERY_NS = 60 * 1_000_000_000
EVERY_EVENTS = 1000
LOOK_SECONDS = 1.0

OpenFile = Callable[[], CheckpointFile]


class RunCheckpoints:
    """Makes the checkpoints of one ledger; `begin`, then `stop` before the ledger's last events, then `finish`."""

    def __init__(self, ledger: LedgerWriter, origin: str, signer: Signer | None, clock: Clock) -> None:
        self._ledger, self._origin, self._signer, self._clock = ledger, origin, signer, clock
        self._frontier = Frontier()
        self._file: CheckpointFile | None = None
        self._told: Appended | None = None
        self._made_ns = 0
        self._is_missing = False
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, open_file: OpenFile | None = None) -> None:
        """Make the first checkpoint, over what is durable, and look from now on whether another one is due."""
        try:
            self._file = (open_file or (lambda: CheckpointFile(self._ledger.path)))()
        except DocketError as error:
            self._miss(error.detail)
            return
        self._make()
        self._thread = threading.Thread(target=self._look_on, name="docket-checkpoints", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Make no more of them; returns when none is under way. A second call does nothing."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def last_note(self, size: int, root: Digest) -> str:
        """Return the checkpoint of the ledger that is to be, of that size and root; nothing is kept."""
        return checkpoint_text(TreeHead(origin=self._origin, size=size, root=root), self._signer)

    def finish(self) -> tuple[TreeHead, str | None]:
        """Make the last checkpoint and close the file; return the ledger's head, and what went wrong, if anything.

        To be called after the ledger's last events. The head is from memory, whatever stands in a file.
        """
        self.stop()
        file, self._file = self._file, None
        if file is None:
            return self._head(), None
        self._settle(file)
        head = self._head()
        try:
            file.append(checkpoint_text(head, self._signer))
        except Exception as error:  # noqa: BLE001 - what signs may fail in any way, and the receipt is still to come
            return head, self._without_end(file, _told_of(error))
        file.close()
        return head, None

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - a fault here must not end what the run relies on
                self._miss(_told_of(error))

    def look(self) -> None:
        """Make a checkpoint if one is due."""
        appended = self._ledger.durable_events - self._frontier.size
        told = 0 if self._told is None else 1  # that the ledger tells of a checkpoint is nothing to checkpoint
        is_time = self._clock.monotonic_ns() - self._made_ns >= EVERY_NS
        if appended > told and (is_time or appended - told >= EVERY_EVENTS) and self._ledger.failure is None:
            self._make()

    def _make(self) -> None:
        file = self._file
        if file is None:
            return
        self._made_ns = self._clock.monotonic_ns()
        try:
            self._settle(file)
            head = self._head()
            number = file.append(checkpoint_text(head, self._signer))
        except Exception as error:  # noqa: BLE001 - as above: the run goes on without it
            self._miss(_told_of(error))
            return
        self._is_missing = False
        self._told = self._ledger.append(CheckpointMade(number=number, size=head.size, root=head.root), control=True)

    def _settle(self, file: CheckpointFile) -> None:
        """Take the last note back if the ledger could not tell of it."""
        told, self._told = self._told, None
        if told is not None:
            try:
                told.durable.result()
            except DocketError:
                file.drop_last()

    def _head(self) -> TreeHead:
        for event_hash in self._ledger.hashes_from(self._frontier.size):
            self._frontier.add(event_hash)
        return TreeHead(origin=self._origin, size=self._frontier.size, root=self._frontier.root())

    def _miss(self, detail: str) -> None:
        if not self._is_missing and self._ledger.failure is None:
            self._is_missing = True
            self._ledger.append(Note(code="checkpoint-missed", message=detail), control=True)

    def _without_end(self, file: CheckpointFile, detail: str) -> str:
        aside = file.path
        with suppress(DocketError):
            aside = file.put_aside()
        return f"the last checkpoint could not be kept ({detail}): those before it are now {aside}"


def _told_of(error: Exception) -> str:
    return error.detail if isinstance(error, DocketError) else f"{type(error).__name__}: {error}"
