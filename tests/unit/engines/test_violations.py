"""What the policy forbids of the changes of a run, and what cannot be ruled out."""

from __future__ import annotations

from docket.engines.supervise.measure import violations
from docket.formats.digest import Digest
from docket.formats.ledger.session_events import PolicyViolation
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry, Kind, Omission, listing_of
from docket.rules.tree.diff import diff


def file(path, sha="11"):
    return FileEntry(path=RelPath(path), size=1, mode=0o644, mtime_ns=0, sha256=Digest(sha * 32))


def unsettled(path, kind=Kind.FILE, size=1):
    return Omission(path=RelPath(path), reason=Reason.CHANGED_WHILE_READ, kind=kind, mode=0o644, size=size)


def found(patterns, before, after):
    earlier, later = listing_of(before), listing_of(after)
    told = violations(patterns, diff(earlier, later), later)
    assert all(isinstance(item, PolicyViolation) and item.rule == "files.deny_write" for item in told)
    return [(item.path.raw, item.detail.removeprefix("a path that must not change ")) for item in told]


UNKNOWN = "changed while it was read: it is not known"


def test_what_is_forbidden_and_what_cannot_be_ruled_out():
    assert found(["ci/"], [file(b"a"), file(b"ci/x")], [file(b"a"), file(b"ci/x")]) == []
    assert found(["ci/"], [file(b"a"), file(b"ci/x")], [file(b"a", "22"), file(b"ci/x", "33")]) == [
        (b"ci/x", "was modified")
    ]
    assert found(["ci/"], [file(b"a"), file(b"ci/x")], [unsettled(b"a"), unsettled(b"ci/x")]) == [(b"ci/x", UNKNOWN)]
    assert found(["ci/"], [file(b"ci/x")], [unsettled(b"ci/x", size=2)]) == [(b"ci/x", "was modified")]
    assert found(["ci/"], [], [unsettled(b"ci", Kind.DIRECTORY, None)]) == [(b"ci", "was added")]
    unread = Omission(path=RelPath(b"ci/x"), reason=Reason.UNREADABLE, kind=Kind.FILE, mode=0o644, size=1)
    assert found(["ci/"], [unread], [unread]) == []
