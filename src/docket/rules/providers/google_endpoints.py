"""What a path of Google's APIs stands for: the verb after its last colon says it (ai.google.dev, Vertex AI).

Rules:
1. A verb counts in the last segment alone. A path with another colon is never free: some server could serve it as
   the method that stands before it.
2. What is billed long after the reply, or by the hour, is unknown: the policy's to allow, and metered as far as a
   reply tells. So is every verb that is not listed.
3. Anthropic's models speak their own format there; counting their tokens is a model of its own, and free.
"""

from __future__ import annotations

import re

from docket.rules.providers.gemini import Gemini
from docket.rules.providers.gemini_batches import GeminiBatches
from docket.rules.providers.gemini_interactions import GeminiInteractions
from docket.rules.providers.interface import Endpoint, EndpointKind, Wire
from docket.rules.providers.path_model import google_verb
from docket.rules.providers.vertex import VertexClaude

GEMINI: Wire = Gemini()
GEMINI_BATCHES: Wire = GeminiBatches()
GEMINI_INTERACTIONS: Wire = GeminiInteractions()
VERTEX_CLAUDE: Wire = VertexClaude()

_BILLED_VERBS = frozenset(("generateContent", "streamGenerateContent", "embedContent", "batchEmbedContents"))
_METERED_VERBS = frozenset(
    (
        "batchGenerateContent", "asyncBatchEmbedContent", "predict", "predictLongRunning", "serverStreamingPredict",
        "generateAnswer",
    )
)  # fmt: skip
_FREE_VERBS = frozenset(("countTokens", "computeTokens"))
_CODE_ASSIST = "v1internal"
_FREE_CODE_ASSIST_VERBS = _FREE_VERBS | {
    "loadCodeAssist", "onboardUser", "retrieveUserQuota", "fetchAdminControls", "listExperiments",
    "getCodeAssistGlobalUserSetting", "setCodeAssistGlobalUserSetting", "recordCodeAssistMetrics",
    "recordConversationOffered", "recordConversationInteraction",
}  # fmt: skip
_NATIVE_VERBS = frozenset(("rawPredict", "streamRawPredict"))
_CLAUDE = re.compile(r".*/publishers/anthropic/models/[^/]+")
_CLAUDE_COUNT = "/publishers/anthropic/models/count-tokens:rawPredict"
# Nothing but Google's own collections stands before a model that is free of charge to ask.
_WORD = r"[A-Za-z0-9._~@-]+"
_OF_A_MODEL = re.compile(
    rf"(?:/v[0-9][a-z0-9]*)?(?:/(?:projects|locations|publishers)/{_WORD})*/(?:models|tunedModels|endpoints)/"
    rf"{_WORD}:[A-Za-z]+"
)
_FETCHED_BATCH = re.compile(r"/v1(?:alpha|beta)[a-z0-9]*/batches/[^/]+$")
_FETCHED_INTERACTION = re.compile(r"/v1[a-z0-9]*/interactions/[^/]+$")


def classify_google(path: str) -> Endpoint | None:
    """Return what a POST to `path` (without its query) stands for, None where nothing marks it as Google's."""
    if path.endswith("/interactions"):
        return Endpoint(EndpointKind.BILLED, GEMINI_INTERACTIONS)
    if path.endswith("/cachedContents"):
        return Endpoint(EndpointKind.UNKNOWN, GEMINI)
    verb = google_verb(path)
    if verb in _NATIVE_VERBS and _CLAUDE.fullmatch(path):
        is_free = path.endswith(_CLAUDE_COUNT) and _OF_A_MODEL.fullmatch(path) is not None
        return Endpoint(EndpointKind.FREE) if is_free else Endpoint(EndpointKind.BILLED, VERTEX_CLAUDE)
    if verb in _BILLED_VERBS:
        return Endpoint(EndpointKind.BILLED, GEMINI)
    if verb in _METERED_VERBS:
        return Endpoint(EndpointKind.UNKNOWN, GEMINI)
    if path == f"/{_CODE_ASSIST}:{verb}":
        return Endpoint(EndpointKind.FREE) if verb in _FREE_CODE_ASSIST_VERBS else None
    is_free = verb in _FREE_VERBS and _OF_A_MODEL.fullmatch(path) is not None
    return Endpoint(EndpointKind.FREE) if is_free else None


def fetched_google(path: str) -> Endpoint | None:
    """Return what a GET of `path` stands for where its reply may report what was billed, else None."""
    if _FETCHED_BATCH.search(path):
        return Endpoint(EndpointKind.FREE, GEMINI_BATCHES)
    return Endpoint(EndpointKind.FREE, GEMINI_INTERACTIONS) if _FETCHED_INTERACTION.search(path) else None
