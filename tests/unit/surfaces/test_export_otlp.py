"""`docket export otlp`: the trace as OpenTelemetry's own messages read it, counted by hand."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from docket.formats.ledger.asserted_events import Reporter, ToolCall, ToolResult
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.ledger.session_events import PolicyViolation
from docket.surfaces.cli.root import run
from docket.surfaces.export.otlp_values import nanoseconds, span_id, trace_id
from docket.surfaces.export.spans import MAX_ROOT_EVENTS
from export_lab import exported, written, written_elsewhere
from golden_ledgers import samples
from golden_ledgers.build import closed, end, opened, request

BEGAN_NS = 1_790_856_000_250_000_000  # 2026-10-01T12:00:00.250Z; events of golden ledgers are a second apart
SECOND = 1_000_000_000
PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "exports.md"


def read(document: bytes) -> list[Span]:
    """The spans, by protobuf's mapping of JSON, which has ids in base64 where OTLP has hexadecimal digits."""
    assert document.endswith(b"\n")
    plain = json.loads(document)
    (resource,) = plain["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    for span in scope["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    data = json_format.ParseDict(plain, TracesData())
    assert data.resource_spans[0].schema_url == "https://opentelemetry.io/schemas/1.41.0"
    assert data.resource_spans[0].scope_spans[0].schema_url == data.resource_spans[0].schema_url
    spans = list(data.resource_spans[0].scope_spans[0].spans)
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans)
    assert len({span.span_id for span in spans}) == len(spans)
    assert len({span.trace_id for span in spans}) == 1
    *below, root = spans
    assert root.parent_span_id == b""
    assert all(span.parent_span_id == root.span_id for span in below)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    return spans


