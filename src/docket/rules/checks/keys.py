"""Checks of what a key vouches for: the seal and the signature (spec/receipt.md, Keys).

Rules:
1. A form that could not have been written by a correct signer fails, and so does a signature that does not hold,
   whether or not anybody named its key.
2. What the record itself announces must be there, by the key it announces: a run signs before it records its end. One
   that was killed before that is the exception: its verdict is never better than incomplete.
3. A key that the caller named must have been used. What cannot be checked then fails.
4. Only a key that the caller named vouches for a receipt: one that the receipt brings along says whose it is, and
   nothing about whether to believe them.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping

from docket.formats.canonical import JsonObject
from docket.formats.dataclass import dataclass
from docket.formats.run.verdict import Status
from docket.formats.shown import shown
from docket.rules.checks.case import Answer, Case, broken, held, skipped
from docket.rules.proof import ed25519
from docket.rules.proof.vouching import seal_key_id, seal_value, sealed_text, signed_text

_HEX_64, _HEX_128, _KEY_ID = (re.compile(f"[0-9a-f]{{{digits}}}") for digits in (64, 128, 16))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A seal or a signature: its algorithm, the forms of its members, and which of them names its key."""

    name: str
    other: str
    algorithm: str
    key_member: str
    members: Mapping[str, re.Pattern[str]]


_SEAL = _Kind(
    name="seal",
    other="signature",
    algorithm="hmac-sha256",
    key_member="key_id",
    members={"key_id": _KEY_ID, "value": _HEX_64},
)
_SIGNATURE = _Kind(
    name="signature",
    other="seal",
    algorithm="ed25519",
    key_member="public_key",
    members={"public_key": _HEX_64, "value": _HEX_128},
)


def seal(case: Case) -> Answer:
    """The HMAC over the receipt is the one that a named key gives."""
    named = {seal_key_id(pin.key) for pin in case.pins.seals}
    if case.receipt.part("seal") is None:
        return _absent(case, _SEAL, named)
    found = case.receipt.mapping("seal")
    fault = _form(found, _SEAL) or _not_announced(case, _SEAL, found)
    if fault is not None:
        return broken(fault)
    if not named:
        return skipped("no key was named to check the seal with")
    pin = next((pin for pin in case.pins.seals if seal_key_id(pin.key) == found["key_id"]), None)
    if pin is None:
        return _by_another(_SEAL, found)
    value = seal_value(pin.key, sealed_text(case.receipt.document))
    if not hmac.compare_digest(value, str(found["value"])):
        return broken("the seal is not one of this receipt by the key that was named")
    return Answer(
        Status.PASS, f"sealed with the key {found['key_id']}{_called(pin.name)}, which was named", vouches=True
    )


def signature(case: Case) -> Answer:
    """The Ed25519 signature over the receipt holds, by a key that was named where one was."""
    named = {pin.public_key.hex() for pin in case.pins.signers}
    if case.receipt.part("signature") is None:
        return _absent(case, _SIGNATURE, named)
    found = case.receipt.mapping("signature")
    fault = _form(found, _SIGNATURE) or _not_announced(case, _SIGNATURE, found) or _mathematics(case, found)
    if fault is not None:
        return broken(fault)
    key = str(found["public_key"])
    if not named:
        return held(f"it holds by the key {key}, which nobody named: it says who signed, not whether to believe them")
    pin = next((pin for pin in case.pins.signers if pin.public_key.hex() == key), None)
    if pin is None:
        return _by_another(_SIGNATURE, found)
    return Answer(Status.PASS, f"signed by the key {key}{_called(pin.name)}, which was named", vouches=True)


def _absent(case: Case, kind: _Kind, named: set[str]) -> Answer:
    announced = _announced(case, kind)
    if announced is not None and _was_killed(case) and (not named or announced.get(kind.key_member) in named):
        return skipped(f"the run was killed: its {kind.name} was to be made at its end")
    if announced is not None:
        return broken(f"proof names the key of the run's {kind.name}, and the receipt carries none")
    if not named:
        return skipped(f"the receipt carries no {kind.name}")
    if case.pins.either and case.receipt.part(kind.other) is not None:
        return skipped(f"the receipt carries no {kind.name}; of the keys that were named one is enough")
    return broken(f"a key was named, and the receipt carries no {kind.name}")


def _by_another(kind: _Kind, found: JsonObject) -> Answer:
    return broken(f"{kind.name}.{kind.key_member} is {shown(found[kind.key_member])}, no key that was named")


def _form(found: JsonObject, kind: _Kind) -> str | None:
    if found.get("alg") != kind.algorithm:
        return f"{kind.name}.alg is not {kind.algorithm}"
    if set(found) != {"alg", *kind.members}:
        return f"{kind.name} has not exactly the members alg, {', '.join(kind.members)}"
    for member, pattern in kind.members.items():
        value = found[member]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            return f"{kind.name}.{member} is not lower-case hexadecimal of the right length"
    return None


def _not_announced(case: Case, kind: _Kind, found: JsonObject) -> str | None:
    if not case.receipt.ours or case.receipt.part("proof") is None:
        return None
    announced = _announced(case, kind)
    if announced is None:
        return f"proof names no key for a {kind.name}, and the receipt carries one"
    wanted = announced.get(kind.key_member)
    if found[kind.key_member] != wanted:
        return f"{kind.name}.{kind.key_member} is {shown(found[kind.key_member])}, proof names {shown(wanted)}"
    return None


def _mathematics(case: Case, found: JsonObject) -> str | None:
    key, value = bytes.fromhex(str(found["public_key"])), bytes.fromhex(str(found["value"]))
    try:
        return ed25519.fault(key, value, signed_text(case.receipt.document))
    except ImportError:
        return f"it cannot be checked: {ed25519.MISSING_LIBRARY}"


def _announced(case: Case, kind: _Kind) -> JsonObject | None:
    announced = case.receipt.part("proof", kind.name) if case.receipt.ours else None
    return announced if isinstance(announced, Mapping) else None


def _was_killed(case: Case) -> bool:
    return case.receipt.part("session", "exit_code") is None and case.receipt.part("evidence", "ended") is False


def _called(name: str) -> str:
    return f" ({name})" if name else ""
