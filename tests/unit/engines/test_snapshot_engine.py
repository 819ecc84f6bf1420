"""Taking a snapshot: what is kept, byte for byte, what is refused, and what stands in the manifest."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from docket.engines.snapshot import SnapshotRefused, SnapshotTaken
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.manifest import SnapshotLimits, decode_manifest
from docket.formats.tree.surface import Surface
from docket.stores import blob_batch
from docket.stores.snapshots import SnapshotState, open_snapshot, remove_snapshot, snapshot_folders, snapshot_path
from snapshot_lab import LIMITS, SnapshotLab

ONE, TWO, THREE = "000000000001", "000000000002", "000000000003"
NAMES = [b"plain", b" leading", b"new\nline", b'quo"te', b"back\\slash", b"-d", b"[ab].t", b"a.t", b":c", b"caf\xe9",
         "café".encode(), "cafe\u0301".encode(), b"x" * 255, b"tab\t"]  # fmt: skip


@pytest.fixture
def lab(tmp_path):
    return SnapshotLab(tmp_path)


def settle(lab):
    """Let every file of the tree be old enough for its digest to be kept."""
    for path in lab.tree.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, ns=(10**18, 10**18))


def write(lab, name, data=b"x", mode=0o644):
    path = lab.tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def entry(lab, session, path):
    found = [item for item in lab.manifest(session)["entries"] if item.get("path") == path]
    assert len(found) == 1
    return found[0]


def test_every_name_comes_back_with_its_bytes(lab):
    for number, name in enumerate(NAMES):
        Path(os.fsdecode(os.fsencode(lab.tree) + b"/" + name)).write_bytes(name * (number + 1))
    assert isinstance(lab.take(ONE), SnapshotTaken)
    assert lab.judge(ONE) == len(NAMES)
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    found = {}
    for item in snapshot.manifest.files:
        with snapshot.contents.open(item.content) as stream:
            found[item.path.raw] = b"".join(stream)
    snapshot.close()
    assert found == {name: name * (number + 1) for number, name in enumerate(NAMES)}


def test_kinds_modes_and_times_stand_in_the_manifest(lab):
    path = write(lab, "inner/run.sh", b"#!/bin/sh\n", 0o4750)
    (lab.tree / "empty").mkdir(mode=0o700)
    os.symlink(b"\xff nowhere", os.fsencode(lab.tree / "link"))
    os.mkfifo(lab.tree / "pipe", 0o600)
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    os.utime(lab.tree / "empty", ns=(1, -5))
    os.utime(lab.tree / "link", ns=(1, 7), follow_symlinks=False)
    lab.take(ONE)
    document = lab.manifest(ONE)
    kept = entry(lab, ONE, "inner/run.sh")
    assert (kept["mode"], kept["mtime_ns"], kept["size"]) == (0o4750, "1700000000123456789", 10)
    assert {"mode": 0o700, "mtime_ns": "-5", "path": "empty"} in document["directories"]
    assert document["symlinks"] == [{"mtime_ns": "7", "path": "link", "target_b64": "/yBub3doZXJl"}]
    assert [(item["path"], item["reason"]) for item in document["not_covered"]] == [("pipe", "special-file")]


def test_links_holes_and_attributes_are_told(lab):
    path = write(lab, "a", b"shared")
    os.link(path, lab.tree / "b")
    os.link(path, lab.root / "outside")
    with (lab.tree / "holes").open("wb") as file:
        file.truncate(1 << 20)
    write(lab, "plain")
    try:
        os.setxattr(write(lab, "tagged"), "user.docket", b"\0\xff")
        os.setxattr(lab.tree, "user.root", b"x")
    except OSError:
        pytest.skip("the file system has no attributes")
    (lab.tree / "folder").mkdir()
    os.setxattr(lab.tree / "folder", "user.docket", b"y")
    lab.take(ONE)
    assert entry(lab, ONE, "a")["link_group"] == entry(lab, ONE, "b")["link_group"] == 1
    assert entry(lab, ONE, "holes")["sparse"] is True
    assert entry(lab, ONE, "tagged")["xattrs"] == [{"name": "dXNlci5kb2NrZXQ=", "value": "AP8="}]
    assert not {"link_group", "sparse", "xattrs"} & set(entry(lab, ONE, "plain"))
    lost = {item["what"]: [path["path"] for path in item["paths"]] for item in lab.manifest(ONE)["not_preserved"]}
    assert lost == {"names-outside": ["a", "b"]}
    (folder,) = lab.manifest(ONE)["directories"]
    assert folder["xattrs"] == [{"name": "dXNlci5kb2NrZXQ=", "value": "eQ=="}]
    assert lab.manifest(ONE)["bytes_watched"] == len(b"shared") + (1 << 20) + 2


def test_equal_contents_are_one_blob_private_to_their_owner(lab):
    for name in "abc":
        write(lab, name, b"the same")
    taken = lab.take(ONE)
    assert (taken.files, taken.bytes_watched, taken.bytes_stored) == (3, 24, 8)
    assert list(lab.pooled().values()) == [b"the same"]
    for path in (lab.state / "snapshots").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert [path.name for path in taken.path.iterdir()] == ["manifest.json"]


def test_small_contents_are_packed_and_large_ones_stand_alone(lab):
    small, large = os.urandom(256 * 1024 - 1), os.urandom(256 * 1024)
    for name, data in (("empty", b""), ("one", b"1"), ("block", b"b" * 512), ("small", small), ("large", large)):
        write(lab, name, data)
    lab.take(ONE)
    contents = lab.state / "snapshots" / "contents"
    (pack,) = (contents / "packs").iterdir()
    done = subprocess.run(["tar", "-tf", pack], check=True, capture_output=True, text=True)
    sha = {hashlib.sha256(data).hexdigest() for data in (b"", b"1", b"b" * 512, small)}
    assert {*done.stdout.split()} == {f"{digest[:2]}/{digest[2:]}" for digest in sha} | {"index", "docket-pack"}
    alone = [path for path in contents.rglob("*") if path.is_file() and path.suffix != ".tar"]
    assert [path.parent.name + path.name for path in alone] == [hashlib.sha256(large).hexdigest()]
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    for data in (b"", b"1", b"b" * 512, small, large):
        with snapshot.contents.open(Address.of(data)) as stream:
            assert b"".join(stream) == data
    snapshot.close()


@pytest.mark.parametrize(
    ("limits", "needed", "allowed"),
    [
        (SnapshotLimits(max_bytes=29, max_file_bytes=100, max_entries=100), 30, 29),
        (SnapshotLimits(max_bytes=100, max_file_bytes=100, max_entries=4), 5, 4),
    ],
    ids=["bytes", "entries"],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(lab, limits, needed, allowed):
    write(lab, "heavy/a", b"0123456789" * 2)
    write(lab, "heavy/b", b"012345678")
    write(lab, "light/c", b"0")
    refused = lab.take(ONE, limits)
    assert isinstance(refused, SnapshotRefused)
    assert (refused.needed, refused.allowed, refused.reason) == (needed, allowed, Reason.TOO_LARGE)
    assert f"{needed}" in refused.detail
    assert f"{allowed}" in refused.detail
    assert "heavy/ (29), light/ (1)" in refused.hint
    assert not (lab.state / "snapshots").exists()


def test_a_budget_that_is_met_exactly_is_enough(lab):
    write(lab, "a", b"0123456789")
    assert isinstance(lab.take(ONE, SnapshotLimits(max_bytes=10, max_file_bytes=10, max_entries=1)), SnapshotTaken)


def test_a_disk_without_room_refuses_with_both_numbers(lab):
    write(lab, "a", b"0" * 1000)
    refused = lab.take(ONE, free=lambda _: 64 * 1024 * 1024 + 999)
    assert isinstance(refused, SnapshotRefused)
    assert (refused.reason, refused.needed, refused.allowed) == (Reason.NO_SPACE, 1000, 999)
    assert {path.name for path in (lab.state / "snapshots").iterdir()} == {"contents", "lock"}


def test_a_file_beyond_the_limit_is_not_covered_and_named(lab):
    write(lab, "large", b"0" * 11)
    write(lab, "small", b"0" * 10)
    taken = lab.take(ONE, SnapshotLimits(max_bytes=10, max_file_bytes=10, max_entries=9))
    assert [(item.path, item.reason) for item in taken.not_covered] == [(RelPath(b"large"), Reason.TOO_LARGE)]
    assert lab.judge(ONE) == 1
    assert [item["path"] for item in lab.manifest(ONE)["not_covered"]] == ["large"]


def test_an_unchanged_tree_is_not_read_again_and_shares_its_contents(lab, monkeypatch):
    for name in ("a", "b/c"):
        write(lab, name, name.encode())
    lab.take(ONE)
    reads = []
    monkeypatch.setattr(blob_batch.BlobBatch, "whole", lambda *_: reads.append(1))
    taken, known = lab.take(TWO), 0
    for _ in range(500):
        if len(reads) == known:
            break
        # The digests of files that have just been written are not kept: wait until they are.
        known = len(reads)
        remove_snapshot(taken.path)
        time.sleep(0.01)
        taken = lab.take(TWO)
    assert (len(reads), taken.bytes_shared) == (known, 4)
    lab.take(THREE)
    assert len(reads) == known
    assert lab.judge(THREE) == 2
    assert sorted(lab.pooled().values()) == [b"a", b"b/c"]


def test_deleting_any_session_takes_nothing_from_another(lab):
    for name in ("a", "b"):
        write(lab, name, name.encode())
    for session in (ONE, TWO, THREE):
        lab.take(session)
    remove_snapshot(lab.state / "snapshots" / TWO)
    assert (lab.judge(ONE), lab.judge(THREE)) == (2, 2)
    remove_snapshot(lab.state / "snapshots" / ONE)
    assert lab.judge(THREE) == 2


@pytest.mark.parametrize("spoil", [b"", b"\0" * 4096, None], ids=["empty", "no pack", "gone"])
def test_what_is_seen_to_be_damaged_is_taken_anew(lab, spoil):
    write(lab, "a", b"abc")
    write(lab, "large", b"0" * 300_000)
    lab.take(ONE)
    contents = lab.state / "snapshots" / "contents"
    for path in [path for path in contents.rglob("*") if path.is_file()]:
        if path.suffix == ".tar" and spoil is not None:
            path.write_bytes(spoil)
        else:
            path.unlink()
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    assert [lost for _, lost in snapshot.damaged()] == [True, True]
    snapshot.close()
    second = lab.take(TWO)
    assert second.bytes_shared == 0
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    assert [lost for _, lost in snapshot.damaged()] == [False, False]
    snapshot.close()


def test_damage_within_a_content_is_found_by_reading_it(lab):
    write(lab, "a", b"abc")
    write(lab, "large", b"0" * 300_000)
    lab.take(ONE)
    for path in [path for path in (lab.state / "snapshots" / "contents").rglob("*") if path.is_file()]:
        data = path.read_bytes()
        path.write_bytes(data.replace(b"abc", b"abd") if path.suffix == ".tar" else b"1" + data[1:])
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    assert [lost for _, lost in snapshot.damaged()] == [True, True]
    snapshot.close()


@pytest.mark.parametrize("folder", ["packs", "fan"])
def test_a_link_in_the_place_of_a_folder_of_contents_is_not_followed(lab, tmp_path, folder):
    large = b"0" * 300_000
    write(lab, "a", b"abc")
    write(lab, "large", large)
    lab.take(ONE)
    name = folder if folder == "packs" else hashlib.sha256(large).hexdigest()[:2]
    place, elsewhere = lab.state / "snapshots" / "contents" / name, tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    assert [address.size for address, lost in snapshot.damaged() if lost] == [3 if folder == "packs" else 300_000]
    snapshot.close()
    with pytest.raises(UnavailableError) as caught:
        lab.take(TWO)
    assert caught.value.reason == Reason.IS_A_SYMLINK
    assert not lab.is_complete(TWO)


def by_hand(lab, session, data):
    """A snapshot as they were before there was a pool: a folder of its own contents."""
    lab.take(session)
    place = lab.state / "snapshots" / session / "blobs" / Address.of(data).sha256[:2]
    place.mkdir(parents=True)
    (place / Address.of(data).sha256[2:]).write_bytes(data)
    shutil.rmtree(lab.state / "snapshots" / "contents")


def test_a_snapshot_with_contents_of_its_own_is_read_with_a_pool_and_without(lab):
    write(lab, "a", b"abc")
    by_hand(lab, ONE, b"abc")
    for _ in range(2):
        snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
        assert snapshot.contents.has(Address.of(b"abc"))
        assert [lost for _, lost in snapshot.damaged()] == [False]
        snapshot.close()
        write(lab, "b", b"new")
        assert isinstance(lab.take(TWO), SnapshotTaken)
        remove_snapshot(snapshot_path(lab.layout, TWO))


def test_a_file_that_changes_while_it_is_read_is_kept_whole_or_not_at_all(lab):
    path = write(lab, "busy", b"0" * 700_000)
    for number in range(20):
        write(lab, f"quiet{number}", b"x" * number)
    stop = threading.Event()

    def churn():
        number = 0
        while not stop.is_set():
            number += 1
            path.write_bytes(bytes([48 + number % 10]) * 700_000)

    writer = threading.Thread(target=churn)
    writer.start()
    try:
        for number in range(12):
            session = f"0000000000{number:02}"
            assert isinstance(lab.take(session), SnapshotTaken)
            assert lab.judge(session) in (20, 21)
    finally:
        stop.set()
        writer.join()


def test_two_at_once_share_one_folder_of_snapshots(lab):
    for number in range(50):
        write(lab, f"f{number}", b"%d" % number)
    lab.take(ONE)
    write(lab, "new", b"new")
    faults = []

    def take(session):
        try:
            SnapshotLab(lab.root).take(session)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=take, args=(session,)) for session in (TWO, THREE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert (lab.judge(TWO), lab.judge(THREE)) == (51, 51)


def test_forked_copies_give_the_same_snapshot(tmp_path):
    alone, shared = SnapshotLab(tmp_path), SnapshotLab(tmp_path, copies=2)
    for number in range(400):
        write(alone, f"d{number % 40}/f{number}", b"%d" % (number % 97) * 1000)
    alone.take(ONE)
    shared.take(TWO)
    first, second = alone.manifest(ONE), alone.manifest(TWO)
    assert alone.judge(TWO) == 400
    assert first["entries"] == second["entries"]
    remove_snapshot(alone.state / "snapshots" / ONE)
    assert shared.take(THREE).bytes_shared == shared.take("000000000004").bytes_shared > 0
    assert alone.judge(THREE) == 400
    assert not list((alone.state / "snapshots").rglob("*.partial"))


def test_a_session_has_one_snapshot(lab):
    lab.take(ONE)
    with pytest.raises(UnavailableError) as caught:
        lab.take(ONE)
    assert caught.value.reason == Reason.ALREADY_EXISTS
    assert lab.is_complete(ONE)


def test_what_was_cut_short_is_found(lab):
    lab.take(ONE)
    (lab.state / "snapshots" / TWO / "partial").mkdir(parents=True)
    (lab.state / "snapshots" / TWO / "partial" / "1-1.partial").write_bytes(b"x")
    (lab.state / "snapshots" / "a note").write_text("a person's")
    states = {item.session_id: item.state for item in snapshot_folders(lab.layout, held=lambda _: False)}
    assert states == {ONE: SnapshotState.COMPLETE, TWO: SnapshotState.INTERRUPTED}
    states = {item.session_id: item.state for item in snapshot_folders(lab.layout, held=lambda _: True)}
    assert states == {ONE: SnapshotState.COMPLETE, TWO: SnapshotState.BEING_TAKEN}
    with pytest.raises(UnavailableError):
        open_snapshot(lab.state / "snapshots" / TWO)
    remove_snapshot(lab.state / "snapshots" / TWO)
    assert {path.name for path in (lab.state / "snapshots").iterdir()} == {ONE, "a note", "contents", "lock"}


def test_the_manifest_reads_back_as_it_was_written(lab):
    write(lab, "a", b"abc")
    (lab.tree / "d").mkdir()
    taken = lab.take(ONE, surface=Surface(evidence=(RelPath(b"d"),)))
    manifest = decode_manifest((taken.path / "manifest.json").read_bytes())
    assert manifest.head.root == os.fsencode(lab.tree)
    assert manifest.head.limits == LIMITS
    assert manifest.head.root_identity == (lab.tree.stat().st_dev, lab.tree.stat().st_ino)
    assert [item.path.raw for item in manifest.not_covered] == [b"d"]
    assert [item.content.size for item in manifest.files] == [3]


def git(folder, *words):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    options = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *options, *words], cwd=folder, env=environment, check=True, capture_output=True)
    return done.stdout


def test_repositories_of_every_shape_are_read_as_files_and_left_as_they_were(lab, tmp_path, monkeypatch):
    marker = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    tree, inner = lab.tree, tmp_path / "inner"
    inner.mkdir()
    for folder in (tree, inner):
        git(folder, "init", "--quiet")
        (folder / "f").write_text(str(folder))
        git(folder, "add", "f")
        git(folder, "commit", "--quiet", "-m", "one")
    git(tree, "submodule", "--quiet", "add", str(inner), "sub")
    (tree / "nested").mkdir()
    git(tree / "nested", "init", "--quiet")
    (tree / "nested" / "g").write_text("no commit here")
    git(tree, "worktree", "add", "--quiet", str(tree / "linked"))
    git(tree, "update-index", "--skip-worktree", "f")
    (tree / "f").unlink()  # as a sparse checkout leaves it
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("kept all the same")
    for key in ("core.fsmonitor", "filter.x.clean", "diff.external", "core.hooksPath"):
        git(tree, "config", key, str(program))
    (tree / ".gitattributes").write_text("* filter=x\n")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    before = {path: path.lstat() for path in tree.rglob("*")}
    marker.unlink(missing_ok=True)
    assert isinstance(lab.take(ONE), SnapshotTaken)
    after = {path: path.lstat() for path in tree.rglob("*")}
    assert not marker.exists()
    assert {path: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in before.items()} == {
        path: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in after.items()
    }
    kept = {item["path"] for item in lab.manifest(ONE)["entries"]}
    assert {"ignored", ".git/HEAD", ".git/index", "sub/f", "sub/.git", "nested/g", "linked/.git"} <= kept
    assert {".git/modules/sub/HEAD", ".git/worktrees/linked/HEAD", "nested/.git/HEAD"} <= kept
    assert not [path for path in kept if "/objects/" in path]
    assert not (tmp_path / "elsewhere").exists()


def test_contents_are_cloned_into_an_open_file_where_that_pays(lab, tmp_path):
    contents = {name: os.urandom(size) for name, size in (("large", 300_000), ("packed", 100_000), ("small", 10))}
    for name, data in contents.items():
        write(lab, name, data)
    lab.take(ONE)
    snapshot = open_snapshot(snapshot_path(lab.layout, ONE))
    done = {}
    for name, data in contents.items():
        with (tmp_path / name).open("wb") as file:
            done[name] = snapshot.contents.clone_into(Address.of(data), file.fileno())
        assert (tmp_path / name).read_bytes() == (data if done[name] else b"")
    with (tmp_path / "absent").open("wb") as file:
        assert not snapshot.contents.clone_into(Address.of(b"absent"), file.fileno())
        assert not snapshot.contents.clone_into(Address(Address.of(contents["packed"]).sha256, 99_999), file.fileno())
    snapshot.close()
    assert not done["small"]


def test_a_long_listing_is_measured_in_pieces(lab, monkeypatch):
    monkeypatch.setattr("docket.engines.snapshot._PIECE_BYTES", 1)
    for name, data in (("a", b"one"), ("b", b"one"), ("c", b"three"), ("large", b"x" * 10)):
        write(lab, name, data)
    taken = lab.take(ONE, replace(LIMITS, max_file_bytes=9))
    assert (taken.files, taken.bytes_watched, taken.bytes_stored) == (3, 11, 8)
    assert [item.path.raw for item in taken.not_covered] == [b"large"]
