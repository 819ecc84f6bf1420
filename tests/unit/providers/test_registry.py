"""Providers, paths and where they lead."""

from __future__ import annotations

import pytest

from docket.errors import UsageError
from docket.rules.providers import endpoints, registry
from docket.rules.providers.interface import EndpointKind

_VERTEX = "/v1/projects/p/locations/europe-west1/publishers"


@pytest.mark.parametrize(
    ("name", "method", "path", "kind", "wire"),
    [
        ("anthropic", "POST", "/v1/messages", "billed", "anthropic-messages"),
        ("anthropic", "POST", "/v1/messages?beta=true", "billed", "anthropic-messages"),
        ("anthropic", "POST", "/v1/messages/", "billed", "anthropic-messages"),
        ("openai", "POST", "/v1/chat/completions", "billed", "openai-chat"),
        ("openai", "POST", "/chat/completions", "billed", "openai-chat"),
        ("openai", "POST", "/openai/deployments/d/chat/completions?api-version=1", "billed", "openai-chat"),
        ("openai", "POST", "/v1/responses", "billed", "openai-responses"),
        ("anthropic", "POST", "/v1/messages/count_tokens?beta=true", "free", None),
        ("openai", "POST", "/v1/responses/input_tokens", "free", None),
        ("openai", "POST", "/v1/responses/resp_1/cancel", "free", None),
        ("openai", "POST", "/v1/files", "free", None),
        ("openai", "POST", "/v1/chat/completions/files", "unknown", "unknown"),
        ("openai", "POST", "/v1/chat/completions#/files", "unknown", "unknown"),
        ("openai", "POST", "/v1/responses/x/files/y", "unknown", "unknown"),
        ("openai", "POST", "/v1/files/..%2Fchat%2Fcompletions", "unknown", "unknown"),
        ("openai", "POST", "/v1/files/..\\chat\\completions", "unknown", "unknown"),
        ("openai", "POST", "/v1/chat/completions;/files", "unknown", "unknown"),
        ("anthropic", "POST", "/v1/messages/batches/files", "unknown", "unknown"),
        ("openai", "POST", "/v1/uploads/u_1/parts", "free", None),
        ("openai", "POST", "/v1/moderations", "free", None),
        ("openai", "POST", "/v1/conversations", "free", None),
        ("openai", "POST", "/v1/conversations/conv_1/items", "free", None),
        ("openai", "POST", "/v1/organization/projects/p_1/users", "free", None),
        ("anthropic", "POST", "/v1/organizations/invites", "free", None),
        ("openai", "POST", "/openai/v1/files", "free", None),
        ("openai", "POST", "/v1/batches/b_1/cancel", "free", None),
        # Some bill these: Mistral's conversations run a model.
        ("mistral", "POST", "/v1/conversations", "unknown", "unknown"),
        ("mistral", "POST", "/v1/conversations/conv_1", "unknown", "unknown"),
        ("openai", "POST", "/v1/conversations/conv_1/restart", "unknown", "unknown"),
        ("mistral", "POST", "/v1/moderations", "unknown", "unknown"),
        ("openai", "POST", "/v1/chat/moderations", "unknown", "unknown"),
        ("openai", "POST", "/api/create", "unknown", "unknown"),
        ("openai", "POST", "/api/event_logging/batch", "unknown", "unknown"),
        # A server behind a gateway may be routed by the end of a path, and one that is old by its beginning.
        ("openai", "POST", "/v1/files/images/generations", "unknown", "unknown"),
        ("openai", "POST", "/files/v1/audio/speech", "unknown", "unknown"),
        ("openai", "POST", "/v1/organization/v1/images/generations", "unknown", "unknown"),
        ("anthropic", "POST", "/v1/organizations/acme/v1/rerank", "unknown", "unknown"),
        ("openai", "POST", "/v1/chat/completions/cancel", "unknown", "unknown"),
        ("anthropic", "POST", "/v1/messages/cancel", "unknown", "unknown"),
        ("openai", "POST", "/v1/embeddings/input_tokens", "unknown", "unknown"),
        ("openai", "POST", "/v1/images/generations/cancel", "unknown", "unknown"),
        ("openai", "POST", "/v1//files", "unknown", "unknown"),
        ("openai", "GET", "/v1/models", "free", None),
        ("openai", "HEAD", "/v1/chat/completions", "free", None),
        ("openai", "OPTIONS", "/", "free", None),
        ("openai", "DELETE", "/v1/responses/resp_1", "free", None),
        ("openai", "GET", "/v1/responses/resp_1?stream=true", "free", "openai-responses"),
        ("openai", "HEAD", "/v1/responses/resp_1", "free", None),
        ("anthropic", "POST", "/api/event_logging/batch", "free", None),
        ("anthropic", "POST", "/v1/messages/batches", "unknown", "unknown"),
        ("anthropic", "POST", "/v1/complete", "unknown", "unknown"),
        ("openai", "POST", "/v1/embeddings", "billed", "unknown"),
        ("openai", "POST", "/v1/images/generations", "unknown", "unknown"),
        ("openai", "POST", "/v1/audio/speech", "unknown", "unknown"),
        ("openai", "POST", "/v1/completions", "billed", "openai-chat"),
        ("openai", "POST", "/v1/batches", "unknown", "unknown"),
        ("openai", "POST", "/v1/responses/compact", "billed", "openai-responses"),
        ("openai", "POST", "/v1/threads/t_1/messages", "unknown", "unknown"),
        ("openai", "POST", "/v1/some-new-path", "unknown", "unknown"),
        ("openai", "PUT", "/v1/chat/completions", "unknown", "unknown"),
        ("openai", "POST", "/", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/models/m:generateContent", "billed", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:streamGenerateContent?alt=sse&key=k", "billed", "gemini"),
        ("gemini", "POST", "/v1beta/tunedModels/m:generateContent", "billed", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:embedContent", "billed", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:batchEmbedContents", "billed", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:countTokens?key=k", "free", None),
        ("gemini", "POST", "/v1beta/models/m:generateContent/m:countTokens", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/models/m:generateContent/files", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/models/m%3AgenerateContent", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/models/m%3AcountTokens", "unknown", "unknown"),
        ("gemini", "POST", "/v1/messages/m:countTokens", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/models/m:batchGenerateContent", "unknown", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:predict", "unknown", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:predictLongRunning", "unknown", "gemini"),
        ("gemini", "POST", "/v1beta/models/m:newVerb", "unknown", "unknown"),
        ("gemini", "POST", "/v1beta/cachedContents", "unknown", "gemini"),
        ("gemini", "GET", "/v1beta/cachedContents/c1", "free", None),
        ("gemini", "GET", "/v1beta/models", "free", None),
        ("gemini", "POST", "/upload/v1beta/files?uploadType=resumable", "free", None),
        ("gemini", "POST", "/v1beta/interactions", "billed", "gemini-interactions"),
        ("gemini", "GET", "/v1beta/interactions/i1?stream=true", "free", "gemini-interactions"),
        ("gemini", "POST", "/v1beta/interactions/i1/cancel", "free", None),
        ("gemini", "POST", "/v1beta/openai/chat/completions", "billed", "openai-chat"),
        ("code-assist", "POST", "/v1internal:generateContent", "billed", "gemini"),
        ("code-assist", "POST", "/v1internal:streamGenerateContent?alt=sse", "billed", "gemini"),
        ("code-assist", "POST", "/v1internal:countTokens", "free", None),
        ("code-assist", "POST", "/v1internal:loadCodeAssist", "free", None),
        ("code-assist", "POST", "/v1beta/models/m:loadCodeAssist", "unknown", "unknown"),
        ("vertex", "POST", f"{_VERTEX}/google/models/m:streamGenerateContent?alt=sse", "billed", "gemini"),
        ("vertex", "POST", f"{_VERTEX}/google/models/m:computeTokens", "free", None),
        ("vertex", "POST", f"{_VERTEX}/anthropic/models/claude-opus-5:rawPredict", "billed", "vertex-claude"),
        ("vertex", "POST", f"{_VERTEX}/anthropic/models/claude-opus-5:streamRawPredict", "billed", "vertex-claude"),
        ("vertex", "POST", f"{_VERTEX}/anthropic/models/count-tokens:rawPredict", "free", None),
        ("vertex", "POST", f"{_VERTEX}/anthropic/models/count-tokens:streamRawPredict", "billed", "vertex-claude"),
        ("vertex", "POST", f"/v1:x{_VERTEX}/anthropic/models/count-tokens:rawPredict", "billed", "vertex-claude"),
        ("vertex", "POST", f"{_VERTEX}/mistralai/models/m:rawPredict", "unknown", "unknown"),
        ("ollama", "POST", "/api/chat", "billed", "ollama"),
        ("ollama", "POST", "/api/generate", "billed", "ollama"),
        ("ollama", "POST", "/api/embed", "billed", "ollama"),
        ("ollama", "POST", "/v1/chat/completions", "billed", "openai-chat"),
        ("ollama", "POST", "/api/show", "free", None),
        ("ollama", "POST", "/api/blobs/sha256:00ff", "free", None),
        ("ollama", "GET", "/api/tags", "free", None),
        ("ollama", "GET", "/api/ps", "free", None),
        ("ollama", "GET", "/api/version", "free", None),
        ("ollama", "POST", "/api/chat/api/show", "unknown", "unknown"),
    ],
)
def test_what_a_path_stands_for(name: str, method: str, path: str, kind: str, wire: str | None) -> None:
    endpoint = registry.provider(name).classify(method, path)
    assert endpoint.kind is EndpointKind(kind)
    assert (endpoint.wire.name if endpoint.wire else None) == wire


def test_a_server_of_this_machine_has_ollamas_free_endpoints_whatever_its_name() -> None:
    local = registry.with_upstream("local", "http://127.0.0.1:11434")
    assert local.classify("POST", "/api/show").kind is EndpointKind.FREE
    hosted = registry.with_upstream("local", "https://gw.example")
    assert hosted.classify("POST", "/api/show").kind is EndpointKind.UNKNOWN


@pytest.mark.parametrize(
    ("name", "upstream", "path", "url"),
    [
        ("anthropic", None, "/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        ("anthropic", "https://gw/x/y/", "/v1/messages?beta=true", "https://gw/x/y/v1/messages?beta=true"),
        ("anthropic", "https://gw/v1", "/v1/messages", "https://gw/v1/messages"),
        ("anthropic", "https://gw/v1/", "//v1/messages", "https://gw/v1/messages"),
        ("anthropic", "https://gw/claude", "/v1/models/a%2Fb%3A1", "https://gw/claude/v1/models/a%2Fb%3A1"),
        ("openai", None, "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("openai", None, "/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("openai", "https://gw/v1", "/chat/completions", "https://gw/v1/chat/completions"),
        ("openai", "https://gw/v1", "/v1/chat/completions", "https://gw/v1/chat/completions"),
        ("openai", "http://127.0.0.1:99", "/v1/responses", "http://127.0.0.1:99/v1/responses"),
        ("openai", "http://127.0.0.1:99/", "/v1/responses", "http://127.0.0.1:99/v1/responses"),
        ("openai", "https://gw/account/openai", "/v1/responses?a=b", "https://gw/account/openai/responses?a=b"),
        ("openai", "https://gw/x?api-version=1", "/v1/responses", "https://gw/x/responses?api-version=1"),
        ("openai", "https://gw/x?k=1", "/v1/responses?a=%2F", "https://gw/x/responses?k=1&a=%2F"),
        ("openrouter", "https://openrouter.ai/api/v1", "/v1/chat/completions",
         "https://openrouter.ai/api/v1/chat/completions"),
        ("gw", "https://gw/x", "/v1/messages", "https://gw/x/v1/messages"),
        ("gw", "https://gw/x", "/v1/messages/count_tokens", "https://gw/x/v1/messages/count_tokens"),
        ("gw", "https://gw/v1beta1", "/v1beta1/thing", "https://gw/v1beta1/thing"),
        ("gw", "https://[::1]:8080/v1", "/v1", "https://[::1]:8080/v1/"),
        ("gw", "https://gw", "", "https://gw/"),
    ],
)  # fmt: skip
def test_where_a_path_leads(name: str, upstream: str | None, path: str, url: str) -> None:
    provider = registry.provider(name) if upstream is None else registry.with_upstream(name, upstream)
    assert provider.url(path) == url


def test_a_known_name_keeps_its_prices_on_this_machine() -> None:
    provider = registry.with_upstream("anthropic", "http://127.0.0.1:1")
    assert (provider.name, provider.prices, provider.free) == ("anthropic", "anthropic", False)


@pytest.mark.parametrize(
    ("name", "url", "prices", "free"),
    [
        ("ollama", "http://localhost:11434", "ollama", True),
        ("vllm", "http://127.8.9.1:8000/v1", "vllm", True),
        ("lab", "http://[::1]:8000/v1", "lab", True),
        ("lab", "http://box.localhost./v1", "lab", True),
        ("lab", "http://10.0.0.1/v1", "lab", False),
        ("lab", "http://localhost.example.com/v1", "lab", False),
        ("xai", "https://api.x.ai/v1", "x-ai", False),
        ("groq", "https://api.groq.com/openai/v1", "groq", False),
    ],
)
def test_another_name_is_free_where_its_host_is_this_machine(name: str, url: str, prices: str, free: bool) -> None:
    provider = registry.with_upstream(name, url)
    assert (provider.upstream, provider.prices, provider.free) == (url, prices, free)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Bad", "https://gw"), ("", "https://gw"), ("a/b", "https://gw"), ("gw", "ftp://gw"), ("gw", "gw"),
        ("gw", "https://"), ("gw", "https://gw:0"), ("gw", "https://gw:99999"), ("gw", "https://[::1"),
        ("gw", "https://user:secret@gw"), ("gw", "https://gw/#x"),
    ],
)  # fmt: skip
def test_upstreams_that_are_refused(name: str, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.with_upstream(name, url)
    assert "secret" not in caught.value.detail


def test_the_known_providers() -> None:
    expected = {
        "anthropic", "openai", "bedrock", "code-assist", "deepseek", "fireworks", "gemini", "groq", "mistral", "ollama",
        "openrouter", "together", "vertex", "xai",
    }  # fmt: skip
    assert set(registry.names()) >= expected


def test_an_unknown_provider() -> None:
    with pytest.raises(UsageError, match="known: anthropic, bedrock, code-assist"):
        registry.provider("antropic")
    with pytest.raises(UsageError, match="--upstream azure=https://"):
        registry.provider("azure")
    assert registry.with_upstream("azure", "https://r.openai.azure.com").prices == "azure"


@pytest.mark.parametrize(
    ("name", "path", "url"),
    [
        ("deepseek", "/v1/chat/completions", "https://api.deepseek.com/v1/chat/completions"),
        (
            "gemini",
            "/v1beta/models/m:generateContent",
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        ),
        (
            "bedrock",
            "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
        ),
        ("fireworks", "/v1/chat/completions", "https://api.fireworks.ai/inference/v1/chat/completions"),
        ("groq", "/v1/chat/completions", "https://api.groq.com/openai/v1/chat/completions"),
        ("together", "/v1/chat/completions", "https://api.together.xyz/v1/chat/completions"),
        ("xai", "/v1/chat/completions", "https://api.x.ai/v1/chat/completions"),
        ("mistral", "/v1/chat/completions", "https://api.mistral.ai/v1/chat/completions"),
        ("openrouter", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
    ],
)
def test_the_addresses_agents_variables_name(name: str, path: str, url: str) -> None:
    assert registry.provider(name).url(path) == url


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("evil.example.com%2F", "aiplatform.googleapis.com"),
        ("x@evil", "aiplatform.googleapis.com"),
    ],
)
def test_a_region_of_vertex_has_a_host_of_its_own(location: str, host: str) -> None:
    path = f"/v1/projects/p/locations/{location}/publishers/google/models/m:generateContent"
    assert registry.provider("vertex").url(path) == f"https://{host}{path}"


def test_an_upstream_of_ones_own_takes_every_region_of_vertex() -> None:
    path = "/v1/projects/p/locations/us-east5/publishers/google/models/m:generateContent"
    assert registry.with_upstream("vertex", "https://gw.example.com/vx").url(path) == f"https://gw.example.com/vx{path}"


def test_ollama_is_free_at_this_machine_alone() -> None:
    assert registry.provider("ollama").free
    assert registry.with_upstream("ollama", "http://localhost:8080").free
    assert not registry.with_upstream("ollama", "https://ollama.example.com").free
    assert not registry.with_upstream("gemini", "http://127.0.0.1:1").free


def test_wires_by_name() -> None:
    expected = {
        "anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse", "bedrock-invoke", "gemini",
        "gemini-batches", "gemini-interactions", "vertex-claude", "ollama", "unknown",
    }  # fmt: skip
    assert set(endpoints.WIRES) >= expected
    assert all(wire.name == name for name, wire in endpoints.WIRES.items())
