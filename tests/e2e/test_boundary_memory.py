"""What the boundary's process holds while a reply far larger than its memory passes, in every form of one.

`DOCKET_LARGE_MB` is the reply's size, 300 where a whole measurement is wanted; what is nothing but structure, of which
the boundary reads a megabyte or two a second, is a sixteenth of that.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest

import docket
from aws_frames import event as converse_event
from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head
from boundary_rig.rig import TOKEN
from boundary_rig.wire_forms import FORMS, FRAMES, JSON, LINES, SSE, Form
from docket.formats.ledger.event import Event
from docket.stores.ledger import read_ledger

LARGE = int(os.environ.get("DOCKET_LARGE_MB", "24")) * 1_000_000
# The process itself takes 36 MiB, and an event that is nothing but structure another 20 while it is read: whoever kept
# the reply would be above.
MOST_KIB, MOST_OF_STRUCTURE_KIB = 52 * 1024, 70 * 1024
BY_NAME = {form.name: form for form in FORMS}
WORDS = "w" * 4000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")


@dataclass(frozen=True)
class Large:
    """A reply: `first` and `last` are the form's own pieces around `many`, as often as it takes."""

    form: Form
    kind: str
    many: bytes
    first: bytes = b""
    last: bytes = b""
    reported: bool = True
    share: int = 1
    most_kib: int = MOST_KIB

    def pieces(self) -> Iterator[bytes]:
        block = self.many * max(1, 262144 // len(self.many))
        yield self.first
        for _ in range(-(-LARGE // self.share // len(block))):
            yield block
        yield self.last


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def large_of() -> dict[str, Large]:
    claude, converse, gemini, ollama, chat, message = (
        BY_NAME[name]
        for name in (
            "anthropic-events", "converse-stream", "gemini-array", "ollama-lines", "chat-events-with-usage",
            "anthropic-json",
        )
    )  # fmt: skip
    start, end = b"".join(claude.pieces[:2]), b"".join(claude.pieces[4:])
    delta = _event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORDS}})
    opened, closed = message.body.split(b"forty bytes", 1)
    part = json.dumps({"candidates": [{"content": {"parts": [{"text": WORDS}]}, "index": 0}]}).encode()
    line = json.dumps({"model": "llama3.2", "message": {"content": WORDS}, "done": False}).encode() + b"\n"
    frame = converse_event("contentBlockDelta", {"delta": {"text": WORDS}, "contentBlockIndex": 0})
    long_event = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'
    return {
        "events": Large(claude, SSE, delta, start, end),
        "events-ended-by-cr": Large(claude, SSE, delta.replace(b"\n", b"\r"), start, end),
        "one-event": Large(claude, SSE, WORDS.encode(), start + long_event, b'"}}\n\n' + end),
        "one-event-of-many-lines": Large(
            claude, SSE, b"data: \n" * 500, start + long_event, b'"}}\n\n' + end, share=16,
            most_kib=MOST_OF_STRUCTURE_KIB,
        ),
        "empty-events": Large(claude, SSE, b"\n", start, end, share=16),
        "empty-data": Large(claude, SSE, b"data:\n\n", start, end, share=16),
        "comments": Large(claude, SSE, b":\n\n", start, end, share=16),
        "one-comment": Large(claude, SSE, b"x" * 100, start + b":", b"\n\n" + end),
        "events-of-brackets": Large(
            claude, SSE, b"data: [" + b"[]," * 300_000 + b"0]\n\n", start, end, most_kib=MOST_OF_STRUCTURE_KIB
        ),
        "events-of-objects": Large(
            claude, SSE, b'data: {"a":[' + b"{}," * 300_000 + b"0]}\n\n", start, end, most_kib=MOST_OF_STRUCTURE_KIB
        ),
        "deep-events": Large(claude, SSE, b"data: " + b"[" * 500_000 + b"\n\n", start, end),
        "json-of-one-text": Large(message, JSON, WORDS.encode(), opened, closed),
        "json-of-escapes": Large(message, JSON, b"\\u0041\\n\\\\", opened, closed, share=16),
        "json-of-many-members": Large(message, JSON, b'"x":[1,2],', b"{", message.body[1:], share=16),
        "json-of-one-deep-member": Large(message, JSON, b"[", b'{"x":', b"", reported=False, share=16),
        "array": Large(gemini, JSON, part + b"\n,\r\n", b"[" + gemini.pieces[0][1:], gemini.pieces[2] + b"]"),
        "array-of-one-object": Large(
            gemini, JSON, WORDS.encode(), b'[{"x":"', b'"},' + gemini.pieces[2] + b"]"
        ),
        "array-of-nothing": Large(gemini, JSON, b"{},\n", b"[", gemini.pieces[2] + b"]", share=16),
        "lines": Large(ollama, LINES, line, b"", ollama.pieces[2]),
        "one-line": Large(ollama, LINES, WORDS.encode(), b'{"response":"', b'"}\n' + ollama.pieces[2]),
        "frames": Large(converse, FRAMES, frame, converse.pieces[0], b"".join(converse.pieces[3:])),
        "empty-frames": Large(
            converse, FRAMES, converse_event("contentBlockDelta", {}), b"", b"".join(converse.pieces[3:]), share=16
        ),
        "chat-events": Large(chat, SSE, chat.pieces[0].replace(b"forty", WORDS.encode()), b"",
                             b"".join(chat.pieces[2:])),
    }  # fmt: skip


