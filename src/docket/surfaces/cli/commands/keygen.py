"""`docket keygen`: a key that signs receipts."""

from __future__ import annotations

import os
import secrets
import shlex
from pathlib import Path

import click

from docket.errors import UnavailableError, UsageError
from docket.formats.proof.key_text import KEY_BYTES, verifier_key
from docket.formats.proof.origin import fingerprint
from docket.formats.reason import Reason
from docket.host.isolation import protect_supervisor
from docket.rules.proof.ed25519 import MISSING_LIBRARY, Signer
from docket.stores.key_files import default_key_path, key_files, write_pair
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import files_like
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.project import current_folder


@click.command()
@click.argument("path", type=ANY_PATH, required=False, shell_complete=files_like)
@click.option("--force", is_flag=True, help="Write over a key that stands there. Nothing signs with the old one again.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def keygen(path: Path | None, *, force: bool, as_json: bool) -> int:
    """Make a key that signs receipts.

    PATH gets the private key (Ed25519, PKCS#8 in PEM, for its owner alone), PATH.pub the public key in PEM, and
    PATH.vkey the same as the verifier key of a signed note. Without PATH it is keys/signing.key in docket's state
    folder. OpenSSL reads both PEM files.

    Keep the private key where no agent works, and give the public one to whoever verifies.

    \b
    Examples:
      docket keygen
      docket keygen ~/.keys/docket.key
      docket run --sign ~/.keys/docket.key -- claude -p "fix the failing test"
      docket verify --public-key ~/.keys/docket.key.pub
    """
    protect_supervisor()
    files = key_files(default_key_path(os.environ) if path is None else _named(path))
    seed = secrets.token_bytes(KEY_BYTES)
    try:
        public_key = Signer.of_seed(seed).public_key
    except ImportError as error:
        raise UnavailableError(Reason.KEY_UNUSABLE, f"{MISSING_LIBRARY}: it makes the key") from error
    write_pair(files, seed, public_key, overwrite=force)
    if Path(os.path.realpath(files.private)).is_relative_to(current_folder()):
        console.warn("the key stands in the current folder: a run here will refuse it, for its agent could read it")
    if as_json:
        members = {"private_key": str(files.private), "public_key": public_key.hex()}
        console.result(console.as_json({**members, "verifier_key": verifier_key(public_key)}))
        return exits.OK
    console.result(f"private key  {console.plain(str(files.private))}")
    console.result(f"public key   {console.plain(str(files.public))}, {console.plain(str(files.note))}")
    console.result(f"             {public_key.hex()}")
    console.result(f"fingerprint  {fingerprint(public_key)}")
    private, public = (console.plain(shlex.quote(str(one))) for one in (files.private, files.public))
    console.say(f"sign a run with docket run --sign {private}, and verify it with docket verify --public-key {public}")
    return exits.OK


def _named(path: Path) -> Path:
    """Return where a key is to stand; UsageError for the place of something that none can stand in."""
    for taken in key_files(path).all:
        if os.path.lexists(taken) and not os.path.isfile(taken):  # noqa: PTH113 - Path's own raises where it may not look
            raise UsageError(Reason.NOT_A_FILE, f"{taken} is there, and is no file that a key could replace")
    return path
