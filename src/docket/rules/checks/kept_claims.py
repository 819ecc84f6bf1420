"""What docket's own ledger says of the bodies it kept, held against itself (spec/receipt.md, Kept responses).

Rules: nothing is said of a body where the policy keeps none; of a kept one everything is, and its path names the run
and the digest; of one that is not kept the reason is said and nothing else.
"""

from __future__ import annotations

from docket.formats.canonical import object_at
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import PolicyApplied, SessionStart


@dataclass(slots=True)
class KeptClaims:
    """The run's session and whether its policy keeps bodies."""

    session_id: str = ""
    keeps: bool = False

    def take(self, _event: Event, payload: Payload | None) -> str | None:
        """Return what is wrong with the next event, or None."""
        if isinstance(payload, SessionStart):
            self.session_id = payload.session_id
        elif isinstance(payload, PolicyApplied):
            self.keeps = object_at(payload.document, "evidence").get("record_responses") is True
        elif isinstance(payload, ModelResponse):
            return self._reply(payload)
        return None

    def _reply(self, reply: ModelResponse) -> str | None:
        said = (
            reply.response_path, reply.response_stored_bytes, reply.response_stored_sha256, reply.response_truncated,
        )  # fmt: skip
        if reply.response_retained and not self.keeps:
            return "a body is kept, the policy keeps none"
        if reply.response_retained:
            whole = None not in said and reply.response_note is None
            return self._kept(reply) if whole else "of its body not all is said"
        is_told = reply.response_note is not None
        if any(item is not None for item in said) or is_told is not (reply.response_retained is False):
            return "of a body that is not kept the reason is said, and nothing else"
        return None

    def _kept(self, reply: ModelResponse) -> str | None:
        if reply.response_path != f"responses/{self.session_id}/{reply.response_stored_sha256}.bin":
            return "response_path is not that of this run and digest"
        size = reply.response_stored_bytes or 0
        if size > reply.response_bytes or reply.response_truncated is not (size < reply.response_bytes):
            return f"response_truncated does not fit {size} bytes of {reply.response_bytes}"
        if not reply.response_truncated and reply.response_stored_sha256 != reply.response_sha256:
            return "the body is kept whole and has another digest than the response"
        return None
