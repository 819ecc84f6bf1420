"""The backends, in the order in which `auto` tries them."""

from __future__ import annotations

from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.backends.interface import Backend
from docket.engines.transaction.backends.overlay import OverlayBackend
from docket.engines.transaction.backends.reflink import ReflinkBackend


def backends() -> tuple[Backend, ...]:
    """Return every backend that this docket has."""
    return (ReflinkBackend(), OverlayBackend(), CopyBackend())
