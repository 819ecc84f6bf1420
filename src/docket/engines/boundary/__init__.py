"""The boundary between an agent and its model providers, as an engine: `start(request, world)`."""

from docket.engines.boundary.drive import Ledger
from docket.engines.boundary.run import Boundary, BoundaryEnd, BoundaryRequest, BoundaryWorld, start
from docket.rules.boundary.admission import BoundaryState
from docket.rules.boundary.protocol import Breach

__all__ = [
    "Boundary", "BoundaryEnd", "BoundaryRequest", "BoundaryState", "BoundaryWorld", "Breach", "Ledger", "start",
]  # fmt: skip
