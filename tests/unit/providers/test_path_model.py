"""Models that stand in the path, each typed by hand as its provider spells it."""

from __future__ import annotations

import pytest

from docket.rules.providers.path_model import azure_deployment, bedrock_model, google_model, google_verb, model_in_path

_VERTEX = "/v1/projects/p/locations/europe-west1/publishers"
_PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/ab12"


@pytest.mark.parametrize(
    ("path", "model", "verb"),
    [
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", "generateContent"),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini-2.5-pro", "streamGenerateContent"),
        ("/v1beta/tunedModels/mine-3:generateContent", "mine-3", "generateContent"),
        (f"{_VERTEX}/anthropic/models/claude-opus-4-1@20250805:rawPredict", "claude-opus-4-1@20250805", "rawPredict"),
        (f"{_VERTEX}/google/models/gemini-2.5-flash:countTokens", "gemini-2.5-flash", "countTokens"),
        ("/gate/models/of/ours/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", "generateContent"),
        ("/v1beta/models/a%2Fb:generateContent", "a/b", "generateContent"),
        ("/v1beta/models/gemini-2.5-pro", "gemini-2.5-pro", ""),
        ("/v1beta/models", None, ""),
        ("/v1internal:generateContent", None, "generateContent"),
        ("/v1beta/models/:generateContent", None, "generateContent"),
        ("/v1beta/interactions?key=a:b", None, ""),
        ("", None, ""),
    ],
)
def test_google_paths(path: str, model: str | None, verb: str) -> None:
    assert google_model(path) == model
    assert google_verb(path) == verb


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse", "anthropic.claude-3-haiku-20240307-v1:0"),
        (
            "/model/us.anthropic.claude-sonnet-4-5-v1:0/invoke-with-response-stream",
            "us.anthropic.claude-sonnet-4-5-v1:0",
        ),
        (f"/model/{_PROFILE.replace(':', '%3A').replace('/', '%2F')}/converse-stream", _PROFILE),
        ("/model", None),
        ("/models/x/converse", None),
    ],
)
def test_bedrock_paths(path: str, model: str | None) -> None:
    assert bedrock_model(path) == model


@pytest.mark.parametrize(
    ("path", "deployment"),
    [
        ("/openai/deployments/our%20gpt/chat/completions?api-version=2026-01-01", "our gpt"),
        ("/openai/v1/chat/completions", None),
        ("/openai/deployments", None),
    ],
)
def test_azure_paths(path: str, deployment: str | None) -> None:
    assert azure_deployment(path) == deployment


def test_any_path_names_its_model_or_none() -> None:
    assert model_in_path("/v1beta/models/gemini-2.5-pro:generateContent") == "gemini-2.5-pro"
    assert model_in_path("/openai/deployments/d/embeddings") == "d"
    assert model_in_path("/model/cohere.embed-v4/invoke") == "cohere.embed-v4"
    assert model_in_path("/v1/messages") is None


def test_bytes_that_are_no_text_stay_apart() -> None:
    assert google_model("/models/%ff:generateContent") != google_model("/models/%fe:generateContent")
