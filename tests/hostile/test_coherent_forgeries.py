"""Forgeries that agree with themselves: whoever makes them makes every sum, hash, root, path and digest anew.

Each forgery changes the events of the record that has everything, chains them anew and lets docket derive the receipt.
The liar then lets it go without a word of keys, with the announced vouchers taken off or left as they were, vouched
for by keys of the liar's own, or, where the liar holds the right keys, by these. Each is shown to both verifiers with
the true ledger, with its own and with none, with keys named or not, with a head written down or not. What has to be
said of it follows from what is at hand (`expected`), whatever the forgery.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import record_vectors_lab
from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.canonical import encode
from docket.formats.digest import Digest
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import follow
from docket.formats.proof.checkpoint import TreeHead, head_words
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.run.verdict import Word
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.checks.registry import Beside, judge
from golden_ledgers.judging import Body, bodies, chained, first_failure, judged, lines_of, reading_of, receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, SECRET_KEY, sealed, signed, unsealed
from sweeps import some
from verify_js.in_node import NODE, Pair, disagreements

RECORD = next(told for told in record_vectors_lab.sides() if told.name == "everything, accepted")
RAW = RECORD.ledger or b""
GENUINE: dict[str, Any] = json.loads(RECORD.receipt)
EVENTS = [event for event in follow([RAW]) if isinstance(event, Event)]
HEAD = TreeHead(
    origin=GENUINE["proof"]["origin"], size=len(EVENTS), root=Digest(GENUINE["ledger"]["merkle_root"])
)  # fmt: skip
PINS = Pins(
    signers=(PinnedKey(public_key=bytes.fromhex(PUBLIC_KEY)),), seals=(PinnedSeal(key=SEAL_KEY),)
)  # fmt: skip
THEIR_SECRET, THEIR_SEAL_KEY = b"\x66" * 32, b"\x67" * 32
COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")

Change = Callable[[list[Body]], object]


def of(items: Sequence[Body], *types: str) -> list[dict[str, Any]]:
    """The data of the events of these types."""
    return [data for type_, _, data in items if type_ in types]


def spelt(amount: Decimal) -> str:
    """An amount of whole micro-dollars in its one spelling."""
    assert amount == round(amount, 6)
    return f"{amount:.2f}" if amount == round(amount, 2) else f"{amount:.6f}"


def settled(items: list[Body]) -> None:
    """Every cost as tokens and prices have it, every sum as costs have it."""
    prices = {one["pattern"]: one for one in of(items, "x-docket.price")}
    total, by_key = Decimal(0), dict[str, str]()
    for reply in of(items, "model.response"):
        cost = Decimal(0)
        for part in reply["components"]:
            fresh, cached, output = part["input_tokens"] - part["cached_input_tokens"], *(part[n] for n in COUNTS[1:])
            price = prices[part["model"]]
            each = fresh * Decimal(price["input"]) + cached * Decimal(price["cached_input"])
            each = (each + output * Decimal(price["output"])) / 1_000_000
            part["cost_usd"] = spelt(each)
            cost += each
        total += cost
        reply |= {"cost_usd": spelt(cost), "cumulative_cost_usd": spelt(total)}
        by_key[reply["cache"]["key"]] = spelt(cost)
    for hit in of(items, "model.cache_hit", "x-docket.cache-hit"):
        hit["avoided_cost_usd"] = by_key[hit["key"]]
    of(items, "x-docket.budget")[0]["spent_usd"] = of(items, "session.end")[0]["cost_usd"] = spelt(total)


def cheaper_tokens(items: list[Body]) -> None:
    fewer = {"input_tokens": 600, "cached_input_tokens": 400, "output_tokens": 10}
    reply = of(items, "model.response")[1]
    reply["components"][0] |= fewer
    for one in (reply, *of(items, "model.cache_hit")):
        one["usage"] |= fewer
    settled(items)


def lower_prices(items: list[Body]) -> None:
    for one in of(items, "x-docket.price"):
        one |= {name: str(Decimal(one[name]) / 5) for name in ("input", "cached_input", "output")}
    settled(items)


def no_prices(items: list[Body]) -> None:
    for one in of(items, "x-docket.price"):
        one |= {"input": "0", "cached_input": "0", "output": "0"}
    settled(items)


def renamed_model(items: list[Body]) -> None:
    for _, _, data in items:
        for one in (data, *data.get("components", ())):
            for name in ("model", "pattern"):
                if one.get(name) == "gpt-5":
                    one[name] = "gpt-5-nano"


def no_second_call(items: list[Body]) -> None:
    at = next(at for at, item in enumerate(items) if item[0] == "note")
    del items[at]
    del items[9:13]
    settled(items)


def other_session(items: list[Body]) -> None:
    of(items, "session.start")[0].update(argv=["agent", "--harmless"], label="another", cwd="/elsewhere")
    for one in of(items, "proc.exit", "session.end"):
        one["exit_code"] = 7
    of(items, "session.end")[0]["duration_seconds"] = "9.000"


def other_file(items: list[Body]) -> None:
    of(items, "fs.change")[0]["path"] = "README.md"


def other_policy(items: list[Body]) -> None:
    (policy,) = of(items, "policy.applied")
    policy["document"]["caps"]["max_usd"] = "900.00"
    policy["document"]["files"]["deny_write"] = []
    policy["digest"] = hashlib.sha256(encode(policy["document"])).hexdigest()
    of(items, "x-docket.budget")[0]["cap_usd"] = "900.00"


def other_delta(items: list[Body]) -> None:
    of(items, "x-docket.tool-delta")[0].update(delta_sha256="d2" * 32, files=1)


def better_isolation(items: list[Body]) -> None:
    of(items, "proc.spawn")[0]["isolation"] = ["pidns", "subreaper"]


def extended(items: list[Body]) -> None:
    items.insert(-1, ("note", items[-1][1], {"code": "policy-remark", "message": "nothing happened"}))


def cut_and_ended(items: list[Body]) -> None:
    """As if the run had ended before its second call."""
    of(items, "session.end")[0]["cost_usd"] = of(items, "x-docket.budget")[0]["spent_usd"] = "0.008625"
    del items[9:21]
    of(items, "model.response")[0].pop("tool_use_ids")


FORGERIES: tuple[Change, ...] = (
    cheaper_tokens, lower_prices, no_prices, renamed_model, no_second_call, other_session, other_file, other_policy,
    other_delta, better_isolation, extended, cut_and_ended,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Forged:
    """A forged record as somebody lets it go; `by` says what vouches for it."""

    change: str
    by: str
    receipt: dict[str, Any]
    raw: bytes


def forged(
    change: Change, proof: Callable[[dict[str, Any]], object] = lambda data: None
) -> tuple[dict[str, Any], bytes]:
    """The changed events as a sound ledger, and its receipt without a voucher."""
    items = bodies(EVENTS)
    change(items)
    proof(items[0][2])
    raw = lines_of(chained(items, EVENTS))
    return receipt_of(raw), raw


def theirs(data: dict[str, Any]) -> None:
    """The run as it would announce the liar's own keys."""
    public = signed({}, THEIR_SECRET)["signature"]["public_key"]
    fingerprint = hashlib.sha256(bytes.fromhex(public)).hexdigest()[:16]
    data["proof"] |= {
        "origin": f"docket.local/{fingerprint}/{data['session_id']}",
        "signature": {"alg": "ed25519", "public_key": public},
        "seal": {"alg": "hmac-sha256", "key_id": hashlib.sha256(THEIR_SEAL_KEY).hexdigest()[:16]},
    }


