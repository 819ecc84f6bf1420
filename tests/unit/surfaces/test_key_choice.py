"""Which keys a command line names: each read, tried and named in what is said of it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.errors import RefusedBeforeStartError, UsageError
from docket.formats.canonical import encode_document
from docket.formats.proof.key_text import private_pem, public_pem, read_public_key, verifier_key
from docket.formats.proof.pins import PinnedKey, PinnedSeal
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy, ProofPolicy
from docket.host import prctl
from docket.rules.proof.ed25519 import Signer
from docket.surfaces.cli import key_choice
from docket.surfaces.cli.key_choice import KeysAsked, pins_of, voucher_for
from docket.surfaces.cli.main import main
from golden_ledgers import elsewhere
from golden_ledgers.judging import receipt_of
from golden_ledgers.proven import PUBLIC_KEY, SEAL_KEY, SEAL_KEY_ID, SECRET_KEY, sealed, signed, vouched_for

PUBLIC = bytes.fromhex(PUBLIC_KEY)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    prctl.set_dumpable(dumpable=True)  # other tests carry out commands in this process
    yield
    prctl.set_dumpable(dumpable=True)
    resource.setrlimit(resource.RLIMIT_CORE, limits)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    secret(tmp_path / "a.key", private_pem(SECRET_KEY))
    secret(tmp_path / "seal.key", f"{SEAL_KEY.hex()}\n")
    return tmp_path / "tree"


def secret(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def refusal(asked: KeysAsked, tree: Path) -> RefusedBeforeStartError:
    with pytest.raises(RefusedBeforeStartError) as raised:
        voucher_for(asked, Policy(), tree)
    return raised.value


def test_without_a_key_nothing_is_touched(tree: Path) -> None:
    assert prctl.is_dumpable()
    voucher = voucher_for(KeysAsked(), Policy(), tree)
    assert (voucher.signer, voucher.seal_key) == (None, None)
    assert prctl.is_dumpable()
    assert not (tree.parent / "state").exists()


def test_keys_are_read_and_kept_from_others(tree: Path) -> None:
    asked = KeysAsked(sign=str(tree.parent / "a.key"), seal_key=tree.parent / "seal.key")
    voucher = voucher_for(asked, Policy(), tree)
    assert (voucher.public_key, voucher.seal_key) == (PUBLIC, SEAL_KEY)
    assert not prctl.is_dumpable()
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    assert not (tree.parent / "state").exists()


def test_who_names_the_public_half_is_told_which_file_signs(tree: Path) -> None:
    for suffix, text in ((".pub", public_pem(PUBLIC)), (".vkey", f"{verifier_key(PUBLIC)}\n")):
        path = tree.parent / f"a.key{suffix}"
        path.write_text(text)
        found = refusal(KeysAsked(sign=str(path)), tree)
        assert (found.reason, found.detail) == (Reason.KEY_UNUSABLE, f"{path} cannot sign: it is a public key")
        assert found.hint == f"name {tree.parent / 'a.key'}, which holds the private one"
    alone = tree.parent / "b.pub"
    alone.write_text(public_pem(PUBLIC))
    assert "docket keygen writes beside it" in str(refusal(KeysAsked(sign=str(alone)), tree).hint)


def test_a_key_by_a_descriptor_of_a_file_in_the_tree_is_refused(tree: Path) -> None:
    opened = os.open(secret(tree / "a.key", private_pem(SECRET_KEY)), os.O_RDONLY)
    found = refusal(KeysAsked(sign=f"fd:{opened}"), tree)
    assert (found.reason, found.hint) == (Reason.KEY_EXPOSED, "keep keys outside the tree")


def test_a_policy_names_keys_and_a_flag_has_the_last_word(tree: Path) -> None:
    policy = Policy(proof=ProofPolicy(sign=str(tree.parent / "a.key"), seal=True))
    voucher = voucher_for(KeysAsked(), policy, tree)
    assert voucher.public_key == PUBLIC
    assert voucher.seal_key is not None
    assert (tree.parent / "state" / "keys" / "seal.key").read_text() == f"{voucher.seal_key.hex()}\n"
    other = secret(tree.parent / "b.key", private_pem(b"\x05" * 32))
    assert voucher_for(KeysAsked(sign=str(other)), policy, tree).public_key == Signer.of_seed(b"\x05" * 32).public_key


def test_a_key_is_named_below_the_home(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree.parent))
    assert voucher_for(KeysAsked(sign="~/a.key"), Policy(), tree).public_key == PUBLIC


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (public_pem(PUBLIC), "it is a public key"),
        ("", "no private key in PEM"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "not Ed25519"),
    ],
)
def test_what_cannot_sign_is_refused(tree: Path, text: str, said: str) -> None:
    path = secret(tree.parent / "b.key", text)
    refused = refusal(KeysAsked(sign=str(path)), tree)
    assert (refused.reason, said in refused.detail) == (Reason.KEY_UNUSABLE, True)
    assert "docket keygen" in str(refused.hint)


def test_a_key_that_is_not_there_is_one_to_be_made(tree: Path) -> None:
    refused = refusal(KeysAsked(sign=str(tree.parent / "none.key")), tree)
    assert refused.hint == "docket keygen makes one, and --sign names its file"
    assert refusal(KeysAsked(sign="fd:999999"), tree).hint is None


def test_a_key_of_which_only_the_name_is_wanting_is_refused(tree: Path) -> None:
    empty = refusal(KeysAsked(sign=""), tree)
    assert (empty.reason, empty.detail) == (Reason.NOT_FOUND, "the signing key: --sign names no file")
    assert empty.hint is not None
    nobody = refusal(KeysAsked(sign="~no-such-user/a.key"), tree)
    assert (nobody.reason, nobody.detail) == (
        Reason.NOT_FOUND,
        "the signing key: ~no-such-user/a.key is below a home that there is not",
    )


def test_what_others_can_reach_is_refused(tree: Path) -> None:
    inside = secret(tree / "a.key", private_pem(SECRET_KEY))
    assert refusal(KeysAsked(sign=str(inside)), tree).reason == Reason.KEY_EXPOSED
    (tree.parent / "a.key").chmod(0o644)
    assert refusal(KeysAsked(sign=str(tree.parent / "a.key")), tree).hint is not None
    (tree.parent / "seal.key").chmod(0o640)
    assert refusal(KeysAsked(seal_key=tree.parent / "seal.key"), tree).reason == Reason.KEY_EXPOSED


def test_a_seal_key_that_is_none_is_refused(tree: Path) -> None:
    path = secret(tree.parent / "b.key", "0" * 63)
    refused = refusal(KeysAsked(seal_key=path), tree)
    assert refused.detail == f"the key of the seal: {path}: it is not 64 lower-case hexadecimal digits"
    assert refusal(KeysAsked(seal_key=tree.parent / "no"), tree).reason == Reason.NOT_FOUND


def test_a_state_folder_in_the_tree_gives_no_seal_key(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tree / "state"))
    assert refusal(KeysAsked(seal=True), tree).reason == Reason.KEY_EXPOSED


def test_a_key_by_descriptor(tree: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, private_pem(SECRET_KEY).encode())
    os.close(writer)
    assert voucher_for(KeysAsked(sign=f"fd:{reader}"), Policy(), tree).public_key == PUBLIC
    assert refusal(KeysAsked(sign="fd:999"), tree).reason == Reason.NOT_FOUND


def test_where_docket_cannot_be_kept_from_others_no_key_is_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_choice, "protect_supervisor", lambda: False)
    assert refusal(KeysAsked(sign=str(tree.parent / "a.key")), tree).reason == Reason.UNSUPPORTED_PLATFORM


def test_without_the_library_no_run_is_begun_that_was_to_be_signed(tree: Path) -> None:
    program = (
        "import sys; sys.modules['cryptography.hazmat.primitives.asymmetric.ed25519'] = None\n"
        "from docket.surfaces.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    for arguments in (("run", "--sign", "../a.key", "--", "touch", "started"), ("keygen", "../new.key")):
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (43, 75), done.stderr
        assert "the library cryptography cannot be imported" in done.stderr
    assert list(tree.iterdir()) == []


def test_public_keys_are_named_in_every_form(tree: Path) -> None:
    folder = tree.parent
    (folder / "a.pub").write_text(public_pem(PUBLIC))
    (folder / "a.vkey").write_text(f"{verifier_key(PUBLIC)}\n")
    (folder / "a.hex").write_text(PUBLIC_KEY)
    forms = [
        PUBLIC_KEY,
        public_pem(PUBLIC),
        verifier_key(PUBLIC),
        *(str(folder / f"a.{x}") for x in ("pub", "vkey", "hex")),
    ]
    assert pins_of(forms, (), None).signers == (PinnedKey(public_key=PUBLIC),) * 6
    assert pins_of((), [folder / "seal.key"], None).seals == (PinnedSeal(key=SEAL_KEY),)


def test_what_is_no_key_to_verify_with_is_a_matter_of_usage(tree: Path) -> None:
    folder = tree.parent
    (folder / "small").write_text("00" * 32)
    for text, said in (
        ("00" * 32, "--public-key: the public key is a point of small order"),
        (str(folder / "small"), "small order"),
        (PUBLIC_KEY.upper(), "--public-key: it is neither"),
        ("MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v_VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g", "--public-key: it is neither"),
        ("\n", "--public-key names no key: a variable that is empty?"),
        ("no.pub", "--public-key no.pub: it is neither"),
        ("ssh-ed25519 AAAA me", "it is a public key of OpenSSH"),
        (private_pem(SECRET_KEY), "--public-key: it is a private key"),
        (str(folder), "is not a regular file"),
        (str(folder / "a.key"), "it is a private key"),
    ):
        with pytest.raises(UsageError) as raised:
            pins_of([text], (), None)
        assert said in raised.value.detail
    with pytest.raises(UsageError):
        pins_of((), [folder / "a.key"], None)


def test_a_list_of_trusted_keys(tree: Path) -> None:
    folder = tree.parent
    path = folder / "trust.json"
    seal = {"name": "ours", "key_id": SEAL_KEY_ID, "file": "seal.key"}
    signer = {"name": "me", "public_key": PUBLIC_KEY}

    def write(**members: object) -> Path:
        path.write_text(json.dumps({"format": "docket/trust/v1", **members}))
        return path

    pins = pins_of((), (), write(signers=[signer], seal_keys=[seal]))
    assert (pins.signers[0].name, pins.seals[0].key, pins.either) == ("me", SEAL_KEY, True)
    assert pins_of((), (), write(signers=[signer])).either is False
    assert pins_of([PUBLIC_KEY], (), write(signers=[signer], seal_keys=[seal])).either is False
    for members in (
        {"signers": [{**signer, "public_key": "00" * 32}]},
        {"seal_keys": [{**seal, "key_id": "0" * 16}]},
        {"seal_keys": [{**seal, "file": "nothing"}]},
        {"signers": []},
    ):
        with pytest.raises(UsageError) as raised:
            pins_of((), (), write(**members))
        assert raised.value.detail.startswith("--trust")
    with pytest.raises(UsageError):
        pins_of((), (), folder / "nothing")
    path.write_text(public_pem(PUBLIC))
    with pytest.raises(UsageError) as raised:
        pins_of((), (), path)
    assert str(raised.value.hint).endswith("one key by itself is for --public-key")


def test_the_library_is_loaded_for_a_signature_alone(tree: Path) -> None:
    program = (
        "import sys\nfrom docket.surfaces.cli.main import main\n"
        "main(['verify', sys.argv[1]])\nsys.exit('cryptography' in sys.modules)"
    )
    raw = vouched_for(signature=False).data()
    for receipt, loads in ((sealed(receipt_of(raw)), 0), (signed(elsewhere.receipt(elsewhere.ledger())), 1)):
        path = tree / "receipt.json"
        path.write_bytes(encode_document(receipt))
        command = [sys.executable, "-c", program, str(path)]
        assert subprocess.run(command, cwd=tree, capture_output=True, timeout=60, check=False).returncode == loads


def test_a_key_is_made_and_told_in_its_forms(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tree)
    assert main(["keygen", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["private_key"] == str(tree.parent / "state" / "keys" / "signing.key")
    voucher = voucher_for(KeysAsked(sign=told["private_key"]), Policy(), tree)
    assert voucher.public_key == bytes.fromhex(told["public_key"]) == read_public_key(told["verifier_key"])
    assert main(["keygen"]) == 75
    assert main(["keygen", "here.key"]) == 0
    said = capsys.readouterr()
    assert "a run here will refuse it" in said.err
    assert "fingerprint  " in said.out
    assert "docket run --sign " in said.err
    assert refusal(KeysAsked(sign="here.key"), tree).reason == Reason.KEY_EXPOSED
    assert main(["keygen", "here.key", "--force"]) == 0
