"""The closed lists of the specification, which a receipt quotes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_SPEC = Path(__file__).resolve().parents[2] / "spec"
SENTENCES: dict[str, Any] = json.loads((_SPEC / "sentences.json").read_text("utf-8"))
DISCLOSURE: dict[str, Any] = json.loads((_SPEC / "disclosure.json").read_text("utf-8"))
