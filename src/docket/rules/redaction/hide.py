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
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.redaction_facts import Profile
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import DEFAULT_NAME
from docket.rules.redaction.familiar import METHODS, SERVICE, PublicPrices, is_known_variable
from docket.rules.redaction.hide_policy import policy
from docket.rules.redaction.names import REDACTED, Names
from docket.rules.redaction.naming import Chosen, Naming, faults_by_calls
from docket.rules.redaction.secrets import argv_without_secrets, without_secrets
from docket.rules.redaction.table import EVENTS, RECORDS, Kind, Member

_SPOKEN = frozenset((Profile.ARGV, Profile.HOSTS, Profile.NAMES, Profile.PATHS))
_FIGURE = re.compile(r"[0-9.,:%eE+-]*")
_AS_OF = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]|unknown")
_SCHEMAS = ("docket/price-book/v1", "docket/prices/v1")
_HAS_PATH = re.compile(r"[/\\]|\A~|\.[A-Za-z0-9]{1,8}\Z")
_HAS_HOST = re.compile(r"://|@|[A-Za-z0-9-]\.[A-Za-z]{2,}|(?:[0-9]{1,3}\.){3}[0-9]|\[?[0-9a-f]*:[0-9a-f:]+\]?")
# The words that paths of providers' APIs are made of; accounts, projects, regions and deployments are none of them.
_API_WORDS = re.compile(
    r"v[0-9]+(?:(?:alpha|beta)[0-9]*)?(?:internal)?|messages|chat|completions?|responses|embeddings?|models?|images?|audio"
    r"|batches|files|count_tokens|compact|openai|anthropic|google|publishers|projects|locations|deployments|converse"
    r"|converse-stream|invoke|invoke-with-response-stream|api|generate|generations|transcriptions|translations|speech"
    r"|moderations|edits|tags|ps|show|version|endpoints|inference-profile|cachedContents|input_tokens|cancel"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a copy is made with: the names that people and agents chose in the record, and what everybody knows."""

    chosen: Chosen = field(default_factory=Chosen)
    public: PublicPrices = field(default_factory=PublicPrices)


class Hider:
    """Hides by `profiles` with the names of one copy; `replaced` counts the values that it hid or changed."""

    def __init__(self, profiles: frozenset[Profile], names: Names, known: Known | None = None) -> None:
        self.profiles, self.names, self.replaced = profiles, names, 0
        self._known = known or Known()
        self._naming = Naming(self._known.chosen, self._known.public)

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
        if kind in (Kind.WORD, Kind.OWN, Kind.LINK):
            return value
        if kind is Kind.DIGEST:
            return self.names.digest(value) if isinstance(value, str) else value
        if kind in _BY_NAME:
            changed = self.each(kind, value)
        elif kind in _BESIDE:
            changed = _BESIDE[kind](self, value, data)
        else:
            changed = _HIDE[kind](self, value)
        self.replaced += changed != value
        return changed

    def _path(self, data: JsonObject) -> dict[str, JsonValue]:
        path = RelPath.from_members(data)
        has_secret = Profile.SECRETS in self.profiles and without_secrets(str(path)) != str(path)
        if not has_secret and Profile.PATHS not in self.profiles:
            return path.members()
        self.replaced += "path_b64" in data or "path" in data
        return {"path": self.names.path(path.raw)}

    @property
    def hides_names(self) -> bool:
        """Whether names are hidden."""
        return Profile.NAMES in self.profiles

    def named(self, kind: Kind, text: str) -> str:
        """Return what stands for a name, which stays without the profile: what a secret stands in goes there too."""
        if self.hides_names:
            return self._naming.name(kind, text)
        return self.text(text) if kind in _FREE else text

    def each(self, kind: Kind, value: JsonValue) -> JsonValue:
        """Return what stands for a name, or for each of an array."""
        if isinstance(value, (list, tuple)):
            return [self.each(kind, item) for item in value]
        return self.named(kind, value) if isinstance(value, str) else value

    def pattern(self, kind: Kind, text: str) -> str:
        """Return what stands for a pattern of a budget."""
        return self._naming.pattern(kind, text) if self.hides_names else text

    def row(self, text: str) -> str:
        """Return the name of a priced row."""
        return self._naming.row(text) if self.hides_names else text

    def price(self, text: str) -> str:
        """Return the pattern of a family."""
        return self._naming.price(text) if self.hides_names else text

    def scope(self, text: str, scope: JsonValue) -> str:
        """Return the name of what a limit is about."""
        return self._naming.scope(text, scope) if self.hides_names else text

    def faults(self, rules: list[str]) -> list[str]:
        """Return the rules of a plan of faults."""
        return faults_by_calls(rules, self._known.chosen.calls) if self.profiles & _SPOKEN else rules

    def is_public(self, pattern: str) -> bool:
        """Whether a pattern of models is made of what everybody knows."""
        return all(self._known.public.knows_part(part) for part in pattern.split("*") if part)

    @property
    def public(self) -> PublicPrices:
        """What everybody can read of prices."""
        return self._known.public

    def title(self, value: JsonValue) -> JsonValue:
        """Return a free name of a person's."""
        return value if value == DEFAULT_NAME else self.under(value, Profile.NAMES)

    def under(self, value: JsonValue, *profiles: Profile) -> JsonValue:
        """Return a value that is hidden as a whole under any of these profiles, and swept else."""
        return _blank(value) if self.profiles.intersection(profiles) else _within(self, value)

    def roots(self, value: JsonValue) -> JsonValue:
        """Return watched folders; the tree itself is no secret."""
        hides, items = Profile.PATHS in self.profiles, value if isinstance(value, (list, tuple)) else ()
        return [item if item == "." else REDACTED if hides else _within(self, item) for item in items]

    @staticmethod
    def is_figure(text: str) -> bool:
        """Whether a text is a number, an amount, a length or an instant."""
        return _FIGURE.fullmatch(text) is not None

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
    return lambda hider, value: hider.under(value, *profiles)


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
    return hider.roots(value)


def _figure(hider: Hider, value: JsonValue) -> JsonValue:
    """Return numbers in writing; what else stands there is nobody's number."""
    if isinstance(value, Mapping):
        return {name: _figure(hider, item) for name, item in value.items()}
    return REDACTED if isinstance(value, str) and not hider.is_figure(value) else value


def _one_of(known: frozenset[str]) -> Callable[[Hider, JsonValue], JsonValue]:
    """Return what keeps these words alone, whatever is hidden beside secrets."""
    return lambda hider, value: value if value in known or not hider.profiles & _SPOKEN else REDACTED


def _variables(hider: Hider, value: JsonValue) -> JsonValue:
    names = [str(item) for item in value] if isinstance(value, (list, tuple)) else []
    return [name if is_known_variable(name) or not hider.hides_names else REDACTED for name in names]


def _source(hider: Hider, value: JsonValue) -> JsonValue:
    is_plain = isinstance(value, str) and hider.public.is_source(value)
    return value if is_plain else hider.under(value, *_SPOKEN)


def _table(hider: Hider, value: JsonValue) -> JsonValue:
    """Hide which table prices are of, unless it is the public one: a digest of somebody's own would confirm a guess."""
    if not isinstance(value, Mapping):
        return value
    digest, hides = value.get("digest"), bool(hider.profiles & _SPOKEN)
    own = {name: item for name, item in value.items() if name not in ("schema", "as_of", "digest")}
    kept = {name: hider.under(item, *_SPOKEN) for name, item in own.items()}
    for name, is_plain in (("schema", value.get("schema") in _SCHEMAS), ("as_of", _is_date(value.get("as_of")))):
        if name in value:
            kept[name] = value[name] if is_plain or not hides else REDACTED
    if "digest" in value:
        is_own = isinstance(digest, str) and digest != hider.public.digest
        kept["digest"] = hider.names.digest(str(digest)) if is_own else digest
    return kept


def _is_date(value: JsonValue) -> bool:
    return isinstance(value, str) and _AS_OF.fullmatch(value) is not None


def _faults(hider: Hider, value: JsonValue) -> JsonValue:
    return list(hider.faults([str(item) for item in value])) if isinstance(value, (list, tuple)) else value


def _rows(hider: Hider, value: JsonValue) -> JsonValue:
    return hider.row(value) if isinstance(value, str) else value


def _price(hider: Hider, value: JsonValue) -> JsonValue:
    return hider.price(value) if isinstance(value, str) else value


def _title(hider: Hider, value: JsonValue) -> JsonValue:
    return hider.title(value)


def _overrides(hider: Hider, value: JsonValue) -> JsonValue:
    if not isinstance(value, Mapping):
        return value
    return {hider.named(Kind.PROVIDER, name): hider.under(item, Profile.HOSTS) for name, item in value.items()}


def _scope(hider: Hider, value: JsonValue, data: JsonObject) -> JsonValue:
    return hider.scope(value, data.get("scope")) if isinstance(value, str) else value


def _remark(hider: Hider, value: JsonValue, data: JsonObject) -> JsonValue:
    """Hide the code of an agent's own remark; docket's are of a list."""
    return hider.each(Kind.REMARK, value) if "reported_by" in data or not hider.hides_names else value


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


def _endpoint(hider: Hider, value: JsonValue, data: JsonObject) -> JsonValue:
    """Hide the parts of a request's path that are no words of an API and not the model, and what is behind a `?`."""
    if not isinstance(value, str) or Profile.HOSTS not in hider.profiles:
        return _within(hider, value)
    path, mark, _ = value.partition("?")
    models = [] if hider.hides_names else _models(data)
    parts = []
    for part in path.split("/"):
        name, colon, verb = part.partition(":")
        is_plain = not name or _API_WORDS.fullmatch(name) is not None or name in models or hider.public.knows(name)
        parts.append(f"{name}{colon}{verb}" if is_plain and (not verb or verb.isalpha()) else REDACTED)
    return "/".join(parts) + (mark and f"?{REDACTED}")


def _models(data: JsonObject) -> list[str]:
    return [text for text in (data.get("model"), data.get("requested_model")) if isinstance(text, str) and text]


# What is priced, summed or capped by stays as it is without the profile; the others may name what another one hides.
_FREE = frozenset((Kind.TOOL, Kind.USE, Kind.SESSION, Kind.TURN, Kind.REMARK))
_BY_NAME = _FREE - {Kind.REMARK} | {Kind.MODEL, Kind.PROVIDER, Kind.AGENT, Kind.POOL}
_BESIDE: Mapping[Kind, Callable[[Hider, JsonValue, JsonObject], JsonValue]] = {
    Kind.ENDPOINT: _endpoint,
    Kind.SCOPE: _scope,
    Kind.REMARK: _remark,
}
_HIDE: Mapping[Kind, Callable[[Hider, JsonValue], JsonValue]] = {
    Kind.FIGURE: _figure,
    Kind.TITLE: _title,
    Kind.ROW: _rows,
    Kind.PRICE: _price,
    Kind.SOURCE: _source,
    Kind.TABLE: _table,
    Kind.SERVICE: _one_of(SERVICE),
    Kind.METHOD: _one_of(METHODS),
    Kind.VARIABLES: _variables,
    Kind.FAULTS: _faults,
    Kind.PROSE: _under(_SPOKEN),
    Kind.LABEL: _under(frozenset((Profile.ARGV,))),
    Kind.ARGV: _argv,
    Kind.PLACE: _under(frozenset((Profile.PATHS,))),
    Kind.TARGET: _under(frozenset((Profile.PATHS,))),
    Kind.ROOTS: _roots,
    Kind.HOST: _host,
    Kind.HOSTS_OF: _under(frozenset((Profile.HOSTS,))),
    Kind.OVERRIDES: _overrides,
    Kind.ACCOUNT: _within,
    Kind.POLICY: policy,
    Kind.DETAILS: _details,
}
