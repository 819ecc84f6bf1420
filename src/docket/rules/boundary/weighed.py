"""A billed request while it is read and weighed: its whole body, what it asks for, what it was quoted.

Rules:
1. The digest is over the bytes as the agent sent them; the facts come from a decoded copy, and nothing is changed.
2. What goes on is the body as it came, unless its limit on output was lowered, or a Chat stream does not ask for its
   usage and the agent's recipe says that it tolerates the extra chunk: then it is asked for. An altered request goes
   out without a content coding, its reply is asked for in none, and the change is recorded.
3. A body whose coding cannot be read still has a digest and a size; why it has no facts is said.
"""

from __future__ import annotations

import re

from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest, sha256
from docket.rules.boundary.access import Entered
from docket.rules.boundary.billing import Quote
from docket.rules.boundary.forwarding import address_of, request_altered, request_upstream
from docket.rules.boundary.http1 import RequestHead, joined, request_framing
from docket.rules.boundary.protocol import Connect
from docket.rules.providers import output_limit
from docket.rules.providers.encoding import decode_body
from docket.rules.providers.interface import Hidden, RequestFacts, RequestTarget, Wire
from docket.rules.providers.output_limit import lowered
from docket.rules.providers.registry import Provider
from docket.rules.providers.usage_chunk import ALTERATION, inject_usage

_CHAT = "openai-chat"
_PLAIN_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[{\[]")
_UNREAD = RequestFacts()
MAX_DECODED_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What goes to the upstream; digest and alterations where it is not what the agent sent."""

    connect: Connect
    sha256: Digest | None = None
    altered: tuple[str, ...] = ()


class Weighed:
    """One billed request; `body_bytes` is the size of the decoded body, `cache_key` what a cache has told it by."""

    def __init__(self, *, provider: Provider, wire: Wire, head: RequestHead, entered: Entered) -> None:
        self.provider = provider
        self.wire = wire
        self.head = head
        self.entered = entered
        self.address = address_of(provider, entered.rest)
        self.body = b""
        self.request_sha256 = Digest("")
        self.body_bytes = 0
        self.facts = _UNREAD
        self.quote: Quote | None = None
        self.unreadable: str | None = None
        self.cache_key: str | None = None
        self.on_socket = False
        self.lowered: bytes | None = None

    def read(self, body: bytes) -> None:
        """Take the whole body."""
        self.body, self.request_sha256 = body, sha256(body)
        coding = joined(self.head.headers, b"content-encoding").strip().lower()
        plain: bytes | None = body
        if coding not in ("", "identity"):
            # What is JSON as it stands, many a server takes as it stands.
            plain = None if _PLAIN_JSON.match(body) else decode_body(coding, body, MAX_DECODED_BYTES)
        if plain is None:
            self.unreadable = f"the request body's encoding {coding[:40]!r} cannot be read"
            plain = b""
        self.body_bytes = max(len(plain), len(body))
        target = RequestTarget(path=self.entered.rest, headers=self.head.headers)
        self.facts = self.wire.read_request(plain, target)

    def read_message(self, payload: bytes) -> None:
        """Take a whole message of a WebSocket: it asks for a stream, whatever it says."""
        self.on_socket = True
        self.read(payload)
        facts = self.facts
        hidden = tuple(way for way in facts.hidden if way is not Hidden.NON_STREAMING)
        self.facts = replace(facts, streaming=True, hidden=hidden)

    @property
    def may_be_altered(self) -> bool:
        """Whether the body goes out in the bytes it came in, alone in its request and without a signature over it."""
        signed = joined(self.head.headers, b"authorization").startswith("AWS4-")
        return not (self.on_socket or signed or joined(self.head.headers, b"content-encoding"))

    def lower_output(self, most_tokens: int) -> bool:
        """Lower the limits on output that the body states; return whether it then asks for no more."""
        body = lowered(self.body, most_tokens)
        if body is None:
            return False
        facts = self.wire.read_request(body, RequestTarget(path=self.entered.rest, headers=self.head.headers))
        if facts.max_output_tokens is None or facts.max_output_tokens > most_tokens:
            return False
        # The gates that let it go, and the record, know it by what the agent sent.
        self.lowered, self.facts = body, replace(facts, fingerprint=self.facts.fingerprint)
        return True

    def forwarded(self, *, ask_for_usage: bool) -> Forwarded:
        """Return what goes to the upstream; `ask_for_usage` where the agent tolerates the chunk that answers."""
        address = self.address
        framing = request_framing(self.head)
        own = self.body if self.lowered is None else self.lowered
        tolerated = ask_for_usage and self.wire.name == _CHAT and not joined(self.head.headers, b"content-encoding")
        asking = inject_usage(own) if tolerated else None
        if asking is None and self.lowered is None:
            head = request_upstream(self.head, address, framing)
            return Forwarded(Connect(address.origin, head, self.body, chunked=framing.chunked))
        body = own if asking is None else asking
        changes = (output_limit.ALTERATION if self.lowered is not None else None, ALTERATION if asking else None)
        head = request_altered(self.head, address, len(body))
        altered = tuple(change for change in changes if change is not None)
        return Forwarded(Connect(address.origin, head, body), sha256(body), altered)
