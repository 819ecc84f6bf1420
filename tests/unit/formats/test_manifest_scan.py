"""A manifest of which few files are asked for: the same as decoded whole, and refused for the same reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode
from docket.formats.tree.address import Address, blob_name
from docket.formats.tree.manifest import Manifest, decode_manifest
from docket.formats.tree.manifest_scan import read_manifest
from manifest_lab import manifest_head

VECTORS = sorted((Path(__file__).parents[3] / "spec" / "vectors" / "snapshot").glob("*.json"))
CONTENT = Address.of(b"old")


def entry(path: str, **more: object) -> dict[str, object]:
    members = {
        "blob": blob_name(CONTENT.sha256), "mode": 0o644, "mtime_ns": "1700000000123456789", "path": path,
        "sha256": CONTENT.sha256, "size": CONTENT.size,
    }  # fmt: skip
    return members | more


def document(*entries: dict[str, object], **lists: object) -> bytes:
    members = {"directories": [], "symlinks": [], "not_covered": [], "not_preserved": []}
    return encode({**manifest_head().members(), **members, **lists, "entries": list(entries)}) + b"\n"  # type: ignore[dict-item]


def both(data: bytes) -> tuple[Manifest | str, Manifest | str]:
    """What the decoder says, and what the scan says: a manifest, or the reason and detail of a refusal."""
    found: list[Manifest | str] = []
    for read in (decode_manifest, read_manifest):
        try:
            found.append(read(data))
        except InvalidDocumentError as error:
            found.append(f"{error.reason}: {error.detail}")
    return found[0], found[1]


def agrees(data: bytes) -> Manifest | str:
    decoded, scanned = both(data)
    assert scanned == decoded
    if isinstance(decoded, str):
        with pytest.raises(InvalidDocumentError):
            read_manifest(data, lambda _: False)
    else:
        some = read_manifest(data, lambda _: False)
        assert set(some.files) <= set(decoded.files)
        assert (some.head, some.directories, some.symlinks, some.not_covered, some.not_preserved) == (
            decoded.head, decoded.directories, decoded.symlinks, decoded.not_covered, decoded.not_preserved,
        )  # fmt: skip
    return decoded


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_vector_is_taken_or_refused_alike(path: Path) -> None:
    vector = json.loads(path.read_bytes())
    sides = [vector[side]["text"] for side in ("accepted", "refused") if "text" in vector.get(side, {})]
    assert sides
    for text in sides:
        agrees(text.encode("utf-8", "surrogatepass"))


def test_only_what_is_asked_for_and_what_tells_more_is_made() -> None:
    data = document(entry("a"), entry("b", link_group=1), entry("c", sparse=True), entry("d"), entry("é"))
    assert [str(item.path) for item in read_manifest(data, lambda raw: raw == b"d").files] == ["b", "c", "d"]
    assert [str(item.path) for item in read_manifest(data).files] == ["a", "b", "c", "d", "é"]
    assert isinstance(agrees(data), Manifest)


DIRECTORY = {"mode": 0o755, "mtime_ns": "0", "path": "d"}
LINK = {"mtime_ns": "0", "path": "l", "target": "x"}
XATTR = {"name": "dXNlci5h", "value": "fXsiXA=="}


@pytest.mark.parametrize(
    "data",
    [
        document(),
        document(entry("a")),
        document(entry('q"\\\n'), entry("{}[],")),
        document(entry("a", xattrs=[XATTR])),
        document(entry("a", mtime_ns="-1"), entry("b", mtime_ns="9223372036854775807"), entry("c", size=2**53 - 1)),
        document(entry("d/x"), entry("d-x"), directories=[DIRECTORY]),
        document(entry("a"), entry("m"), symlinks=[LINK]),
        document(entry('a,"entries":['), entry('b],"format":"')),
        document(entry("z"), directories=[DIRECTORY], symlinks=[LINK]),
        document(directories=[DIRECTORY], symlinks=[LINK]),
    ],
)
def test_what_is_a_manifest(data: bytes) -> None:
    assert isinstance(agrees(data), Manifest)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        document(entry("b"), entry("a")),
        document(entry("a"), entry("a")),
        document(entry("a"), entry("a/x")),
        document(entry("d/x")).replace(b"d/x", b"d//"),
        document(entry("../x")),
        document(entry("a/./x")),
        document(entry("/a")),
        document(entry("x" * 16_385)),
        document(entry("a", mode=0o10000)),
        document(entry("a", mode=9999)),
        document(entry("a", mtime_ns="9223372036854775808")),
        document(entry("a", mtime_ns="01")),
        document(entry("a", size=-1)),
        document(entry("a", blob="00/" + "0" * 62)),
        document(entry("a", more=1)),
        document(entry("d"), directories=[DIRECTORY]),
        document(entry("l/x"), symlinks=[LINK]),
        document(entry("l"), symlinks=[{**LINK, "path": "l/x"}]),
        document(entry("l"), entry("m"), symlinks=[{**LINK, "path": "l/x"}]),
        document(entry("a"), entry("b")).replace(b"},{", b"} ,{"),
        document(entry("a"), entry("b")).replace(b"},{", b"}{"),
        document(entry("a"), entry("b")).replace(b"},{", b"},,{"),
        document(entry("a")).replace(b'}],"format"', b'},],"format"'),
        document(entry("a")).replace(b'"entries":[{', b'"entries":[1,{'),
        document(entry("a")).replace(b'"path":"a"', b'"path":"\\u0061"'),
        document(entry("a")).replace(b'"path":"a"', b'"path":"\xff"'),
        document(entry("a")).replace(b'"path":"a"', b'"path":"\xed\xa0\x80"'),
        document(entry("a"))[:-1],
        document(entry("a")) + b"\n",
        document(entry("a"), directories=[{**DIRECTORY, "entries": [], "format": ""}]),
    ],
)
def test_what_is_no_manifest_is_refused_as_the_decoder_does(data: bytes) -> None:
    assert isinstance(agrees(data), str)
