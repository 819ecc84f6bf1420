"""The order of what went through the proxy."""

from __future__ import annotations

import pytest

from docket.formats.ledger.network_events import NetAllowed, NetClosed, NetOutcome
from docket.rules.checks.tunnels import TunnelOrder


def allowed(number: int, kind: str = "tunnel", method: str | None = None) -> NetAllowed:
    return NetAllowed(tunnel=number, kind=kind, host="a.example", port=443, method=method)


def closed(number: int, status: int | None = None) -> NetClosed:
    return NetClosed(
        tunnel=number, outcome=NetOutcome.CLOSED, status=status, sent_bytes=1, received_bytes=2, duration_ms=3
    )


def test_tunnels_and_requests_may_end_in_any_order_and_stay_open_at_the_end() -> None:
    order = TunnelOrder()
    events = (allowed(1), allowed(2, "request", "GET"), allowed(3), closed(2, 200), closed(1))
    assert [order.take(event) for event in events] == [None] * 5


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((allowed(2),), "the next number is 1"),
        ((allowed(1), allowed(1)), "the next number is 2"),
        ((closed(1),), "not open"),
        ((allowed(1), closed(1), closed(1)), "not open"),
        ((allowed(1, method="GET"),), "names a method"),
        ((allowed(1, "request"),), "names a method"),
        ((allowed(1, "other"),), "names a method"),
        ((allowed(1), closed(1, 200)), "no status"),
    ],
)
def test_what_cannot_have_been_is_named(events: tuple[NetAllowed | NetClosed, ...], words: str) -> None:
    order = TunnelOrder()
    faults = [order.take(event) for event in events]
    assert words in (faults[-1] or "")
    assert not any(faults[:-1])
