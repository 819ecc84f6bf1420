"""From the bytes of a case to its tokens and its cost, by the way that a call takes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from docket.formats.run.policy import Policy
from docket.formats.run.usage import UsageSource
from docket.rules.boundary.billing import Call, Prices, Quote, Seen, bill
from docket.rules.boundary.frames import FrameReader
from docket.rules.providers.interface import Meter, RequestTarget
from docket.rules.providers.registry import Provider, provider, with_upstream
from docket.rules.spending.caps import Tally
from docket.rules.spending.meter import InputEstimate
from docket.rules.spending.price_book import PriceBook
from docket.rules.spending.reservation import Claim
from metering.forms import Case

AT = "2026-11-29T12:00:00.000Z"
BOOK = PriceBook.parse(resources.files("docket").joinpath("data/prices.json").read_bytes())
BODY_BYTES = 100
_CLAIM = Claim(likely=Tally(calls=1), worst=Tally(calls=1), hidden=False)
_NAMED_IN_PATH = ("/model/", "/v1beta/models/", "/v1/projects/", "/openai/deployments/")
_WHOLE = ("application/json", "audio/mpeg")
# Upstreams that a user names with --upstream.
_UPSTREAMS = {
    "azure": "https://mine.openai.azure.com", "gateway": "https://llm.example.com/v1", "vllm": "http://127.0.0.1:8000/v1",
}  # fmt: skip
_BODIES = {True: b'{"messages":[],"stream":true', False: b'{"messages":[]'}


@dataclass(frozen=True, slots=True)
class Measured:
    """What docket books for a case."""

    wire: str
    tokens: tuple[int, int, int, int]
    cost: str
    reported: bool
    assumed: bool


class _Frames:
    """The meter behind a socket: each message of its frames is an event of the stream it would be over HTTP."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._frames = meter, FrameReader(masked=False)
        self._inside = False

    def feed(self, data: bytes) -> None:
        for piece in self._frames.feed(data):
            self._meter.feed((b"" if self._inside else b"data: ") + piece.payload + (b"\n\n" if piece.closes else b""))
            self._inside = not piece.closes


def measure(case: Case, pieces: list[bytes] | None = None) -> Measured:
    """Return what docket books for a case whose body comes in these pieces."""
    where = _provider(case.provider)
    endpoint = where.classify(case.method, case.path)
    wire = endpoint.wire
    assert wire is not None
    named = b"" if case.path.startswith(_NAMED_IN_PATH) else b',"model":"%s"' % (case.model or "").encode()
    body = b"" if case.method == "GET" else _BODIES[case.content_type not in _WHOLE] + named + b"}"
    facts = wire.read_request(body, RequestTarget(path=case.path))
    assert facts.model == case.model, (facts.model, case.model)
    kind = "text/event-stream" if case.content_type == "websocket" else case.content_type
    meter = wire.meter(kind, streaming=True, headers=case.headers)
    sink = _Frames(meter) if case.content_type == "websocket" else meter
    for piece in pieces or [case.body]:
        sink.feed(piece)
    call = Call(
        number=1, provider=where, wire=wire, facts=facts, model=facts.model or "unknown", body_bytes=BODY_BYTES, at=AT,
        quote=Quote(_CLAIM, InputEstimate(BODY_BYTES // 4)), prices=Prices.under(Policy(), BOOK),
    )  # fmt: skip
    reading = meter.reading()
    seen = 0 if reading.usage_final else meter.visible_output_bytes
    billed = bill(call, Seen(status=200, reading=reading, visible_output_bytes=seen))
    usage = billed.usage
    tokens = (usage.input_tokens, usage.cached_input_tokens, usage.written_tokens, usage.output_tokens)
    reported = billed.source is UsageSource.REPORTED
    return Measured(wire.name, tokens, str(billed.cost), reported, billed.assumed)


def _provider(name: str) -> Provider:
    return with_upstream(name, _UPSTREAMS[name]) if name in _UPSTREAMS else provider(name)
