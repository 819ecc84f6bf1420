"""The `workspace_tx.*` lines of a run: what became of its stage, and what a transaction says nothing about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from docket.formats.canonical import JsonObject, JsonValue, object_at

_NAMES = (
    ("transaction", "id"),
    ("outcome", "outcome"),
    ("reason", "reason"),
    ("detail", "detail"),
    ("backend", "backend"),
    ("view", "view"),
    ("base_sha256", "base"),
    ("result_sha256", "result"),
    ("diff_sha256", "diff"),
)


def block(receipt: JsonObject) -> Iterator[str]:
    """Yield the lines, a name and a value each; none for a run without a transaction."""
    member = receipt.get("workspace")
    if not isinstance(member, Mapping):
        return
    for name, shown in _NAMES:
        if member.get(name) is not None:
            yield f"workspace_tx.{shown}: {member[name]}"
    if "changes" in member:
        changes = object_at(member, "changes")
        yield f"workspace_tx.changes: {', '.join(f'{changes[name]} {name}' for name in changes)}"
        yield f"workspace_tx.protected: {member.get('protected_changes')} changed, approval: {member.get('approval')}"
        yield f"workspace_tx.base_moved: {'yes' if member.get('base_moved') else 'no'}"
    for name in ("refusals", "not_preserved", "excluded_writes"):
        for item in _items(member.get(name)):
            reason = f" ({item['reason']})" if "reason" in item else ""
            other = f", transaction {item['transaction']} landed there" if "transaction" in item else ""
            yield f"workspace_tx.{name}: {item.get('path', item.get('path_b64'))}{reason}{other}"
    if member.get("refusals"):
        yield f"workspace_tx.store: {member.get('store')}"
    yield f"workspace_tx.not_transactional: {', '.join(str(item) for item in _texts(member['not_transactional']))}"


def _items(value: JsonValue) -> Iterator[JsonObject]:
    for item in _texts(value):
        if isinstance(item, Mapping):
            yield item


def _texts(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
