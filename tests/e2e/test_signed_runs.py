"""Signed runs: what is verified afterwards, what is refused before, what an agent can reach."""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from run_lab import RunLab

PR_CAPBSET_DROP = 24
# Holds the key in memory that anybody of the same user may read.
HOLDING = """
import subprocess, sys
held = [bytes.fromhex(word) for word in sys.argv[2:]]
subprocess.run([sys.executable, "-c", *sys.argv[1:]], check=True)
"""
# Looks for the key in everything that a program of the same user can read of the processes above it and of itself.
PRYING = """
import json, os, sys
wanted = [bytes.fromhex(word) for word in sys.argv[1:]]
found, closed, pid, levels = [], [], os.getppid(), 0
while pid > 1 and levels < 5:
    levels += 1
    with open(f"/proc/{pid}/stat") as file:
        above = int(file.read().rpartition(")")[2].split()[1])
    for part in ("environ", "mem", "fd"):
        path = f"/proc/{pid}/{part}"
        try:
            if part == "fd":
                texts = [os.readlink(f"{path}/{name}").encode() for name in os.listdir(path)]
            elif part == "mem":
                texts = []
                with open(f"/proc/{pid}/maps") as maps, open(path, "rb") as memory:
                    for line in maps:
                        place, access = line.split()[:2]
                        begin, end = (int(one, 16) for one in place.split("-"))
                        if access[0] == "r" and end - begin < 1 << 28:
                            try:
                                memory.seek(begin); texts.append(memory.read(end - begin))
                            except (OSError, ValueError, OverflowError):
                                pass
            else:
                texts = [open(path, "rb").read()]
        except OSError as error:
            closed.append([pid, part, error.errno]); continue
        found += [[pid, part, word.hex()] for word in wanted for text in texts if word in text]
    pid = above
mine = [os.environb.get(name, b"") for name in os.environb] + [arg.encode() for arg in sys.orig_argv[:-len(wanted)]]
mine += [os.readlink(f"/proc/self/fd/{name}").encode() for name in os.listdir("/proc/self/fd") if int(name) > 2
         and os.path.exists(f"/proc/self/fd/{name}")]
found += [["self", "", word.hex()] for word in wanted for text in mine if word in text]
with open("seen.json", "w") as file:
    with open("/proc/self/status") as status:
        powers = next(line.split()[1] for line in status if line.startswith("CapEff"))
    json.dump({"found": found, "closed": closed, "powers": powers}, file)
"""


def make_key(lab: RunLab, name: str = "a.key") -> Path:
    path = lab.root / name
    made = lab.docket("keygen", str(path))
    assert made.exit_code == 0, made.said
    return path


def verified_by(lab: RunLab, *flags: str) -> tuple[int, dict[str, Any]]:
    done = lab.docket("verify", "--json", *flags)
    verdict: dict[str, Any] = json.loads(done.stdout)
    return done.exit_code, verdict


def checks(verdict: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in verdict["checks"]}


def test_a_run_is_signed_and_sealed_and_verified_by_the_keys_that_are_named(lab: RunLab) -> None:
    key = make_key(lab)
    done = lab.run("--sign", str(key), "--seal", "--", "true")
    receipt, seal_key = lab.receipt(), lab.state / "keys" / "seal.key"

    assert done.exit_code == 0, done.said
    assert "proof: signed by " in done.stderr
    assert oct(seal_key.stat().st_mode & 0o777) == "0o600"
    assert receipt["proof"]["signature"]["public_key"] == receipt["signature"]["public_key"]
    assert {"signing-key", "sealing-key"} <= set(receipt["limits_disclosure"]["codes"])
    code, verdict = verified_by(lab, "--public-key", f"{key}.pub", "--require", "verified")
    assert (code, verdict["verdict"]) == (0, "verified")
    trust = lab.root / "trust.json"
    listed = {"name": "mine", "key_id": receipt["seal"]["key_id"], "file": str(seal_key)}
    signer = {"name": "me", "public_key": receipt["signature"]["public_key"]}
    trust.write_text(json.dumps({"format": "docket/trust/v1", "signers": [signer], "seal_keys": [listed]}))
    code, verdict = verified_by(lab, "--trust", str(trust), "--require", "verified")
    assert (code, checks(verdict)["seal"], checks(verdict)["signature"]) == (0, "pass", "pass")
    code, verdict = verified_by(lab)
    assert (code, verdict["verdict"], checks(verdict)["seal"]) == (0, "consistent", "skip")
    assert verified_by(lab, "--require", "verified")[0] == 1
    code, verdict = verified_by(lab, "--public-key", f"{make_key(lab, 'b.key')}.vkey")
    assert (code, verdict["verdict"], verdict["failures"][0].split(":")[0]) == (1, "failed", "signature")


