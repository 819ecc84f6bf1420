"""What one model call used, in tokens and uses, on one scale for all providers (spec/receipt.md, Component rows).

`input_tokens` is the whole input: fresh, read from a cache and written to one. The cache counts are parts of it.
`output_tokens` is the whole output; `reasoning_tokens` is a part of it. Audio and image tokens are parts of both. A
provider whose buckets are disjoint (Anthropic) is added up by its parser; one whose totals already hold the parts
(OpenAI) is taken as it is.
"""

from __future__ import annotations

from enum import StrEnum
from operator import add, attrgetter

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field_names
from docket.formats.reading import Reader
from docket.formats.reason import Reason

_ALWAYS = ("input_tokens", "cached_input_tokens", "output_tokens")
# Members that came later: a sum over calls names them only where there are some, so that older sums stay as they are.
LATER = frozenset(("image_input_tokens", "image_output_tokens", "code_sessions", "audio_seconds"))


class UsageSource(StrEnum):
    """Who counted."""

    REPORTED = "reported"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of one call; every member is a non-negative integer, and parts never exceed their whole."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_30m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_write_12h_tokens: int = 0
    reasoning_tokens: int = 0
    audio_input_tokens: int = 0
    audio_output_tokens: int = 0
    web_searches: int = 0
    file_searches: int = 0
    image_input_tokens: int = 0
    image_output_tokens: int = 0
    code_sessions: int = 0
    audio_seconds: int = 0

    def __post_init__(self) -> None:
        counts = _COUNTS(self)
        if set(map(type, counts)) != _INTEGERS or min(counts) < 0:
            raise self._wrong()
        # As `written_tokens` says, of what was just read: of these a long ledger has one a reply.
        if counts[_CACHED] + sum(counts[_WRITTEN]) > counts[_INPUT]:
            raise InvalidDocumentError(Reason.WRONG_VALUE, "usage: the cached parts exceed the input")

    def _wrong(self) -> InvalidDocumentError:
        counts = zip(_NAMES, _COUNTS(self), strict=True)
        name = next(name for name, value in counts if type(value) is not int or value < 0)
        return InvalidDocumentError(Reason.WRONG_VALUE, f"usage.{name} is not a non-negative integer")

    @property
    def written_tokens(self) -> int:
        """Input tokens written to a cache, of any lifetime."""
        return (
            self.cache_write_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_30m_tokens
            + self.cache_write_1h_tokens
            + self.cache_write_12h_tokens
        )

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def to_json(self) -> dict[str, JsonValue]:
        """Return the three v1 members always and every other member that is not zero."""
        return {name: value for name, value in zip(_NAMES, _COUNTS(self), strict=True) if value or name in _ALWAYS}

    def __add__(self, other: Usage) -> Usage:
        return Usage(**dict(zip(_NAMES, map(add, _COUNTS(self), _COUNTS(other)), strict=True)))

    @classmethod
    def from_json(cls, value: JsonValue, where: str = "usage") -> Usage:
        """Read exactly what `to_json` writes."""
        reader = Reader(value, where)
        counts = {
            name: reader.integer(name, minimum=0 if name in _ALWAYS else 1)
            for name in _NAMES
            if name in _ALWAYS or reader.has(name)
        }
        reader.close()
        return cls(**counts)


_NAMES = field_names(Usage)
_COUNTS = attrgetter(*_NAMES)
_INPUT, _CACHED = _NAMES.index("input_tokens"), _NAMES.index("cached_input_tokens")
_WRITTEN = slice(_NAMES.index("cache_write_tokens"), _NAMES.index("cache_write_12h_tokens") + 1)
_INTEGERS = {int}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePart:
    """What one model used of a call that was served by several; the parts add up to the call's usage."""

    model: str
    usage: Usage
