"""Checkpoints and states in verify-js: files changed at every place, and each case of a state."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from docket.formats.canonical import encode, encode_document
from docket.formats.run.verdict import Status
from docket.rules.checks.registry import Beside
from golden_ledgers.headed import ORIGIN, SIGNED_ORIGIN, checkpointed, file_of, root_of, signed_run
from golden_ledgers.judging import judged, named, receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, SECRET_KEY, signed
from golden_ledgers.remembered import CASES, KNOWN, NAMED_CASES, of_run, pins_for
from sweeps import some
from verify_js.in_node import NODE, Pair, disagreements, needs_node

CLI = Path(__file__).parents[2] / "verify-js" / "cli.mjs"
pytestmark = needs_node


def test_each_case_of_a_state_is_judged_alike() -> None:
    pairs = []
    for name, (state, receipt, raw, _) in CASES.items():
        verdict = judged(receipt, raw, Beside(remembered=state))
        pairs.append(Pair(name, encode(receipt), raw, verdict, state=encode_document(state.to_json())))
    for name, (state, receipt, raw, _) in NAMED_CASES.items():
        verdict = judged(receipt, raw, Beside(remembered=state, pins=pins_for(receipt)))
        given = encode_document(state.to_json())
        is_signed = receipt["signature"] is not None
        keys = {"public_keys": (PUBLIC_KEY,)} if is_signed else {"seal_keys": (SEAL_KEY.hex(),)}
        pairs.append(Pair(name, encode(receipt), raw, verdict, state=given, **keys))
    assert disagreements(pairs) == []


@some(7)
def test_a_file_of_checkpoints_changed_anywhere_fails_in_both(stride: int) -> None:
    pairs = []
    for ledger, good in (
        (checkpointed(), file_of(checkpointed())),
        (signed_run(), file_of(signed_run(), SIGNED_ORIGIN, SECRET_KEY)),
    ):
        raw = ledger.data()
        receipt = receipt_of(raw) if good == file_of(ledger) else signed(receipt_of(raw))
        for at in range(0, len(good), stride):
            for changed in (good[:at], good[:at] + good[at + 1 :], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
                verdict = judged(receipt, raw, Beside(checkpoints=changed))
                assert named(verdict, "checkpoints").status is Status.FAIL, (at, changed)
                pairs.append(Pair(f"at {at}", encode(receipt), raw, verdict, checkpoints=changed))
    assert disagreements(pairs) == []


def test_the_command_reads_checkpoints_heads_and_a_state(tmp_path: Path) -> None:
    ledger = checkpointed()
    raw, receipt = ledger.data(), receipt_of(ledger.data())
    (tmp_path / "runs").mkdir()
    path, run = tmp_path / "receipt.json", tmp_path / "runs" / f"{receipt['session']['id']}.jsonl"
    path.write_bytes(encode(receipt))
    run.write_bytes(raw)

    def said(*arguments: object) -> tuple[int, dict[str, str]]:
        assert NODE is not None
        command = [NODE, str(CLI), str(path), "--json", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        checks = json.loads(done.stdout)["checks"] if done.stdout else []
        return done.returncode, {one["name"]: one["status"] for one in checks}

    assert said()[1]["checkpoints"] == "skip"
    run.with_suffix(".checkpoints").write_bytes(file_of(ledger))
    assert said()[1]["checkpoints"] == "pass"
    run.with_suffix(".checkpoints").unlink()
    run.with_suffix(".checkpoints").symlink_to(tmp_path / "none")  # as docket verify: it is there, and holds no line
    assert said()[1]["checkpoints"] == "fail"
    (tmp_path / "cut").write_bytes(file_of(ledger)[:-1])
    code, checks = said("--checkpoints", tmp_path / "cut")
    assert (code, checks["checkpoints"]) == (1, "fail")
    run.with_suffix(".checkpoints").unlink()
    good = f"docket-head {ORIGIN} 2 {root_of([event.hash for event in ledger.events[:2]])}"
    assert said("--head", good)[0] == 0
    assert said("--head", f"docket: {good}")[0] == 0
    assert said("--head", f"docket: {good.removeprefix('docket-head ')}") == (2, {})
    assert said("--head", good, "--head", good.replace(" 2 ", " 3 "))[1]["checkpoints"] == "fail"
    state = tmp_path / "state.json"
    assert said("--state", state)[1]["rollback"] == "pass"
    assert not state.exists()
    state.write_bytes(encode_document(of_run(KNOWN, run=9).to_json()))
    assert said("--state", state)[1]["rollback"] == "fail"
    for wrong in (("--head", "a b"), ("--state", path), ("--checkpoints", tmp_path / "none")):
        assert said(*wrong) == (2, {})
