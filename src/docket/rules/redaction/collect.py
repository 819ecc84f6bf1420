"""What a record holds of what a copy is to hide: its paths, its hosts, its command lines, the names in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.relpath import RelPath
from docket.formats.run.policy import DEFAULT_NAME
from docket.formats.visible import raw_of
from docket.rules.redaction.naming import Chosen, call_of
from docket.rules.redaction.table import EVENTS, POLICY, RECORDS, Kind, Member, PolicyKind


@dataclass(slots=True)
class Collected:
    """What was found; `words` are the texts of each profile that must not stand elsewhere."""

    paths: set[bytes] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    chosen: Chosen = field(default_factory=Chosen)
    words: dict[Profile, set[str]] = field(default_factory=lambda: {profile: set() for profile in Profile})


def collected(events: Iterable[Event]) -> Collected:
    """Read the events of a record of docket's own."""
    found = Collected()
    for event in events:
        if event.type == "model.request":
            found.chosen.calls.append(call_of(event.data))
        for kind, name, value, holder in members(EVENTS[event.type], event.data):
            taker = _TAKERS.get(kind)
            if taker is not None:
                taker(found, name, value, holder)
    return found


def members(table: Mapping[str, Member], data: JsonObject) -> Iterator[tuple[Kind, str, JsonValue, JsonObject]]:
    """Yield kind, name, value and holder of each member, those of records in it too; path_b64 is `path`."""
    for name, value in data.items():
        member = table.get("path" if name == "path_b64" else name)
        if isinstance(member, str):
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, Mapping):
                    yield from members(RECORDS[member], item)
        elif member is not None:
            yield member, name, value, data


def texts(value: JsonValue) -> Iterator[str]:
    """Yield a text, or every text of an array."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


def _path(found: Collected, _name: str, _value: JsonValue, holder: JsonObject) -> None:
    path = RelPath.from_members(holder)
    found.paths.add(path.raw)
    found.words[Profile.PATHS].add(str(path))


def _place(found: Collected, name: str, value: JsonValue, holder: JsonObject) -> None:
    found.words[Profile.PATHS].update(texts(value))
    raw = raw_of(name, holder)
    found.words[Profile.PATHS].add("" if raw is None else raw.decode("utf-8", "backslashreplace"))


def _roots(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    found.words[Profile.PATHS].update(text for text in texts(value) if text != ".")


def _argv(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    found.words[Profile.ARGV].update(texts(value))


def _host(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    found.hosts.update(texts(value))
    found.words[Profile.HOSTS].update(texts(value))


def _overrides(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    if isinstance(value, Mapping):
        found.chosen.add(Kind.PROVIDER, value)
        found.words[Profile.HOSTS].update(text for item in value.values() for text in texts(item))


def _title(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    if value != DEFAULT_NAME:
        found.words[Profile.NAMES].update(texts(value))


def _remark(found: Collected, _name: str, value: JsonValue, holder: JsonObject) -> None:
    if "reported_by" in holder:
        found.chosen.add(Kind.REMARK, texts(value))


def _row(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    for text in texts(value):
        found.chosen.add_row(text)


def _price(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    found.chosen.prices.update(texts(value))


def _scope(found: Collected, _name: str, value: JsonValue, holder: JsonObject) -> None:
    match holder.get("scope"):
        case "model":
            found.chosen.patterns.setdefault(Kind.MODEL, set()).update(texts(value))
        case "agent":
            found.chosen.add(Kind.AGENT, texts(value))
        case "pool":
            found.chosen.add(Kind.POOL, texts(value))


def _policy(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    for section, document in value.items() if isinstance(value, Mapping) else ():
        if section == "name":
            _title(found, section, document, {})
        for key, item in document.items() if isinstance(document, Mapping) else ():
            if section == "upstreams":
                found.words[Profile.HOSTS].update(texts(item))
                found.chosen.add(Kind.PROVIDER, (key,))
            else:
                _policy_key(found, POLICY.get(f"{section}.{key}"), item)


def _policy_key(found: Collected, kind: PolicyKind | None, item: JsonValue) -> None:
    match kind:
        case PolicyKind.ROOTS | PolicyKind.PATHS:
            _roots(found, "", item, {})
        case PolicyKind.HOSTS | PolicyKind.PRICED_AS:
            found.words[Profile.HOSTS].update(texts(item))
        case PolicyKind.POOLS:
            found.chosen.add(Kind.POOL, texts(item))
        case PolicyKind.MODEL_BUDGETS | PolicyKind.AGENT_BUDGETS if isinstance(item, Mapping):
            named = Kind.MODEL if kind is PolicyKind.MODEL_BUDGETS else Kind.AGENT
            found.chosen.patterns.setdefault(named, set()).update(item)


def _named(kind: Kind) -> Callable[[Collected, str, JsonValue, JsonObject], None]:
    return lambda found, _name, value, _holder: found.chosen.add(kind, texts(value))


_NAMES = (Kind.MODEL, Kind.PROVIDER, Kind.AGENT, Kind.TOOL, Kind.USE, Kind.SESSION, Kind.TURN, Kind.POOL)
_TAKERS = {
    **{kind: _named(kind) for kind in _NAMES},
    Kind.PATH: _path,
    Kind.PLACE: _place,
    Kind.TARGET: _place,
    Kind.ROOTS: _roots,
    Kind.ARGV: _argv,
    Kind.LABEL: _argv,
    Kind.HOST: _host,
    Kind.OVERRIDES: _overrides,
    Kind.POLICY: _policy,
    Kind.TITLE: _title,
    Kind.REMARK: _remark,
    Kind.ROW: _row,
    Kind.PRICE: _price,
    Kind.SCOPE: _scope,
}