FORMS_OF_LARGE = large_of()


def gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def carried(tmp_path: pathlib.Path, large: Large, body: Callable[[], Iterable[bytes]], extra: str = "") -> Event:
    """Have the reply carried by a boundary of its own; check bytes and memory, return the response's event."""
    sent = hashlib.sha256()

    def handler(request: object, sock: object) -> bool:
        sock.sendall(chunked_head(kind=large.kind, extra=extra))  # type: ignore[attr-defined]
        for piece in body():
            if piece:
                sent.update(piece)
                sock.sendall(chunk(piece))  # type: ignore[attr-defined]
        sock.sendall(b"0\r\n\r\n")  # type: ignore[attr-defined]
        return True

    folders = (pathlib.Path(__file__).parents[1], pathlib.Path(docket.__file__).parents[1])
    with RawUpstream(handler) as upstream:
        part = subprocess.Popen(
            [sys.executable, "-m", "boundary_rig.boundary_part", large.form.provider, upstream.url, str(tmp_path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        )  # fmt: skip
        assert part.stdin is not None
        assert part.stdout is not None
        try:
            connection = http.client.HTTPConnection("127.0.0.1", int(part.stdout.readline()), timeout=120)
            connection.request("POST", f"/{TOKEN}{large.form.path}", large.form.request)
            reply = connection.getresponse()
            got, size = hashlib.sha256(), 0
            while piece := reply.read(1 << 18):
                got.update(piece)
                size += len(piece)
            connection.close()
            part.stdin.close()
            peak_kib = int(part.stdout.readline())
            part.wait(60)
        finally:
            part.kill()
            part.wait(60)
            part.stdout.close()
    assert got.hexdigest() == sent.hexdigest()
    assert peak_kib <= large.most_kib, f"{peak_kib} KiB"
    events = [item for item in read_ledger(tmp_path / "ledger.jsonl") if isinstance(item, Event)]
    (response,) = [item for item in events if item.type == "model.response"]
    assert response.data["response_bytes"] == size
    assert response.data["outcome"] == "complete"
    return response


@pytest.mark.parametrize("name", FORMS_OF_LARGE)
def test_a_large_reply_passes_in_little_memory(tmp_path, name):
    large = FORMS_OF_LARGE[name]
    response = carried(tmp_path, large, large.pieces)
    assert (response.data["usage_source"] == "reported") is large.reported
    if large.reported:
        assert (response.data["usage"]["input_tokens"], response.data["usage"]["output_tokens"]) == (1000, 100)


@pytest.mark.parametrize("name", ["events", "json-of-one-text", "array", "lines", "frames", "empty-events"])
def test_what_grows_a_thousandfold_in_gzip_passes_in_little_memory(tmp_path, name):
    # Beyond a bound nobody undoes it: what was used is estimated from what was seen until then.
    large = FORMS_OF_LARGE[name]
    response = carried(tmp_path, large, lambda: gzipped(large.pieces()), "Content-Encoding: gzip\r\n")
    assert response.data["usage_source"] in ("reported", "estimated")
    assert response.data["usage"]["output_tokens"] <= LARGE
