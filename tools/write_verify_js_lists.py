"""Write verify-js/src/rebuild/lists.mjs: closed lists of spec/ as a module, so that one file holds all of the verifier.

`--check` writes nothing and fails where the module is not that of spec/disclosure.json, spec/sentences.json and
spec/receipt-shape.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = {"DISCLOSURE": "disclosure.json", "SENTENCES": "sentences.json", "RECEIPT_SHAPE": "receipt-shape.json"}
TARGET = ROOT / "verify-js/src/rebuild/lists.mjs"
HEAD = "// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.\n"


def module() -> str:
    """Return the module's text."""
    texts = {name: (ROOT / "spec" / file).read_text("utf-8").rstrip() for name, file in LISTS.items()}
    return HEAD + "".join(f"\nexport const {name} = {text};\n" for name, text in texts.items())


def main() -> int:
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(module(), "utf-8")
        return 0
    return 0 if TARGET.is_file() and TARGET.read_text("utf-8") == module() else 1


if __name__ == "__main__":
    sys.exit(main())
