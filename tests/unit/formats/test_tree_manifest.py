"""A manifest as text and as values: what is read back, what is refused, and what a document may not say."""

from __future__ import annotations

import base64
import copy
import json
import struct

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address, blob_name
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import (
    DirectoryEntry,
    FileEntry,
    Kind,
    Listing,
    Omission,
    SymlinkEntry,
    listing_of,
)
from docket.formats.tree.manifest import ManifestHead, SnapshotLimits, SurfaceRules, decode_manifest
from docket.formats.tree.manifest_text import manifest_text
from docket.formats.tree.steps import Xattr

ONE = Digest("ab" * 32)
TWO = Digest("0123456789abcdef" * 4)


def head(**changes):
    members = {
        "session_id": "0123456789ab",
        "docket_number": "DKT-20261001-00C0DE",
        "root": b"/home/dev/tree",
        "root_identity": (2**64 - 1, 7),
        "taken_at": "2026-10-01T12:00:00.250Z",
        "tree_sha256": TWO,
        "surface": SurfaceRules(watch=(".",), ignore=("*.o",), evidence=(RelPath(b"caf\xe9"),)),
        "limits": SnapshotLimits(max_bytes=100, max_file_bytes=50, max_entries=10),
        "bytes_watched": 9,
        "bytes_stored": 8,
        "bytes_shared": 7,
    }
    return ManifestHead(**{**members, **changes})


def listed() -> Listing:
    listing = listing_of([
        FileEntry(path=RelPath(b"a"), size=3, mode=0o644, mtime_ns=-5, sha256=ONE),
        FileEntry(path=RelPath(b'b"\n\\'), size=3, mode=0o4755, mtime_ns=2**62, sha256=ONE),
        FileEntry(path=RelPath(b"large"), size=51, mode=0o600, mtime_ns=1, sha256=TWO),
        DirectoryEntry(path=RelPath(b"caf\xe9"), mode=0o2755),
        SymlinkEntry(path=RelPath(b"l"), target=b"\xff"),
        SymlinkEntry(path=RelPath(b"m"), target=b'","target":"x'),
        Omission(
            path=RelPath(b'o","reason":"excluded'), reason=Reason.SPECIAL_FILE, detail="a pipe", kind=Kind.FIFO,
            mode=0o600,
        ),
        Omission(path=RelPath(b"u"), reason=Reason.UNREADABLE),
        Omission(path=RelPath(b"z"), reason=Reason.UNREADABLE, detail="no", kind=Kind.FILE, mode=0, size=4),
        Omission(path=RelPath(b"zz"), reason=Reason.EXCLUDED, kind=Kind.DIRECTORY, mode=0o700),
    ])  # fmt: skip
    listing.details = Details(
        paths=(
            Detail(
                path=RelPath(b"a"), kind="file", identity=(1, 9), links=3,
                xattrs=((b"security.x", None), (b"user.t", b"\0")),
            ),
            Detail(path=RelPath(b'b"\n\\'), kind="file", identity=(1, 9), links=3, allocated_bytes=0, owner=12),
            Detail(path=RelPath(b"caf\xe9"), kind="directory", xattrs=((b"user.t", b"y"),)),
            Detail(path=RelPath(b"l"), kind="symlink", identity=(1, 10), links=2),
            Detail(path=RelPath(b"large"), kind="file", identity=(1, 11), links=1),
        ),
        directory_mtimes=struct.pack("<q", 6),
        symlink_mtimes=struct.pack("<2q", 7, 8),
    )  # fmt: skip
    return listing


def document():
    return json.loads(manifest_text(head(), listed()))


def refusal(changed):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_manifest(encode(changed) + b"\n")
    return caught.value.reason


def test_the_text_is_canonical_and_reads_back():
    text = manifest_text(head(), listed())
    assert encode(json.loads(text)) + b"\n" == text
    manifest = decode_manifest(text)
    assert manifest.head == head()
    first, second = manifest.files
    assert (first.path, first.content, first.mode, first.mtime_ns) == (RelPath(b"a"), Address(ONE, 3), 0o644, -5)
    assert (first.link_group, first.sparse, first.xattrs) == (1, False, (Xattr(b"user.t", b"\0"),))
    assert (second.path.raw, second.link_group, second.sparse, second.mtime_ns) == (b'b"\n\\', 1, True, 2**62)
    assert [(item.path.raw, item.mode, item.mtime_ns) for item in manifest.directories] == [(b"caf\xe9", 0o2755, 6)]
    links = [(item.path.raw, item.target, item.mtime_ns) for item in manifest.symlinks]
    assert links == [(b"l", b"\xff", 7), (b"m", b'","target":"x', 8)]
    assert [(item.path.raw, str(item.reason), item.size, item.sha256) for item in manifest.not_covered] == [
        (b"large", "too-large", 51, TWO), (b'o","reason":"excluded', "special-file", None, None),
        (b"u", "unreadable", None, None), (b"z", "unreadable", 4, None), (b"zz", "excluded", None, None),
    ]  # fmt: skip
    assert [(item.what, item.count, [path.raw for path in item.paths]) for item in manifest.not_preserved] == [
        ("attribute security.x", 1, [b"a"]), ("linked-symlink", 1, [b"l"]),
        ("names-outside", 2, [b"a", b'b"\n\\']), ("owner", 1, [b'b"\n\\']),
    ]  # fmt: skip
    assert [item.path.raw for item in manifest.kept()] == [b"caf\xe9", b"a", b'b"\n\\', b"l", b"m"]
    assert manifest.addresses() == (Address(ONE, 3),)


