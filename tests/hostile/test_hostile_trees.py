"""Trees that are made to trip a scanner: odd names, things that are no files, races, depth."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.errors import UnavailableError
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.tree_events import Change, Omissions, OmittedPath, Phase
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_PATH_BYTES, RelPath
from docket.formats.tree.listing import FileEntry, Kind, Omission, SymlinkEntry, decode_listing
from docket.host import tree
from docket.rules.tree.diff import diff
from docket.stores.statcache import StatCache

ROUNDS_SECONDS = 1.5

NAMES = [
    b"plain",
    b"-rf",
    b"--",
    b" ",
    b"  lead",
    b"trail ",
    b"new\nline",
    b"\n",
    b"tab\t",
    b"\x01\x1b[31m\x7f",
    b"quote\"'`$(id)",
    b"back\\slash",
    b"c:x",
    b"CON",
    b"*?[a]",
    b"#",
    b"!",
    b"...",
    b"..x",
    b"\xff",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc3",
    "ä".encode(),
    "a\u0308".encode(),
    "\u202egnp.exe".encode(),
    "\U0001f600".encode(),
    "\u2028".encode(),
    b"Case",
    b"case",
    b"n" * 255,
    "é".encode() * 127,
]


def observe(root, *, copies=0, cache=None, **more):
    world = ObserveWorld(cache=cache or StatCache(), copies=copies, share_after_files=0)
    return observe_tree(ObserveRequest(root=root if isinstance(root, bytes) else os.fsencode(root), **more), world)


def omissions(listing):
    return {item.path.raw: (item.reason, item.kind) for item in listing.omissions}


@contextmanager
def in_a_loop(work):
    """Run `work` again and again in a thread; it must leave things as it found them each time."""
    done = threading.Event()

    def loop():
        while not done.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def passes_for(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def test_every_name_is_told_as_it_is(tmp_path):
    root = os.fsencode(tmp_path)
    for name in NAMES:
        os.mkdir(root + b"/" + name)
        for inner in NAMES[:22]:
            with open(root + b"/" + name + b"/" + inner, "wb") as out:
                out.write(inner)
    listing = observe(root, copies=1)
    files = {entry.path.raw: entry.sha256 for entry in listing.entries if isinstance(entry, FileEntry)}
    assert files == {name + b"/" + inner: hashlib.sha256(inner).hexdigest() for name in NAMES for inner in NAMES[:22]}
    assert decode_listing(listing.document) == listing
    assert listing.directories == len(NAMES)
    for name in NAMES:
        os.unlink(root + b"/" + name + b"/" + b"\xff")
    gone = diff(listing, observe(root))
    assert {(item.path.raw, item.change) for item in gone} == {(name + b"/\xff", Change.REMOVED) for name in NAMES}


def test_things_that_are_no_files_are_named_and_never_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo", 0o640)
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tmp_path, os.O_RDONLY)
        try:
            listening.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)
        listening.listen()
        (tmp_path / "link-to-fifo").symlink_to("fifo")
        (tmp_path / "file").write_bytes(b"x")
        listing = observe(tmp_path)
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert omissions(listing) == {
        b"fifo": (Reason.SPECIAL_FILE, Kind.FIFO),
        b"socket": (Reason.SPECIAL_FILE, Kind.SOCKET),
    }
    assert listing.omissions[0].mode == 0o640
    assert listing.record(RelPath(b"link-to-fifo")) == SymlinkEntry(path=RelPath(b"link-to-fifo"), target=b"fifo")


def test_a_fifo_with_a_writer_keeps_its_bytes(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    both = os.open(tmp_path / "fifo", os.O_RDWR)
    try:
        os.write(both, b"precious")
        observe(tmp_path)
        assert os.read(both, 100) == b"precious"
    finally:
        os.close(both)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_devices_are_never_opened(tmp_path):
    try:
        os.mknod(tmp_path / "zero", 0o020666, os.makedev(1, 5))
        os.mknod(tmp_path / "block", 0o060666, os.makedev(7, 250))
    except PermissionError:
        pytest.skip("this container makes no device nodes")
    assert omissions(observe(tmp_path)) == {
        b"zero": (Reason.SPECIAL_FILE, Kind.CHARACTER_DEVICE),
        b"block": (Reason.SPECIAL_FILE, Kind.BLOCK_DEVICE),
    }


def test_links_are_never_followed(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"s")
    for name, target in (("loop", "loop"), ("a", "b"), ("b", "a"), ("up", ".."), ("here", "."), ("out", "../outside")):
        (tmp_path / "tree" / name).symlink_to(target)
    (tmp_path / "tree/root").symlink_to("/")
    (tmp_path / "tree/long").symlink_to("x" * 4000)
    listing = observe(tmp_path / "tree")
    assert listing.symlinks == 8 == len(listing.records)
    assert listing.record(RelPath(b"long")).target == b"x" * 4000


@pytest.mark.parametrize("levels", [500, 1500])
def test_depth_costs_no_descriptors_and_no_recursion(tmp_path, levels):
    script = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
sys.setrecursionlimit(150)
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
here = os.open(sys.argv[1], os.O_RDONLY)
for level in range({levels}):
    os.mkdir("d", dir_fd=here)
    for name in ("a", "z"):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    inner = os.open("d", os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = inner
listing = observe_tree(ObserveRequest(root=os.fsencode(sys.argv[1])), ObserveWorld(copies=0))
print(listing.files, listing.directories, len(listing.omissions), b'"path":"z"' in listing.lines()[-1])
"""
    made = tmp_path / "tree"
    made.mkdir()
    try:
        done = subprocess.run([sys.executable, "-c", script, made], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split() == [str(2 * levels), str(levels), "0", "True"]
    finally:
        subprocess.run(["rm", "-rf", "--", made], check=True)


def test_a_path_that_no_record_can_hold_is_an_omission(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(70):
        os.mkdir("d" * 250, dir_fd=here)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    try:
        listing = observe(tmp_path)
        (omission,) = listing.omissions
        assert omission.reason is Reason.NAME_TOO_LONG
        assert len(omission.path.raw) <= MAX_PATH_BYTES
        assert listing.directories + 1 == omission.path.raw.count(b"/") + 1
        assert decode_listing(listing.document) == listing
    finally:
        subprocess.run(["rm", "-rf", "--", *tmp_path.iterdir()], check=True)


def test_a_hole_larger_than_any_disk_does_not_hang(tmp_path):
    with open(tmp_path / "sparse", "wb") as out:
        try:
            out.truncate(2**43)
        except OSError:
            pytest.skip("this file system holds no such file")
    (tmp_path / "small-hole").write_bytes(b"")
    os.truncate(tmp_path / "small-hole", 3_000_000)
    listing = observe(tmp_path)
    assert listing.omissions == (
        Omission(
            path=RelPath(b"sparse"),
            reason=Reason.TOO_LARGE,
            kind=Kind.FILE,
            mode=listing.omissions[0].mode,
            size=2**43,
            detail=listing.omissions[0].detail,
        ),
    )
    assert listing.record(RelPath(b"small-hole")).sha256 == hashlib.sha256(bytes(3_000_000)).hexdigest()


def test_a_directory_swapped_for_a_link_redirects_nothing(tmp_path):
    tree_root, outside = tmp_path / "tree", tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    (outside / "in/secret").write_bytes(b"secret")
    for number in range(10):
        (tree_root / f"d{number}/in").mkdir(parents=True)
        (tree_root / f"d{number}/in/file").write_bytes(b"inside")
    inside, secret = (hashlib.sha256(data).hexdigest() for data in (b"inside", b"secret"))

    def swap():
        for number in range(10):
            path, aside = tree_root / f"d{number}", tmp_path / f"aside{number}"
            path.rename(aside)
            path.symlink_to(outside)
            path.unlink()
            aside.rename(path)

    seen = set()
    with in_a_loop(swap):
        for _ in passes_for(ROUNDS_SECONDS):
            for record in observe(tree_root).records:
                seen.add(type(record).__name__)
                assert b"secret" not in record.path.raw
                if isinstance(record, FileEntry):
                    assert record.sha256 == inside
                    assert record.sha256 != secret
                elif isinstance(record, Omission):
                    assert record.reason in (Reason.VANISHED, Reason.CHANGED_WHILE_READ)
    assert "FileEntry" in seen
    assert omissions(observe(tree_root)) == {}


def test_a_file_swapped_for_other_things_is_one_of_them_or_an_omission(tmp_path):
    (tmp_path / "tree").mkdir()
    path, fifo, other = tmp_path / "tree/x", tmp_path / "fifo", tmp_path / "other"
    path.write_bytes(b"inside")
    os.mkfifo(fifo)
    other.mkdir()

    def swap():
        aside = tmp_path / "aside"
        path.rename(aside)
        for thing in (fifo, other):
            thing.rename(path)
            path.rename(thing)
        path.symlink_to("/etc/passwd")
        path.unlink()
        aside.rename(path)

    with in_a_loop(swap):
        for _ in passes_for(ROUNDS_SECONDS):
            for record in observe(tmp_path / "tree").records:
                match record:
                    case FileEntry():
                        assert record.sha256 == hashlib.sha256(b"inside").hexdigest()
                    case SymlinkEntry():
                        assert record.target == b"/etc/passwd"
                    case Omission():
                        assert record.reason in (Reason.VANISHED, Reason.CHANGED_WHILE_READ, Reason.SPECIAL_FILE)


def test_a_file_that_changes_while_it_is_read_never_stands_under_a_wrong_digest(tmp_path):
    path, size, turns = tmp_path / "x", 3_000_000, 8
    middle = bytes(size - 2)

    def digest(first, last):
        return hashlib.sha256(bytes([first]) + middle + bytes([last])).hexdigest()

    # The first byte is written, then the last: these are all the contents that ever stood there.
    stood = {digest((turn + ahead) % turns, turn) for turn in range(turns) for ahead in (0, 1)}
    path.write_bytes(bytes(size))

    with open(path, "r+b", buffering=0) as out:

        def rewrite():
            for turn in (*range(1, turns), 0):
                os.pwrite(out.fileno(), bytes([turn]), 0)
                os.pwrite(out.fileno(), bytes([turn]), size - 1)

        outcomes = []
        with in_a_loop(rewrite):
            for _ in passes_for(ROUNDS_SECONDS):
                outcomes += observe(tmp_path).records
    for record in outcomes:
        if isinstance(record, Omission):
            assert (record.reason, record.kind, record.size) == (Reason.CHANGED_WHILE_READ, Kind.FILE, size)
        else:
            assert record.sha256 in stood
    assert any(isinstance(record, Omission) for record in outcomes)
    assert observe(tmp_path).record(RelPath(b"x")).sha256 == digest(0, 0)


def test_a_file_that_grows_without_end_does_not_hang(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"")

    with open(path, "ab", buffering=0) as out:

        def grow():
            out.write(b"x" * 65536)
            if out.tell() > 50_000_000:
                out.truncate(0)

        with in_a_loop(grow):
            for _ in passes_for(0.7):
                (record,) = observe(tmp_path).records
                if isinstance(record, FileEntry):
                    assert record.sha256 == hashlib.sha256(b"x" * record.size).hexdigest()
                else:
                    assert record.reason is Reason.CHANGED_WHILE_READ


def test_a_reader_that_sees_a_change_gives_no_digest(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        seen = tree.status_at(here, "x")
        key, reader = tree.file_key(seen), tree.FileReader()
        assert reader.digest(here, "x", seen, key) == hashlib.sha256(b"one").digest()
        os.utime(path, ns=(1, 1))
        assert reader.digest(here, "x", seen, key) is None
        path.unlink()
        assert reader.digest(here, "x", seen, key) is None
        os.mkfifo(path)
        assert reader.digest(here, "x", seen, key) is None
        path.unlink()
        path.symlink_to("/dev/zero")
        assert reader.digest(here, "x", seen, key) is None
        path.unlink()
        path.mkdir()
        assert reader.digest(here, "x", seen, key) is None
    finally:
        os.close(here)


def test_the_root_replaced_while_it_is_walked(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "only").write_bytes(name.encode())
    swaps = 0

    def swap(_files, _bytes):
        nonlocal swaps
        swaps += 1
        if swaps == 1:
            (tmp_path / "one").rename(tmp_path / "aside")
            (tmp_path / "two").rename(tmp_path / "one")
            (tmp_path / "aside").rename(tmp_path / "two")

    listing = observe(tmp_path / "one", progress=swap)
    here = (tmp_path / "one").stat()
    assert listing.root == (here.st_dev, here.st_ino)
    content = (tmp_path / "one/only").read_bytes()
    assert listing.record(RelPath(b"only")).sha256 == hashlib.sha256(content).hexdigest()


def test_the_root_replaced_again_and_again(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def swap(_files, _bytes):
        (tmp_path / "one").rename(tmp_path / "aside")
        (tmp_path / "two").rename(tmp_path / "one")
        (tmp_path / "aside").rename(tmp_path / "two")

    with pytest.raises(UnavailableError) as caught:
        observe(tmp_path / "one", progress=swap)
    assert caught.value.reason == Reason.CHANGED_WHILE_READ


AS_NOBODY = """
import os, sys
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
if os.geteuid() == 0:
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
listing = observe_tree(ObserveRequest(root=os.fsencode(sys.argv[1])), ObserveWorld(copies=0))
for item in listing.omissions:
    print(item.path, item.reason, item.kind, oct(item.mode) if item.mode is not None else None, item.size)
sys.stderr.write(listing.document.decode())
"""


@pytest.fixture
def closed_tree():
    """A tree with things its reader may not read, in a place everybody can reach."""
    root = tempfile.mkdtemp(prefix="docket-closed-")
    os.chmod(root, 0o755)  # noqa: S103 - the reader is another user
    for name in ("closed", "names-only", "open"):
        os.mkdir(f"{root}/{name}")
        with open(f"{root}/{name}/x", "wb") as out:
            out.write(b"x")
    with open(f"{root}/secret", "wb") as out:
        out.write(b"sesame")
    os.chmod(f"{root}/secret", 0o000)
    os.chmod(f"{root}/closed", 0o000)
    os.chmod(f"{root}/names-only", 0o444)
    yield root
    for name in ("closed", "names-only"):
        os.chmod(f"{root}/{name}", 0o700)
    shutil.rmtree(root)


def test_what_may_not_be_read_is_named(closed_tree):
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, closed_tree], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "closed unreadable directory 0o0 None",
        "names-only/x unreadable None None None",
        "secret unreadable file 0o0 6",
    ]
    listing = decode_listing(done.stderr.encode())
    assert [entry.path.raw for entry in listing.entries] == [b"names-only", b"open", b"open/x"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_other_file_systems_and_bound_folders_are_not_entered(tmp_path):
    script = """
set -e
mkdir "$1/tmpfs" "$1/bound" "$1/plain"
echo x > "$1/plain/x"
echo y > "$1/file"
mount -t tmpfs none "$1/tmpfs"
echo z > "$1/tmpfs/z"
mount --bind "$1/plain" "$1/bound"
mount --bind "$1/plain/x" "$1/file"
exec "$2" -c "$3" "$1"
"""
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", tmp_path, sys.executable]
    program = AS_NOBODY.replace("if os.geteuid() == 0:", "if False:")
    done = subprocess.run([*command, program], capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr.lower():
        pytest.skip("this container mounts nothing")
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["bound", "other-file-system"],
        ["file", "other-file-system"],
        ["tmpfs", "other-file-system"],
    ]
    entries = decode_listing(done.stderr.encode()).entries
    assert [entry.path.raw for entry in entries] == [b"plain", b"plain/x"]


def test_omissions_of_any_name_fit_into_the_ledger(tmp_path):
    root = os.fsencode(tmp_path)
    for name in NAMES:
        os.mkfifo(root + b"/" + name)
    listing = observe(root)
    payload = Omissions(
        phase=Phase.BEFORE,
        omissions=tuple(OmittedPath(path=i.path, reason=i.reason, detail=i.detail) for i in listing.omissions),
    )
    assert from_members(Omissions, payload.to_data(), "x") == payload
    assert len(payload.omissions) == len(NAMES)