def test_the_second_run_names_the_first_and_counts_on(lab: RunLab) -> None:
    lab.run("--", "true")
    first = lab.receipt()
    lab.run("--", "true")
    (second,) = [json.loads(path.read_bytes()) for path in lab.receipts()
                 if json.loads(path.read_bytes())["session"]["id"] != first["session"]["id"]]  # fmt: skip

    assert (first["proof"]["run"], first["proof"]["previous"]) == (1, None)
    assert (second["proof"]["run"], second["proof"]["project"]) == (2, first["proof"]["project"])
    assert second["proof"]["previous"]["head"] == first["ledger"]["head"]
    assert second["proof"]["previous"]["session"] == first["session"]["id"]
    (numbers,) = lab.state.glob("*/run-numbers.json")
    numbers.unlink()
    done = lab.run("--", "true")
    assert "goes on from 2, the highest that its ledgers name" in done.stderr
    (third,) = [one for one in map(json.loads, (path.read_bytes() for path in lab.receipts())) if one["notes"].get(
        "run-number-lost")]  # fmt: skip
    assert (third["proof"]["run"], third["proof"]["project"]) == (3, first["proof"]["project"])
    assert third["proof"]["previous"] is None


def test_a_key_by_descriptor_is_read_once_and_handed_to_nobody(lab: RunLab) -> None:
    key = make_key(lab)
    reader, writer = os.pipe()
    os.write(writer, key.read_bytes())
    os.close(writer)
    known = os.fstat(reader)
    program = (
        "import os, sys\nfor name in os.listdir('/proc/self/fd'):\n"
        "    try: found = os.stat(f'/proc/self/fd/{name}')\n    except OSError: continue\n"
        f"    assert (found.st_dev, found.st_ino) != ({known.st_dev}, {known.st_ino})\n"
    )
    done = lab.run("--sign", f"fd:{reader}", "--", sys.executable, "-c", program, pass_fds=(reader,))
    os.close(reader)

    assert done.exit_code == 0, done.said
    assert lab.receipt()["signature"]["alg"] == "ed25519"
    assert verified_by(lab, "--public-key", f"{key}.pub")[1]["verdict"] == "verified"


def test_where_a_policys_key_lies_is_in_no_record(lab: RunLab) -> None:
    key = make_key(lab, "hidden-place.key")
    settings = lab.root / "home/.config/docket/policy.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[proof]\nsign = '{key}'\nseal = true\n")
    program = "import os; assert not [one for one in os.environ.values() if 'hidden' '-place' in one]"
    done = lab.run("--", sys.executable, "-c", program)
    assert done.exit_code == 0, done.said

    assert verified_by(lab, "--public-key", f"{key}.pub")[1]["verdict"] == "verified"
    assert lab.receipt()["policy"]["document"]["proof"] == {"sign": "", "seal": True}
    kept = [path for folder in (lab.tree / ".docket", lab.state) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in kept if b"hidden-place" in path.read_bytes()] == []
    assert len(kept) > 5


def test_a_policy_in_place_of_the_one_that_signs_is_told(lab: RunLab) -> None:
    own, named = lab.root / "home/.config/docket/policy.toml", lab.root / "named.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[proof]\nseal = true\n")
    named.write_text("[caps]\nmax_model_calls = 3\n")
    said = "docket: warning: nobody's key vouches for this run: --policy stands in place of your own policy"
    assert said in lab.run("--policy", str(named), "--", "true").stderr
    assert said not in lab.run("--policy", str(named), "--seal", "--", "true").stderr
    own.write_text("[proof]\nseal = 3\n")  # what is wrong with it is told where it counts
    assert said not in lab.run("--policy", str(named), "--", "true").stderr


