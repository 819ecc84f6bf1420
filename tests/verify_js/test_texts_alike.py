"""Blanks, letters, keys, heads and states: verify-js reads them as docket does, whatever Unicode its platform knows."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.letters import is_printable, lowered
from docket.formats.proof.checkpoint import read_head_words
from docket.formats.proof.key_text import public_pem, read_public_key, read_seal_key, verifier_key
from docket.formats.proof.verifier_state import read_state
from verify_js.in_node import needs_node

pytestmark = needs_node
SCRIPT = Path(__file__).parent / "texts.mjs"
KEY = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
# What is blank to one of the languages and not to the other, or not to both of their functions.
ODD = ["", *" \x1c\x1f\x85\xa0\ufeff\u200b\u180e\u2028\u3000\n\t\0", "\r\n"]


def node(questions: list[list[str]]) -> list[Any]:
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    program = shutil.which("node")
    assert program is not None
    done = subprocess.run([program, str(SCRIPT)], input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def or_refused(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InvalidDocumentError:
        return "refused"


def test_blanks() -> None:
    texts = [f"{blank}a{blank}{blank}b{blank}" for blank in ODD]

    assert node([["stripped", text] for text in texts]) == [text.strip() for text in texts]
    assert node([["wordsOf", text] for text in texts]) == [text.split() for text in texts]


def test_many_blanks_before_an_end_take_no_time() -> None:
    text = f"a{' ' * 200_000}b"

    assert node([["stripped", text]]) == [text]


def test_letters() -> None:
    texts = ["A\ua7cb", "\u03a3\ua7cb\u03a3", "A\u03a3", "\u0130", "\U00010d50", "\u1c89", "\u10a0", "\U00016ea0\u00df"]
    marks = ["\U00032000", "\U00013439", "\U0001345f", "\u00ad", "\u0378", "a b", "a\ue000", "\u2065", "\ud7ff"]

    assert node([["lowered", text] for text in texts]) == [lowered(text) for text in texts]
    assert node([["isPrintable", text] for text in marks]) == [is_printable(text) for text in marks]


def test_keys() -> None:
    spellings = (KEY.hex(), verifier_key(KEY), public_pem(KEY).strip(), f"a{'{}'}b+0+0", KEY.hex().upper())
    texts = [f"{odd}{spelling}{odd}" for odd in ODD for spelling in spellings]
    texts += [public_pem(KEY).replace("VC", f"V{odd}C") for odd in ODD]

    assert node([["readPublicKey", text] for text in texts]) == [
        or_refused(lambda text=text: read_public_key(text).hex()) for text in texts
    ]
    assert node([["readSealKey", text] for text in texts]) == [
        or_refused(lambda text=text: read_seal_key(text.encode()).hex()) for text in texts
    ]


def test_heads() -> None:
    texts = [f"docket.local/unsigned/a{odd}b{odd} 3{odd} {KEY.hex()}{odd}" for odd in ODD]

    def told(text: str) -> Any:
        head = or_refused(lambda: read_head_words(text))
        return head if head == "refused" else {"origin": head.origin, "size": head.size, "root": head.root}

    assert node([["readHeadWords", text] for text in texts]) == [told(text) for text in texts]


def test_states() -> None:
    run = {"key": KEY.hex(), "project": "0c" * 16, "run": 1, "session": "a-B_9", "receipt_sha256": "ab" * 32}
    head = {"origin": "docket.local/unsigned/a-B_9", "size": 1, "root": "ab" * 32}
    good = [
        {**run, "key": "unsigned"}, {**run, "session": "a" * 64}, {**run, "run": 2**53 - 1},
        {**head, "origin": f"docket.local/{'0f' * 8}/a"},
    ]  # fmt: skip
    bad = [{**run, name: value} for name in run for value in ("", None, -1, 0, "A b", f"{run[name]}\n")]
    bad += [{**run, "key": KEY.hex().upper()}, {**run, "session": "a" * 65}, {**run, "more": 1}, {**run, "run": True}]
    bad += [{**head, name: value} for name in head for value in ("", None, -1, 0, "A b", f"{head[name]}\n")]
    bad += [{**head, "origin": f"docket.local/{'0F' * 8}/a"}, {**head, "origin": "docket.local/a"}]

    def state(entry: dict[str, Any]) -> dict[str, Any]:
        lists = {"projects": [], "origins": []} | {"origins" if "origin" in entry else "projects": [entry]}
        return {"format": "docket/verifier-state/v1", **lists}

    texts = [json.dumps(state(entry)) for entry in [run, head, *good, *bad]]
    accepted = len(good) + 2
    found = node([["readState", text] for text in texts])
    assert found[:accepted] == [
        {name: state(entry)[name] for name in ("projects", "origins")} for entry in (run, head, *good)
    ]
    assert found[accepted:] == ["refused"] * len(bad)
    assert [or_refused(lambda text=text: read_state(json.loads(text))) == "refused" for text in texts] == [
        one == "refused" for one in found
    ]
