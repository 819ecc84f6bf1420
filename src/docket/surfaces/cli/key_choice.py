"""Which keys a person named: to vouch for a run with, and to verify a receipt by, with the options that name them.

Rules:
1. A key is read and tried before anything is started: what is wrong with it is a refusal then, never a receipt
   without its signature afterwards.
2. A secret is read where nothing else of the user's can read this process's memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from docket.errors import DocketError, InvalidDocumentError, RefusedBeforeStartError, UnavailableError, UsageError
from docket.formats.canonical import decode_document
from docket.formats.dataclass import dataclass
from docket.formats.proof import key_text, trust
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.host.isolation import forbid_core_dumps, protect_supervisor
from docket.host.key_file import read_key_descriptor, read_key_file
from docket.host.regular_file import read_regular_file
from docket.rules.proof import ed25519
from docket.rules.proof.ed25519 import Signer
from docket.rules.proof.vouching import NO_VOUCHER, Voucher, seal_key_id
from docket.stores.key_files import own_seal_key
from docket.surfaces.cli.completing import files_like
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.project import fault_of, path_said

_DESCRIPTOR = re.compile(r"fd:([0-9]{1,6})")
_MADE = "docket keygen makes one, and --sign names its file"
_LIST = 'a list is {"format": "docket/trust/v1", "signers": [...]}; one key by itself is for --public-key'
_SAID_CHARACTERS = 100
_LIKE_A_SECRET = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_PUBLIC_SUFFIXES = (".pub", ".vkey")
_NO_LIBRARY = f"{ed25519.MISSING_LIBRARY}: without it nothing can be signed"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAsked:
    """What the command line says of keys: a file or `fd:N` that signs, a seal, and the file of the seal's key."""

    sign: str | None = None
    seal: bool = False
    seal_key: Path | None = None


def voucher_for(asked: KeysAsked, policy: Policy, tree: Path) -> Voucher:
    """Return the keys that the run vouches with, read and tried; RefusedBeforeStartError says what is wrong."""
    sign = (policy.proof.sign or None) if asked.sign is None else asked.sign
    seal = asked.seal or asked.seal_key is not None or policy.proof.seal
    if sign is None and not seal:
        return NO_VOUCHER
    if not (protect_supervisor() and forbid_core_dumps()):
        detail = "this system does not let docket keep other programs from reading its memory"
        raise RefusedBeforeStartError(Reason.UNSUPPORTED_PLATFORM, f"{detail}: a key would not be safe in it")
    voucher = Voucher(
        signer=None if sign is None else _signer(sign, tree), seal_key=_seal_key(asked.seal_key, tree) if seal else None
    )
    fault = voucher.fault()
    if fault is not None:
        raise RefusedBeforeStartError(Reason.KEY_UNUSABLE, f"the signing key does not do its work: {fault}")
    return voucher


def _signer(named: str, tree: Path) -> Signer:
    descriptor = _DESCRIPTOR.fullmatch(named)
    try:
        if descriptor is not None:
            data = read_key_descriptor(int(descriptor[1]), key_text.MAX_KEY_FILE_BYTES, outside=tree)
        else:
            data = read_key_file(_key_path(named), key_text.MAX_KEY_FILE_BYTES, outside=tree)
        return Signer.of_seed(key_text.read_private_key(data))
    except DocketError as error:
        if descriptor is None and _is_public(named):
            detail, hint = f"{named} cannot sign: it is a public key", f"name {_private_of(named)}"
            raise RefusedBeforeStartError(Reason.KEY_UNUSABLE, detail, hint=hint) from error
        said = f"{named} cannot sign" if isinstance(error, InvalidDocumentError) else "the signing key"
        made = _MADE if descriptor is None else None
        raise RefusedBeforeStartError(error.reason, f"{said}: {error.detail}", hint=error.hint or made) from error
    except ImportError as error:
        raise RefusedBeforeStartError(Reason.KEY_UNUSABLE, _NO_LIBRARY) from error


def _is_public(named: str) -> bool:
    try:
        data = read_regular_file(_key_path(named), key_text.MAX_KEY_FILE_BYTES)
        key_text.read_public_key(data.decode("utf-8", "replace"))
    except DocketError:
        return False
    return True


def _private_of(named: str) -> str:
    """Say which file holds the private half of a public key's, as docket keygen names the two."""
    path = Path(named)
    if path.suffix in _PUBLIC_SUFFIXES and os.path.lexists(_key_path(str(path.with_suffix("")))):
        return f"{path.with_suffix('')}, which holds the private one"
    return "the file of the private one, which docket keygen writes beside it"


