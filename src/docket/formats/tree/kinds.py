"""What can stand at a path."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What stands at a path."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHARACTER_DEVICE = "character-device"
    BLOCK_DEVICE = "block-device"
    UNKNOWN = "unknown"
