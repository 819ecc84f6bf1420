"""Digests: the published SHA-256 vectors, and one spelling."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import digest_of, parse_digest, sha256
from docket.formats.reason import Reason

# FIPS 180-4 examples
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_known_digests():
    assert sha256(b"") == EMPTY
    assert sha256(b"abc") == ABC


def test_the_digest_of_a_value_is_that_of_its_canonical_bytes():
    # printf '{"a":1,"b":"x"}' | sha256sum
    assert digest_of({"b": "x", "a": 1}) == "ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667"


def test_a_digest_is_read_in_its_only_spelling():
    assert parse_digest(ABC) == ABC


@pytest.mark.parametrize(
    "text",
    ["", ABC[:-1], ABC + "0", ABC.upper(), f" {ABC}", f"{ABC}\n", "g" * 64, "\u0660" * 64, None, 5, ABC.encode()],
)
def test_anything_else_is_no_digest(text):
    with pytest.raises(InvalidDocumentError) as caught:
        parse_digest(text)
    assert caught.value.reason == Reason.NOT_A_DIGEST
