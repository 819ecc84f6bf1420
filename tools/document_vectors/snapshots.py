"""Vectors of manifests, `docket/snapshot/v1` (spec/snapshot.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

from document_vectors.paths import ROOT, path_twins, spelling_twins
from document_vectors.spelling import Json, Scenario, coded, spelt

DOCUMENT = "docket/snapshot/v1"
SH = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
LARGE = "0ca9091eb4e31fb1ab24c8c5de92a08e4e5f402919f82ea3ca784f38534f03f3"
LISTS = ("entries", "directories", "symlinks", "not_covered", "not_preserved")
REASONS = ("special-file", "unreadable", "changed-while-read", "vanished", "other-file-system", "excluded",
           "object-store", "too-large", "name-too-long")  # fmt: skip
_LARGEST, _LEAST, _MOST = 2**53 - 1, str(-(2**63)), str(2**63 - 1)


def figures(document: bytes) -> Json:
    """Count what a manifest holds."""
    value = json.loads(document)
    contents = {(item["sha256"], item["size"]) for item in value["entries"]}
    return {**{name: len(value[name]) for name in LISTS}, "contents": len(contents)}


def scenarios() -> Iterator[Scenario]:
    """Yield every scenario."""
    yield from _accepted()
    yield from spelling_twins(_manifest(entries=[_file()]), "Manifest 1")
    yield from _shapes()
    yield from path_twins(lambda members: _manifest(entries=[_named(_file(), members)]), "Manifest 3")
    yield from _places()
    yield from _targets()
    yield from _metadata()
    yield from _contents()
    yield from _heads()
    yield from _left_out()


def _manifest(**changes: object) -> bytes:
    members: Json = {
        "format": DOCUMENT, "session_id": "0123456789ab", "docket_number": "DKT-20261001-00C0DE",
        "root": "/home/dev/tree", "root_identity": ROOT, "taken_at": "2026-10-01T12:00:00.250Z",
        "tree_sha256": "127b558732b4aa38cfd3c52e4168a6a7e7fc8d9666a8904e8a6430b57af7092f",
        "surface": {"watch": ["."], "ignore": [], "evidence": [{"path": ".docket"}]},
        "limits": {"max_bytes": 1073741824, "max_file_bytes": 100, "max_entries": 2000000},
        "bytes_watched": 10, "bytes_stored": 10, "bytes_shared": 0,
        "entries": [], "directories": [], "symlinks": [], "not_covered": [], "not_preserved": [],
    }  # fmt: skip
    return spelt({name: value for name, value in (members | changes).items() if value is not None})


def _file(path: str = "a", **changes: object) -> Json:
    members: Json = {"blob": f"{SH[:2]}/{SH[2:]}", "mode": 420, "mtime_ns": "1700000000123456789"}
    return {**members, "path": path, "sha256": SH, "size": 10, **changes}


def _directory(path: str = "d", **changes: object) -> Json:
    return {"mode": 493, "mtime_ns": "1700000000000000000", "path": path, **changes}


def _symlink(path: str = "l", **changes: object) -> Json:
    return {"mtime_ns": "1700000000000000000", "path": path, "target": "a", **changes}


def _out(path: str = "big.iso", **changes: object) -> Json:
    return {"path": path, "reason": "too-large", **changes}


def _lost(*paths: str, what: str = "owner", **changes: object) -> Json:
    return {"what": what, "count": len(paths), "paths": [{"path": path} for path in paths], **changes}


def _named(item: Json, members: Json) -> Json:
    return {name: value for name, value in item.items() if name != "path"} | members


def _without(item: Json, *names: str) -> Json:
    return {name: value for name, value in item.items() if name not in names}


def _of_file(**changes: object) -> bytes:
    return _manifest(entries=[_file() | changes])


def _twin(told: str, rule: int, good: bytes, bad: bytes, reason: str = "wrong-value") -> Scenario:
    name, _, says = told.partition(": ")
    return Scenario(name=name, says=says, accepted=good, refused=bad, rule=f"Manifest {rule}", reason=reason)


def _accepted() -> Iterator[Scenario]:
    group = {"link_group": 1, "mode": 493}
    yield Scenario(
        name="example",
        says="the example of the page: two names of a file, a link, an empty folder, a file that was too large",
        accepted=_manifest(
            root_identity={"device": "65024", "inode": "42"},
            directories=[_directory("empty")],
            entries=[_file("again.sh", **group), _file("run.sh", **group)],
            symlinks=[_symlink("latest", target="run.sh")],
            not_covered=[
                _out(detail="it is larger than the snapshot takes", kind="file", mode=420, sha256=LARGE, size=101)
            ],
        ),
    )
    yield Scenario(name="empty", says="a tree with nothing in it", accepted=_manifest())
    yield Scenario(
        name="bytes",
        says="names and targets that are not UTF-8, the root's too, and some that are and look it",
        accepted=_manifest(
            root="/home/dev/caf\\xe9", root_b64=coded(b"/home/dev/caf\xe9"),
            entries=[_file("-d"), _file(":c"), _file("[ab].t"), _file("a\nb"), _file("a.t"),
                     _file("e\u0301"), _file("\u00e9"), _named(_file(), {"path_b64": coded(b"\xff")})],
            symlinks=[_without(_symlink(target_b64=coded(b"\xff/..")), "target")],
        ),
    )  # fmt: skip
    yield Scenario(
        name="not-covered-reasons",
        says="everything that a pass leaves out, with as much as was seen of it",
        accepted=_manifest(not_covered=[_out(f"p{place}", reason=reason) for place, reason in enumerate(REASONS)]),
    )
    yield Scenario(
        name="kinds-not-covered",
        says="kinds of which nothing is kept",
        accepted=_manifest(
            not_covered=[
                _out(kind, reason="special-file", kind=kind, mode=4095)
                for kind in ("block-device", "character-device", "directory", "fifo", "file", "socket", "symlink")
            ]
        ),
    )


def _shapes() -> Iterator[Scenario]:
    good = _of_file()
    yield _twin("format-other: the format's number counts", 1,
                good, _manifest(entries=[_file()], format="docket/snapshot/v2"), "unknown-format")  # fmt: skip
    yield _twin("member-unknown: no member stands that the page does not name", 1,
                good, _manifest(entries=[_file()], note="x"), "unknown-member")  # fmt: skip
    yield _twin("member-unknown-of-a-file: nor in an entry: no place to copy from", 1,
                good, _of_file(source="/etc/shadow"), "unknown-member")  # fmt: skip
    yield _twin("member-unknown-of-limits: nor in an object within", 1,
                good,
                _manifest(entries=[_file()], limits={"max_bytes": 1, "max_entries": 1, "max_file_bytes": 1, "x": 1}),
                "unknown-member")  # fmt: skip
    yield _twin("member-missing: every list stands, empty or not", 1,
                good, _manifest(entries=[_file()], symlinks=None), "missing-member")  # fmt: skip
    yield _twin("member-missing-of-a-file: a file has a time", 1,
                good, _manifest(entries=[_without(_file(), "mtime_ns")]), "missing-member")  # fmt: skip
    yield _twin("list-as-object: entries are a list", 1, good, _manifest(entries={"a": _file()}), "wrong-type")
    yield _twin("size-as-text: a size is a number", 1, good, _of_file(size="10"), "wrong-type")
    yield _twin("size-true: a size is not true", 1, good, _of_file(size=True), "wrong-type")
    yield _twin("size-negative: a size is not below 0", 1, _of_file(size=0), _of_file(size=-1))
    yield _twin("size-huge: a number has 53 bits at most", 1,
                _of_file(size=_LARGEST), _of_file(size=_LARGEST + 1), "integer-too-large")  # fmt: skip
    yield _twin("size-fraction: a number has no point", 1, good, good.replace(b'"size":10', b'"size":10.0'), "fraction")
    yield _twin("size-exponent: a number has no exponent", 1,
                good, good.replace(b'"size":10', b'"size":1e1'), "fraction")  # fmt: skip
    yield _twin("digest-upper-case: a digest is in small letters", 1,
                good, _manifest(entries=[_file(sha256=SH.upper())]), "not-a-digest")  # fmt: skip
    yield _twin("digest-short: a digest has 64 digits", 1, good, _of_file(sha256=SH[:-1]), "not-a-digest")


def _places() -> Iterator[Scenario]:
    def files(*paths: str) -> bytes:
        return _manifest(entries=[_file(path) for path in paths])

    yield _twin("order: tree order, not the order of texts: what a folder holds comes before its longer namesake", 2,
                files("src/app.py", "src-notes"), files("src-notes", "src/app.py"), "not-canonical")  # fmt: skip
    yield _twin("order-of-directories: each list has the order", 2,
                _manifest(directories=[_directory("a"), _directory("a/b"), _directory("a-b")]),
                _manifest(directories=[_directory("a"), _directory("a-b"), _directory("a/b")]),
                "not-canonical")  # fmt: skip
    yield _twin("twice-in-a-list: a path stands once in a list", 2, files("a", "b"), files("a", "a"), "not-canonical")
    yield _twin("twice-in-all: a path stands once in all lists", 2,
                _manifest(entries=[_file("a")], directories=[_directory("b")]),
                _manifest(entries=[_file("a")], directories=[_directory("a")]), "duplicate-key")  # fmt: skip
    yield _twin("kept-and-not-covered: what is kept is not what is left out", 2,
                _manifest(entries=[_file("a")], not_covered=[_out("b")]),
                _manifest(entries=[_file("a")], not_covered=[_out("a")]), "duplicate-key")  # fmt: skip
    yield _twin("below-a-file: nothing stands below a file", 2,
                _manifest(entries=[_file("d/a")], directories=[_directory("d")]), files("d", "d/a"))  # fmt: skip
    yield _twin("below-a-link: nothing stands below a link: it would lead anywhere", 2,
                _manifest(entries=[_file("d/a")], directories=[_directory("d")]),
                _manifest(entries=[_file("d/a")], symlinks=[_symlink("d", target="/etc")]))  # fmt: skip
    yield _twin("below-what-is-left-out: what is left out stands for everything below it", 2,
                _manifest(entries=[_file("d/a")], directories=[_directory("d")]),
                _manifest(entries=[_file("d/a")], not_covered=[_out("d", kind="directory")]))  # fmt: skip


def _targets() -> Iterator[Scenario]:
    def link(**members: object) -> bytes:
        return _manifest(symlinks=[_without(_symlink(), "target") | members])

    good = link(target="/etc/passwd")
    yield _twin("target-empty: a link leads somewhere", 3, good, link(target=""))
    yield _twin("target-nul: a target has no NUL", 3, good, link(target="a\0b"))
    yield _twin("target-none: a link has a target", 3, good, link())
    yield _twin("target-utf8-in-base64: a UTF-8 target stands as text", 3,
                link(target="a"), link(target_b64=coded(b"a")))  # fmt: skip
    yield _twin("target-no-base64: a target of bytes is base64", 3, link(target_b64="/w=="), link(target_b64="/w="))
    yield _twin("target-both: a target stands in one member", 3,
                link(target_b64="/w=="), link(target="\\xff", target_b64="/w=="))  # fmt: skip


def _metadata() -> Iterator[Scenario]:
    yield _twin("mode-of-a-file: a mode has twelve bits", 3, _of_file(mode=4095), _of_file(mode=4096))
    yield _twin("mode-of-a-directory: a directory's mode has twelve bits", 3,
                _manifest(directories=[_directory(mode=4095)]),
                _manifest(directories=[_directory(mode=16877)]))  # fmt: skip
    yield _twin("mode-negative: a mode is not below 0", 3, _of_file(mode=0), _of_file(mode=-1))
    yield _twin("time-a-number: a time is a text: numbers end at 2^53", 3,
                _of_file(mtime_ns="1"), _of_file(mtime_ns=1), "wrong-type")  # fmt: skip
    yield _twin("time-plus: a time has no plus", 3, _of_file(mtime_ns="1"), _of_file(mtime_ns="+1"))
    yield _twin("time-zero-in-front: a time has no zero in front", 3, _of_file(mtime_ns="0"), _of_file(mtime_ns="00"))
    yield _twin("time-minus-zero: zero has no minus", 3, _of_file(mtime_ns="-1"), _of_file(mtime_ns="-0"))
    yield _twin("time-latest: a time has 64 bits", 3, _of_file(mtime_ns=_MOST), _of_file(mtime_ns=str(2**63)))
    yield _twin("time-earliest: a time before 1970 has 64 bits too", 3,
                _of_file(mtime_ns=_LEAST), _of_file(mtime_ns=str(-(2**63) - 1)))  # fmt: skip
    yield _twin("time-other-digits: a time has the digits 0 to 9", 3,
                _of_file(mtime_ns="3"), _of_file(mtime_ns="\u0663"))  # fmt: skip


def _contents() -> Iterator[Scenario]:
    good = _of_file()
    yield _twin("blob-of-another: a blob is its digest's", 4, good, _of_file(blob=f"{EMPTY[:2]}/{EMPTY[2:]}"))
    yield _twin("blob-upward: a blob names no other file", 4, good, _of_file(blob="../../../../etc/shadow"))
    yield _twin("blob-absolute: a blob names no place", 4, good, _of_file(blob="/etc/shadow"))
    yield _twin("blob-flat: a blob stands in the folder of its first two digits", 4, good, _of_file(blob=SH))
    yield _twin("link-group-zero: groups are counted from 1", 4, _of_file(link_group=1), _of_file(link_group=0))
    yield _twin("link-group-text: a group is a number", 4,
                _of_file(link_group=1), _of_file(link_group="1"), "wrong-type")  # fmt: skip
    yield _twin("sparse-false: sparse stands where it is true", 4, _of_file(sparse=True), _of_file(sparse=False))

    def attributes(*pairs: tuple[bytes, bytes], **more: object) -> bytes:
        return _of_file(xattrs=[{"name": coded(name), "value": coded(value), **more} for name, value in pairs])

    one = attributes((b"user.a", b"\xff"))
    two = attributes((b"user.a", b""), (b"user.b", b""))
    yield _twin("xattrs-empty: attributes stand where there are any", 4, one, attributes())
    yield _twin("xattrs-order: attributes stand in the order of their names", 4,
                two, attributes((b"user.b", b""), (b"user.a", b"")), "not-canonical")  # fmt: skip
    yield _twin("xattrs-twice: an attribute stands once", 4,
                two, attributes((b"user.a", b""), (b"user.a", b"1")), "not-canonical")  # fmt: skip
    yield _twin("xattrs-security: no attribute gives powers", 4, one, attributes((b"security.capability", b"\1")))
    yield _twin("xattrs-no-name: an attribute has a name behind its namespace", 4,
                attributes((b"user.x", b"")), attributes((b"user.", b"")))  # fmt: skip
    yield _twin("xattrs-nul: an attribute's name has no NUL", 4, one, attributes((b"user.a\0b", b"")))
    yield _twin("xattrs-name-long: an attribute's name has 255 bytes", 4,
                attributes((b"user." + b"n" * 250, b"")), attributes((b"user." + b"n" * 251, b"")))  # fmt: skip
    yield _twin("xattrs-value-long: an attribute's value has 65,536 bytes", 4,
                attributes((b"user.a", bytes(65536))), attributes((b"user.a", bytes(65537))))  # fmt: skip
    yield _twin("xattrs-unknown-member: an attribute has name and value", 4,
                one, attributes((b"user.a", b"\xff"), flags=1), "unknown-member")  # fmt: skip

    def acl(version: int = 2, permissions: int = 6, cut: int = 0, entries: int = 1) -> dict[str, object]:
        value = struct.pack("<I", version) + struct.pack("<HHI", 1, permissions, 2**32 - 1) * entries
        return {"acl": coded(value[: len(value) - cut])}

    good = _of_file(**acl())
    yield _twin("acl-version: an ACL has version 2", 4, good, _of_file(**acl(version=1)))
    yield _twin("acl-half-an-entry: an ACL's entries are whole", 4, good, _of_file(**acl(cut=1)))
    yield _twin("acl-no-entry: an ACL has an entry", 4, good, _of_file(**acl(entries=0)))
    yield _twin("acl-permissions: permissions have three bits", 4, _of_file(**acl(permissions=7)),
                _of_file(**acl(permissions=8)))  # fmt: skip
    yield _twin("acl-long: an ACL has 2,048 entries", 4, _of_file(**acl(entries=2048)),
                _of_file(**acl(entries=2049)))  # fmt: skip


def _heads() -> Iterator[Scenario]:
    good = _manifest()
    yield _twin("root-relative: the root is absolute", 5, good, _manifest(root="home/dev/tree"), "not-a-path")
    yield _twin("root-nul: the root has no NUL", 5, good, _manifest(root="/home\0"), "not-a-path")
    bytes_of_root = coded(b"/caf\xe9")
    yield _twin("root-utf8-in-base64: a UTF-8 root stands as text alone", 5,
                _manifest(root="/a"), _manifest(root="/a", root_b64=coded(b"/a")), "not-a-path")  # fmt: skip
    yield _twin("root-bytes-without-text: beside the bytes stands what is shown", 5,
                _manifest(root="/caf\\xe9", root_b64=bytes_of_root), _manifest(root=None, root_b64=bytes_of_root),
                "not-a-path")  # fmt: skip
    yield _twin("root-shown-otherwise: what is shown is what the bytes say", 5,
                _manifest(root="/caf\\xe9", root_b64=bytes_of_root), _manifest(root="/home/me", root_b64=bytes_of_root),
                "not-a-path")  # fmt: skip
    yield _twin("identity-number: an inode is a text: numbers end at 2^53", 5,
                good, _manifest(root_identity={**ROOT, "inode": 42}), "wrong-type")  # fmt: skip
    yield _twin("identity-zero-in-front: an inode has no zero in front", 5,
                _manifest(root_identity={**ROOT, "inode": "0"}),
                _manifest(root_identity={**ROOT, "inode": "042"}))  # fmt: skip
    yield _twin("identity-huge: a device has 64 bits", 5,
                _manifest(root_identity={**ROOT, "device": str(2**64 - 1)}),
                _manifest(root_identity={**ROOT, "device": str(2**64)}))  # fmt: skip
    yield _twin("taken-at-zone: an instant ends in Z", 5,
                good, _manifest(taken_at="2026-10-01T12:00:00+02:00"), "not-an-instant")  # fmt: skip
    yield _twin("taken-at-month: a year has twelve months", 5,
                _manifest(taken_at="2026-12-01T12:00:00Z"), _manifest(taken_at="2026-13-01T12:00:00Z"),
                "not-an-instant")  # fmt: skip
    yield _twin("watch-number: watched are texts", 6,
                good, _manifest(surface={"watch": [1], "ignore": [], "evidence": []}), "wrong-type")  # fmt: skip
    yield _twin("evidence-absolute: evidence lies in the tree", 6,
                _manifest(surface={"watch": ["."], "ignore": ["*.o"], "evidence": [{"path": "docket"}]}),
                _manifest(surface={"watch": ["."], "ignore": ["*.o"], "evidence": [{"path": "/docket"}]}),
                "not-a-path")  # fmt: skip
    limits: Json = {"max_bytes": 0, "max_entries": 0, "max_file_bytes": 0}
    yield _twin("limit-negative: a limit is not below 0", 6,
                _manifest(limits=limits), _manifest(limits=limits | {"max_bytes": -1}))  # fmt: skip
    yield _twin("bytes-negative: a sum is not below 0", 7, _manifest(bytes_stored=0), _manifest(bytes_stored=-1))


def _left_out() -> Iterator[Scenario]:
    good = _manifest(not_covered=[_out()])

    def out(**changes: object) -> bytes:
        return _manifest(not_covered=[_out() | changes])

    yield _twin("not-covered-other-reason: a reason is one of a pass", 8, good, out(reason="no-such-reason"))
    yield _twin("not-covered-no-detail: what is not known does not stand", 8,
                out(detail=""), out(detail=None), "wrong-type")  # fmt: skip
    yield _twin("not-covered-null-kind: a kind that was not seen does not stand", 8,
                out(kind="file"), out(kind=None), "wrong-type")  # fmt: skip
    yield _twin("not-covered-other-kind: a kind is one of a listing", 8, out(kind="unknown"), out(kind="whiteout"))
    yield _twin("not-covered-mode: a mode has twelve bits", 8, out(mode=4095), out(mode=4096))
    yield _twin("not-covered-digest: a digest has 64 digits", 8, out(sha256=LARGE), out(sha256="0"), "not-a-digest")

    def lost(*items: Json) -> bytes:
        return _manifest(not_preserved=list(items))

    ten, eleven = ([f"p{place:02}" for place in range(count)] for count in (10, 11))
    yield _twin("not-preserved-none: something was lost of at least one path", 9,
                lost(_lost("a")), lost(_lost(count=0)))  # fmt: skip
    yield _twin("not-preserved-eleven: the first ten paths stand", 9, lost(_lost(*ten, count=11)), lost(_lost(*eleven)))
    yield _twin("not-preserved-fewer: as many paths as stand, or more", 9,
                lost(_lost("a", "b", count=2)), lost(_lost("a", "b", count=1)))  # fmt: skip
    yield _twin("not-preserved-more: all paths stand as long as they are ten at most", 9,
                lost(_lost("a", "b")), lost(_lost("a", "b", count=3)))  # fmt: skip
    yield _twin("not-preserved-order: the paths are in tree order", 9,
                lost(_lost("a", "b")), lost(_lost("b", "a")), "not-canonical")  # fmt: skip
    attribute = _lost("a", what="attribute security.selinux")
    yield _twin("not-preserved-order-of-words: what is lost stands in order", 9,
                lost(attribute, _lost("a")), lost(_lost("a"), attribute), "not-canonical")  # fmt: skip
    yield _twin("not-preserved-twice: what is lost stands once", 9,
                lost(_lost("a"), _lost("a", what="p")), lost(_lost("a"), _lost("b")), "not-canonical")  # fmt: skip
