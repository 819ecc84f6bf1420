"""Blames as one Agent Trace record, version 0.1.0 of the open specification at https://agent-trace.dev (RFC, 2026-01).

Rules:
1. Only lines of recorded tool calls are attributed. Lines that came outside or are unknown are left out: no record
   says whose they are.
2. A conversation is an agent's session. Lines of tool calls that ran at once in several sessions are a conversation of
   their own, related to all of them.
3. A model is named only where the call that asked for the tool is joined. Without a URL to look a session up, sessions
   and tool uses are related as URNs.
4. A revision is named only where every file stands there as it was exported.
5. The same evidence gives the same bytes: the instant is that of the newest window told of, the id is made of the rest.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import quote

from docket import __version__
from docket.engines.windows.blame import FileBlame, ModelCall
from docket.formats.canonical import JsonValue, encode
from docket.formats.dataclass import dataclass, field
from docket.rules.windows.origin import Caller, LineOrigin, Origin
from docket.surfaces.render.blame import Calls

SPEC_VERSION = "0.1.0"
MAX_MODEL_ID = 250
EVIDENCE_SCHEMA = "docket/agent-trace-evidence/v1"
_NAMESPACE = uuid.UUID("8a1f8f4e-6f0f-5d5e-9d1c-2b7c5f1f6a10")
_CLAIMED = (Origin.TOOL, Origin.GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a record is made of: blames of files of one tree, all with UTF-8 paths, at `recorded_at`.

    `revision` is the git commit in which all of them stand as they are, None where there is none.
    """

    blames: Sequence[FileBlame]
    recorded_at: str
    calls: Calls
    revision: str | None = None


@dataclass(slots=True)
class _Conversation:
    contributor: dict[str, JsonValue]
    callers: dict[Caller, None] = field(default_factory=dict)
    ranges: list[JsonValue] = field(default_factory=list)


def trace_record(told: Told) -> dict[str, JsonValue]:
    """Return the record."""
    record: dict[str, JsonValue] = {
        "version": SPEC_VERSION,
        "timestamp": told.recorded_at,
        "tool": {"name": "docket", "version": __version__},
        "files": [file for blame in told.blames if (file := _file(blame, told.calls)) is not None],
        "metadata": {"docket": {"schema": EVIDENCE_SCHEMA, "files": [_evidence(blame) for blame in told.blames]}},
    }
    if told.revision is not None:
        record["vcs"] = {"type": "git", "revision": told.revision}
    return {"id": str(uuid.uuid5(_NAMESPACE, encode(record).decode("utf-8"))), **record}


def _file(blame: FileBlame, calls: Calls) -> dict[str, JsonValue] | None:
    found: dict[tuple[object, ...], _Conversation] = {}
    for first, last, origin in _ranges(blame):
        model = _model(origin.callers, calls)
        sessions = sorted({(caller.key.provider, caller.key.session_id) for caller in origin.callers})
        contributor: dict[str, JsonValue] = {"type": "ai"} if model is None else {"type": "ai", "model_id": model}
        conversation = found.setdefault((model, *sessions), _Conversation(contributor))
        conversation.callers.update(dict.fromkeys(origin.callers))
        conversation.ranges.append({
            "start_line": first,
            "end_line": last,
            "content_hash": f"sha256:{hashlib.sha256(_content(blame, first, last)).hexdigest()}",
        })  # fmt: skip
    if not found:
        return None
    conversations: list[JsonValue] = [
        {"contributor": each.contributor, "ranges": each.ranges, "related": list(_related(tuple(each.callers)))}
        for each in found.values()
    ]
    return {"path": str(blame.path), "conversations": conversations}


def _ranges(blame: FileBlame) -> Iterator[tuple[int, int, LineOrigin]]:
    """Yield the runs of lines that came from one delta, with the origin of the first."""
    numbered = enumerate(blame.origins, 1)
    for _, run in groupby(numbered, key=lambda item: (item[1].origin, item[1].delta_sha256)):
        lines = list(run)
        if lines[0][1].origin in _CLAIMED:
            yield lines[0][0], lines[-1][0], lines[0][1]


def _content(blame: FileBlame, first: int, last: int) -> bytes:
    """Return the bytes of lines, with their line feeds as far as they have them."""
    open_end = last == len(blame.lines) and not blame.content.endswith(b"\n")
    return b"\n".join(blame.lines[first - 1 : last]) + (b"" if open_end else b"\n")


def _model(callers: Sequence[Caller], calls: Calls) -> str | None:
    """Return the model that asked for all of the tool uses, as models.dev spells it; None where that is not known."""
    found = {_model_id(calls(caller.key)) for caller in callers}
    return found.pop() if len(found) == 1 else None


def _model_id(call: ModelCall | None) -> str | None:
    if call is None or call.provider is None or call.model is None:
        return None
    model_id = f"{call.provider}/{call.model}"
    return model_id if len(model_id) <= MAX_MODEL_ID else None


def _related(callers: Sequence[Caller]) -> Iterator[JsonValue]:
    sessions = dict.fromkeys((caller.key.provider, caller.key.session_id) for caller in callers)
    for provider, session in sessions:
        if session:
            yield {"type": "session", "url": _urn("session", provider, session)}
    for caller in callers:
        key = caller.key
        yield {"type": "tool_use", "url": _urn("tool-use", key.provider, key.session_id, key.tool_use_id)}


def _urn(*parts: str) -> str:
    return ":".join(("urn:x-docket", *(quote(part, safe="") for part in parts)))


def _evidence(blame: FileBlame) -> dict[str, JsonValue]:
    """Return what the claims rest on: windows and deltas by range, and how many lines of each class there are."""
    return {
        "path": str(blame.path),
        "content": blame.name,
        "lines": {kind.value: sum(origin.origin is kind for origin in blame.origins) for kind in Origin},
        "ranges": [
            {
                "start_line": first,
                "end_line": last,
                "origin": origin.origin.value,
                "delta_sha256": origin.delta_sha256,
                "windows": [
                    {"window_id": caller.key.window_id, "tool": caller.tool_name, "recorded": caller.recorded}
                    for caller in origin.callers
                ],
            }
            for first, last, origin in _ranges(blame)
        ],
    }
