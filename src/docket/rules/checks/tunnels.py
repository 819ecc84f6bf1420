"""The order of what went through the proxy.

Rules (spec/receipt.md, Checks):
1. Destinations are numbered from 1 in the order in which they were let through; each is closed at most once, and
   behind that.
2. A plain request names its method, a tunnel none; a status is that of a plain request's reply.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.network_events import NetAllowed, NetClosed

_REQUEST = "request"
_KINDS = ("tunnel", _REQUEST)


@dataclass(slots=True)
class TunnelOrder:
    """Both rules; memory is proportional to what is open."""

    allowed: int = 0
    open: dict[int, str] = field(default_factory=dict)

    def take(self, payload: NetAllowed | NetClosed) -> str | None:
        """Return what is wrong with the next event, or None."""
        return self._allowed(payload) if isinstance(payload, NetAllowed) else self._closed(payload)

    def _allowed(self, payload: NetAllowed) -> str | None:
        self.allowed += 1
        if payload.tunnel != self.allowed:
            return f"tunnel is {payload.tunnel}, the next number is {self.allowed}"
        self.open[payload.tunnel] = payload.kind
        if payload.kind not in _KINDS or (payload.method is not None) is not (payload.kind == _REQUEST):
            return "a plain request alone names a method"
        return None

    def _closed(self, payload: NetClosed) -> str | None:
        kind = self.open.pop(payload.tunnel, None)
        if kind is None:
            return f"tunnel {payload.tunnel} is not open"
        return "a tunnel has no status" if kind != _REQUEST and payload.status is not None else None