def test_a_root_that_is_no_text_is_kept_exactly():
    manifest = decode_manifest(manifest_text(head(root=b"/tree/\xff"), listing_of([])))
    assert manifest.head.root == b"/tree/\xff"
    assert (manifest.files, manifest.not_preserved) == ((), ())


def test_a_line_that_is_no_record_is_refused():
    listing = Listing(listing_of([]).document + b'{"kind":"file"}\n', counts=listing_of([]).counts)
    with pytest.raises(InvalidDocumentError):
        manifest_text(head(), listing)


ENTRY = ("entries", 0)
CHANGES = [
    (("format",), "docket/snapshot/v2", Reason.UNKNOWN_FORMAT),
    ((*ENTRY, "blob"), "../../../home/dev/.ssh/id", Reason.WRONG_VALUE),
    ((*ENTRY, "blob"), blob_name(TWO), Reason.WRONG_VALUE),
    ((*ENTRY, "sha256"), "AB" * 32, Reason.NOT_A_DIGEST),
    ((*ENTRY, "path"), "/etc/passwd", Reason.NOT_A_PATH),
    ((*ENTRY, "path"), "a/../b", Reason.NOT_A_PATH),
    ((*ENTRY, "path"), "a//b", Reason.NOT_A_PATH),
    ((*ENTRY, "path"), "", Reason.NOT_A_PATH),
    ((*ENTRY, "path"), "a\0", Reason.NOT_A_PATH),
    ((*ENTRY, "path_b64"), "YQ==", Reason.NOT_A_PATH),
    ((*ENTRY, "path"), "m", Reason.NOT_CANONICAL),
    ((*ENTRY, "mode"), 0o10000, Reason.WRONG_VALUE),
    ((*ENTRY, "mode"), -1, Reason.WRONG_VALUE),
    ((*ENTRY, "size"), -1, Reason.WRONG_VALUE),
    ((*ENTRY, "size"), 2**53 - 1, None),
    ((*ENTRY, "mtime_ns"), 5, Reason.WRONG_TYPE),
    ((*ENTRY, "mtime_ns"), "05", Reason.WRONG_VALUE),
    ((*ENTRY, "mtime_ns"), "9223372036854775808", Reason.WRONG_VALUE),
    ((*ENTRY, "mtime_ns"), "٣", Reason.WRONG_VALUE),
    ((*ENTRY, "link_group"), 0, Reason.WRONG_VALUE),
    ((*ENTRY, "sparse"), False, Reason.WRONG_VALUE),
    ((*ENTRY, "xattrs"), [], Reason.WRONG_VALUE),
    ((*ENTRY, "xattrs", 0, "name"), "c2VjdXJpdHkueA==", Reason.WRONG_VALUE),
    ((*ENTRY, "xattrs", 0, "value"), "A", Reason.WRONG_VALUE),
    ((*ENTRY, "xattrs", 0, "value"), "AB==", Reason.NOT_CANONICAL),
    ((*ENTRY, "other"), 1, Reason.UNKNOWN_MEMBER),
    (("symlinks", 0, "target"), "also", Reason.WRONG_VALUE),
    (("symlinks", 1, "target"), "", Reason.WRONG_VALUE),
    (("symlinks", 1, "target"), "a\0", Reason.WRONG_VALUE),
    (("symlinks", 1, "path"), "a", Reason.NOT_CANONICAL),
    (("symlinks", 0, "path"), "a", Reason.DUPLICATE_KEY),
    (("symlinks", 0, "path"), "a/under", Reason.WRONG_VALUE),
    (("root",), "home", Reason.NOT_A_PATH),
    (("root",), "/a\0", Reason.NOT_A_PATH),
    (("root_identity", "inode"), "-1", Reason.WRONG_VALUE),
    (("root_identity", "inode"), "18446744073709551616", Reason.WRONG_VALUE),
    (("not_preserved", 0, "count"), 0, Reason.WRONG_VALUE),
    (("not_covered", 0, "reason"), "because", Reason.WRONG_VALUE),
    (("limits", "max_bytes"), "1", Reason.WRONG_TYPE),
    (("taken_at",), "yesterday", Reason.NOT_AN_INSTANT),
    (("entries",), {}, Reason.WRONG_TYPE),
    (("surface", "more"), 1, Reason.UNKNOWN_MEMBER),
]


