"""Write the tables of `docs/reference/findings.md` from the rules of analysis and their thresholds.

Run it when a threshold changes: `python tools/generate_findings_reference.py`. A test compares the file with what this
gives. What stands outside of the marks is written by hand.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from docket.rules.analysis.finding import MAX_EVIDENCE, Confidence, Severity
from docket.rules.analysis.registry import MAX_A_RULE, RULES
from docket.rules.analysis.thresholds import ALL

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "findings.md"
BEGIN, END = "<!-- thresholds: written by tools/generate_findings_reference.py -->", "<!-- end of thresholds -->"


def table() -> str:
    """Return what stands between the marks."""
    lines = ["| rule | value | of |", "|---|---|---|"]
    lines += [f"| `{rule}` | {item.value:,} | {item.meaning} |" for rule in RULES for item in ALL if item.rule == rule]
    bounds = (
        f"At most {MAX_A_RULE} findings of one rule are told, those with the most money; a finding names at most "
        f"{MAX_EVIDENCE} events. Severity is {_list(Severity)}; confidence {_list(Confidence)}."
    )
    return "\n".join([*lines, "", *textwrap.wrap(bounds, 120)])


def page(present: str) -> str:
    """Return the page with its table made anew; ValueError where a mark is missing."""
    head, rest = present.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{table()}\n\n{END}{tail}"


def _list(words: type[Severity | Confidence]) -> str:
    *most, last = (f"`{word}`" for word in words)
    return f"{', '.join(most)} or {last}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
