"""Writes `verify-js/src/rebuild/lists.mjs`: the closed lists of `spec/*.json`, as the JavaScript verifier embeds them.

Run it after a change of such a list: `python tools/write_verify_js_lists.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "verify-js" / "src" / "rebuild" / "lists.mjs"
LISTS = {"DISCLOSURE": "disclosure.json", "SENTENCES": "sentences.json"}


def module() -> str:
    """The module's text."""
    parts = ["// Written by tools/write_verify_js_lists.py from spec/disclosure.json and spec/sentences.json.\n"]
    for name, file in LISTS.items():
        document = json.loads((ROOT / "spec" / file).read_text(encoding="utf-8"))
        parts.append(f"\nexport const {name} = {json.dumps(document, ensure_ascii=False, indent=2)};\n")
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
