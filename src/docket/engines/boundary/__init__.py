"""The boundary between an agent and its model providers, as an engine: `start(request, world)`."""

from docket.engines.boundary.front import Boundary, start
from docket.engines.boundary.request import BoundaryEnd, BoundaryRequest, BoundaryWorld, Ledger
from docket.rules.boundary.state import BoundaryState

__all__ = ["Boundary", "BoundaryEnd", "BoundaryRequest", "BoundaryState", "BoundaryWorld", "Ledger", "start"]