@pytest.mark.parametrize(("place", "value", "reason"), CHANGES, ids=lambda value: str(value)[:40])
def test_a_doctored_manifest_is_refused(place, value, reason):
    changed = copy.deepcopy(document())
    at = changed
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    if reason is None:
        decode_manifest(encode(changed) + b"\n")
    else:
        assert refusal(changed) == reason


def test_bytes_that_are_not_the_only_spelling_are_refused():
    text = manifest_text(head(), listed())
    for changed in (text[:-1], text + b"\n", b" " + text, json.dumps(document(), indent=1).encode() + b"\n", b"\xff\n"):
        with pytest.raises(InvalidDocumentError):
            decode_manifest(changed)


def test_every_member_is_needed():
    for name in document():
        changed = document()
        del changed[name]
        with pytest.raises(InvalidDocumentError):
            decode_manifest(encode(changed) + b"\n")


def test_a_name_that_is_meant_twice_is_shown_ten_times_at_most():
    listing = listing_of(
        [FileEntry(path=RelPath(b"%02d" % n), size=1, mode=0o644, mtime_ns=0, sha256=ONE) for n in range(12)]
    )
    listing.details = Details(paths=tuple(Detail(path=RelPath(b"%02d" % n), kind="file", owner=1) for n in range(12)))
    (lost,) = decode_manifest(manifest_text(head(), listing)).not_preserved
    assert (lost.count, len(lost.paths)) == (12, 10)


ACL = struct.pack("<IHHIHHIHHI", 2, 1, 6, 2**32 - 1, 4, 4, 2**32 - 1, 32, 0, 2**32 - 1)


def test_acls_and_attributes_of_files_and_directories_are_kept_or_named():
    listing = listing_of([
        FileEntry(path=RelPath(b"a"), size=3, mode=0o640, mtime_ns=1, sha256=ONE),
        DirectoryEntry(path=RelPath(b"d"), mode=0o755),
        SymlinkEntry(path=RelPath(b"l"), target=b"a"),
    ])  # fmt: skip
    listing.details = Details(
        paths=(
            Detail(
                path=RelPath(b"a"), kind="file",
                xattrs=(
                    (b"*", None), (b"system.posix_acl_access", ACL), (b"user.big", 20_000), (b"user.gone", None),
                ),
            ),
            Detail(
                path=RelPath(b"d"), kind="directory",
                xattrs=(
                    (b"system.posix_acl_access", b"no ACL"), (b"system.posix_acl_default", ACL), (b"user.t", b"x"),
                ),
            ),
            Detail(path=RelPath(b"l"), kind="symlink", xattrs=((b"user.t", b"x"),)),
        ),
        directory_mtimes=struct.pack("<q", 2),
        symlink_mtimes=struct.pack("<q", 3),
    )  # fmt: skip
    text = manifest_text(head(), listing)
    assert encode(json.loads(text)) + b"\n" == text
    manifest = decode_manifest(text)
    (file,), (directory,) = manifest.files, manifest.directories
    assert (file.acl, file.xattrs) == (ACL, ())
    assert (directory.acl, directory.default_acl, directory.xattrs) == (None, ACL, (Xattr(b"user.t", b"x"),))
    assert [(item.what, [path.raw for path in item.paths]) for item in manifest.not_preserved] == [
        ("attribute *", [b"a"]), ("attribute system.posix_acl_access", [b"d"]),
        ("attribute user.big, too large", [b"a"]), ("attribute user.gone, unreadable", [b"a"]),
        ("attribute user.t", [b"l"]),
    ]  # fmt: skip
    assert file.attributes() == ((b"system.posix_acl_access", ACL),)
    assert directory.attributes() == ((b"system.posix_acl_default", ACL), (b"user.t", b"x"))


def test_a_long_list_is_written_in_pieces():
    files = [
        FileEntry(path=RelPath(b"%06d" % n), size=3, mode=0o644, mtime_ns=n, sha256=ONE) for n in range(2050)
    ]  # fmt: skip
    text = manifest_text(head(), listing_of(files))
    assert encode(json.loads(text)) + b"\n" == text
    assert [item.mtime_ns for item in decode_manifest(text).files] == list(range(2050))


@pytest.mark.parametrize("value", [b"", ACL[:-1], b"\1" + ACL[1:], ACL[:4], ACL[:6] + b"\x08" + ACL[7:]])
def test_what_is_no_acl_is_refused(value):
    document = json.loads(manifest_text(head(), listed()))
    document["entries"][0]["acl"] = base64.b64encode(value).decode()
    assert refusal(document) == Reason.WRONG_VALUE
