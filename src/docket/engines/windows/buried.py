"""Windows that got a tombstone while the registry could not be had: whoever holds the registry next takes them out."""

from __future__ import annotations

from docket.engines.windows.world import WindowsWorld
from docket.formats.windows.registry import Registry, WindowStatus
from docket.rules.windows.grouping import given_up


def without_buried(registry: Registry, world: WindowsWorld) -> Registry:
    """Return the registry without the windows that got a tombstone while the registry could not be had."""
    for window in registry.windows:
        if window.status is WindowStatus.COMPLETE or registry.group(window.group_id).sealed:
            continue
        tombstone = world.evidence.tombstone(window.key.window_id)
        if tombstone is not None:
            registry = given_up(registry, window, tombstone.reason)
    return registry
