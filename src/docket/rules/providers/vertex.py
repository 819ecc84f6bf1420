"""Anthropic's models on Vertex AI: `.../publishers/anthropic/models/{model}:rawPredict` and `:streamRawPredict`.

Rules:
1. Body and reply are those of Anthropic's Messages, but the model stands in the path and the verb says whether the
   reply streams. A body that names a model too is ambiguous.
2. Errors of the platform itself are Google's; the refusal is Anthropic's, for that is what its clients read.
"""

from __future__ import annotations

from docket.formats.dataclass import replace
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.interface import NO_TARGET, Hidden, RequestFacts, RequestTarget, model_members
from docket.rules.providers.path_model import TWO_MODELS, google_model, google_verb

_STREAMING_VERB = "streamRawPredict"


class VertexClaude(AnthropicMessages):
    """The Messages format as Vertex AI carries it."""

    name = "vertex-claude"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body and its path."""
        facts = super().read_request(body, target)
        model, raw = model_members(google_model(target.path))
        streaming = google_verb(target.path) == _STREAMING_VERB or facts.streaming
        hidden = tuple(kind for kind in facts.hidden if not (streaming and kind is Hidden.NON_STREAMING))
        ambiguous = facts.ambiguous
        if facts.model is not None and model is not None and facts.model != model:
            ambiguous = ambiguous or TWO_MODELS
        return replace(
            facts,
            model=model or facts.model,
            model_raw=raw if model else facts.model_raw,
            streaming=streaming,
            hidden=hidden,
            ambiguous=ambiguous,
        )
