"""The check of what a record says will vouch for it: its own key, its own session, its own number."""

from __future__ import annotations

import re

from docket.formats.canonical import JsonValue
from docket.formats.proof.origin import origin_of
from docket.formats.shown import shown
from docket.rules.checks.case import Answer, Case, broken, held, skipped

_SESSION = re.compile(r"[0-9A-Za-z_-]{1,64}")
_PROJECT = re.compile(r"[0-9a-f]{32}")
_KEY_ID = re.compile(r"[0-9a-f]{16}")
PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")


def proof_facts(case: Case) -> Answer:
    """The origin is made of the key and the session; project, run, keys and the run before have their forms."""
    if case.receipt.part("proof") is None:
        return skipped("the record does not say what vouches for it")
    if not case.receipt.ours:
        return skipped("another writer's proof is not known here")
    fault = _key_fault(case) or _fault(case)
    if fault is not None:
        return broken(fault)
    return held(f"run {case.receipt.part('proof', 'run')} of its project, {case.receipt.part('proof', 'origin')}")


def _key_fault(case: Case) -> str | None:
    key, key_id = case.receipt.part("proof", "signature", "public_key"), case.receipt.part("proof", "seal", "key_id")
    if key is not None and not _is(PUBLIC_KEY, key):
        return "proof.signature.public_key is not 64 lower-case hexadecimal digits"
    if key_id is not None and not _is(_KEY_ID, key_id):
        return "proof.seal.key_id is not 16 lower-case hexadecimal digits"
    return None


def _fault(case: Case) -> str | None:
    receipt = case.receipt
    key, session = receipt.part("proof", "signature", "public_key"), receipt.part("session", "id")
    if not _is(_SESSION, session):
        return "session.id is not 1 to 64 letters, digits, _ and -: an origin is made of it"
    wanted = origin_of(str(session), None if key is None else bytes.fromhex(str(key)))
    if receipt.part("proof", "origin") != wanted:
        return f"proof.origin is {shown(receipt.part('proof', 'origin'))}, key and session give {shown(wanted)}"
    if not _is(_PROJECT, receipt.part("proof", "project")):
        return "proof.project is not 32 lower-case hexadecimal digits"
    if receipt.part("proof", "run") == 0:
        return "proof.run is 0, runs are counted from 1"
    if receipt.part("proof", "previous", "session") == session:
        return "proof.previous names this very session"
    if receipt.part("proof", "previous", "events") == 0:
        return "proof.previous has no event"
    return None


def _is(form: re.Pattern[str], value: JsonValue) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None
