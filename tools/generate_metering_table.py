"""Write docs/reference/metering.md from the cases of tests/metering; a test holds the page to them.

Usage: python tools/generate_metering_table.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "metering.md"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    from metering.page import page

    PAGE.write_text(page(), encoding="utf-8")
