"""A walk whose rows are out of date: what stands there now is told, or that it kept changing."""

from __future__ import annotations

import hashlib
import os

import pytest

from docket.engines.segment import joined
from docket.engines.walk import Walk
from docket.engines.walk_request import Start, WalkRequest
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Kind, SymlinkEntry, decode_listing
from docket.formats.tree.surface import Surface
from docket.host import tree
from docket.host.tree import Unread


def silent(_files, _bytes):
    return None


class Site:
    """A folder, its rows as they were, and the walk of them later."""

    def __init__(self, path):
        self.path = path
        self.root = os.open(path, os.O_RDONLY)
        self.report = silent

    def start(self, prefix=b""):
        inner = tree.reach(self.root, prefix, None)
        try:
            listed = tree.list_directory(inner)
            identity = tree.identity_of(tree.directory_status(inner))
        finally:
            tree.close(inner)
        return Start(prefix=prefix, identity=identity, rows=listed.rows, gaps=listed.gaps, inside=True)

    def walk(self, *, mounts=()):
        request = WalkRequest(root=self.root, surface=Surface(), lookup={}.get, clock_ns=None, mounts=frozenset(mounts))
        return Walk(request, self.told)

    def told(self, files, file_bytes):
        self.report(files, file_bytes)

    def seen(self, start, **more):
        listing = joined([self.walk(**more).whole(start)], start.identity)
        assert decode_listing(listing.document) == listing
        return {record.path.raw: record for record in listing.records}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    yield made
    assert len(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"
    os.close(made.root)


def omission(record):
    return record.reason, record.kind


def test_a_file_that_was_replaced_is_read_anew(site, tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    start = site.start()
    (tmp_path / "y").write_bytes(b"two")
    (tmp_path / "y").rename(tmp_path / "x")
    assert site.seen(start)[b"x"].sha256 == hashlib.sha256(b"two").hexdigest()


def test_a_file_that_became_a_link_is_a_link(site, tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    start = site.start()
    (tmp_path / "x").unlink()
    (tmp_path / "x").symlink_to("/etc/passwd")
    assert site.seen(start)[b"x"] == SymlinkEntry(path=RelPath(b"x"), target=b"/etc/passwd")


def test_a_link_that_became_a_file_is_a_file(site, tmp_path):
    (tmp_path / "x").symlink_to("y")
    start = site.start()
    (tmp_path / "x").unlink()
    (tmp_path / "x").write_bytes(b"")
    assert isinstance(site.seen(start)[b"x"], FileEntry)


def test_a_file_that_became_a_fifo_is_named(site, tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    start = site.start()
    (tmp_path / "x").unlink()
    os.mkfifo(tmp_path / "x")
    assert omission(site.seen(start)[b"x"]) == (Reason.SPECIAL_FILE, Kind.FIFO)


def test_a_file_that_became_a_directory_kept_changing(site, tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    start = site.start()
    (tmp_path / "x").unlink()
    (tmp_path / "x").mkdir()
    assert omission(site.seen(start)[b"x"]) == (Reason.CHANGED_WHILE_READ, Kind.DIRECTORY)


def test_what_is_gone_has_vanished(site, tmp_path):
    (tmp_path / "x").write_bytes(b"one")
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("x")
    start = site.start()
    (tmp_path / "x").unlink()
    (tmp_path / "d").rmdir()
    (tmp_path / "l").unlink()
    assert {path: omission(record) for path, record in site.seen(start).items()} == dict.fromkeys(
        (b"x", b"d", b"l"), (Reason.VANISHED, None)
    )


def test_a_directory_that_was_replaced_is_entered_anew(site, tmp_path):
    (tmp_path / "d").mkdir()
    start = site.start()
    (tmp_path / "d").rename(tmp_path / "old")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/new").write_bytes(b"")
    seen = site.seen(start)
    assert isinstance(seen[b"d"], DirectoryEntry)
    assert isinstance(seen[b"d/new"], FileEntry)


def test_a_directory_that_became_a_file_or_a_link_is_that(site, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "e").mkdir()
    start = site.start()
    for name in ("d", "e"):
        (tmp_path / name).rmdir()
    (tmp_path / "d").write_bytes(b"")
    (tmp_path / "e").symlink_to("/")
    seen = site.seen(start)
    assert isinstance(seen[b"d"], FileEntry)
    assert seen[b"e"] == SymlinkEntry(path=RelPath(b"e"), target=b"/")


def test_rows_of_a_directory_that_was_replaced_are_not_looked_for_in_another(site, tmp_path):
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/x").write_bytes(b"inside")
    start = site.start(b"d/")
    (tmp_path / "d").rename(tmp_path / "old")
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/x").write_bytes(b"other")
    assert {path: omission(record) for path, record in site.seen(start).items()} == {
        b"d/e": (Reason.CHANGED_WHILE_READ, Kind.DIRECTORY),
        b"d/x": (Reason.CHANGED_WHILE_READ, Kind.FILE),
    }


def test_a_name_that_could_not_be_looked_at_is_named(site, tmp_path):
    (tmp_path / "x").write_bytes(b"")
    start = site.start()
    gaps = {b"x": Unread(Reason.UNREADABLE, "permission denied")}
    closed = Start(prefix=b"", identity=start.identity, rows=start.rows, gaps=gaps, inside=True)
    assert omission(site.seen(closed)[b"x"]) == (Reason.UNREADABLE, None)
    gone = Start(prefix=b"", identity=(0, 0), rows=start.rows, gaps=gaps, inside=True)
    assert omission(site.seen(gone)[b"x"]) == (Reason.CHANGED_WHILE_READ, None)


def test_mount_points_are_not_entered(site, tmp_path):
    (tmp_path / "d/m").mkdir(parents=True)
    (tmp_path / "d/m/x").write_bytes(b"")
    (tmp_path / "d/f").write_bytes(b"")
    (tmp_path / "d/g").write_bytes(b"")
    seen = site.seen(site.start(), mounts=(b"d/m", b"d/f"))
    assert omission(seen[b"d/m"]) == (Reason.OTHER_FILE_SYSTEM, Kind.DIRECTORY)
    assert omission(seen[b"d/f"]) == (Reason.OTHER_FILE_SYSTEM, Kind.FILE)
    assert set(seen) == {b"d", b"d/f", b"d/g", b"d/m"}


LEVELS = 100
FILES = 260  # more than a walk reads between two reports


def build_deep(tmp_path):
    path = tmp_path
    for level in range(LEVELS):
        path = path / "d"
        path.mkdir()
        (path / "z").write_bytes(b"%d" % level)
    for number in range(FILES):
        (path / f"f{number}").write_bytes(b"")


def level_of(tmp_path, level):
    return tmp_path / "/".join(["d"] * level)


def test_an_outer_directory_is_opened_again_on_the_way_back(site, tmp_path):
    build_deep(tmp_path)
    seen = site.seen(site.start())
    assert sum(isinstance(record, FileEntry) for record in seen.values()) == LEVELS + FILES
    assert len(seen) == 2 * LEVELS + FILES


def test_a_directory_moved_away_from_under_the_walk_is_found_by_its_path(site, tmp_path):
    build_deep(tmp_path)

    def move(_files, _bytes):
        site.report = silent
        level_of(tmp_path, 20).rename(tmp_path / "moved")

    site.report = move
    seen = site.seen(site.start())
    assert sum(isinstance(record, FileEntry) for record in seen.values()) == LEVELS + FILES


def test_what_an_outer_directory_still_held_is_named_when_it_is_lost(site, tmp_path):
    build_deep(tmp_path)

    def move(_files, _bytes):
        site.report = silent
        level_of(tmp_path, 20).rename(tmp_path / "moved")
        level_of(tmp_path, 19).rename(tmp_path / "lost")

    site.report = move
    seen = site.seen(site.start())
    lost = b"/".join([b"d"] * 19) + b"/z"
    assert omission(seen[lost]) == (Reason.CHANGED_WHILE_READ, Kind.FILE)
    assert sum(isinstance(record, FileEntry) for record in seen.values()) == LEVELS + FILES - 1


def test_parts_of_a_split_walk_are_the_whole(site, tmp_path):
    build_deep(tmp_path)
    (tmp_path / "a").write_bytes(b"")
    os.mkfifo(tmp_path / "z")
    start, walk = site.start(), site.walk()
    parts = walk.split(start)
    segments = [walk.whole(part) if isinstance(part, Start) else part for part in parts]
    assert joined(segments, start.identity).document == joined([site.walk().whole(start)], start.identity).document
    assert (walk.files, walk.file_bytes) == (LEVELS + FILES + 1, sum(len(str(level)) for level in range(LEVELS)))


STAGED = b".docket-apply-00112233445566ff"


def staged(path, *names, name=STAGED, mode=0o700):
    folder = os.path.join(os.fsencode(path), name)
    os.mkdir(folder)
    for inside in names:
        with open(os.path.join(folder, inside), "wb") as file:
            file.write(b"x")
    os.chmod(folder, mode)


def test_a_staging_directory_of_dockets_own_is_named_and_not_entered(site, tmp_path):
    staged(tmp_path, b"plan", b"kept", b"0.new", b"12.345", b"1.2.aside", b"opened.1.0011aaff")
    record = site.seen(site.start())[STAGED]
    assert omission(record) == (Reason.EXCLUDED, Kind.DIRECTORY)
    assert "docket tx recover" in record.detail


@pytest.mark.parametrize(
    ("names", "more"),
    [
        ((b"plan", b"thesis.txt"), {}),
        ((b"0.new",), {}),
        ((b"plan",), {"mode": 0o755}),
        ((b"plan",), {"name": b".docket-apply-mine"}),
        ((b"plan",), {"name": STAGED + b"0"}),
    ],
)
def test_a_persons_folder_of_such_a_name_is_looked_at(site, tmp_path, names, more):
    staged(tmp_path, *names, **more)
    seen = site.seen(site.start())
    folder = more.get("name", STAGED)
    assert isinstance(seen[folder], DirectoryEntry)
    assert all(isinstance(seen[folder + b"/" + name], FileEntry) for name in names)


def test_below_the_root_nothing_is_dockets_staging(site, tmp_path):
    (tmp_path / "inner").mkdir()
    staged(tmp_path / "inner", b"plan")
    assert isinstance(site.seen(site.start())[b"inner/" + STAGED + b"/plan"], FileEntry)
