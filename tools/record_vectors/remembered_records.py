"""Scenarios of what a verifier remembers: runs of a project by the keys that signed them, ledgers by their origins."""

from __future__ import annotations

import json
from collections.abc import Iterator

from record_vectors import ledgers
from record_vectors.primitives import Json, digest_of, root, sealed, signed
from record_vectors.scenario import PUBLIC, SEAL, SECRET, Scenario, Side, side, twin
from record_vectors.vouched_records import OTHER_PUBLIC, facts

CHECK, UNSIGNED = "rollback", "unsigned"
PREVIOUS = {"session": "0a1b2c3d4e5f", "events": 12, "head": ledgers.SOME, "receipt_sha256": ledgers.OTHER}


def run(number: int, key: str = UNSIGNED, **changes: str) -> Json:
    """What is known of a run of the project; the second is the one before."""
    told = {"session": PREVIOUS["session"] if number == 2 else "111111111111", "receipt_sha256": ledgers.OTHER}
    return {"key": key, "project": "0c" * 16, "run": number, **told, **changes}


def knows(*runs: Json, origins: tuple[Json, ...] = ()) -> Json:
    """A state."""
    return {"format": "docket/verifier-state/v1", "projects": list(runs), "origins": list(origins)}


def scenarios() -> Iterator[Scenario]:
    """Every scenario; the run is the third of its project."""
    yield from _runs()
    yield from _keys()
    yield from _named()
    yield from _ledgers()


def _by_nobody(**more: object) -> Side:
    return side(ledgers.idle(proof=facts(signature=False, seal=False, previous=PREVIOUS)), **more)


def _signed(**more: object) -> Side:
    story = ledgers.idle(proof=facts(seal=False, previous=PREVIOUS))
    return side(story, lambda receipt: signed(receipt, SECRET), **more)


def _runs() -> Iterator[Scenario]:
    good = _by_nobody(state=knows(run(2)))
    receipt = json.loads(good.receipt)
    own = run(3, session=ledgers.SESSION, receipt_sha256=digest_of(receipt))
    yield Scenario(name="state-earlier-run", says="the run before is known", accepted=good)
    yield Scenario(name="state-nothing", says="nothing is known", accepted=_by_nobody(state=knows()))
    yield Scenario(name="state-same-run", says="the receipt is known", accepted=_by_nobody(state=knows(own)))
    other = run(9, project="0d" * 16)
    yield Scenario(name="state-other-project", says="a later run of another project is no later run of this",
                   accepted=_by_nobody(state=knows(other)))  # fmt: skip
    for name, says, state in (
        ("later-run", "a later run is known", knows(run(4))),
        ("later-run-by-a-key", "signed by whomever", knows(run(4, OTHER_PUBLIC))),
        ("other-receipt", "there is one receipt of a run", knows({**own, "receipt_sha256": ledgers.OTHER})),
        ("other-receipt-before", "and of the run before", knows(run(2, receipt_sha256=ledgers.SOME))),
        ("key-gone", "who signed goes on signing", knows(run(2, OTHER_PUBLIC))),
    ):
        yield twin(f"state-{name}", says, CHECK, good, state=state)
    numberless = side(ledgers.idle())
    yield twin("state-no-number", "a record that does not say which run it is cannot be told from an older one", CHECK,
               numberless, state=knows())  # fmt: skip


def _keys() -> Iterator[Scenario]:
    """No key is named: what a signature says of itself makes nothing newer."""
    good = _signed(state=knows(run(2, PUBLIC)))
    yield Scenario(name="state-same-key", says="the run before, by the same key", accepted=good)
    yield Scenario(name="state-signed-since", says="whoever did not sign may begin to",
                   accepted=_signed(state=knows(run(2))))  # fmt: skip
    yield Scenario(name="state-both-keys", says="a project may have had two keys",
                   accepted=_signed(state=knows(run(1, PUBLIC), run(2, OTHER_PUBLIC))))  # fmt: skip
    for name, says, state in (
        ("later-run-by-its-key", "a later run by the same key is known", knows(run(4, PUBLIC))),
        ("fresh-key", "a fresh key makes no older run new", knows(run(4, OTHER_PUBLIC))),
        ("fresh-key-nobody-signed", "nor where nobody signed before", knows(run(4))),
        ("key-changed", "a key that changes has to be named", knows(run(2, OTHER_PUBLIC))),
    ):
        yield twin(f"state-{name}", says, CHECK, good, state=state)


def _named() -> Iterator[Scenario]:
    """A key that is named is held against its own runs: nobody else can make them old."""
    named: Json = {"verdict": "verified", "public_keys": (PUBLIC,)}
    good = _signed(state=knows(run(2, PUBLIC), run(9), run(8, OTHER_PUBLIC)), **named)
    yield Scenario(
        name="state-named", says="later runs by nobody's and another key, and the key is named", accepted=good
    )
    yield twin(
        "state-named-later-run", "a later run by the key that is named", CHECK, good, state=knows(run(4, PUBLIC))
    )
    story = ledgers.idle(proof=facts(signature=False, previous=PREVIOUS))
    good = side(story, lambda receipt: sealed(receipt, SEAL), state=knows(run(2, PUBLIC)), verdict="verified",
                seal_keys=(SEAL.hex(),))  # fmt: skip
    yield Scenario(name="state-seal-named", says="sealed where others were signed, and the seal's key is named",
                   accepted=good)  # fmt: skip
    yield twin("state-seal-named-later-run", "what no key signed is held against all", CHECK, good,
               state=knows(run(4, PUBLIC)))  # fmt: skip
    story = ledgers.idle(proof=facts(previous=PREVIOUS))
    good = side(story, lambda receipt: signed(sealed(receipt, SEAL), SECRET), state=knows(run(2, OTHER_PUBLIC)),
                verdict="verified", seal_keys=(SEAL.hex(),))  # fmt: skip
    yield Scenario(name="state-sealed-key-changed", says="another key signed before, and that of the seal is named",
                   accepted=good)  # fmt: skip
    yield twin("state-sealed-later-run", "what a key signed that was not named is held against all", CHECK, good,
               state=knows(run(4, OTHER_PUBLIC)))  # fmt: skip


def _ledgers() -> Iterator[Scenario]:
    good = _by_nobody()
    hashes = [json.loads(line)["hash"] for line in (good.ledger or b"").splitlines()]
    origin = facts(signature=False, seal=False)["origin"]

    def of(size: int, head: str) -> Json:
        return knows(origins=({"origin": origin, "size": size, "root": head},))

    yield Scenario(name="state-beginning", says="an earlier size of the ledger is known",
                   accepted=_by_nobody(state=of(3, root(hashes[:3]))))  # fmt: skip
    whole = _by_nobody(state=of(len(hashes), root(hashes)))
    yield Scenario(name="state-same-ledger", says="the ledger is known", accepted=whole)
    for name, says, state in (
        ("larger-ledger", "a ledger does not shrink", of(len(hashes) + 1, ledgers.SOME)),
        ("other-ledger", "there is one of a size", of(len(hashes), ledgers.SOME)),
        ("other-beginning", "it goes on as it began", of(3, ledgers.SOME)),
    ):
        yield twin(f"state-{name}", says, CHECK, whole, state=state)
