"""Keys on the disk: a pair that somebody asked for, and the key of this user's seals.

Rules (spec/receipt.md, Keys):
1. The secret half is 0600 from its creation, whole or not there, and never written over another without a word.
2. The key of seals is made once, in the user's state folder; two runs that begin at one time use the same.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.proof.key_text import KEY_BYTES, private_pem, public_pem, verifier_key
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish, publish_public
from docket.stores.layout import state_home

KEYS, SEAL_KEY, SIGNING_KEY = "keys", "seal.key", "signing.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFiles:
    """Where a pair stands: the private key, the public one, and that as the verifier key of a signed note."""

    private: Path
    public: Path
    note: Path

    @property
    def all(self) -> tuple[Path, ...]:
        """The three."""
        return (self.private, self.public, self.note)


def key_files(path: Path) -> KeyFiles:
    """Return the names of a pair whose private key is to stand at `path`."""
    return KeyFiles(private=path, public=Path(f"{path}.pub"), note=Path(f"{path}.vkey"))


def default_key_path(environment: Mapping[str, str]) -> Path:
    """Return where a user's own signing key stands unless they say otherwise."""
    return state_home(environment) / KEYS / SIGNING_KEY


def write_pair(files: KeyFiles, seed: bytes, public_key: bytes, *, overwrite: bool, disk: Disk = SYSTEM_DISK) -> None:
    """Write a pair; ALREADY_EXISTS where one of its names is taken and may not be overwritten."""
    if not overwrite:
        taken = next((path for path in files.all if os.path.lexists(path)), None)
        if taken is not None:
            kept = "a key of yours can sign as it is; " if taken == files.private else ""
            hint = f"{kept}--force writes over it, and nothing signs with the old key again"
            raise UnavailableError(Reason.ALREADY_EXISTS, f"{taken} exists", hint=hint)
    parent = Path(os.path.realpath(files.private.parent))
    with disk.folder(parent, create=True) as folder:
        publish(folder, files.private.name, private_pem(seed).encode("ascii"), overwrite=overwrite)
    publish_public(files.public, public_pem(public_key).encode("ascii"), overwrite=overwrite)
    publish_public(files.note, f"{verifier_key(public_key)}\n".encode("ascii"), overwrite=overwrite)


def own_seal_key(environment: Mapping[str, str], *, disk: Disk = SYSTEM_DISK) -> Path:
    """Return where the key of this user's seals stands, made if it did not."""
    path = state_home(environment) / KEYS / SEAL_KEY
    with disk.folder(path.parent, create=True) as keys:
        keys.make_private()
        if keys.identity(SEAL_KEY) is None:
            text = f"{secrets.token_hex(KEY_BYTES)}\n".encode("ascii")
            with suppress(UnavailableError):  # another run made it first, or it cannot be made: reading it tells
                publish(keys, SEAL_KEY, text, overwrite=False)
    return path
