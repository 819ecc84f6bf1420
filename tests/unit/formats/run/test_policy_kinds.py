"""The kinds of value of a policy key: every default and every value a key may have goes there and back."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.run.policy import KEYS
from docket.formats.run.policy_kinds import Flag, Fraction, Text, is_line, shown_toml


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_every_default_goes_through_json_and_back(key):
    key.kind.check(key.default)
    written = json.loads(json.dumps(key.kind.to_json(key.default)))
    assert key.kind.from_json(written) == key.default
    assert key.kind.wants
    assert key.kind.toml_type


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key.kind.to_json(key.default) is not None], ids=lambda k: k.path
)
def test_every_default_may_be_written_in_a_file(key):
    assert key.kind.from_toml(key.kind.to_json(key.default)) == key.default


def test_a_text_is_a_line():
    assert Text().from_json("a b") == "a b"
    for text in ("", " ", "a ", "a\tb", "a\x7f", "\ud800"):
        assert not is_line(text)
        with pytest.raises(InvalidDocumentError):
            Text().from_toml(text)


def test_an_optional_fraction_is_null_or_a_number():
    kind = Fraction(wants="x", minimum=Decimal(0), maximum=Decimal(9), optional=True)
    assert kind.from_json(None) is None
    assert kind.from_json("0.5") == Decimal("0.5")
    with pytest.raises(InvalidDocumentError, match="canonical"):
        kind.from_json("0.50")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        ({}, "a table"),
        ([], "an array"),
        ((), "an array"),
        (5, "5"),
        (Decimal("NaN"), "NaN"),
        (Decimal("-Infinity"), "-Infinity"),
        ("x", "'x'"),
        ("x" * 90, "'" + "x" * 56 + "..."),
    ],
)
def test_values_are_shown_short(value, text):
    assert shown_toml(value) == text


def test_a_flag_is_nothing_but_true_or_false():
    for value in (0, 1, "true", None):
        with pytest.raises(InvalidDocumentError, match="true or false"):
            Flag().from_json(value)
