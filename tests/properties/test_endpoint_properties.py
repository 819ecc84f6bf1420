"""No spelling of a path that some server may serve as a billed one stands for a free one, at any provider."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from docket.rules.boundary.forwarding import has_dot_segment
from docket.rules.providers import registry
from docket.rules.providers.interface import EndpointKind

# Billed somewhere, by the documentation of the providers, from their first slash.
BILLED = (
    "/v1/messages", "/v1/messages/batches", "/v1/complete", "/v1/chat/completions", "/v1/completions",
    "/v1/fim/completions", "/v1/agents/completions", "/v1/responses", "/v1/responses/compact", "/v1/embeddings",
    "/v1/images/generations", "/v1/images/edits", "/v1/audio/speech", "/v1/audio/transcriptions", "/v1/videos",
    "/v1/rerank", "/v1/ocr", "/v1/batches", "/v1/fine_tuning/jobs", "/v1/containers", "/v1/threads/t/runs",
    "/v1/assistants", "/api/chat", "/api/generate", "/api/embed", "/model/m/converse", "/model/m/converse-stream",
    "/model/m/invoke", "/model/m/invoke-with-response-stream", "/model/m/async-invoke", "/guardrail/g/version/1/apply",
    "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:embedContent",
    "/v1beta/models/m:predict", "/v1beta/models/m:predictLongRunning", "/v1beta/models/m:batchGenerateContent",
    "/v1beta/cachedContents", "/v1beta/interactions", "/v1internal:generateContent",
    "/v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict",
    "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "/v1/some-new-path",
)  # fmt: skip
ALSO_BILLED = {
    "mistral": ("/v1/conversations", "/v1/moderations", "/v1/chat/moderations", "/v1/classifications"),
    "together": ("/v1/moderations",),
}
# Below a billed path, and free by the documentation.
DOCUMENTED = (
    "/messages/count_tokens", "/responses/input_tokens", "/cancel",
    "/publishers/anthropic/models/count-tokens:rawPredict",
)  # fmt: skip
FREE = (
    "/v1/files", "/v1/uploads", "/v1/uploads/u/parts", "/v1/messages/count_tokens", "/v1/responses/input_tokens",
    "/v1/responses/r/cancel", "/v1/moderations", "/v1/conversations", "/v1/organizations/o", "/v1/organization/x",
    "/api/event_logging/batch", "/api/show", "/api/blobs/sha256:00", "/v1/tokenize", "/model/m/count-tokens",
    "/v1beta/models/m:countTokens", "/v1internal:loadCodeAssist",
)  # fmt: skip
WORDS = (
    "files",
    "cancel",
    "organizations",
    "conversations",
    "..",
    ".",
    "%2e%2e",
    "%2E.",
    "",
    "v1",
    "x",
    "ünter",
    "a;b",
)
MARKS = (
    ";",
    "#",
    "?",
    "%3f",
    "%23",
    "%3B",
    "%00",
    "%20",
    "%09",
    ".",
    "/",
    "//",
    "\\",
    "%5c",
    "%2f",
    ":",
    "~",
    "@",
    "&",
    "\u017f",
)
PROVIDERS = registry.names()


def plain(path: str) -> list[str]:
    """Return the paths that servers make of one: unescaped or not, cut at marks or not, put in order or not."""
    once = [path, unquote(path, errors="replace"), unquote(unquote(path, errors="replace"), errors="replace")]
    found = []
    for one in once:
        for cut in (one, *(one.partition(mark)[0] for mark in ("?", "#", ";", "\0", " ", "\t"))):
            for slashed in (cut, cut.replace("\\", "/")):
                tidy = posixpath.normpath("/" + slashed.strip("/ \t.~@&"))
                found += [cut, tidy, "/".join(segment.partition(";")[0] for segment in tidy.split("/"))]
    return [one.lower() for one in found]


def served_as_billed(path: str, provider: str) -> bool:
    """Whether some server serves a path as a billed endpoint: by the whole of it, its end, or its beginning."""
    billed = [one.lower() for one in (*BILLED, *ALSO_BILLED.get(provider, ()))]
    bare = path.partition("?")[0]  # a query is no part of a path to any server (RFC 3986, 3.4)
    if bare.rstrip("/").endswith(DOCUMENTED) and not any(mark in bare for mark in "%;#\\"):
        # By the beginning alone these would be billed, and are not.
        return any(read.endswith(one) for read in plain(bare) for one in billed)
    return any(read.endswith(one) or read.startswith(one + "/") for read in plain(bare) for one in billed)


def spellings() -> st.SearchStrategy[str]:
    """A billed or a free path, with what confuses readers before, inside and behind it."""
    pieces = st.one_of(
        st.sampled_from(BILLED), st.sampled_from(FREE), st.sampled_from(ALSO_BILLED["mistral"]),
        st.sampled_from(WORDS).map(lambda word: f"/{word}"), st.sampled_from(MARKS),
    )  # fmt: skip
    return st.lists(pieces, min_size=1, max_size=5).map("".join).filter(lambda path: path.startswith("/"))


def escaped(path: str, places: list[int]) -> str:
    for place in sorted(places, reverse=True):
        if place < len(path) and path[place] != "%":
            path = path[:place] + "".join(f"%{byte:02x}" for byte in path[place].encode()) + path[place + 1 :]
    return path


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=150, deadline=None)
@given(path=spellings(), places=st.lists(st.integers(0, 40), max_size=2), upper=st.booleans())
@example(path="/v1/files/images/generations", places=[], upper=False)
@example(path="/v1/organizations/v1/images/generations", places=[], upper=False)
@example(path="/v1/messages/cancel", places=[], upper=False)
@example(path="/v1/messages/count_tokens?", places=[], upper=False)
@example(path="/v1/messages/count_tokens/", places=[], upper=False)
@example(path="/v1/conversations", places=[], upper=False)
@example(path="/v1beta/models/m:generateContent/models/m:countTokens", places=[], upper=False)
@example(path="/v1/images/generations/models/m:countTokens", places=[], upper=False)
def test_no_spelling_of_a_billed_path_is_free(provider: str, path: str, places: list[int], upper: bool) -> None:
    asked = escaped(path, places)
    asked = asked.upper() if upper else asked
    bare = asked.partition("?")[0]
    if has_dot_segment(bare) or bare.encode("utf-8", "replace").isspace():
        return  # it is not forwarded at all
    kind = registry.provider(provider).classify("POST", asked).kind
    if kind is EndpointKind.FREE:
        assert not served_as_billed(asked, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("path", BILLED)
def test_a_billed_path_is_never_free_with_a_body(provider: str, path: str) -> None:
    at = registry.provider(provider)
    for spelt in (path, path + "/", path + "?x=/files", path.replace("/", "//")):
        assert at.classify("POST", spelt).kind is not EndpointKind.FREE
        for method in ("PUT", "PATCH", "QUERY", "post", "Post", "SEARCH", "CONNECT"):
            assert at.classify(method, spelt).kind is not EndpointKind.FREE
