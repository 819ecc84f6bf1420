"""What a record holds of what a copy is to hide: its paths, its hosts, its command lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.ledger.event import Event
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.relpath import RelPath
from docket.formats.visible import raw_of
from docket.rules.redaction.table import EVENTS, POLICY_HOST_SECTIONS, POLICY_HOSTS, POLICY_PATHS, RECORDS, Kind, Member


@dataclass(slots=True)
class Collected:
    """What was found; `words` are the texts of each profile that must not stand elsewhere."""

    paths: set[bytes] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    words: dict[Profile, set[str]] = field(default_factory=lambda: {profile: set() for profile in Profile})


def collected(events: Iterable[Event]) -> Collected:
    """Read the events of a record of docket's own."""
    found = Collected()
    for event in events:
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


def _hosts_of(found: Collected, name: str, value: JsonValue, _holder: JsonObject) -> None:
    if name == "upstream_overrides" and isinstance(value, Mapping):
        found.words[Profile.HOSTS].update(text for item in value.values() for text in texts(item))


def _policy(found: Collected, _name: str, value: JsonValue, _holder: JsonObject) -> None:
    for section, document in value.items() if isinstance(value, Mapping) else ():
        for key, item in document.items() if isinstance(document, Mapping) else ():
            if (section, key) in POLICY_PATHS:
                _roots(found, key, item, {})
            elif (section, key) in POLICY_HOSTS or section in POLICY_HOST_SECTIONS:
                found.words[Profile.HOSTS].update(texts(item))


_TAKERS = {
    Kind.PATH: _path,
    Kind.PLACE: _place,
    Kind.TARGET: _place,
    Kind.ROOTS: _roots,
    Kind.ARGV: _argv,
    Kind.LABEL: _argv,
    Kind.HOST: _host,
    Kind.HOSTS_OF: _hosts_of,
    Kind.POLICY: _policy,
}