def told(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    found = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
    assert len(found) == len(attributes)
    return found


def test_calls_with_what_was_read_from_a_cache_and_written_to_one(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    spans = read(exported(capsysbinary, "otlp", written(tmp_path, samples.anthropic())))
    first, second, root = spans

    assert [span.name for span in spans] == ["chat claude-sonnet-4-5", "chat claude-sonnet-4-5", "invoke_agent generic"]
    assert [span.kind for span in spans] == [Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_INTERNAL]
    usage = told(first.attributes)
    # 1,000 fresh, 10,000 read, 4,000 and 2,000 written.
    assert usage["gen_ai.usage.input_tokens"] == 17_000
    assert usage["gen_ai.usage.cache_read.input_tokens"] == 10_000
    assert usage["gen_ai.usage.cache_creation.input_tokens"] == 6_000
    assert usage["gen_ai.usage.output_tokens"] == 500
    assert usage["gen_ai.operation.name"] == "chat"
    assert usage["gen_ai.provider.name"] == "anthropic"
    assert usage["gen_ai.request.model"] == usage["gen_ai.response.model"] == "claude-sonnet-4-5"
    assert usage["docket.call"] == 1
    assert "gen_ai.usage.cache_creation.input_tokens" not in told(second.attributes)
    assert first.status.code == Status.STATUS_CODE_UNSET

    # 0.0405 in components, worked out beside them; the second has a search of a cent each twice.
    whole = told(root.attributes)
    assert whole["docket.cost.usd"] == "0.060950"
    assert whole["gen_ai.usage.input_tokens"] == 17_100
    assert whole["gen_ai.usage.output_tokens"] == 510
    assert whole["docket.calls"] == 2
    assert whole["process.exit.code"] == 0
    assert root.start_time_unix_nano == BEGAN_NS
    assert root.end_time_unix_nano == BEGAN_NS + 16 * SECOND


def test_reasoning_is_a_part_of_the_output(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    usage = told(read(exported(capsysbinary, "otlp", written(tmp_path, samples.chat())))[0].attributes)
    assert usage["gen_ai.usage.input_tokens"] == 2000
    assert usage["gen_ai.usage.cache_read.input_tokens"] == 800
    assert 0 < usage["gen_ai.usage.reasoning.output_tokens"] <= usage["gen_ai.usage.output_tokens"]


def test_a_busy_run(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    built = samples.busy()
    seqs = {
        kind: [event.seq for event in built.events if event.type == kind] for kind in ("model.request", "tool.call")
    }
    error, call, bash, edit, root = read(exported(capsysbinary, "otlp", written(tmp_path, built)))

    assert [error.name, call.name, bash.name, edit.name] == [
        "chat gpt-5", "chat gpt-5", "execute_tool bash", "execute_tool edit",
    ]  # fmt: skip
    ids = [int.from_bytes(span.span_id, "big") for span in (error, call, bash, edit)]
    assert ids == [seq + 1 for seq in (*seqs["model.request"], *seqs["tool.call"])]
    assert root.span_id == b"\xff" * 8
    assert (error.status.code, error.status.message) == (Status.STATUS_CODE_ERROR, "upstream_status")
    assert told(error.attributes)["error.type"] == "upstream_status"
    assert told(error.attributes)["http.response.status_code"] == 529
    assert "gen_ai.response.model" not in told(error.attributes)
    assert told(bash.attributes)["error.type"] == "tool_failed"
    assert told(bash.attributes)["docket.reported_by"] == "agent"
    assert edit.status.code == Status.STATUS_CODE_UNSET
    assert edit.end_time_unix_nano - edit.start_time_unix_nano == SECOND
    assert (root.status.code, root.status.message) == (Status.STATUS_CODE_ERROR, "max_usd")
    assert [(event.name, told(event.attributes).get("docket.cap")) for event in root.events] == [
        ("docket.cap_warning", "max_usd"), ("docket.cap_exceeded", "max_usd"), ("docket.call_refused", "max_usd"),
        ("docket.policy_violation", None),
    ]  # fmt: skip
    refused = told(root.events[2].attributes)
    assert (refused["gen_ai.request.model"], refused["docket.reason"]) == ("gpt-5", "max_usd")


def test_no_message_argument_or_text_of_an_error_is_told(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name, make in samples.ALL.items():
        document = exported(capsysbinary, "otlp", written(tmp_path / name, make()))
        for words in (b"overloaded", b"would cross the cap", b"is spent", b"it was written", b".env", b"--fast"):
            assert words not in document
        assert all(0x20 <= byte < 0x7F for byte in document[:-1])
        read(document)


def test_tools_are_joined_by_window_then_id_then_name(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    spans = read(exported(capsysbinary, "otlp", written(tmp_path, samples.windowed())))
    tools = {told(span.attributes)["gen_ai.tool.call.id"]: span for span in spans if span.name == "execute_tool Bash"}
    assert len(tools) == 4
    assert all(told(span.attributes)["docket.window.id"] for span in tools.values())
    assert [told(span.attributes).get("error.type") for span in tools.values()].count("no_result_recorded") == 1

    ledger, say = opened(), {"reported_by": Reporter.AGENT}
    for payload in (
        ToolCall(name="a", id="1", **say), ToolCall(name="a", id="2", **say), ToolCall(name="a", **say),
        ToolCall(name="a", **say), ToolResult(name="a", ok=True, id="2", **say), ToolResult(name="a", ok=True, **say),
        ToolResult(name="b", ok=False, duration_ms=250, **say), ToolResult(name="a", ok=True, id="1", **say),
    ):  # fmt: skip
        ledger.add(payload)
    first = ledger.events[-8].seq
    *spans, _ = read(exported(capsysbinary, "otlp", written(tmp_path / "x", closed(ledger, "0.00"))))
    found = [
        (int.from_bytes(span.span_id, "big") - 1 - first, (span.end_time_unix_nano - span.start_time_unix_nano))
        for span in spans
    ]
    # The second by its id, the third by its name, a result of nothing by its duration, the first; the fourth is open.
    assert found == [(1, 3 * SECOND), (2, 3 * SECOND), (6, SECOND // 4), (0, 7 * SECOND), (3, 0)]


def test_a_call_without_an_answer_ends_with_the_record(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    ledger = opened()
    ledger.add(request(1, "bedrock", "m"))
    asked = ledger.events[-1].seq
    call, root = read(exported(capsysbinary, "otlp", written(tmp_path, closed(ledger, "0.00"))))
    assert told(call.attributes)["error.type"] == "no_reply_recorded"
    assert told(call.attributes)["gen_ai.provider.name"] == "aws.bedrock"
    assert call.start_time_unix_nano == BEGAN_NS + asked * SECOND
    assert call.end_time_unix_nano == root.end_time_unix_nano


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/messages", "chat"),
        ("/v1/completions?x=/chat", "text_completion"),
        ("/openai/deployments/d/embeddings?api-version=1", "embeddings"),
        ("/v1beta/models/m:embedContent", "embeddings"),
        ("/v1beta/models/m:generateContent", "chat"),
        ("/api/embed/", "embeddings"),
    ],
)
def test_what_a_call_is(path: str, operation: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ledger = opened()
    ledger.add(replace(request(1, "p", "m"), path=path))
    call, _ = read(exported(capsysbinary, "otlp", written(tmp_path, closed(ledger, "0.00"))))
    assert (call.name, told(call.attributes)["gen_ai.operation.name"]) == (f"{operation} m", operation)


def test_events_of_the_root_are_bounded_and_counted(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ledger = opened()
    for _ in range(MAX_ROOT_EVENTS + 3):
        ledger.add(ModelDenied(provider="p", model="\x1b[2J\x7f", reason="r", detail="d", status=403, path="/"))
    document = exported(capsysbinary, "otlp", written(tmp_path, closed(ledger, "0.00")))
    (root,) = read(document)
    assert (len(root.events), root.dropped_events_count) == (MAX_ROOT_EVENTS, 3)
    assert b"\x1b" not in document
    assert b"\x7f" not in document


def test_names_that_are_not_unicode(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ledger = opened()
    ledger.add(ToolCall(name='a"\n\x00\u202e', reported_by=Reporter.AGENT))
    ledger.add(ToolResult(name='a"\n\x00\u202e', ok=True, reported_by=Reporter.AGENT))
    ledger.add(PolicyViolation(rule="r", detail="d"))
    tool, _ = read(exported(capsysbinary, "otlp", written(tmp_path, closed(ledger, "0.00"))))
    assert tool.name == 'execute_tool a"\n\x00\u202e'


def test_without_its_ledger_the_root_stands_alone(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.anthropic(), ledger=False)
    assert run(["export", "otlp", str(receipt)]) == 0
    captured = capsysbinary.readouterr()
    (root,) = read(captured.out)
    whole = told(root.attributes)
    assert whole["docket.ledger.checked"] is False
    assert whole["docket.cost.usd"] == "0.060950"
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (BEGAN_NS, BEGAN_NS + 16 * SECOND)
    assert b"the trace is its root alone, without calls and tools" in captured.err


def test_a_record_of_another_writer_has_times_as_far_as_it_tells_them(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    first, second, tool, root = read(exported(capsysbinary, "otlp", written_elsewhere(tmp_path)))
    assert [span.name for span in (first, second, tool, root)] == [
        "chat Tiny-1", "chat mystery", "execute_tool read", "invoke_agent",
    ]  # fmt: skip
    assert told(first.attributes)["gen_ai.usage.input_tokens"] == 1000
    assert told(second.attributes)["docket.reported_by"] == "agent"
    assert told(tool.attributes)["error.type"] == "tool_failed"
    assert [event.name for event in root.events] == ["docket.cache_hit", "docket.cache_hit"]
    assert told(root.attributes)["gen_ai.usage.input_tokens"] == 1010
    # The events carry instants, the receipt none.
    assert first.end_time_unix_nano == BEGAN_NS + 2 * SECOND
    assert first.end_time_unix_nano - first.start_time_unix_nano == 5_000_000
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (BEGAN_NS, BEGAN_NS + 11 * SECOND)


def test_the_same_record_gives_the_same_bytes_and_an_id_leads_to_its_event(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    first = exported(capsysbinary, "otlp", written(tmp_path / "a", samples.busy()))
    assert first == exported(capsysbinary, "otlp", written(tmp_path / "b", samples.busy()))
    # printf 'docket/trace/v1\0s1' | sha256sum | cut -c1-32
    assert trace_id("s1") == "afcb6f150342853bfc51288413954315"
    assert span_id(0) == "0000000000000001"
    assert span_id(254) == "00000000000000ff"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-10-01T12:00:00.250Z", BEGAN_NS),
        ("2026-10-01T12:00:00.250000001Z", BEGAN_NS + 1),
        ("2016-12-31T23:59:60Z", 1_483_228_800 * SECOND),  # the leap second before 2017 began
        ("2026-02-31T00:00:00Z", None),
        ("1969-12-31T23:59:59Z", None),
        ("12:00:00", None),
        ("2026-10-01T12:00:00+00:00", None),
        (7, None),
        (None, None),
    ],
)
def test_instants(text: Any, expected: int | None) -> None:
    assert nanoseconds(text) == expected


def test_a_long_run_is_streamed(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ledger = opened()
    for number in range(1500):
        ledger.add(ToolCall(name="t", id=str(number), reported_by=Reporter.AGENT))
        ledger.add(ToolResult(name="t", ok=True, id=str(number), reported_by=Reporter.AGENT))
    ledger.add(end("0.00"))
    spans = read(exported(capsysbinary, "otlp", written(tmp_path, ledger)))
    assert len(spans) == 1501


def test_the_page_lists_every_attribute(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    page, found = PAGE.read_text(encoding="utf-8"), set()
    for name, make in samples.ALL.items():
        for span in read(exported(capsysbinary, "otlp", written(tmp_path / name, make()))):
            found |= set(told(span.attributes))
            for event in span.events:
                found |= {event.name, *told(event.attributes)}
    assert len(found) > 40
    assert [name for name in sorted(found) if f"`{name}`" not in page] == []