def _key_path(named: str) -> Path:
    if not named:
        hint = "a variable that is empty? Leave --sign out for a run that nobody signs"
        raise UnavailableError(Reason.NOT_FOUND, "--sign names no file", hint=hint)
    return path_said(named)


def _seal_key(named: Path | None, tree: Path) -> bytes:
    path = named
    try:
        path = own_seal_key(os.environ) if named is None else named
        return key_text.read_seal_key(read_key_file(path, key_text.MAX_KEY_FILE_BYTES, outside=tree))
    except DocketError as error:
        detail = error.detail if path is None else fault_of(str(path), error)
        raise RefusedBeforeStartError(error.reason, f"the key of the seal: {detail}", hint=error.hint) from error


_PINS = (
    click.option("--public-key", "public_keys", multiple=True, metavar="KEY|FILE", shell_complete=files_like,
                 help="Whose signature counts: 64 hex digits, PEM, a verifier key, or a file with one. "
                 "May be repeated."),
    click.option("--seal-key", "seal_keys", multiple=True, type=ANY_PATH, metavar="FILE",
                 shell_complete=files_like, help="The key of the seal. May be repeated."),
    click.option("--trust", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
                 help="A list of trusted keys: docket/trust/v1."),
)  # fmt: skip


def pin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command what names the keys that a receipt is verified by: --public-key, --seal-key, --trust."""
    for option in reversed(_PINS):
        command = option(command)
    return command


def pins_asked(named: Mapping[str, Any]) -> Pins:
    """Return the keys that `pin_options` took; UsageError says what is wrong with one."""
    return pins_of(named["public_keys"], named["seal_keys"], named["trust"])


def pins_of(public_keys: Sequence[str], seal_keys: Sequence[Path], trusted: Path | None) -> Pins:
    """Return the keys that a verifier's command line names; UsageError says what is wrong with one."""
    signers = [PinnedKey(public_key=_public_key(text)) for text in public_keys]
    seals = [PinnedSeal(key=_pinned_seal("--seal-key", path)) for path in seal_keys]
    if trusted is None:
        return Pins(signers=tuple(signers), seals=tuple(seals))
    listed = _trust(trusted)
    signers += [_usable("--trust", PinnedKey(public_key=one.public_key, name=one.name)) for one in listed.signers]
    either = bool(listed.signers and listed.seals) and not public_keys and not seal_keys
    for one in listed.seals:
        key = _pinned_seal("--trust", trusted.parent / one.file)
        if seal_key_id(key) != one.key_id:
            raise UsageError(Reason.KEY_UNUSABLE, f"--trust: {one.file} holds another key than {one.key_id}")
        seals.append(PinnedSeal(key=key, name=one.name))
    return Pins(signers=tuple(signers), seals=tuple(seals), either=either)


def _public_key(text: str) -> bytes:
    if not text.strip():
        raise UsageError(Reason.NOT_FOUND, "--public-key names no key: a variable that is empty?")
    try:
        return _usable("--public-key", PinnedKey(public_key=key_text.read_public_key(text))).public_key
    except InvalidDocumentError as error:
        if not os.path.lexists(text):
            detail = f"--public-key{_said(text)}: {error.detail}, and there is no such file"
            raise UsageError(error.reason, detail) from error
    try:
        data = read_regular_file(Path(text), key_text.MAX_KEY_FILE_BYTES)
        key = key_text.read_public_key(data.decode("utf-8", "replace"))
    except DocketError as error:
        raise UsageError(error.reason, f"--public-key: {fault_of(text, error)}") from error
    return _usable("--public-key", PinnedKey(public_key=key)).public_key


def _said(text: str) -> str:
    # A secret that was given in a public key's place is not repeated.
    is_secret = len(text) > _SAID_CHARACTERS or "-----" in text or _LIKE_A_SECRET.fullmatch(text)
    return "" if is_secret else f" {text}"


def _usable(option: str, pin: PinnedKey) -> PinnedKey:
    fault = ed25519.key_fault(pin.public_key)
    if fault is not None:
        raise UsageError(Reason.KEY_UNUSABLE, f"{option}: {fault}")
    return pin


def _pinned_seal(option: str, path: Path) -> bytes:
    try:
        return key_text.read_seal_key(read_regular_file(path, key_text.MAX_KEY_FILE_BYTES))
    except DocketError as error:
        raise UsageError(error.reason, f"{option}: {fault_of(str(path), error)}") from error


def _trust(path: Path) -> trust.Trust:
    try:
        return trust.read_trust(decode_document(read_regular_file(path, trust.MAX_TRUST_BYTES)))
    except (InvalidDocumentError, UnavailableError) as error:
        hint = _LIST if isinstance(error, InvalidDocumentError) else None
        raise UsageError(error.reason, f"--trust: {fault_of(str(path), error)}", hint=hint) from error