def let_go(change: Change) -> Iterator[Forged]:
    """The forgery under each pretence."""
    receipt, raw = forged(change)
    kept = {name: copy.deepcopy(GENUINE[name]) for name in ("seal", "signature")}
    by = {
        "stripped": (receipt, raw),
        "left as they were": ({**receipt, **kept}, raw),
        "swapped": (signed(sealed(receipt, THEIR_SEAL_KEY), THEIR_SECRET), raw),
        "the holder": (signed(sealed(receipt)), raw),
        "nobody": forged(change, lambda data: data.pop("proof")),
    }
    receipt, raw = forged(change, theirs)
    by["the liar"] = (signed(sealed(receipt, THEIR_SEAL_KEY), THEIR_SECRET), raw)
    for name, (document, data) in by.items():
        yield Forged(change=change.__name__, by=name, receipt=document, raw=data)  # type: ignore[attr-defined]


def expected(by: str, ledger: str, *, keys: bool, head: bool) -> Word:
    """What follows from what is at hand."""
    if ledger == "the true one" or head or by in ("stripped", "left as they were", "swapped"):
        return Word.FAILED
    if keys:
        vouched = Word.VERIFIED if ledger == "its own" else Word.CONSISTENT
        return vouched if by == "the holder" else Word.FAILED
    return Word.CONSISTENT  # spec/receipt.md, What no check can see


