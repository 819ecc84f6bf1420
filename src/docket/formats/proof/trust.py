"""The list of keys that somebody trusts: `docket/trust/v1` (spec/receipt.md, Trusted keys).

It names public keys as they are and keys of seals by the file that holds them. Files are read by who reads the list.
"""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.letters import is_printable
from docket.formats.proof.key_text import read_public_key
from docket.formats.reading import Reader
from docket.formats.reason import Reason

FORMAT = "docket/trust/v1"
MAX_TRUST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedSigner:
    """Somebody whose signature is believed."""

    name: str
    public_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedSeal:
    """A key of seals: what receipts call it, and the file that holds it, relative to the list."""

    name: str
    key_id: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The list; it is never empty."""

    signers: tuple[TrustedSigner, ...]
    seals: tuple[TrustedSeal, ...]


def read_trust(value: JsonValue) -> Trust:
    """Read a decoded list; InvalidDocumentError names the member that is wrong."""
    reader = Reader(value, "trust")
    if reader.text("format") != FORMAT:
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"trust.format is not {FORMAT}")
    signers = tuple(_signer(item, f"trust.signers[{at}]") for at, item in enumerate(_items(reader, "signers")))
    seals = tuple(_seal(item, f"trust.seal_keys[{at}]") for at, item in enumerate(_items(reader, "seal_keys")))
    reader.close()
    if not signers and not seals:
        raise InvalidDocumentError(Reason.MISSING_MEMBER, "trust names no key")
    return Trust(signers=signers, seals=seals)


def _items(reader: Reader, name: str) -> tuple[JsonValue, ...]:
    return tuple(reader.items(name)) if reader.has(name) else ()


def _signer(item: JsonValue, where: str) -> TrustedSigner:
    reader = Reader(item, where)
    name, text = _name(reader), reader.text("public_key")
    reader.close()
    try:
        return TrustedSigner(name=name, public_key=read_public_key(text))
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{where}.public_key: {error.detail}") from error


def _seal(item: JsonValue, where: str) -> TrustedSeal:
    reader = Reader(item, where)
    seal = TrustedSeal(name=_name(reader), key_id=reader.text("key_id"), file=reader.text("file"))
    reader.close()
    return seal


def _name(reader: Reader) -> str:
    name = reader.text("name")
    if not name.strip() or not is_printable(name.replace(" ", "")):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.name is no name on one line")
    return name
