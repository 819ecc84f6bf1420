"""The agents whose hooks are read, by the name that `docket hook` is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from docket.formats.canonical import JsonObject
from docket.rules.agents.hook_shapes import SHAPES
from docket.rules.windows.tool_event import HookEvent

HOOK_READERS: Mapping[str, Callable[[str, JsonObject], HookEvent]] = {shape.provider: shape.read for shape in SHAPES}
"""From an agent's name to what reads (event, payload)."""