def test_what_cannot_sign_is_refused_before_anything_is_started(lab: RunLab) -> None:
    mark = lab.tree / "started"
    for flags in (("--sign", str(lab.root / "nothing")), ("--sign", "fd:77"), ("--seal-key", str(lab.root / "no"))):
        done = lab.run(*flags, "--", "touch", str(mark))
        assert done.exit_code == 43, done.said
    assert not mark.exists()
    assert lab.receipts() == []
    assert list(lab.state.glob("*/runs/*.jsonl")) == []


def test_a_signed_run_that_was_killed_is_incomplete_and_never_verified(lab: RunLab) -> None:
    key = make_key(lab)
    program = "import time; print('up', flush=True); time.sleep(60)"
    with lab.start("run", "--sign", str(key), "--", sys.executable, "-c", program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while (recovered := lab.docket("recover")).exit_code != 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    receipt = lab.receipt()
    assert "a recovery has none" in recovered.stdout + recovered.stderr

    assert (receipt["signature"], receipt["proof"]["signature"]["alg"]) == (None, "ed25519")
    for flags in ((), ("--public-key", f"{key}.pub")):
        code, verdict = verified_by(lab, *flags)
        assert (code, verdict["verdict"]) == (1, "incomplete")
        assert checks(verdict)["signature"] == "skip"
    assert verified_by(lab, "--public-key", f"{make_key(lab, 'b.key')}.pub")[1]["verdict"] == "failed"


def without_powers() -> None:
    """Before a program is executed: whatever its user is, it has no capability, and reads what its user may read."""
    call = ctypes.CDLL(None, use_errno=True).prctl
    for number in range(64):
        call(PR_CAPBSET_DROP, number, 0, 0, 0)


def test_no_program_of_the_run_can_read_the_key_from_docket(lab: RunLab) -> None:
    key = make_key(lab)
    body = "".join(key.read_text().splitlines()[1:-1])
    seed = base64.b64decode(body)[-32:]
    words = [seed.hex(), body.encode().hex(), os.fsencode(key).hex()]
    agent = [sys.executable, "-c", PRYING, *words]
    done = lab.run("--sign", str(key), "--seal", "--", *agent, preexec_fn=without_powers)
    assert done.exit_code == 0, done.said
    seen = json.loads((lab.tree / "seen.json").read_text())

    assert seen["found"] == []
    refused = {part for _, part, error in seen["closed"] if error in (errno.EPERM, errno.EACCES)}
    assert refused == {"environ", "mem", "fd"}
    assert seen["powers"] == "0000000000000000"
    assert verified_by(lab, "--public-key", f"{key}.pub")[1]["verdict"] == "verified"


def test_the_same_looks_find_a_key_that_is_held_without_care(tmp_path: Path) -> None:
    words = [os.urandom(32).hex()]
    command = [sys.executable, "-c", HOLDING, PRYING, *words]
    subprocess.run(command, cwd=tmp_path, preexec_fn=without_powers, check=True, timeout=60)
    found = json.loads((tmp_path / "seen.json").read_text())["found"]
    assert [part for _, part, word in found if word == words[0]] == ["mem"] * len(found)
    assert found


def test_a_ledger_that_the_agent_rewrites_is_not_what_is_signed(lab: RunLab) -> None:
    key = make_key(lab)
    program = (
        "import pathlib, sys\n(path,) = pathlib.Path(sys.argv[1]).glob('*/runs/*.jsonl')\n"
        "path.write_bytes(path.read_bytes().splitlines(True)[0])\n"
    )
    done = lab.run("--sign", str(key), "--", sys.executable, "-c", program, str(lab.state))
    assert done.exit_code == 0, done.said
    assert "something rewrote the ledger" in done.stderr
    assert lab.receipt()["notes"]["ledger-diverged"] == 1
    assert verified_by(lab, "--public-key", f"{key}.pub")[1]["verdict"] == "verified"
