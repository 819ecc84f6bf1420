"""Checks of what a key vouches for: the seal and the signature.

Rules: a form that could not have been written by a correct signer fails; a well-formed one that no key of the
caller's was named for is skipped, and a skipped check never raises the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docket.rules.checks.case import Answer, Case, broken, skipped

_SEAL_VALUE = re.compile(r"[0-9a-f]{64}")
_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_VALUE = re.compile(r"[0-9a-f]{128}")


def seal(case: Case) -> Answer:
    """The HMAC over the receipt, where a key was named."""
    return _form(case, "seal", "hmac-sha256", {"value": _SEAL_VALUE})


def signature(case: Case) -> Answer:
    """The Ed25519 signature over the receipt, where a key was named."""
    return _form(case, "signature", "ed25519", {"public_key": _PUBLIC_KEY, "value": _SIGNATURE_VALUE})


def _form(case: Case, name: str, algorithm: str, members: Mapping[str, re.Pattern[str]]) -> Answer:
    stated = case.receipt.part(name)
    if stated is None:
        return skipped(f"the receipt carries no {name}")
    found = case.receipt.mapping(name)
    if found.get("alg") != algorithm:
        return broken(f"{name}.alg is not {algorithm}")
    for member, pattern in members.items():
        value = found.get(member)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            return broken(f"{name}.{member} is not lower-case hexadecimal of the right length")
    return skipped(f"no key was named to check the {name} with")
