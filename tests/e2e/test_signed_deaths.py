"""A signed run is killed on every way of its end: a crash is never taken for a forgery, and never vouches for more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.formats.canonical import JsonObject
from docket.formats.ledger.event import draft, seal
from run_lab import RunLab

# Kills docket before or after one of its own steps, as somebody else might.
PRELUDE = """
import importlib, os, signal
module, _, place = {at!r}.rpartition(":")
owner = importlib.import_module(module)
*outer, name = place.split(".")
for one in outer:
    owner = getattr(owner, one)
step = getattr(owner, name)
def killed(*given, **named):
    if {after!r}:
        step(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, killed)
"""
FORESIGHT, ENDING = "docket.engines.supervise.foresight", "docket.engines.supervise.ending"
BEFORE_THE_END = [
    (f"{FORESIGHT}:receipt_from_ledger", False),
    ("docket.stores.receipts:ReceiptReserve.prepare", False),
    ("docket.stores.receipts:ReceiptReserve.prepare", True),
    ("docket.stores.ledger:LedgerWriter.append_final", False),
]
AFTER_THE_END = [
    ("docket.stores.ledger:LedgerWriter.append_final", True),
    ("docket.engines.supervise.checkpoints:RunCheckpoints.finish", True),
    ("docket.stores.receipts:ReceiptReserve.become", True),
    ("docket.stores.receipts:_Press.settle_responses", True),
    (f"{ENDING}:publish", True),
]


def killed_run(lab: RunLab, at: str, *, after: bool) -> Path:
    """Run something that is killed there, recover it, and return the key that it was to be signed with."""
    key = lab.root / "a.key"
    assert lab.docket("keygen", str(key)).exit_code == 0
    done = lab.warm("run", "--sign", str(key), "--seal", "--", "true", prelude=PRELUDE.format(at=at, after=after))
    assert done.exit_code == -9, done.said
    assert lab.docket("recover").exit_code == 0
    assert list(lab.state.glob("*/receipts/.*")) == []
    return key


def judged(lab: RunLab, *flags: str) -> dict[str, str]:
    verdict = json.loads(lab.docket("verify", *flags, "--json").stdout)
    return {"": verdict["verdict"]} | {check["name"]: check["status"] for check in verdict["checks"]}


@pytest.mark.parametrize(("at", "after"), AFTER_THE_END)
def test_killed_after_its_ledger_has_an_end_it_has_its_signature(lab: RunLab, at: str, *, after: bool) -> None:
    key = killed_run(lab, at, after=after)
    seal = lab.state / "keys/seal.key"
    found = judged(lab, "--public-key", f"{key}.pub", "--seal-key", str(seal), "--require", "verified")
    assert (found[""], found["signature"], found["seal"], found["checkpoints"]) == ("verified", *["pass"] * 3)
    assert lab.docket("recover").exit_code == 0
    assert judged(lab, "--public-key", f"{key}.pub")[""] == "verified"


@pytest.mark.parametrize(("at", "after"), BEFORE_THE_END)
def test_killed_before_that_it_is_incomplete(lab: RunLab, at: str, *, after: bool) -> None:
    key = killed_run(lab, at, after=after)
    for flags in ((), ("--public-key", f"{key}.pub")):
        found = judged(lab, *flags)
        assert (found[""], found["signature"], found["checkpoints"]) == ("incomplete", "skip", "pass")


FAILING = """
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.stores import {module} as owner
def refused(*given, **named):
    raise {error}
setattr(owner.{kind}, {name!r}, refused)
"""
REFUSED = 'UnavailableError(Reason.NO_SPACE, "full")'


@pytest.mark.parametrize(
    ("module", "kind", "name", "error"),
    [
        ("receipts", "ReceiptReserve", "prepare", REFUSED),
        ("ledger", "LedgerWriter", "foresee", 'ZeroDivisionError("a fault of docket\'s own")'),
    ],
)
def test_what_could_not_be_signed_before_the_end_is_signed_after_it(
    lab: RunLab, module: str, kind: str, name: str, error: str
) -> None:
    key = lab.root / "a.key"
    assert lab.docket("keygen", str(key)).exit_code == 0
    prelude = FAILING.format(module=module, kind=kind, name=name, error=error)
    done = lab.warm("run", "--sign", str(key), "--", "true", prelude=prelude)
    assert done.exit_code == 0, done.said
    assert judged(lab, "--public-key", f"{key}.pub")[""] == "verified"
    assert list(lab.state.glob("*/receipts/.*")) == []


def test_what_was_signed_does_not_count_for_another_end(lab: RunLab) -> None:
    """Whoever kills docket cannot have something else signed by what it had prepared."""
    key = lab.root / "a.key"
    assert lab.docket("keygen", str(key)).exit_code == 0
    at, after = BEFORE_THE_END[-1]
    assert lab.warm("run", "--sign", str(key), "--", "true", prelude=PRELUDE.format(at=at, after=after)).exit_code == -9
    (path,) = lab.state.glob("*/runs/*.jsonl")
    last = json.loads(path.read_bytes().splitlines()[-1])
    end: JsonObject = {
        "exit_code": 0, "exit_source": "agent", "duration_seconds": "0.100", "interrupted": False, "cost_usd": "0.00"
    }  # fmt: skip
    forged = seal(draft("session.end", end), seq=last["seq"] + 1, ts=last["ts"], prev=last["hash"])
    with path.open("ab") as file:
        file.write(forged.line + b"\n")
    lab.docket("recover")
    assert judged(lab)[""] == "failed"