@cache
def reading(raw: bytes) -> LedgerReading:
    return reading_of(raw)


def shown(one: Forged, ledger: str, *, keys: bool, head: bool) -> Pair:
    """The forgery as it is shown to both verifiers."""
    raw = {"the true one": RAW, "its own": one.raw, "none": None}[ledger]
    beside = Beside(pins=PINS if keys else Pins(), heads=(HEAD,) if head else ())
    verdict = judge(one.receipt, None if raw is None else reading(raw), Word.CONSISTENT, beside)
    return Pair(
        f"{one.by}, {ledger}, keys {keys}, head {head}",
        encode(one.receipt),
        raw,
        verdict,
        public_keys=(PUBLIC_KEY,) if keys else (),
        seal_keys=(SEAL_KEY.hex(),) if keys else (),
        heads=(head_words(HEAD),) if head else (),
    )


def on_the_disk(name: str, receipt: dict[str, Any], raw: bytes, folder: Path) -> Pair:
    """The true keys named, the ledger a file of any bytes."""
    path = folder / "run.jsonl"
    path.write_bytes(raw)
    verdict = verify_receipt(VerifyRequest(receipt=encode(receipt), ledger_path=path, pins=PINS))
    return Pair(name, encode(receipt), raw, verdict, public_keys=(PUBLIC_KEY,), seal_keys=(SEAL_KEY.hex(),))


def test_the_record_is_what_it_says_and_settles_as_it_did() -> None:
    items = bodies(EVENTS)
    settled(items)
    assert items == bodies(EVENTS)
    assert receipt_of(RAW) == {**unsealed(GENUINE), "seal": None, "signature": None}
    assert signed(sealed(receipt_of(RAW)), SECRET_KEY) == GENUINE
    told = judge(GENUINE, reading_of(RAW), Word.VERIFIED, Beside(pins=PINS, heads=(HEAD,)))
    assert (told.word, told.failures) == (Word.VERIFIED, ())


