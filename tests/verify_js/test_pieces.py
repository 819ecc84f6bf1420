"""Files that come in pieces, read as those that are at hand whole: receipts, ledgers, and what is said of them."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from docket.formats.canonical import encode, encode_document
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of
from sweeps import some
from verify_js.in_node import NODE, needs_node

PIECES = Path(__file__).with_name("pieces.mjs")
pytestmark = needs_node


def read_in_pieces(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is found of each, from one process."""
    assert NODE is not None
    lines = "".join(f"{json.dumps(one)}\n" for one in asked)
    done = subprocess.run([NODE, str(PIECES)], input=lines, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_token_in_every_place_of_the_rows_is_read_alike() -> None:
    steps = [{"side": "left", "hash": "0f" * 32}, {"hash": "a1" * 32, "side": "right"}]
    rows = [
        {"a": {"merkle_path": []}, "merkle_path": steps, "b": 1},
        {"merkle_path": []},
        {"m": "é", "merkle_path": None},
        7,
    ]
    asked = [
        {"everywhere": base64.b64encode(write({"appendix": {"usage": of, "n": 0}})).decode()}
        for of in (rows[:2], rows[1:3], rows[3:], [])
        for write in (encode_document, encode)
    ]

    found = read_in_pieces(asked)
    assert [one["wrong"] for one in found if one["wrong"]] == []
    assert all(0 < one["refused"] < one["cases"] for one in found)
    assert sum(one["cases"] for one in found) > 40_000


def test_what_is_no_file_is_refused_in_one_sentence() -> None:
    """Whatever a caller may take for one, a promise that was not waited for too: a fault of theirs is no verdict."""
    asked = """
        const { verify } = await import(process.argv[1]);
        const said = new Set();
        const promised = Promise.resolve(new Uint8Array(8));
        for (const receipt of [undefined, null, 5, "{}", ["{}"], new ArrayBuffer(8), promised, {}]) {
          const asked = verify({ receipt, ledger: null });
          said.add(await asked.then(() => "a verdict", ({ name, message }) => `${name}: ${message}`));
        }
        console.log([...said].join("\\n"));
    """
    module = Path(__file__).parents[2] / "verify-js/docket-verify.mjs"
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", asked, str(module)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "TypeError: a file is given as its bytes, a Blob, or pieces that are bytes\n", done.stderr


def test_of_a_long_receipt_little_is_held_of_its_text() -> None:
    (found,) = read_in_pieces([{"rows": 2000}])
    assert found["rows"] == 2000
    assert found["bytes"] > 4_000_000
    assert found["window"] <= 1 << 19


@some(200)
def test_receipts_and_ledgers_whole_and_damaged_are_read_alike(stride: int) -> None:
    asked = []
    for number, make in enumerate(samples.ALL.values()):
        raw = make().data()
        document = receipt_of(raw)
        rows = document["appendix"]["usage"]
        if rows:
            # Text beyond ASCII before, among and behind the rows; a path in the other order of its members.
            document = {"é": "\U0001f600", **document, "ü": ["ﬁ\u2028"]}
            rows[0]["model"] = "ñ" * 40
            rows[-1]["merkle_path"] = [dict(reversed(step.items())) for step in rows[-1]["merkle_path"]]
        for write in (encode_document, encode):
            text, ledger = (base64.b64encode(data).decode() for data in (write(document), raw))
            asked.append({"receipt": text, "ledger": ledger, "damages": 5000 // stride, "seed": number})

    found = read_in_pieces(asked)
    assert [one["wrong"] for one in found if one["wrong"]] == []
    cases, refused = (sum(one[name] for one in found) for name in ("cases", "refused"))
    assert cases == len(asked) * (5000 // stride + 1)
    assert cases // 4 < refused < cases - len(asked)
