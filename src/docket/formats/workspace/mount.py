"""What the launcher mounts before it starts an agent, so that a stage stands at its base's own path.

Rules:
1. `target` is the base's real, absolute path; everything else an agent sees stays where it is.
2. The mounts of a plan are made in its order, in a mount namespace of the agent's own, and go with it.
3. Paths are bytes as the kernel takes them.

How a namespace is made is the launcher's affair (host.launcher); which backend wants one is the backend's.
"""

from __future__ import annotations

from typing import TypeAlias

from docket.formats.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BindMount:
    """Show the directory or file `source` at `target`; with `read_only` without what is mounted below it."""

    source: bytes
    target: bytes
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayMount:
    """Show `lower` at `target`; what is written there goes to `upper`. `options` follow the three directories."""

    target: bytes
    lower: bytes
    upper: bytes
    work: bytes
    options: tuple[bytes, ...] = ()


Mount: TypeAlias = BindMount | OverlayMount


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPlan:
    """The mounts of one stage, in order; the agent's working directory is looked up when all stand."""

    mounts: tuple[Mount, ...]