@some(7)
def test_a_forgery_is_believed_only_where_nothing_at_hand_speaks_against_it(stride: int) -> None:
    situations = product(("the true one", "its own", "none"), (False, True), (False, True))
    cases = product([one for change in FORGERIES for one in let_go(change)], list(situations))
    pairs, wrong = [], []
    for one, (ledger, keys, head) in islice(cases, 0, None, stride):
        pair = shown(one, ledger, keys=keys, head=head)
        pairs.append(pair)
        if pair.verdict.word is not expected(one.by, ledger, keys=keys, head=head):
            wrong.append((one.change, pair.name, str(pair.verdict.word), pair.verdict.failures[:1]))

    assert wrong == []
    assert len(pairs) == -(-len(FORGERIES) * 6 * 12 // stride)
    assert NODE is None or disagreements(pairs) == []


# What the liar who keeps the figures of the true ledger, and every true proof, is found out by first.
KEEPING: dict[str, str] = {
    "cheaper_tokens": "usage-rows-rebound",
    "lower_prices": "usage-rows-rebound",
    "no_prices": "usage-rows-rebound",
    "renamed_model": "usage-rows-rebound",
    "no_second_call": "usage-rows-rebound",
    "other_session": "receipt-rebuild",
    "other_file": "receipt-rebuild",
    "other_policy": "receipt-rebuild",
    "other_delta": "receipt-rebuild",
    "better_isolation": "receipt-rebuild",
    "extended": "receipt-rebuild",
    "cut_and_ended": "usage-rows-rebound",
}


def with_true_proofs(receipt: dict[str, Any]) -> dict[str, Any]:
    """The forged receipt with the true ledger's figures and, by their numbers, its hashes and paths."""
    made = copy.deepcopy(receipt)
    for name in ("ledger", "event_counts", "created_at"):
        made[name] = GENUINE[name]
    true = {row["seq"]: row for row in GENUINE["appendix"]["usage"]}
    for row in made["appendix"]["usage"]:
        row |= {name: true[row["seq"]][name] for name in ("event_hash", "merkle_path")}
    kept = GENUINE["cache"], GENUINE["cache"]["component_hits"]
    for mine, its in zip((made["cache"], made["cache"].get("component_hits", {})), kept, strict=True):
        for group, other in zip(mine.get("by_origin", ()), its["by_origin"], strict=False):
            names = ("origin_seq", "origin_hash", "first_seq", "last_seq", "event_hash", "merkle_path")
            group |= {name: other[name] for name in names}
    for tool, other in zip(made.get("windows", {}).get("tools", ()), GENUINE["windows"]["tools"], strict=False):
        names = ("seq", "event_hash", "merkle_path")
        tool["delta"] |= {name: other["delta"][name] for name in names}
    return made


def test_a_receipt_that_keeps_the_true_proofs_is_found_out_by_its_ledger() -> None:
    pairs, seen = [], {}
    for change in FORGERIES:
        receipt, name = with_true_proofs(forged(change)[0]), change.__name__  # type: ignore[attr-defined]
        for doctored in (receipt, signed(sealed(receipt)), signed(sealed(receipt, THEIR_SEAL_KEY), THEIR_SECRET)):
            verdicts = judge(doctored, reading(RAW), Word.CONSISTENT), judged(doctored, None)
            assert verdicts[0].word is Word.FAILED, name
            pairs += [Pair(name, encode(doctored), raw, one) for raw, one in zip((RAW, None), verdicts, strict=True)]
        seen[name] = first_failure(pairs[-4].verdict)
        # Without the ledger, by the vouchers that `proof` announces.
        assert pairs[-5].verdict.word is pairs[-1].verdict.word is Word.FAILED, name

    assert seen == KEEPING
    assert NODE is None or disagreements(pairs) == []


def test_a_ledger_that_is_cut_after_any_line_or_goes_on_is_told(tmp_path: Path) -> None:
    lines = RAW.splitlines(keepends=True)
    further = chained([*bodies(EVENTS), ("note", EVENTS[-1].ts, {"code": "policy-remark", "message": "more"})], EVENTS)
    ledgers = [b"".join(lines[:number]) for number in range(len(lines))]
    ledgers += [lines_of(further), RAW + RAW, RAW + lines[-1], RAW + b"\n", RAW + lines[1][:40], RAW[:-1]]
    pairs = [on_the_disk(f"ledger {number}", GENUINE, raw, tmp_path) for number, raw in enumerate(ledgers)]
    assert {pair.verdict.word for pair in pairs} == {Word.FAILED}
    for number in range(1, len(lines)):
        raw = b"".join(lines[:number])
        stripped = on_the_disk(f"stripped {number}", receipt_of(raw), raw, tmp_path)
        vouched = on_the_disk(f"vouched {number}", signed(sealed(receipt_of(raw))), raw, tmp_path)
        # A run that was killed has nobody's word, and never that it is whole.
        assert (stripped.verdict.word, vouched.verdict.word) == (Word.INCOMPLETE, Word.INCOMPLETE), number
        pairs += [stripped, vouched]

    assert NODE is None or disagreements(pairs) == []


def test_members_that_no_hash_covers_are_refused(tmp_path: Path) -> None:
    line, pairs = EVENTS[8].line, []
    for put in (b'"note":"x",', b'"sig":null,', b'"Data":{},', b'"data":{},'):
        for at in (line.index(b'"hash"'), line.index(b'"type"'), 1):
            raw = RAW.replace(line, line[:at] + put + line[at:])
            pairs.append(on_the_disk(f"{put!r} at {at}", GENUINE, raw, tmp_path))
    for more in ("x", "note", "Signature", "__proto__"):
        documents = [{**GENUINE, more: 1}]
        documents += [{**GENUINE, name: {**GENUINE[name], more: 1}} for name in ("seal", "signature")]
        documents += map(signed, documents[:2])
        pairs += [on_the_disk(more, document, RAW, tmp_path) for document in documents]

    assert {pair.verdict.word for pair in pairs} == {Word.FAILED}
    assert NODE is None or disagreements(pairs) == []
