"""What stands in a copy for the names that people and agents chose: of models, agents, tools, pools and the like.

Rules:
1. What is priced, summed and capped by a name is so by its alias: rows, families and patterns of budgets go with it.
2. A rule of a plan of faults that asks for a provider, a model or a path names the calls that it fitted in their place.
3. Without the profile `names` every name stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from docket.errors import UsageError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.letters import lowered
from docket.formats.run.price_table import FALLBACK_PATTERN, family_name, literal_pattern
from docket.rules.drills.faults import FaultRule, FaultyCall, parse_faults
from docket.rules.redaction.aliases import Aliases, Form, is_wild
from docket.rules.redaction.familiar import AGENT_PARTS, AGENTS, PROVIDERS, TOOLS, PublicPrices
from docket.rules.redaction.names import REDACTED
from docket.rules.redaction.table import Kind

_AS, _AT = "as-", "at-"
_NO_CALL = 2**53 - 1


@dataclass(slots=True)
class Chosen:
    """The names of a record by their kind, the patterns of its budgets, the names of its priced rows, and its calls."""

    names: dict[Kind, set[str]] = field(default_factory=dict)
    patterns: dict[Kind, set[str]] = field(default_factory=dict)
    rows: set[str] = field(default_factory=set)
    prices: set[str] = field(default_factory=set)
    calls: list[FaultyCall] = field(default_factory=list)

    def add(self, kind: Kind, texts: Iterable[str]) -> None:
        """Take names of a kind."""
        self.names.setdefault(kind, set()).update(texts)

    def add_row(self, row: str) -> None:
        """Take the name of a priced row, and the names that it is made of."""
        self.rows.add(row)
        base, *labels = row.split("+")
        self.add(Kind.MODEL, [_unescaped(base), *(_unescaped(one[3:]) for one in labels if one.startswith(_AS))])
        self.add(Kind.PROVIDER, [one[3:] for one in labels if one.startswith(_AT)])


class Naming:
    """The aliases of one copy."""

    def __init__(self, chosen: Chosen, public: PublicPrices) -> None:
        forms = {
            Kind.MODEL: Form(word="model", kept=public.knows, kept_part=public.knows_part),
            Kind.PROVIDER: Form(word="provider", kept=PROVIDERS.__contains__),
            Kind.AGENT: Form(word="agent", kept=_is_public_agent, kept_part=AGENT_PARTS.__contains__, head="sub:"),
            Kind.TOOL: Form(word="tool", kept=TOOLS.__contains__),
            **{kind: Form(word=word, kept=_none) for kind, word in _NUMBERED.items()},
        }
        self._aliases = {
            kind: Aliases(form, chosen.names.get(kind, ()), chosen.patterns.get(kind, ()))
            for kind, form in forms.items()
        }
        self._calls = chosen.calls
        known = {literal_pattern(row): literal_pattern(self.row(row)) for row in chosen.rows}
        others = sorted(chosen.prices - set(known) - {FALLBACK_PATTERN})
        self._prices = {**{text: f"pattern-{at}" for at, text in enumerate(others, 1)}, **known}

    @property
    def hidden(self) -> Iterable[str]:
        """Every name that has an alias."""
        return (text for aliases in self._aliases.values() for text in aliases.hidden)

    def name(self, kind: Kind, text: str) -> str:
        """Return what stands for a name."""
        return self._aliases[kind].name(text)

    def pattern(self, kind: Kind, text: str) -> str:
        """Return what stands for a pattern of a budget."""
        return self._aliases[kind].pattern(text)

    def row(self, text: str) -> str:
        """Return the name of a priced row with its models and providers by their aliases; labels stay."""
        base, *labels = text.split("+")
        return "+".join((family_name(self.name(Kind.MODEL, _unescaped(base))), *map(self._label, labels)))

    def price(self, pattern: str) -> str:
        """Return the pattern of a family for the rows of the copy."""
        return self._prices.get(pattern, pattern)

    def scope(self, name: str, scope: JsonValue) -> str:
        """Return the name of what a limit is about."""
        kind = _SCOPES.get(str(scope))
        if kind is None:
            return name and REDACTED
        return self.pattern(kind, name) if kind is Kind.MODEL or is_wild(name) else self.name(kind, name)

    def _label(self, label: str) -> str:
        if label.startswith(_AS):
            return _AS + family_name(self.name(Kind.MODEL, _unescaped(label[3:])))
        return _AT + self.name(Kind.PROVIDER, label[3:]) if label.startswith(_AT) else label


_NUMBERED: Mapping[Kind, str] = {
    Kind.POOL: "pool",
    Kind.USE: "use",
    Kind.SESSION: "session",
    Kind.TURN: "turn",
    Kind.REMARK: "remark",
}
_SCOPES = {"model": Kind.MODEL, "agent": Kind.AGENT, "pool": Kind.POOL}


def _is_public_agent(name: str) -> bool:
    return lowered(name) in AGENTS  # a budget is for an agent in any case


def _none(_text: str) -> bool:
    return False


def _unescaped(name: str) -> str:
    return name.replace("%2B", "+").replace("%25", "%")


def faults_by_calls(spec: Iterable[str], calls: Iterable[FaultyCall]) -> list[str]:
    """Return a plan's rules with the numbers of the calls they fitted where they asked for more than numbers."""
    try:
        rules = parse_faults(";".join(spec), 0).rules
    except UsageError:
        return [REDACTED]
    known = list(calls)
    return [_by_calls(rule, known) for rule in rules]


def _by_calls(rule: FaultRule, calls: Iterable[FaultyCall]) -> str:
    if (rule.provider, rule.model, rule.path) == ("*", "*", "*"):
        return rule.text
    # A draw of 0 leaves out of account which share of the calls gets the fault.
    numbers = [call.number for call in calls if rule.fits(call, 0)] or [_NO_CALL]
    kind, _, options = rule.text.partition("@")
    kept = [one for one in options.split(",") if one.partition("=")[0] in ("share", "retry_after")]
    return f"{kind}@{','.join(['calls=' + '+'.join(map(str, numbers)), *kept])}"


def call_of(data: JsonObject) -> FaultyCall:
    """Return what a plan of faults looks at in a request."""
    number, path = data.get("call"), str(data.get("path"))
    return FaultyCall(
        number=number if isinstance(number, int) else 0,
        provider=str(data.get("provider")),
        model=str(data.get("model")),
        path=path.partition("?")[0],
    )
