"""Usage that nobody reported."""

from __future__ import annotations

from docket.formats.run.usage import Usage, UsagePart, UsageSource
from docket.rules.providers.estimate import Settled, estimate, settle
from docket.rules.providers.interface import Reading, StreamError


def test_four_bytes_are_a_token_rounded_up() -> None:
    assert estimate(0, 0) == Usage()
    assert estimate(1, 4) == Usage(input_tokens=1, output_tokens=1)
    assert estimate(4001, 9) == Usage(input_tokens=1001, output_tokens=3)


def test_a_reply_without_usage_is_estimated() -> None:
    assert settle(Reading(), 400, 40) == Settled(
        usage=Usage(input_tokens=100, output_tokens=10),
        source=UsageSource.ESTIMATED,
        note="the reply carried no usage",
    )
    assert settle(Reading(note="cannot be read"), 4, 0).note == "cannot be read"


def test_an_error_instead_of_any_output_is_not_billed() -> None:
    reading = Reading(error=StreamError(type="overloaded_error", message="Overloaded"), terminal=True)
    settled = settle(reading, 4000, 0)
    assert (settled.usage, settled.source) == (Usage(), UsageSource.ESTIMATED)
    assert settled.note == "the upstream reported an error before any output"
    # One that came after output leaves what was shown.
    assert settle(reading, 4000, 40).usage == Usage(input_tokens=1000, output_tokens=10)


def test_a_last_report_is_taken_as_it_is() -> None:
    usage = Usage(input_tokens=5, output_tokens=1)
    parts = (UsagePart(model="m", usage=usage),)
    assert settle(Reading(usage=usage, usage_final=True, parts=parts), 4000, 4000) == Settled(
        usage=usage, source=UsageSource.REPORTED, parts=parts
    )
    # An explicit zero stays one although output was seen.
    assert settle(Reading(usage=Usage(), usage_final=True), 4000, 4000).usage == Usage()


def test_a_known_input_stays_exact_and_the_larger_output_counts() -> None:
    begun = Reading(usage=Usage(input_tokens=1000, cached_input_tokens=900, output_tokens=3))
    settled = settle(begun, 10, 400)
    assert settled.usage == Usage(input_tokens=1000, cached_input_tokens=900, output_tokens=100)
    assert settled.source is UsageSource.ESTIMATED
    assert settle(begun, 10, 4).usage.output_tokens == 3
