"""What fixed rules find in the record: each with its weight, its money, and what to do about it.

A finding is a judgement made from the record, and the page says so: no receipt holds one, and no verifier checks one.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.rules.analysis.finding import Finding
from docket.surfaces.render.page.html import Html, element, joined


def findings(found: Sequence[Finding]) -> Html:
    """Return the section's contents, empty where nothing was found."""
    if not found:
        return Html("")
    said = "Judgements by fixed rules, the most money first. They are no part of the receipt."
    return joined([element("p", said, class_="muted"), element("ol", map(_one, found), class_="findings")])


def _one(finding: Finding) -> Html:
    impact = "" if finding.usd_impact is None else f"${finding.usd_impact}"
    cited = ", ".join(str(seq) for seq in finding.evidence)
    events = f", {_word(finding)} {cited}" if cited else ""
    return element(
        "li",
        element(
            "h3",
            element("span", str(finding.severity), class_=f"severity {finding.severity}"),
            " ",
            finding.title,
            element("span", f" {impact}", class_="counts") if impact else "",
        ),
        element("p", _as_sentence(finding.detail)),
        element("p", element("strong", "What to do: "), finding.remedy),
        element(
            "p",
            f"rule {finding.rule}, confidence {finding.confidence}{events}",
            class_="muted small",
        ),
    )


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _word(finding: Finding) -> str:
    return "event" if len(finding.evidence) == 1 else "events"


__all__ = ["findings"]
