"""Records for the rules of analysis, event by event; members as the public format writes them, figures by hand."""

from __future__ import annotations

from typing import Any

from docket.formats.canonical import JsonValue
from docket.formats.ledger.event import Event
from docket.rules.analysis.finding import Finding
from docket.rules.analysis.registry import findings_of
from golden_ledgers.build import LedgerBuilder

# dear: 15 in, 1.5 cached, 75 out; cheap: 1 in, 5 out, never cached; a million tokens each, in dollars.
FAMILIES = [
    {"pattern": "dear", "input": "15", "cached_input": "1.5", "output": "75", "source": "by hand"},
    {"pattern": "flat", "input": "2", "cached_input": "2", "output": "9", "source": "by hand"},
    {"pattern": "cheap", "input": "1", "output": "5", "source": "by hand"},
]


class Story:
    """A ledger that is told call by call, and the receipt that goes with it."""

    def __init__(self) -> None:
        self.builder = LedgerBuilder()
        self.policy: dict[str, JsonValue] = {}
        self.calls = 0

    def add(self, type_: str, /, **data: JsonValue) -> int:
        """Append an event; return its number."""
        return self.builder.add_raw(type_, data).seq

    def ask(self, model: str = "dear", fingerprint: str | None = None, **more: JsonValue) -> int:
        """Append a request."""
        self.calls += 1
        shown = {} if fingerprint is None else {"fingerprint": fingerprint}
        return self.add("model.request", call=self.calls, provider="p", model=model, **shown, **more)

    def reply(self, tokens: tuple[int, int, int], cost: str, model: str = "dear", **more: Any) -> int:
        """Append the reply to the last request: (input, cached input, output) tokens and its cost."""
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        usage = {**dict(zip(names, tokens, strict=True)), **more.pop("usage", {})}
        part = {"model": model}
        return self.add(
            "model.response",
            call=self.calls,
            provider="p",
            model=model,
            usage=usage,
            cost_usd=cost,
            components=[part],
            **more,
        )

    def call(
        self, tokens: tuple[int, int, int] = (10, 0, 1), cost: str = "0.01", model: str = "dear", **more: Any
    ) -> int:
        """Append a request and its reply; return the reply's number."""
        self.ask(model)
        return self.reply(tokens, cost, model, **more)

    @property
    def receipt(self) -> dict[str, Any]:
        """The members that the rules look at."""
        return {"price_table": {"document": {"families": FAMILIES}}, "policy": {"document": self.policy}}

    @property
    def events(self) -> list[Event]:
        """The events."""
        return self.builder.events

    def findings(self, rule: str) -> tuple[Finding, ...]:
        """What one rule finds."""
        return tuple(item for item in findings_of(self.receipt, self.events) if item.rule == rule)


def the(findings: tuple[Finding, ...]) -> Finding:
    """The only finding."""
    (finding,) = findings
    return finding
