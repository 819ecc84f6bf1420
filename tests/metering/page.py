"""The page that shows what docket books for each wire and form of reply, out of the cases as they are measured."""

from __future__ import annotations

from metering.cases import CASES
from metering.forms import Case
from metering.measure import measure

_HEAD = """# What is booked, wire by wire

Each row is a reply typed after the provider's documented example, fed to docket whole, byte by byte and compressed, and
priced by docket's own table as of 29 November 2026. A test measures every row anew and compares it with figures worked
out by hand. Prices are dollars per million tokens, so the sums are micro-dollars; each priced part of a call is rounded
by itself, half to even.

| provider | form | wire | input | of it cached | written | output | cost | worked out |
|---|---|---|---:|---:|---:|---:|---:|---|
"""
_FOOT = """
A cost marked *estimated* is for a reply that reports no usage: see
[how usage is read and priced](usage-and-prices.md). One marked *assumed* is at a price that the upstream itself
did not set.
"""


def page() -> str:
    """Return the page."""
    return _HEAD + "".join(map(_row, CASES)) + _FOOT


def _row(case: Case) -> str:
    found = measure(case)
    given, cached, written, output = (f"{count:,}" for count in found.tokens)
    cost = f"${found.cost}" + ("" if found.reported else " *estimated*") + (" *assumed*" if found.assumed else "")
    cells = (case.provider, case.form, f"`{found.wire}`", given, cached, written, output, cost, case.how)
    return f"| {' | '.join(cells)} |\n"
