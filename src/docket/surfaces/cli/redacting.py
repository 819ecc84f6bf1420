"""`docket report --redact`: a copy of a record that hides something, for somebody else."""

from __future__ import annotations

from pathlib import Path

from docket.engines.redact import Copied, CopyRequest, write_copy
from docket.errors import RefusedBeforeStartError, UnavailableError, UsageError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.nearest import nearest
from docket.formats.proof.origin import fingerprint
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.rules.proof.vouching import NO_VOUCHER, Voucher
from docket.stores.receipts import ledger_of
from docket.surfaces.cli import console
from docket.surfaces.cli.key_choice import KeysAsked, voucher_for
from docket.surfaces.cli.project import current_folder

ALL = "all"
_NOT_HIDDEN = (
    "Sizes, times, counts, costs and prices, and docket's own words stay; look through the copy before you hand it on."
)


def profiles_of(named: str) -> frozenset[Profile]:
    """Return the profiles of a list such as `paths,argv`; UsageError names the one that is not known."""
    words = [word.strip() for word in named.split(",")]
    if words == [ALL]:
        return frozenset(Profile)
    known = [str(profile) for profile in Profile]
    for word in words:
        if word not in known:
            near = nearest(word, (*known, ALL))
            hint = f"did you mean {near[0]}?" if near else None
            detail = f"--redact {word}: name any of {', '.join(known)}, or {ALL} alone"
            raise UsageError(Reason.USAGE, detail, hint=hint)
    return frozenset(map(Profile, words))


def write_redacted(document: JsonObject, receipt: Path, out: Path, *, named: str, sign: str | None) -> None:
    """Write the copy of a receipt and the ledger beside it, and say what it is."""
    profiles = profiles_of(named)
    ledger = ledger_of(receipt, document)
    if ledger is None:
        detail = f"the ledger of {receipt} does not stand beside it: a copy is made of both"
        raise UnavailableError(Reason.NOT_FOUND, detail)
    request = CopyRequest(receipt=receipt, ledger=ledger, profiles=profiles, out=out, voucher=_voucher(sign))
    _tell(write_copy(request), profiles)


def _tell(copied: Copied, profiles: frozenset[Profile]) -> None:
    facts = object_at(copied.document, "redaction")
    left = facts.get("not_carried")
    lines = [
        f"receipt  {copied.receipt}",
        f"ledger   {copied.ledger}",
        f"hides    {', '.join(sorted(profiles))}: {facts.get('replaced')} values replaced",
    ]
    if isinstance(left, (list, tuple)) and left:
        lines.append(f"without  {', '.join(map(str, left))}")
    key = object_at(copied.document, "signature").get("public_key")
    if isinstance(key, str):
        lines.append(f"signed   by {fingerprint(bytes.fromhex(key))}, whose word the copy is")
    lines.append(f"verdict  {copied.word}")
    for line in lines:
        console.result(console.plain(line))
    console.say(_NOT_HIDDEN)
    console.say(f"to show later which record it was made from, keep this: docket-opening {copied.opening.hex()}")


def _voucher(sign: str | None) -> Voucher:
    if sign is None:
        return NO_VOUCHER
    try:
        return voucher_for(KeysAsked(sign=sign), Policy(), current_folder())
    except RefusedBeforeStartError as error:
        raise UsageError(error.reason, error.detail, hint=error.hint) from error
