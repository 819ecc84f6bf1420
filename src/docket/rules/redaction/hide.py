"""Hides the members of one event, each as its kind asks under the profiles of a copy.

Rules:
1. A sentence goes as a whole where paths, hosts or command lines are hidden: it may name any of them.
2. The exact bytes beside a text that is hidden or changed go with it.
3. Digests are replaced under every profile: what they are of may be hidden elsewhere, or be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.rules.redaction.names import REDACTED, Names
from docket.rules.redaction.secrets import argv_without_secrets, without_secrets
from docket.rules.redaction.table import (
    EVENTS,
    POLICY_HOST_SECTIONS,
    POLICY_HOSTS,
    POLICY_PATHS,
    RECORDS,
    Kind,
    Member,
)

_SPOKEN = frozenset((Profile.ARGV, Profile.HOSTS, Profile.PATHS))
_HAS_PATH = re.compile(r"[/\\]|\A~|\.[A-Za-z0-9]{1,8}\Z")
_HAS_HOST = re.compile(r"://|@|[A-Za-z0-9-]\.[A-Za-z]{2,}|(?:[0-9]{1,3}\.){3}[0-9]|\[?[0-9a-f]*:[0-9a-f:]+\]?")
# The words that paths of providers' APIs are made of; accounts, projects, regions and deployments are none of them.
_API_WORDS = re.compile(
    r"v[0-9]+(?:(?:alpha|beta)[0-9]*)?(?:internal)?|messages|chat|completions?|responses|embeddings?|models?|images?|audio"
    r"|batches|files|count_tokens|compact|openai|anthropic|google|publishers|projects|locations|deployments|converse"
    r"|converse-stream|invoke|invoke-with-response-stream|api|generate|generations|transcriptions|translations|speech"
    r"|moderations|edits|tags|ps|show|version|endpoints|inference-profile|cachedContents|input_tokens|cancel"
)


class Hider:
    """Hides by `profiles` with the names of one copy; `replaced` counts the values that it hid or changed."""

    def __init__(self, profiles: frozenset[Profile], names: Names) -> None:
        self.profiles, self.names, self.replaced = profiles, names, 0

    def event(self, type_: str, data: JsonObject) -> dict[str, JsonValue]:
        """Return the data of an event; InvalidDocumentError for a type or a member that nothing is known of."""
        if type_ not in EVENTS:
            raise InvalidDocumentError(
                Reason.UNKNOWN_FORMAT, f"{type_} is a type of event that this version does not know"
            )
        return self._members(EVENTS[type_], data)

    def _members(self, table: Mapping[str, Member], data: JsonObject) -> dict[str, JsonValue]:
        hidden: dict[str, JsonValue] = {}
        for name, value in data.items():
            kind = table.get("path" if name == "path_b64" else name)
            if isinstance(kind, str):
                hidden[name] = self._records(RECORDS[kind], value)
            elif kind is Kind.PATH:
                hidden.update(self._path(data))
            elif kind is Kind.CODED or (kind is Kind.ACCOUNT and Profile.HOSTS in self.profiles):
                self.replaced += kind is Kind.ACCOUNT
            elif kind is not None:
                hidden[name] = self._hidden(kind, value, data)
            elif isinstance(value, (str, list, tuple, Mapping)):
                raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"{name} is a member that this version does not know")
            else:
                hidden[name] = value
        coded = [name for name in data if table.get(name) is Kind.CODED]
        # Bytes stay only beside a text that stays as it was.
        return hidden | {name: data[name] for name in coded if hidden.get(name[:-4]) == data.get(name[:-4])}

    def _records(self, table: Mapping[str, Member], value: JsonValue) -> JsonValue:
        if isinstance(value, Mapping):
            return self._members(table, value)
        items = value if isinstance(value, (list, tuple)) else ()
        return [self._members(table, item) for item in items if isinstance(item, Mapping)]

    def _hidden(self, kind: Kind, value: JsonValue, data: JsonObject) -> JsonValue:
        if kind in (Kind.KEPT, Kind.LINK):
            return value
        if kind is Kind.DIGEST:
            return self.names.digest(value) if isinstance(value, str) else value
        hide = _HIDE[kind]
        changed = _endpoint(self, value, data) if kind is Kind.ENDPOINT else hide(self, value)
        self.replaced += changed != value
        return changed

    def _path(self, data: JsonObject) -> dict[str, JsonValue]:
        path = RelPath.from_members(data)
        has_secret = Profile.SECRETS in self.profiles and without_secrets(str(path)) != str(path)
        if not has_secret and Profile.PATHS not in self.profiles:
            return path.members()
        self.replaced += "path_b64" in data or "path" in data
        return {"path": self.names.path(path.raw)}

    def text(self, value: str) -> str:
        """Return a text that stays, without what is hidden elsewhere."""
        swept = self.names.swept(value)
        return without_secrets(swept) if Profile.SECRETS in self.profiles else swept


def _within(hider: Hider, value: JsonValue) -> JsonValue:
    """Sweep every text in a value; names of members stay."""
    if isinstance(value, str):
        return hider.text(value)
    if isinstance(value, Mapping):
        return {name: _within(hider, item) for name, item in value.items()}
    return [_within(hider, item) for item in value] if isinstance(value, (list, tuple)) else value


def _under(profiles: frozenset[Profile]) -> Callable[[Hider, JsonValue], JsonValue]:
    """Return what hides a value as a whole under any of these profiles, and sweeps it else."""
    return lambda hider, value: _blank(value) if hider.profiles & profiles else _within(hider, value)


def _blank(value: JsonValue) -> JsonValue:
    if isinstance(value, (list, tuple)):
        return [_blank(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _blank(item) for name, item in value.items()}
    return REDACTED if isinstance(value, str) else value


def _details(hider: Hider, value: JsonValue) -> JsonValue:
    return {} if hider.profiles & _SPOKEN else _within(hider, value)


def _host(hider: Hider, value: JsonValue) -> JsonValue:
    if isinstance(value, str) and Profile.HOSTS in hider.profiles:
        return hider.names.host(value)
    return _within(hider, value)


def _roots(hider: Hider, value: JsonValue) -> JsonValue:
    hides, items = Profile.PATHS in hider.profiles, value if isinstance(value, (list, tuple)) else ()
    return [item if item == "." else REDACTED if hides else _within(hider, item) for item in items]


def _argv(hider: Hider, value: JsonValue) -> JsonValue:
    """Hide a command line as a whole, or those of its words that may be a path or a host, and secrets."""
    if Profile.ARGV in hider.profiles:
        return [REDACTED]
    words = [str(word) for word in value] if isinstance(value, (list, tuple)) else []
    if Profile.SECRETS in hider.profiles:
        words = argv_without_secrets(words)
    forms = [
        form for profile, form in ((Profile.PATHS, _HAS_PATH), (Profile.HOSTS, _HAS_HOST)) if profile in hider.profiles
    ]
    return [REDACTED if any(form.search(word) for form in forms) else hider.names.swept(word) for word in words]


def _policy(hider: Hider, value: JsonValue) -> JsonValue:
    if not isinstance(value, Mapping):
        return value
    return {section: _section(hider, section, document) for section, document in value.items()}


def _section(hider: Hider, section: str, document: JsonValue) -> JsonValue:
    if not isinstance(document, Mapping):
        return _within(hider, document) if section == "name" else document
    hidden: dict[str, JsonValue] = {}
    for key, item in document.items():
        if (section, key) == ("files", "watch"):
            hidden[key] = _roots(hider, item)
        elif (section, key) in POLICY_PATHS:
            hidden[key] = _under(frozenset((Profile.PATHS,)))(hider, item)
        elif (section, key) in POLICY_HOSTS or section in POLICY_HOST_SECTIONS:
            hidden[key] = _under(frozenset((Profile.HOSTS,)))(hider, item)
        else:
            hidden[key] = _without_secrets(hider, item)
    return hidden


def _without_secrets(hider: Hider, value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return without_secrets(value) if Profile.SECRETS in hider.profiles else value
    if isinstance(value, (list, tuple)):
        return [_without_secrets(hider, item) for item in value]
    return value


def _endpoint(hider: Hider, value: JsonValue, data: JsonObject) -> JsonValue:
    """Hide the parts of a request's path that are no words of an API and not the model, and what is behind a `?`."""
    if not isinstance(value, str) or Profile.HOSTS not in hider.profiles:
        return _within(hider, value)
    path, mark, _ = value.partition("?")
    models = [text for text in (data.get("model"), data.get("requested_model")) if isinstance(text, str) and text]
    parts = []
    for part in path.split("/"):
        name, colon, verb = part.partition(":")
        is_plain = not name or _API_WORDS.fullmatch(name) is not None or name in models
        parts.append(f"{name}{colon}{verb}" if is_plain and (not verb or verb.isalpha()) else REDACTED)
    return "/".join(parts) + (mark and f"?{REDACTED}")


_HIDE: Mapping[Kind, Callable[[Hider, JsonValue], JsonValue]] = {
    Kind.NAME: _within,
    Kind.PROSE: _under(_SPOKEN),
    Kind.LABEL: _under(frozenset((Profile.ARGV,))),
    Kind.ARGV: _argv,
    Kind.PLACE: _under(frozenset((Profile.PATHS,))),
    Kind.TARGET: _under(frozenset((Profile.PATHS,))),
    Kind.ROOTS: _roots,
    Kind.HOST: _host,
    Kind.HOSTS_OF: _under(frozenset((Profile.HOSTS,))),
    Kind.ENDPOINT: _within,
    Kind.ACCOUNT: _within,
    Kind.POLICY: _policy,
    Kind.DETAILS: _details,
}
