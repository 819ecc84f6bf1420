"""Faults to be injected into model calls: how they are written, and which call gets which. A drill, by request only.

Rules:
1. Which fault a call gets is a pure function of the rules, the seed and the call: its number, provider, model, path.
   The first rule that fits counts.
2. A rule is `KIND[=VALUE][@OPTION,OPTION…]`, rules are separated by `;`. Options: `calls` (`3`, `2-5`, `4-`, `*/3`,
   joined with `+`), `share` (the seed decides which calls), `provider`, `model` and `path` (patterns), `retry_after`
   (status only). The TOML form has a `[[fault]]` table for each rule, with `kind`, `value` and the options.
3. What a value counts depends on the kind: seconds of a delay or hang, the code of a status, bytes of a reply before it
   is truncated or reset, one byte out of so many that is corrupted, bytes a second of a slow reply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase

from docket.errors import UsageError
from docket.formats.dataclass import dataclass
from docket.formats.letters import is_printable
from docket.formats.reason import Reason

MAX_SECONDS = 3600
MAX_BYTES = 2**40
MAX_SEED = 2**53 - 1
_MILLION = 1_000_000
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{0,12})?|\.[0-9]{1,12}")
_FLAG = "--faults: "


class FaultKind(StrEnum):
    """What is done to a call."""

    DELAY = "delay"
    DROP = "drop"
    HANG = "hang"
    STATUS = "status"
    RESET = "reset"
    TRUNCATE = "truncate"
    CORRUPT = "corrupt"
    SLOW = "slow"


_HINT = f"as in: status=529@calls=2-4 or delay=2@share=0.3; kinds: {', '.join(FaultKind)}"
UNASKED = frozenset((FaultKind.DROP, FaultKind.HANG, FaultKind.STATUS))
_DEFAULTS: Mapping[FaultKind, int | None] = {
    FaultKind.DELAY: 2000,
    FaultKind.DROP: None,
    FaultKind.HANG: 600_000,
    FaultKind.STATUS: 503,
    FaultKind.RESET: 256,
    FaultKind.TRUNCATE: 256,
    FaultKind.CORRUPT: 64,
    FaultKind.SLOW: 64,
}
_IN_SECONDS = frozenset((FaultKind.DELAY, FaultKind.HANG))
_LEAST = {FaultKind.CORRUPT: 1, FaultKind.SLOW: 1}
_WORDS = {
    FaultKind.DELAY: "the request is sent {} s later",
    FaultKind.HANG: "nothing is answered for {} s",
    FaultKind.STATUS: "HTTP {} in place of the upstream's answer",
    FaultKind.RESET: "the connection breaks after {} bytes of the reply",
    FaultKind.TRUNCATE: "the reply ends after {} bytes as if it were whole",
    FaultKind.CORRUPT: "one byte in {} of the reply is changed",
    FaultKind.SLOW: "the reply comes at {} bytes a second",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `value` is in milliseconds, bytes, or a status code, by its kind; None where it has none."""

    kind: FaultKind
    value: int | None = None
    retry_after_seconds: int | None = None

    @property
    def asked(self) -> bool:
        """Whether the upstream is asked all the same."""
        return self.kind not in UNASKED

    @property
    def detail(self) -> str:
        """What is done, in words."""
        if self.kind is FaultKind.DROP:
            return "the connection breaks before any answer"
        return _WORDS[self.kind].format(self.shown)

    @property
    def shown(self) -> str:
        """The value as it is written."""
        value = self.value or 0
        return f"{(Decimal(value) / 1000).normalize():f}" if self.kind in _IN_SECONDS else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyCall:
    """What decides whether a call gets a fault; `number` counts admitted calls from 1, `path` is without a query."""

    number: int
    provider: str
    model: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A fault and the calls that get it; `share` is in parts per million, `text` the rule as it is recorded."""

    text: str
    fault: Fault
    calls: tuple[range, ...] = ()
    share: int = _MILLION
    provider: str = "*"
    model: str = "*"
    path: str = "*"

    def fits(self, call: FaultyCall, draw: int) -> bool:
        """Whether the call gets this fault; `draw` is a number below 2**64."""
        return (
            (not self.calls or any(call.number in numbers for numbers in self.calls))
            and fnmatchcase(call.provider, self.provider)
            and fnmatchcase(call.model, self.model)
            and fnmatchcase(call.path, self.path)
            and draw * _MILLION < self.share << 64
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """The rules of a drill and its seed."""

    rules: tuple[FaultRule, ...]
    seed: int = 0

    def fault_for(self, call: FaultyCall) -> Fault | None:
        """Return the fault a call gets, None for none."""
        for place, rule in enumerate(self.rules):
            if rule.fits(call, draw(self.seed, place, call.number)):
                return rule.fault
        return None

    @property
    def spec(self) -> tuple[str, ...]:
        """The rules as they are recorded."""
        return tuple(rule.text for rule in self.rules)


def draw(*numbers: int) -> int:
    """Return a number below 2**64 that looks random and is always the same for the same numbers."""
    return int.from_bytes(hashlib.sha256(repr(numbers).encode("ascii")).digest()[:8], "big")


def parse_faults(text: str, seed: int) -> FaultPlan:
    """Read rules as they are typed; UsageError names what is wrong with which."""
    rules = [_rule(*_pieces(part)) for part in text.replace("\n", ";").split(";") if part.strip()]
    return _plan(rules, seed)


def parse_fault_file(data: bytes, name: str, seed: int) -> FaultPlan:
    """Read rules from a TOML document; UsageError names what is wrong in which table."""
    import tomllib  # noqa: PLC0415 - only a drill from a file reads TOML here

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(f"{name} is no TOML: {error}") from error
    tables = document.get("fault")
    if set(document) != {"fault"} or not isinstance(tables, list):
        raise _wrong(f"{name} must hold [[fault]] tables and nothing else")
    rules = []
    for number, table in enumerate(tables, 1):
        members = {key: str(value) for key, value in table.items()} if isinstance(table, dict) else {}
        try:
            rules.append(_rule(members.pop("kind", ""), members.pop("value", None), members))
        except UsageError as error:
            raise _wrong(f"{name}, fault {number}: {error.detail.removeprefix(_FLAG)}") from error
    return _plan(rules, seed)


def _plan(rules: Iterable[FaultRule], seed: int) -> FaultPlan:
    plan = FaultPlan(rules=tuple(rules), seed=seed)
    if not plan.rules:
        raise _wrong("no fault is named")
    if not 0 <= seed <= MAX_SEED:
        raise _wrong(f"the seed must be a whole number from 0 to {MAX_SEED}")
    return plan


def _pieces(part: str) -> tuple[str, str | None, dict[str, str]]:
    head, _, tail = part.strip().partition("@")
    kind, equals, value = head.partition("=")
    options: dict[str, str] = {}
    for item in filter(None, (item.strip() for item in tail.split(","))):
        name, mark, given = item.partition("=")
        if not mark or name.strip() in options:
            raise _wrong(f"{part.strip()!r}: {item!r} is not OPTION=VALUE, or is named twice")
        options[name.strip()] = given.strip()
    return kind.strip(), value.strip() if equals else None, options


def _rule(kind: str, value: str | None, options: Mapping[str, str]) -> FaultRule:
    if kind not in tuple(FaultKind):
        raise _wrong(f"no fault is called {kind!r}{_meant(kind, tuple(map(str, FaultKind)))}")
    known = ("calls", "share", "provider", "model", "path", "retry_after")
    for name in options:
        if name not in known:
            raise _wrong(f"{kind} has no option {name!r}{_meant(name, known)}")
        if not options[name] or not is_printable(options[name]) or set(options[name]) & set("; ,"):
            raise _wrong(f"{name} must be a text without blanks, commas and semicolons, not {options[name][:40]!r}")
    fault = _fault(FaultKind(kind), value, options.get("retry_after"))
    shown = kind if fault.value is None else f"{kind}={fault.shown}"
    written = ",".join(f"{name}={options[name]}" for name in known if name in options)
    return FaultRule(
        text=f"{shown}@{written}" if written else shown,
        fault=fault,
        calls=_calls(options["calls"]) if "calls" in options else (),
        share=_share(options["share"]) if "share" in options else _MILLION,
        **{name: options[name] for name in ("provider", "model", "path") if name in options},
    )


def _fault(kind: FaultKind, value: str | None, retry_after: str | None) -> Fault:
    if retry_after is not None and kind is not FaultKind.STATUS:
        raise _wrong(f"{kind} has no retry_after: only a status has")
    waits = None if retry_after is None else _whole("retry_after", retry_after, 0, MAX_SECONDS)
    if value is None:
        return Fault(kind=kind, value=_DEFAULTS[kind], retry_after_seconds=waits)
    if kind is FaultKind.DROP:
        raise _wrong("drop takes no value")
    if kind in _IN_SECONDS:
        return Fault(kind=kind, value=int(_number(str(kind), value, MAX_SECONDS) * 1000))
    if kind is FaultKind.STATUS:
        return Fault(kind=kind, value=_whole("status", value, 400, 599), retry_after_seconds=waits)
    return Fault(kind=kind, value=_whole(str(kind), value, _LEAST.get(kind, 0), MAX_BYTES))


def _share(text: str) -> int:
    return int(_number("share", text, 1) * _MILLION)


def _number(name: str, text: str, most: int) -> Decimal:
    number = Decimal(text) if _DECIMAL.fullmatch(text) else Decimal(-1)
    if not 0 <= number <= most:
        raise _wrong(f"{name} must be a number from 0 to {most}, not {text[:40]!r}")
    return number


def _whole(name: str, text: str, least: int, most: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
    if not least <= number <= most:
        raise _wrong(f"{name} must be a whole number from {least} to {most}, not {text[:40]!r}")
    return number


def _calls(text: str) -> tuple[range, ...]:
    found = []
    for part in text.split("+"):
        first, dash, last = part.strip().partition("-")
        if first.startswith("*/") and not dash:
            step = _whole("calls", first[2:], 1, MAX_SEED)
            found.append(range(step, MAX_SEED, step))
        else:
            begin = _whole("calls", first, 1, MAX_SEED)
            end = begin if not dash else _whole("calls", last, begin, MAX_SEED) if last else MAX_SEED
            found.append(range(begin, end + 1))
    return tuple(found)


def _meant(name: str, known: tuple[str, ...]) -> str:
    from docket.formats.nearest import nearest  # noqa: PLC0415 - only a typing error asks

    near = nearest(name, known)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def _wrong(detail: str) -> UsageError:
    return UsageError(Reason.USAGE, _FLAG + detail, hint=_HINT)
