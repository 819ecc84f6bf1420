"""The key with which a person's journals are written, `journal.key` beside the transactions: 32 random bytes.

Rules (spec/workspace.md, Journal):
1. It is made on first use, for its owner alone, and never leaves the machine.
2. One that others may read, or that is no key, is refused: nothing can be told from a journal by it.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.workspace.journal import KEY_BYTES
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish

KEY = "journal.key"


def journal_key(root: Path, *, disk: Disk = SYSTEM_DISK) -> bytes:
    """Return the key, made if there is none; UnavailableError where it cannot be had."""
    with disk.folder(root, create=True) as folder:
        if folder.identity(KEY) is None:
            try:
                publish(folder, KEY, secrets.token_bytes(KEY_BYTES), overwrite=False)
            except UnavailableError as error:
                if error.reason != Reason.ALREADY_EXISTS:  # another process made it at this moment
                    raise
        with folder.open(KEY) as file:
            key = file.read(0, KEY_BYTES + 1)
    if len(key) != KEY_BYTES or not _is_private(root / KEY):
        detail = f"{root / KEY} is no key of docket's, or others may read or write it"
        raise UnavailableError(Reason.NOT_AUTHENTIC, detail)
    return key


def _is_private(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return True  # the disk is not the system's; nobody else is there
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
