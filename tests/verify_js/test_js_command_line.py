"""`node verify-js/cli.mjs` finds, reads and prints as `docket verify` does."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode
from docket.formats.proof.key_text import verifier_key
from docket.formats.proof.trust import read_trust
from docket.surfaces.cli.root import run as main
from golden_ledgers import samples
from golden_ledgers.judging import judged, receipt_of
from verify_js.in_node import NODE, needs_node

CLI = Path(__file__).parents[2] / "verify-js" / "cli.mjs"
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = SIGNER.public_key().public_bytes_raw()
SEAL = bytes(range(32, 64))
pytestmark = needs_node


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command with these arguments."""
    assert NODE is not None
    command = [NODE, str(CLI), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A receipt of another writer's kind of place: in `receipts`, its ledger in `runs` beside that."""
    raw = samples.chat().data()
    document = receipt_of(raw)
    receipt = tmp_path / "receipts" / "DKT-20261001-00C0DE.receipt.json"
    for path, data in ((receipt, encode(document)), (tmp_path / "runs" / f"{document['session']['id']}.jsonl", raw)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return receipt


def test_the_ledger_is_found_and_json_has_the_members_of_docket_verify(record: Path) -> None:
    raw = samples.chat().data()
    wanted = judged(receipt_of(raw), raw).to_json()
    done = run(record, "--json")
    found = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(found) == list(wanted)
    checks = wanted.pop("checks")
    assert isinstance(checks, list)
    assert [list(check) for check in found["checks"]] == [list(check) for check in checks]
    assert [(check["name"], check["status"]) for check in found.pop("checks")] == [
        (check["name"], check["status"]) for check in checks
    ]
    assert found == wanted
    assert done.stdout.isascii()


def test_the_lines_end_with_the_verdict_and_the_ledger(record: Path, tmp_path: Path) -> None:
    done = run(record)
    ledger = next((tmp_path / "runs").iterdir())
    assert done.stdout.splitlines()[0].split() == ["PASS", "receipt-format", "docket/receipt/v1"]
    assert done.stdout.splitlines()[-1] == f"DKT-20261001-00C0DE  consistent, checked with the ledger {ledger}"
    ledger.unlink()
    assert run(record).stdout.splitlines()[-1] == "DKT-20261001-00C0DE  consistent, checked with no ledger"


def test_what_fails_has_exit_code_1_and_what_cannot_be_read_says_why_on_stderr(record: Path) -> None:
    record.write_bytes(record.read_bytes().replace(b'"calls":1', b'"calls":2', 1))
    done = run(record, "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "failed")
    record.write_bytes(b"{} {}")
    done = run(record)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{record}: not JSON")


@pytest.mark.parametrize("fault", ["no receipt", "not there", "a folder", "a loop in the ledger's place"])
def test_what_cannot_be_read_is_one_object_in_json_of_the_members_of_docket_verify(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    asked = [str(tmp_path if fault == "a folder" else record), "--json"]
    if fault == "no receipt":
        record.write_bytes(b"{} {}")
    elif fault == "not there":
        record.unlink()
    elif fault != "a folder":
        ledger = next((tmp_path / "runs").iterdir())
        ledger.unlink()
        ledger.symlink_to(ledger.name)
    assert main(["verify", *asked]) == 1
    here, done = capsys.readouterr(), run(*asked)
    told, found = json.loads(here.out), json.loads(done.stdout)

    assert (here.err, done.returncode, done.stderr) == ("", 1, "")
    assert list(found) == list(told)
    assert told.pop("detail")
    assert found.pop("detail")
    assert found == told == {"ok": False, "verdict": "unreadable", "docket_number": None, "checks": [], "failures": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Usage:"),
        (("",), "no receipt is named"),
        (("RECEIPT", "--ledger", "none.jsonl"), "--ledger: none.jsonl is not there"),
        (("RECEIPT", "--ledger", "/dev/zero"), "--ledger: /dev/zero is not a regular file"),
        (("RECEIPT", "--ledger", ""), "--ledger names no file"),
        (("RECEIPT", "--checkpoints", "."), "--checkpoints: . is not a regular file"),
        (("RECEIPT", "--public-key", "none"), "there is no such file"),
        (("RECEIPT", "--public-key", "00" * 32), "small order"),
        (("RECEIPT", "--seal-key", "RECEIPT"), "hexadecimal"),
        (("RECEIPT", "--trust", "RECEIPT"), "--trust: /"),
        (("RECEIPT", "--trust", "none"), "--trust: none is not there"),
        (("RECEIPT", "--state", "RECEIPT"), "--state: /"),
        (("RECEIPT", "--state", ""), "--state names no file"),
        (("RECEIPT", "--head", ""), "--head: "),
        (("RECEIPT", "--require", "all"), "Usage:"),
        (("RECEIPT", "--unknown"), "--unknown"),
    ],
)
def test_what_is_asked_wrongly_has_exit_code_2(record: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run(*(record if one == "RECEIPT" else one for one in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "    at " not in done.stderr


@pytest.mark.parametrize("option", ["--public-key", "--seal-key", "--trust", "--state"])
def test_a_file_larger_than_any_of_its_kind_is_not_read(record: Path, tmp_path: Path, option: str) -> None:
    with (tmp_path / "large").open("wb") as large:
        large.truncate(1 << 30)
    done = run(record, option, tmp_path / "large")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{option}: ")
    assert "has more than" in done.stderr


@pytest.mark.parametrize("place", ["a folder", "a loop"])
def test_a_receipt_that_is_there_and_cannot_be_read_has_exit_code_1(tmp_path: Path, place: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    done = run(tmp_path if place == "a folder" else tmp_path / "loop")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("the receipt: ")
    assert done.stderr.count("\n") == 1


def test_a_ledger_that_leads_nowhere_is_told(record: Path, tmp_path: Path) -> None:
    ledger = next((tmp_path / "runs").iterdir())
    ledger.unlink()
    ledger.symlink_to(ledger)
    done = run(record)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"the ledger: {ledger} is a link, or no file: name the ledger with --ledger\n"


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_what_was_asked_for(option: str) -> None:
    done = run(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: node cli.mjs RECEIPT")


def vouched(record: Path) -> None:
    """Seal and sign the receipt with keys of the test."""
    document = json.loads(record.read_bytes())
    bare = {name: value for name, value in document.items() if name not in ("seal", "signature")}
    value = hmac.new(SEAL, encode(bare), "sha256").hexdigest()
    sealed = bare | {"seal": {"alg": "hmac-sha256", "key_id": hashlib.sha256(SEAL).hexdigest()[:16], "value": value}}
    signature = {"alg": "ed25519", "public_key": PUBLIC.hex(), "value": SIGNER.sign(encode(sealed)).hex()}
    record.write_bytes(encode(sealed | {"signature": signature}))


def test_keys_in_each_of_their_forms_vouch(record: Path, tmp_path: Path) -> None:
    vouched(record)
    pem = SIGNER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "seal.key").write_text(f"{SEAL.hex()}\n")
    key_id = hashlib.sha256(SEAL).hexdigest()[:16]
    trust = {
        "format": "docket/trust/v1",
        "signers": [{"name": "me", "public_key": verifier_key(PUBLIC)}],
        "seal_keys": [{"name": "mine", "key_id": key_id, "file": "seal.key"}],
    }
    (tmp_path / "trust.json").write_text(json.dumps(trust))
    elsewhere = {**trust, "seal_keys": [{"name": "mine", "key_id": key_id, "file": str(tmp_path / "seal.key")}]}
    (tmp_path / "elsewhere.json").write_text(json.dumps(elsewhere))
    for arguments in (
        ("--public-key", PUBLIC.hex()),
        ("--public-key", pem.decode()),
        ("--public-key", tmp_path / "key.pem"),
        ("--public-key", verifier_key(PUBLIC)),
        ("--seal-key", tmp_path / "seal.key"),
        ("--trust", tmp_path / "trust.json"),
        ("--trust", tmp_path / "elsewhere.json"),
    ):
        done = run(record, *arguments, "--require", "verified", "--json")
        assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "verified"), done.stderr + done.stdout
    done = run(record, "--require", "verified", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "consistent")
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw().hex()
    done = run(record, "--public-key", other, "--json")
    assert (done.returncode, json.loads(done.stdout)["failures"][0].partition(":")[0]) == (1, "signature")


@pytest.mark.parametrize("file", ["none", "", ".", "a\0b", "n" * 5000])
def test_a_trusted_seal_whose_key_cannot_be_read_is_told(record: Path, tmp_path: Path, file: str) -> None:
    seal = {"name": "mine", "key_id": "0" * 16, "file": file}
    (tmp_path / "trust.json").write_text(json.dumps({"format": "docket/trust/v1", "seal_keys": [seal]}))
    done = run(record, "--trust", tmp_path / "trust.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("--trust: ")


@pytest.mark.parametrize(
    ("signer", "is_one"),
    [
        ({"name": "build server, Zürich"}, True),
        ({"name": " "}, False),
        ({"name": "a\nb"}, False),
        ({"name": "a\u00a0b"}, False),
        ({"name": "a\u2028b"}, False),
        (
            {"name": "me", "public_key": f"-----BEGIN PUBLIC KEY-----\n{'AAAA' * 100_000}\n-----END PUBLIC KEY-----"},
            False,
        ),
    ],
)
def test_a_list_of_trusted_keys_is_read_as_docket_verify_reads_it(
    record: Path, tmp_path: Path, signer: dict[str, str], is_one: bool
) -> None:
    trust = {"format": "docket/trust/v1", "signers": [{"public_key": PUBLIC.hex(), **signer}]}
    (tmp_path / "trust.json").write_text(json.dumps(trust))
    done = run(record, "--trust", tmp_path / "trust.json")
    assert (done.returncode, "    at " in done.stderr) == (1 if is_one else 2, False)
    try:
        read = read_trust(trust)
    except InvalidDocumentError:
        read = None
    assert (read is not None) is is_one
