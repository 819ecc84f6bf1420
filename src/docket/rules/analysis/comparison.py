"""Two receipts side by side: what is the same, what is more and what is less (docs/reference/findings.md, Comparing).

Rules: a figure that a receipt does not have is None and is never taken for zero; amounts are compared in whole
micro-dollars, durations in milliseconds, percentages rounded half up to a tenth. Receipts of any writer are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass
from docket.formats.lenient import amount_of
from docket.rules.analysis.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of both; `unit` is usd (micro-dollars), ms or count. `change` is right less left."""

    name: str
    unit: str
    left: int | None
    right: int | None

    @property
    def change(self) -> int | None:
        """Right less left; None where one of them is not known."""
        return None if self.left is None or self.right is None else self.right - self.left

    @property
    def permille(self) -> int | None:
        """The change in thousandths of left, rounded half away from zero; None where there is no such share."""
        if self.change is None or not self.left:
            return None
        whole, rest = divmod(abs(self.change) * 1000, self.left)
        share = whole + (rest * 2 >= self.left)
        return share if self.change >= 0 else -share

    def to_json(self) -> dict[str, JsonValue]:
        """Return the figure as `docket diff --json` prints it: amounts and seconds as decimal texts."""
        permille = self.permille
        return {
            "name": self.name,
            "left": spelled(self.unit, self.left),
            "right": spelled(self.unit, self.right),
            "change": spelled(self.unit, self.change),
            "change_percent": None if permille is None else _tenths(permille),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both receipts; `caveats` say why figures may not compare, `texts` are what differs: (name, left, right)."""

    figures: tuple[Figure, ...]
    models: tuple[Figure, ...]
    findings: tuple[Figure, ...]
    texts: tuple[tuple[str, JsonValue, JsonValue], ...]
    paths_only_left: tuple[str, ...]
    paths_only_right: tuple[str, ...]
    caveats: tuple[str, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Return the comparison as a document."""
        return {
            "figures": [figure.to_json() for figure in self.figures],
            "models": [figure.to_json() for figure in self.models],
            "findings": [figure.to_json() for figure in self.findings],
            "differs": [{"name": name, "left": left, "right": right} for name, left, right in self.texts],
            "paths": {"only_left": list(self.paths_only_left), "only_right": list(self.paths_only_right)},
            "caveats": list(self.caveats),
        }


_COUNTS = (
    ("calls", ("model_calls", "count")),
    ("calls refused", ("model_calls", "denied")),
    ("calls failed", ("model_calls", "errors")),
    ("input tokens", ("totals", "input_tokens")),
    ("cached input tokens", ("totals", "cached_input_tokens")),
    ("output tokens", ("totals", "output_tokens")),
    ("tool calls", ("tools", "calls")),
    ("tool failures", ("tools", "failures")),
    ("paths changed", ("files", "changed")),
    ("paths added", ("files", "added")),
    ("paths modified", ("files", "modified")),
    ("paths removed", ("files", "removed")),
    ("policy violations", ("files", "violations")),
)
_TEXTS = (
    ("agent", ("session", "agent")),
    ("command", ("session", "argv")),
    ("exit code", ("session", "exit_code")),
    ("breached", ("session", "breached")),
    ("interrupted", ("session", "interrupted")),
    ("policy", ("policy", "name")),
    ("policy digest", ("policy", "digest")),
    ("prices digest", ("price_table", "digest")),
    ("cost basis", ("totals", "cost_basis")),
    ("tool names", ("tools", "names")),
)


_MAX_SECONDS_DIGITS = 12


def compared(left: tuple[JsonObject, Sequence[Finding]], right: tuple[JsonObject, Sequence[Finding]]) -> Comparison:
    """Compare two receipts, each with what was found in it."""
    (old, old_findings), (new, new_findings) = left, right
    texts = [(name, _at(old, path), _at(new, path)) for name, path in _TEXTS]
    paths = [_paths(document) for document in (old, new)]
    return Comparison(
        figures=(
            Figure(name="cost", unit="usd", left=_micros(old), right=_micros(new)),
            Figure(name="duration", unit="ms", left=_duration_ms(old), right=_duration_ms(new)),
            *(Figure(name=name, unit="count", left=_int(old, path), right=_int(new, path)) for name, path in _COUNTS),
            Figure(name="cache hits", unit="count", left=_hits(old), right=_hits(new)),
        ),
        models=_by_name(_models(old), _models(new), "usd"),
        findings=_by_name(_rules(old_findings), _rules(new_findings), "count"),
        texts=tuple((name, was, is_) for name, was, is_ in texts if was != is_),
        paths_only_left=tuple(path for path in paths[0] if path not in paths[1]),
        paths_only_right=tuple(path for path in paths[1] if path not in paths[0]),
        caveats=tuple(_caveats(old, new)),
    )


def spelled(unit: str, value: int | None) -> JsonValue:
    """Return a figure's value as text or number; changes carry a minus where they are less."""
    if value is None or unit == "count":
        return value
    sign = "-" if value < 0 else ""
    if unit == "usd":
        return f"{sign}{Usd(abs(value))}"
    return f"{sign}{abs(value) // 1000}.{abs(value) % 1000:03d}"


def _tenths(permille: int) -> str:
    return f"{'-' if permille < 0 else ''}{abs(permille) // 10}.{abs(permille) % 10}"


def _by_name(left: Mapping[str, int], right: Mapping[str, int], unit: str) -> tuple[Figure, ...]:
    """Return a figure for each name; one that a side does not have is none there."""
    names = sorted({*left, *right}, key=lambda name: (-max(left.get(name, 0), right.get(name, 0)), name))
    return tuple(Figure(name=name, unit=unit, left=left.get(name, 0), right=right.get(name, 0)) for name in names)


def _models(document: JsonObject) -> dict[str, int]:
    rows = _at(document, ("totals", "by_model"))
    found: dict[str, int] = {}
    for row in rows if isinstance(rows, Sequence) and not isinstance(rows, str) else ():
        if isinstance(row, Mapping) and isinstance(row.get("model"), str):
            cost = amount_of(row.get("cost_usd"))
            found[str(row["model"])] = 0 if cost is None else cost.micros
    return found


def _rules(findings: Sequence[Finding]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + 1
    return counts


def _caveats(old: JsonObject, new: JsonObject) -> list[str]:
    found = []
    if _prices_differ(old, new):
        found.append("the two were priced by different price tables: equal tokens may differ in cost")
    for path, told in (
        (("policy", "digest"), "the two ran under different policies"),
        (("totals", "cost_basis"), "their tokens were counted on a different basis"),
    ):
        if _at(old, path) != _at(new, path):
            found.append(told)
    for name, document in (("left", old), ("right", new)):
        if _int(document, ("session", "exit_code")) is None:
            found.append(f"the record of the {name} one has no end: its figures are what was recorded until then")
    if any((_int(document, ("files", "changed")) or 0) > len(_paths(document)) for document in (old, new)):
        found.append("a receipt names the first changed paths alone: those that stand on one side only are among these")
    return found


def _prices_differ(old: JsonObject, new: JsonObject) -> bool:
    """Return whether equal tokens may differ in cost.

    A receipt embeds the families its run was priced by alone, so runs of two models differ in digest while both were
    priced by one table: the table that they were taken from decides where both name it.
    """
    origins = [_price_origin(document) for document in (old, new)]
    if origins[0] is not None and origins[0] == origins[1]:
        return False
    return _at(old, ("price_table", "digest")) != _at(new, ("price_table", "digest"))


def _price_origin(document: JsonObject) -> JsonValue:
    for name in ("price_table", "document", "_meta", "from"):
        document = object_at(document, name)
    return document.get("digest")


def _paths(document: JsonObject) -> tuple[str, ...]:
    paths = _at(document, ("files", "top_paths"))
    items = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else ()
    return tuple(path for path in items if isinstance(path, str))


def _micros(document: JsonObject) -> int | None:
    cost = amount_of(_at(document, ("totals", "cost_usd")))
    return None if cost is None else cost.micros


def _duration_ms(document: JsonObject) -> int | None:
    """Return the duration in milliseconds; it is written as seconds with up to three digits behind the point."""
    text = _at(document, ("session", "duration_seconds"))
    seconds, _, rest = text.partition(".") if isinstance(text, str) else ("", "", "")
    if len(seconds) > _MAX_SECONDS_DIGITS or not (
        seconds.isascii() and seconds.isdigit() and len(rest) <= 3 and (rest.isdigit() or not rest)
    ):
        return None
    return int(seconds) * 1000 + int(rest.ljust(3, "0"))


def _hits(document: JsonObject) -> int | None:
    """Return how many calls were answered again, those of replies in several components among them."""
    hits, parts = _int(document, ("cache", "hits")), _int(object_at(document, "cache"), ("component_hits", "hits"))
    return hits if hits is None or parts is None else hits + parts


def _int(document: JsonObject, path: tuple[str, str]) -> int | None:
    value = _at(document, path)
    return value if type(value) is int else None


def _at(document: JsonObject, path: tuple[str, str]) -> JsonValue:
    return object_at(document, path[0]).get(path[1])
