"""Frames of AWS's event stream, typed for tests."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one frame with text headers."""
    fields = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    return sealed(fields, payload)


def sealed(fields: bytes, payload: bytes) -> bytes:
    """Return one frame of headers as they stand on the wire."""
    prelude = struct.pack(">II", 16 + len(fields) + len(payload), len(fields))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + fields + payload
    return message + struct.pack(">I", zlib.crc32(message))


def event(kind: str, value: object) -> bytes:
    """Return an event of ConverseStream."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(value).encode())


def chunk(value: object) -> bytes:
    """Return an event of InvokeModelWithResponseStream, its native event in base64."""
    native = base64.b64encode(json.dumps(value).encode()).decode()
    return event("chunk", {"bytes": native, "p": "abcdefgh"})


def exception(kind: str, value: object) -> bytes:
    """Return an exception that comes in a frame."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps(value).encode())
