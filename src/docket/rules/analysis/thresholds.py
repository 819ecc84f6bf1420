"""From which value on a rule finds something: the numbers, and what they mean (docs/reference/findings.md)."""

from __future__ import annotations

from docket.formats.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value from which on a rule of `rule` finds something; `meaning` says of what it is the number."""

    rule: str
    value: int
    meaning: str


LOOP_REQUESTS = Threshold("runaway-loop", 6, "requests with the same fingerprint")
LOOP_HIGH_REQUESTS = Threshold("runaway-loop", 12, "of them for severity high, else medium")
STORM_FAILURES = Threshold("retry-storm", 3, "failures of one provider and model in a row, no reply between them")
STORM_HIGH_FAILURES = Threshold("retry-storm", 10, "of them for severity high, else medium")
CACHE_MISS_TOKENS = Threshold("cache-miss", 4096, "input tokens that the call before, of the same model, sent as well")
CACHE_MISS_CALLS = Threshold("cache-miss", 3, "such calls that read nothing from the provider's cache")
FAT_TOKENS = Threshold("fat-context", 100_000, "input tokens in one call")
SMALL_INPUT_TOKENS = Threshold("premium-for-small-calls", 2_000, "input tokens that a small call has at most")
SMALL_OUTPUT_TOKENS = Threshold("premium-for-small-calls", 500, "output tokens that a small call has at most")
SMALL_CALLS = Threshold("premium-for-small-calls", 5, "small calls to the dearest model of the run")
PREMIUM_FACTOR = Threshold(
    "premium-for-small-calls", 3, "times what the run's cheapest model takes for the same tokens"
)
CONCENTRATION_CALLS = Threshold("concentration", 10, "calls in the run")
CONCENTRATION_TOP = Threshold("concentration", 3, "calls, the dearest of the run, are looked at")
CONCENTRATION_PERCENT = Threshold("concentration", 50, "percent of the run's cost in them")
SCOPE_PATHS = Threshold("write-scope", 1, "violation, or path written where nothing is watched")
DENIALS = Threshold("denials", 1, "call or connection that was refused")
HAZARD_HITS = Threshold("cache-hazard", 1, "reply given again in a run that changed the tree")
UNKNOWN_CALLS = Threshold("unknown-spend", 1, "call of which nobody said what it cost")

ALL = (
    LOOP_REQUESTS,
    LOOP_HIGH_REQUESTS,
    STORM_FAILURES,
    STORM_HIGH_FAILURES,
    CACHE_MISS_TOKENS,
    CACHE_MISS_CALLS,
    FAT_TOKENS,
    SMALL_INPUT_TOKENS,
    SMALL_OUTPUT_TOKENS,
    SMALL_CALLS,
    PREMIUM_FACTOR,
    CONCENTRATION_CALLS,
    CONCENTRATION_TOP,
    CONCENTRATION_PERCENT,
    SCOPE_PATHS,
    DENIALS,
    HAZARD_HITS,
    UNKNOWN_CALLS,
)
