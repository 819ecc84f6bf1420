"""The model that a path names, where a provider puts it there instead of into the body.

Rules:
1. The segment is taken as it stands between two slashes and unescaped after that: `%2F` in a name cuts nothing.
2. A verb after the segment's last colon (`gemini-2.5-pro:generateContent`) is no part of the name; a colon of the
   name's own (`anthropic.claude-v2:0`, an ARN) is.
"""

from __future__ import annotations

from urllib.parse import unquote

TWO_MODELS = "the request's body and its path name different models, so that it may be served otherwise than read here"
"""Why a request is ambiguous whose body names another model than its path."""
_GOOGLE = ("models", "tunedModels", "endpoints")
_BEDROCK = ("model",)
_AZURE = ("deployments",)


def model_in_path(path: str) -> str | None:
    """Return the model of any of the known forms, None where the path names none."""
    return google_model(path) or azure_deployment(path) or bedrock_model(path)


def google_model(path: str) -> str | None:
    """Return the model of a Gemini or Vertex path: `/v1beta/models/{model}:{verb}`."""
    raw = _segment_after(path, _GOOGLE)
    if raw is None:
        return None
    name, colon, _ = raw.rpartition(":")
    return _named(name if colon else raw)


def bedrock_model(path: str) -> str | None:
    """Return the model id of a Bedrock path: `/model/{id}/{operation}`; the id may be an ARN."""
    raw = _segment_after(path, _BEDROCK)
    return None if raw is None else _named(raw)


def azure_deployment(path: str) -> str | None:
    """Return the deployment of an Azure path: `/openai/deployments/{deployment}/...`; it names no model."""
    raw = _segment_after(path, _AZURE)
    return None if raw is None else _named(raw)


def google_verb(path: str) -> str:
    """Return what stands after the last colon of a path's last segment, empty where there is none."""
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    return last.rpartition(":")[2] if ":" in last else ""


def _segment_after(path: str, collections: tuple[str, ...]) -> str | None:
    segments = path.partition("?")[0].split("/")
    # The last one is the nearest to the operation: a gateway's prefix may hold a word of its own.
    for at in range(len(segments) - 2, -1, -1):
        if segments[at] in collections:
            return segments[at + 1]
    return None


def _named(raw: str) -> str | None:
    # Bytes that are no UTF-8 stay apart from one another, as they do in a body.
    return unquote(raw, errors="surrogateescape") or None
