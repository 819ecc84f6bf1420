"""Write verify-js/src/course/events.mjs: the grammar of events as a module, so that one file holds all of the verifier.

`--check` writes nothing and fails where the module is not that of spec/events.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TARGET = ROOT / "spec/events.json", ROOT / "verify-js/src/course/events.mjs"
HEAD = "// Written by tools/write_verify_grammar.py from spec/events.json, which is to be changed instead.\n"


def module() -> str:
    """Return the module's text."""
    return f"{HEAD}\nexport const EVENTS = {SOURCE.read_text('utf-8').rstrip()};\n"


def main() -> int:
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(module(), "utf-8")
        return 0
    return 0 if TARGET.is_file() and TARGET.read_text("utf-8") == module() else 1


if __name__ == "__main__":
    sys.exit(main())
