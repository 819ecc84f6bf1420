"""Hides the texts of a policy's document, each as its key asks. What no key is known for is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from docket.formats.canonical import JsonValue
from docket.formats.ledger.redaction_facts import Profile
from docket.rules.redaction.names import REDACTED
from docket.rules.redaction.secrets import without_secrets
from docket.rules.redaction.table import POLICY, Kind, PolicyKind

if TYPE_CHECKING:
    from docket.rules.redaction.hide import Hider


def policy(hider: Hider, value: JsonValue) -> JsonValue:
    """Return a policy's document with what the profiles ask for hidden."""
    if not isinstance(value, Mapping):
        return value
    return {section: _section(hider, section, document) for section, document in value.items()}


def _section(hider: Hider, section: str, document: JsonValue) -> JsonValue:
    if section == "name":
        return hider.title(document)
    if not isinstance(document, Mapping):
        return document
    if section == "upstreams":
        return {hider.named(Kind.PROVIDER, key): hider.under(item, Profile.HOSTS) for key, item in document.items()}
    return {key: _key(hider, POLICY.get(f"{section}.{key}"), item) for key, item in document.items()}


def _key(hider: Hider, kind: PolicyKind | None, item: JsonValue) -> JsonValue:
    match kind:
        case PolicyKind.WORD:
            return item
        case PolicyKind.ROOTS:
            return hider.roots(item)
        case PolicyKind.PATHS:
            return hider.under(item, Profile.PATHS)
        case PolicyKind.HOSTS | PolicyKind.PRICED_AS:
            return hider.under(item, Profile.HOSTS, Profile.NAMES)
        case PolicyKind.POOLS:
            return hider.each(Kind.POOL, item)
        case PolicyKind.MODELS:
            return _models(hider, item)
        case PolicyKind.MODEL_BUDGETS | PolicyKind.AGENT_BUDGETS if isinstance(item, Mapping):
            named = Kind.MODEL if kind is PolicyKind.MODEL_BUDGETS else Kind.AGENT
            return {hider.pattern(named, pattern): limits for pattern, limits in item.items()}
    return _unknown(hider, item)


def _models(hider: Hider, value: JsonValue) -> JsonValue:
    patterns = [str(item) for item in value] if isinstance(value, (list, tuple)) else []
    if Profile.NAMES not in hider.profiles:
        return [_without_secrets(hider, pattern) for pattern in patterns]
    return [pattern if hider.is_public(pattern) else REDACTED for pattern in patterns]


def _unknown(hider: Hider, value: JsonValue) -> JsonValue:
    """Hide what is no number, flag or amount, of a key that nothing is known of."""
    if isinstance(value, Mapping):
        return {key: _unknown(hider, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unknown(hider, item) for item in value]
    if not isinstance(value, str) or hider.is_figure(value):
        return value
    return REDACTED if hider.profiles - {Profile.SECRETS} else without_secrets(value)


def _without_secrets(hider: Hider, value: str) -> str:
    return without_secrets(value) if Profile.SECRETS in hider.profiles else value
