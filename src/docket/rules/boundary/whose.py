"""Whose call a request is: of the model it asks for, and of the agent that its headers name.

Rules:
1. A recipe says which headers carry the name of a sub-agent; the first that stands counts. Without one, the call is
   the main agent's.
2. A name is what the agent sends, and nobody vouches for it: it is shortened and made fit for a record, and counts for
   nothing but an agent's own limit within the run's.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.visible import visible
from docket.rules.boundary.http1 import RequestHead, values
from docket.rules.boundary.terms import Terms
from docket.rules.boundary.weighed import Weighed
from docket.rules.spending.scope import MAIN_AGENT, SUB_AGENT, Whose

_MAX_NAME_BYTES = 80


def whose(weighed: Weighed, terms: Terms) -> Whose:
    """Return whose call a weighed request is."""
    return Whose(weighed.facts.model or "unknown", agent_of(weighed.head, terms.agent_headers))


def agent_of(head: RequestHead, names: Sequence[str]) -> str:
    """Return the agent that a request is of."""
    for name in names:
        found = values(head.headers, name.encode("ascii"))
        if found and found[0].strip():
            return SUB_AGENT + visible(found[0].strip()[:_MAX_NAME_BYTES])
    return MAIN_AGENT
