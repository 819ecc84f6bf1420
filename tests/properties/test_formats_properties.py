"""Round trips and agreement with second writings of the same rules."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from types import UnionType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue, decode, decode_document, encode, encode_document
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, draft, seal
from docket.formats.ledger.lines import encode_line, follow
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.merkle import MerkleTree, root_from_path
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage

LIMIT = 2**53 - 1
INTEGERS = st.integers(-LIMIT, LIMIT)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def spelled(value) -> str:
    """Canonical form once more, character by character."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"{value:d}"
    if isinstance(value, str):
        inside = "".join(ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 0x20 else c) for c in value)
        return f'"{inside}"'
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    ordered = sorted(value, key=lambda key: [ord(c) for c in key])
    return "{" + ",".join(f"{spelled(key)}:{spelled(value[key])}" for key in ordered) + "}"


@given(JSON)
def test_canonical_form_agrees_with_a_second_writing_and_goes_round(value):
    data = encode(value)
    assert data == spelled(value).encode("utf-8")
    assert decode(data) == value
    assert decode_document(data) == value
    assert decode_document(encode_document(value)) == value


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_no_other_spelling_is_canonical(value, indent, ascii_only):
    other = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8")
    assert decode_document(other) == value
    if other != spelled(value).encode("utf-8"):
        with pytest.raises(InvalidDocumentError):
            decode(other)


@given(st.binary(max_size=60) | st.text('{}[]",:0123456789.eE+-\\u tfn\n', max_size=30).map(str.encode))
def test_any_bytes_are_a_value_or_a_refusal(data):
    for read in (decode, decode_document):
        try:
            value = read(data)
        except InvalidDocumentError:
            continue
        assert decode(encode(value)) == value
        if read is decode:
            assert encode(value) == data


@given(st.integers(0, 10**18 - 1))
def test_an_amount_is_its_text(micros):
    text = str(Usd(micros))
    assert Usd.parse_canonical(text) == Usd(micros)
    assert Fraction(text) == Fraction(micros, 10**6)
    assert len(text.partition(".")[2]) == (2 if micros % 10_000 == 0 else 6)


@given(st.binary(max_size=50))
def test_a_path_goes_round_or_is_refused(raw):
    parts = raw.split(b"/")
    fine = all(part not in (b"", b".", b"..") and b"\0" not in part for part in parts)
    try:
        path = RelPath.parse(raw)
    except InvalidDocumentError:
        assert not fine
        return
    assert fine
    members = decode(encode(path.members()))
    assert RelPath.from_members(members) == path


def largest_power_below(count: int) -> int:
    power = 1
    while power * 2 < count:
        power *= 2
    return power


def rfc6962(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962 section 2.1 as its recursion is written there."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = largest_power_below(len(leaves))
    return sha256(b"\x01" + rfc6962(leaves[:k]) + rfc6962(leaves[k:])).digest()


@settings(max_examples=50)
@given(st.lists(st.binary(min_size=32, max_size=32), max_size=70))
def test_the_tree_is_that_of_rfc_6962(raws):
    hashes = [raw.hex() for raw in raws]
    tree = MerkleTree(hashes)
    assert tree.root == rfc6962(raws).hex()
    assert all(root_from_path(item, tree.path(index)) == tree.root for index, item in enumerate(hashes))


@given(st.lists(st.tuples(TEXTS.filter(lambda text: 0 < len(text) <= 128), st.dictionaries(TEXTS, JSON, max_size=3)),
                max_size=5), st.integers(1, 200))  # fmt: skip
def test_a_ledger_goes_round_in_chunks_of_any_size(drafts, size):
    prev, events = GENESIS, []
    for seq, (type_, data) in enumerate(drafts):
        events.append(seal(draft(type_, data), seq=seq, ts="2026-01-31T09:00:00.000Z", prev=prev))
        prev = events[-1].hash
    whole = b"".join(map(encode_line, events))
    assert list(follow(whole[i : i + size] for i in range(0, len(whole), size))) == events


def usages() -> st.SearchStrategy[Usage]:
    counts = st.integers(0, 2**40)
    return st.builds(
        lambda fresh, cached, written, output: Usage(
            input_tokens=fresh + cached + written, cached_input_tokens=cached, cache_write_5m_tokens=written,
            output_tokens=output,
        ),
        counts, counts, counts, counts,
    )  # fmt: skip


def paths() -> st.SearchStrategy[RelPath]:
    names = st.binary(min_size=1, max_size=8).filter(lambda raw: raw not in (b".", b"..") and not set(raw) & {0, 47})
    return st.lists(names, min_size=1, max_size=3).map(lambda parts: RelPath(b"/".join(parts)))


def values_of(kind) -> st.SearchStrategy:
    """Values of an annotation, as the payload classes use them."""
    simple = {
        str: TEXTS,
        bool: st.booleans(),
        int: INTEGERS,
        Usd: st.integers(0, 10**15).map(Usd),
        Digest: st.binary(min_size=32, max_size=32).map(lambda raw: raw.hex()),
        RelPath: paths(),
        Usage: usages(),
    }
    if kind in simple:
        return simple[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (UnionType, typing.Union):
        return st.none() | values_of(arguments[0])
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXTS, JSON, max_size=3)
    if issubclass(kind, StrEnum):
        return st.sampled_from(list(kind))
    hints = typing.get_type_hints(kind, localns={"Sequence": Sequence, "Mapping": Mapping, "JsonValue": JsonValue})
    members = {item.name: values_of(hints[item.name]) for item in fields(kind)}
    return st.fixed_dictionaries(members).map(lambda drawn: kind(**drawn))


@pytest.mark.parametrize("type_", sorted(PAYLOADS))
@settings(max_examples=25)
@given(data=st.data())
def test_every_payload_goes_round_through_its_line(type_, data):
    cls = PAYLOADS[type_]
    payload = data.draw(values_of(cls))
    members = decode(encode(payload.to_data()))
    assert payload.draft().encoded == encode(payload.to_data())
    assert from_members(cls, members, type_) == payload
    with pytest.raises(InvalidDocumentError, match="unknown member"):
        from_members(cls, {**members, "\u0000unknown": 1}, type_)
