"""Any tree that a pass could have seen reads back from its manifest as it was."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.tree.details import Details
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, listing_of, tree_order
from docket.formats.tree.manifest import Manifest, ManifestHead, SnapshotLimits, SurfaceRules, decode_manifest
from docket.formats.tree.manifest_scan import read_manifest
from docket.formats.tree.manifest_text import manifest_text

BESIDE = (
    b'{"bytes_shared":0,"bytes_stored":0,"bytes_watched":0,"directories":[],"docket_number":"n","entries":[],'
    b'"format":"docket/snapshot/v1","limits":{"max_bytes":0,"max_entries":0,"max_file_bytes":0},"not_covered":[],'
    b'"not_preserved":[],"root":"/t","root_identity":{"device":"1","inode":"2"},"session_id":"s",'
    b'"surface":{"evidence":[],"ignore":[],"watch":[]},"symlinks":[],"taken_at":"2026-01-31T12:00:00Z",'
    b'"tree_sha256":"%s"}\n' % (b"5a" * 32)
)
PIECES = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"\\",
    b" ",
    b"0",
    b"9",
    b"/",
    b"\xc3",
    b"\xe9",
    b"\x1f",
    b"\n",
    b"\\u0061",
)
NAME = st.binary(min_size=1, max_size=12).filter(
    lambda raw: b"/" not in raw and b"\0" not in raw and raw not in (b".", b"..")
)
TIME = st.integers(-(2**63), 2**63 - 1)
KINDS = st.tuples(st.sampled_from("fdl"), st.integers(0, 0o7777), st.integers(0, 200), TIME, NAME)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAME, KINDS, max_size=12), st.binary(max_size=9).filter(lambda raw: b"\0" not in raw))
def test_what_was_seen_is_what_is_read(tree: dict[bytes, tuple[str, int, int, int, bytes]], root: bytes) -> None:
    digest = Digest("5a" * 32)
    files = {name: row for name, row in tree.items() if row[0] == "f"}
    folders = {name: row for name, row in tree.items() if row[0] == "d"}
    links = {name: row for name, row in tree.items() if row[0] == "l"}
    listing = listing_of([
        *(FileEntry(path=RelPath(n), size=r[2], mode=r[1], mtime_ns=r[3], sha256=digest) for n, r in files.items()),
        *(DirectoryEntry(path=RelPath(n), mode=r[1]) for n, r in folders.items()),
        *(SymlinkEntry(path=RelPath(n), target=r[4]) for n, r in links.items()),
    ])  # fmt: skip
    listing.details = Details(directory_mtimes=packed(folders), symlink_mtimes=packed(links))
    head = ManifestHead(
        session_id="s", docket_number="n", root=b"/" + root, root_identity=(1, 2), taken_at="2026-01-31T12:00:00Z",
        tree_sha256=listing.tree_sha256, surface=SurfaceRules(watch=(), ignore=(), evidence=()),
        limits=SnapshotLimits(max_bytes=0, max_file_bytes=100, max_entries=0),
        bytes_watched=0, bytes_stored=0, bytes_shared=0,
    )  # fmt: skip
    text = manifest_text(head, listing)
    assert encode(decode(text[:-1])) == text[:-1]
    manifest = decode_manifest(text)
    assert read_manifest(text) == manifest
    assert manifest.head == head
    kept = {n: r for n, r in files.items() if r[2] <= 100}
    assert {f.path.raw: (f.mode, f.content.size, f.mtime_ns) for f in manifest.files} == {
        n: (r[1], r[2], r[3]) for n, r in kept.items()
    }
    assert {item.path.raw for item in manifest.not_covered} == set(files) - set(kept)
    assert {d.path.raw: (d.mode, d.mtime_ns) for d in manifest.directories} == {
        n: (r[1], r[3]) for n, r in folders.items()
    }
    assert {s.path.raw: (s.target, s.mtime_ns) for s in manifest.symlinks} == {
        n: (r[4], r[3]) for n, r in links.items()
    }


ENTRY = b'{"blob":"5a/%(rest)s","mode":420,"mtime_ns":"7","path":"%(path)s","sha256":"5a%(rest)s","size":3}'


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"b/c", b"b", b"x y", b"."]), max_size=3), st.data())
def test_what_few_files_are_asked_of_is_taken_or_refused_as_the_whole_is(
    paths: list[bytes], data: st.DataObject
) -> None:
    entries = b",".join(ENTRY % {b"rest": b"5a" * 31, b"path": path} for path in paths)
    text = bytearray(BESIDE.replace(b'"entries":[]', b'"entries":[' + entries + b"]"))
    begin = text.index(b'"entries"')
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(begin, begin + len(entries) + 20))
        text[place : place + data.draw(st.integers(0, 1))] = data.draw(st.sampled_from([*PIECES, b""]))
    outcomes: list[object] = []
    for read in (decode_manifest, read_manifest):
        try:
            outcomes.append(read(bytes(text)))
        except InvalidDocumentError as error:
            outcomes.append((error.reason, error.detail))
    assert outcomes[0] == outcomes[1]
    try:
        few: Manifest | None = read_manifest(bytes(text), lambda _: False)
    except InvalidDocumentError:
        few = None
    assert (few is None) == isinstance(outcomes[0], tuple)


def packed(rows: dict[bytes, tuple[str, int, int, int, bytes]]) -> bytes:
    return b"".join(struct.pack("<q", rows[name][3]) for name in sorted(rows, key=tree_order))
