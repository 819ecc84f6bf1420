"""The kind of a policy key that gives each name of a pattern a budget of its own.

Rules (docs/reference/policy.md):
1. In TOML it is a table of patterns; a value is dollars, or a table of `max_usd`, `max_tokens`, `max_model_calls`.
2. A pattern stands once, whatever its case; in the document the patterns are sorted and only the limits that are set
   stand.
3. A budget without any limit is refused: it would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.letters import lowered
from docket.formats.reason import Reason
from docket.formats.run.policy_kinds import Amount, Count, is_line, refuse, shown_toml

_MAX_PATTERNS = 64
_MAX_PATTERN_CHARACTERS = 200
_USD, _COUNT = Amount(), Count(optional=True)
_KINDS: Mapping[str, Amount | Count] = {"max_usd": _USD, "max_tokens": _COUNT, "max_model_calls": _COUNT}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubBudget:
    """What the names that `pattern` matches may use; None is no limit."""

    pattern: str
    max_usd: Usd | None = None
    max_tokens: int | None = None
    max_model_calls: int | None = None

    def matches(self, name: str) -> bool:
        """Whether the budget is for `name`, without regard to case."""
        return fnmatchcase(lowered(name), lowered(self.pattern))

    def limits(self) -> dict[str, JsonValue]:
        """Return the limits that are set, in the document's spelling."""
        values = {name: kind.to_json(getattr(self, name)) for name, kind in _KINDS.items()}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SubBudgets:
    """A tuple of `SubBudget`, sorted by pattern."""

    item: str
    toml_type: str = "table"

    @property
    def wants(self) -> str:
        """Name what stands in the table."""
        return f"a table of {self.item}, each with dollars as in 2.00 or {{ max_usd = 2.00, max_model_calls = 20 }}"

    def from_toml(self, value: object) -> object:
        """Accept a table of patterns."""
        if not isinstance(value, dict):
            refuse(self, value)
        budgets = tuple(_from_toml(str(pattern), member) for pattern, member in sorted(value.items()))
        self.check(budgets)
        return budgets

    def check(self, value: object) -> None:
        """Accept sorted budgets whose patterns differ and that limit something."""
        if not isinstance(value, tuple) or not all(isinstance(one, SubBudget) for one in value):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"must be {self.wants}")
        if len(value) > _MAX_PATTERNS:
            raise InvalidDocumentError(Reason.TOO_LARGE, f"has more than {_MAX_PATTERNS} patterns")
        patterns = [one.pattern for one in value]
        if patterns != sorted(patterns):
            raise InvalidDocumentError(Reason.NOT_CANONICAL, "its patterns are not sorted")
        seen: set[str] = set()
        for one in value:
            _check_one(one)
            if lowered(one.pattern) in seen:
                raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"names the pattern {shown_toml(one.pattern)} twice")
            seen.add(lowered(one.pattern))

    def to_json(self, value: object) -> JsonValue:
        """Return an object of patterns."""
        return {one.pattern: one.limits() for one in value}  # type: ignore[attr-defined]

    def from_json(self, value: JsonValue) -> object:
        """Read what `to_json` writes."""
        if not isinstance(value, Mapping):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"must be {self.wants}")
        budgets = []
        for pattern in sorted(value):
            limits = value[pattern]
            if not isinstance(limits, Mapping) or not set(limits) <= set(_KINDS):
                raise InvalidDocumentError(Reason.UNKNOWN_MEMBER, f"{shown_toml(pattern)} has another member")
            members: dict[str, Any] = {name: _KINDS[name].from_json(limit) for name, limit in limits.items()}
            budgets.append(SubBudget(pattern=pattern, **members))
        self.check(tuple(budgets))
        return tuple(budgets)


def _from_toml(pattern: str, member: object) -> SubBudget:
    shown = shown_toml(pattern)
    limits = member if isinstance(member, dict) else {"max_usd": member}
    values: dict[str, Any] = {}
    for name, value in limits.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise InvalidDocumentError(
                Reason.UNKNOWN_MEMBER, f"{shown}: {shown_toml(name)} is not known; it has {', '.join(_KINDS)}"
            )
        try:
            values[name] = kind.from_toml(value)
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"{shown}: {name} {error.detail}") from error
    return SubBudget(pattern=pattern, **values)


def _check_one(budget: SubBudget) -> None:
    shown = shown_toml(budget.pattern)
    if not is_line(budget.pattern) or len(budget.pattern) > _MAX_PATTERN_CHARACTERS:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{shown} is no pattern of a name")
    for name, kind in _KINDS.items():
        try:
            kind.check(getattr(budget, name))
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"{shown}: {name} {error.detail}") from error
    if not budget.limits():
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{shown} has no limit")
