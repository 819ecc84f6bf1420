"""The listings of the specification, accepted and refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.listing import decode_listing, listing_of

SPEC = Path(__file__).parents[2] / "spec"
VECTORS = json.loads((SPEC / "vectors/tree.json").read_text("utf-8"))


def named(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


@pytest.mark.parametrize("vector", named(VECTORS["accepted"]))
def test_accepted(vector):
    listing = decode_listing(vector["document"].encode())
    assert listing.tree_sha256 == vector["tree_sha256"]
    counts = (listing.files, listing.directories, listing.symlinks, len(listing.omissions), listing.bytes_watched)
    assert counts == tuple(vector[name] for name in ("files", "directories", "symlinks", "omissions", "bytes"))
    assert listing_of(reversed(listing.records)).document == vector["document"].encode()
    answer = subprocess.run(["sha256sum"], input=vector["document"].encode(), capture_output=True, check=True)
    assert answer.stdout.split()[0].decode() == vector["tree_sha256"]


@pytest.mark.parametrize("vector", named(VECTORS["refused"]))
def test_refused(vector):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_listing(vector["document"].encode())
    assert caught.value.reason == vector["reason"]


def test_the_example_is_the_first_vector():
    text = (SPEC / "tree.md").read_text("utf-8")
    example = text.split("```\n")[1]
    assert example == VECTORS["accepted"][0]["document"]
    assert VECTORS["accepted"][0]["tree_sha256"] in text
