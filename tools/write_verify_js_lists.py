"""Write the closed lists of spec/ as modules of verify-js, so that one file holds all of the verifier.

`--check` writes nothing and fails where a module is not that of its lists.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES, SPEC = ROOT / "verify-js" / "src", ROOT / "spec"
MODULES = {
    "course/events.mjs": {"EVENTS": "events.json"},
    "rebuild/lists.mjs": {
        "DISCLOSURE": "disclosure.json",
        "SENTENCES": "sentences.json",
        "RECEIPT_SHAPE": "receipt-shape.json",
    },
}
HEAD = "// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.\n"


def module(lists: dict[str, str]) -> str:
    """Return the text of the module of these lists."""
    texts = {name: (SPEC / file).read_text("utf-8").rstrip() for name, file in lists.items()}
    return HEAD + "".join(f"\nexport const {name} = {text};\n" for name, text in texts.items())


def main() -> int:
    stale = [
        SOURCES / name
        for name, lists in MODULES.items()
        if not (SOURCES / name).is_file() or (SOURCES / name).read_text("utf-8") != module(lists)
    ]
    if "--check" in sys.argv[1:]:
        return 1 if stale else 0
    for path in stale:
        path.write_text(module(MODULES[path.relative_to(SOURCES).as_posix()]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
