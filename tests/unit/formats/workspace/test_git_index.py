"""What an index of git says: small ones typed by hand, real ones made by git, and damaged ones."""

import hashlib
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.workspace import git_index
from docket.formats.workspace.git_index import index_digest, same_index

NAME = bytes(range(20))
STAT = bytes(range(24))


def entry(
    path: bytes = b"a", *, mode=0o100644, flags=0, more=None, stat=STAT, size=b"\0\0\0\1", name=NAME, length=None
):
    told = flags | (min(len(path), 0xFFF) if length is None else length)
    raw = stat + mode.to_bytes(4, "big") + bytes(8) + size + name + told.to_bytes(2, "big")
    if more is not None:
        raw += more.to_bytes(2, "big")
    raw += path
    return raw + bytes(8 - len(raw) % 8)


def signed(body: bytes, algorithm="sha1") -> bytes:
    return body + hashlib.new(algorithm, body).digest()


def index(*entries: bytes, version=2, count=None, extensions=b"", algorithm="sha1") -> bytes:
    head = b"DIRC" + version.to_bytes(4, "big") + (len(entries) if count is None else count).to_bytes(4, "big")
    return signed(head + b"".join(entries) + extensions, algorithm)


def extension(name: bytes, data: bytes = b"") -> bytes:
    return name + len(data).to_bytes(4, "big") + data


def test_what_stat_told_does_not_count():
    one = index(entry(b"a"), entry(b"b"))
    other = index(entry(b"a", stat=bytes(24), size=bytes(4)), entry(b"b"))
    assert one != other
    assert same_index(one, other)
    assert index_digest(one) == index_digest(other)


@pytest.mark.parametrize(
    "other",
    [
        index(entry(b"b")),
        index(entry(b"a", mode=0o100755)),
        index(entry(b"a", mode=0o120000)),
        index(entry(b"a", name=bytes(20))),
        index(entry(b"a", flags=0x8000)),
        index(entry(b"a", flags=0x1000)),
        index(entry(b"a", flags=0x4000, more=0x2000), version=3),
        index(entry(b"a", flags=0x4000, more=0x4000), version=3),
        index(entry(b"a"), entry(b"b")),
        index(),
        index(entry(b"a"), extensions=extension(b"REUC", b"x")),
        index(entry(b"a"), extensions=extension(b"sdir")),
        index(entry(b"a", name=NAME + bytes(12)), algorithm="sha256"),
    ],
)
def test_everything_else_counts(other):
    index_digest(other)
    assert not same_index(index(entry(b"a")), other)


@pytest.mark.parametrize("name", [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"])
def test_what_git_makes_anew_does_not_count(name):
    assert same_index(index(entry()), index(entry(), extensions=extension(name, b"anything")))


def test_the_version_does_not_count():
    head, rest = entry()[:62], b"\0a\0"
    compressed = index(head + rest, version=4)
    assert same_index(index(entry()), compressed)
    assert same_index(index(entry()), index(entry(), version=3))
    assert same_index(index(entry()), index(entry(flags=0x4000, more=0), version=3))


def test_paths_of_version_four_begin_as_those_before():
    def packed(path: bytes, strip: bytes, end: bytes) -> bytes:
        return entry(path)[:62] + strip + end + b"\0"

    long = b"d/" + b"x" * 300
    plain = index(entry(b"d/file"), entry(b"d/fish"), entry(long), entry(b"e"))
    # git counts its numbers so that no two spellings are one: 128 is 80 00, and 302 is 81 2e.
    compressed = index(
        packed(b"d/file", b"\0", b"d/file"),
        packed(b"d/fish", b"\2", b"sh"),
        packed(long, b"\4", b"x" * 300),
        packed(b"e", b"\x81\x2e", b"e"),
        version=4,
    )
    assert same_index(plain, compressed)


def test_long_paths_end_where_their_zero_is():
    path = b"x" * 4096
    assert same_index(index(entry(path)), index(entry(path, stat=bytes(24))))
    with pytest.raises(InvalidDocumentError):
        index_digest(index(entry(path + b"x")))


def test_checksum_may_be_left_out():
    body = index(entry())[:-20]
    assert same_index(body + bytes(20), index(entry()))
    wide = entry(name=NAME + bytes(12))
    assert same_index(index(wide, algorithm="sha256")[:-32] + bytes(32), index(wide, algorithm="sha256"))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"DIRC",
        b"DIRX" + index()[4:],
        index(version=1),
        index(version=5),
        index(entry())[:-1] + b"\xff",
        index(entry(), count=2),
        index(count=1),
        index(entry(), count=0),
        index(entry(b"")),
        index(entry(b"a", length=2)),
        index(entry(b"b"), entry(b"a")),
        index(entry(b"a"), entry(b"a")),
        index(entry(b"a", mode=0o060000)),
        index(entry(b"a", mode=0o10100644)),
        index(entry(flags=0x4000, more=0x2000), version=2),
        index(entry(flags=0x4000, more=0x8000), version=3),
        index(entry(flags=0x4000, more=0x1000), version=3),
        index(entry(flags=0x4000)[:62], version=3),
        index(entry()[:-1] + b"x"),
        index(entry()[:63]),
        index(entry()[:62] + b"a" * 20),
        index(entry()[:62], version=4),
        index(entry()[:62] + b"\x80", version=4),
        index(entry()[:62] + b"\xff" * 20, version=4),
        index(entry()[:62] + b"\1a\0", version=4),
        index(entry()[:62] + b"\0a", version=4),
        index(entry(), extensions=b"TREE"),
        index(entry(), extensions=b"TREE\0\0\0\1"),
        index(entry(), extensions=extension(b"link", bytes(20))),
        index(entry(), extensions=extension(b"NEWX")),
    ],
)
def test_what_is_not_understood_is_refused(document):
    with pytest.raises(InvalidDocumentError):
        index_digest(document)
    assert same_index(document, document)
    assert not same_index(document, index(entry()))


def test_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(git_index, "MAX_INDEX_BYTES", 10)
    with pytest.raises(InvalidDocumentError, match="more than 10"):
        index_digest(index(entry()))


@given(st.data())
def test_damage_is_refused_or_seen(data):
    """A changed byte of what counts, with the checksum made right again, is another meaning or a refusal."""
    whole = index(
        entry(b"a"), entry(b"dir/b", flags=0x4000, more=0x2000), version=3, extensions=extension(b"TREE", b"x")
    )
    body = bytearray(whole[:-20])
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    changed = signed(bytes(body))
    second = len(entry(b"a")) + 12
    uncounted = (*range(12, 36), *range(40, 52), *range(second, second + 24), *range(second + 28, second + 40))
    told_apart = at not in uncounted and at < second + len(entry(b"dir/b", more=0))
    assert not (told_apart and same_index(whole, changed))


@given(st.binary(max_size=300), st.sampled_from(["sha1", "sha256"]), st.sampled_from([2, 3, 4]), st.integers(0, 3))
def test_any_bytes_are_read_or_refused(data, algorithm, version, count):
    document = signed(b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + data, algorithm)
    with suppress(InvalidDocumentError):
        assert len(index_digest(document)) == 64


GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "core.fsmonitor=false")


def git(folder: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run([*GIT, *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repository(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    git(folder, "init", "--quiet", f"--object-format={request.param}")
    for name in ("a", "dir/b", "dir/c", "z" * 200):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    (folder / "link").symlink_to("a")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def present(folder: Path) -> bytes:
    return (folder / ".git/index").read_bytes()


def rewritten(folder: Path) -> bytes:
    """The index after git looked at files whose times it does not know."""
    for name in ("a", "dir/b", "dir/c"):
        os.utime(folder / name, ns=(10**18, 10**18))
    git(folder, "status", "--short")
    return present(folder)


def test_git_s_own_index_after_a_look_says_the_same(repository):
    before = present(repository)
    after = rewritten(repository)
    assert before != after
    assert same_index(before, after)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_versions_of_git_s_own_index_say_the_same(repository, version):
    before = present(repository)
    git(repository, "update-index", "--index-version", version)
    assert same_index(before, present(repository))


def test_caches_of_git_s_own_index_do_not_count(repository):
    before = present(repository)
    git(repository, "update-index", "--force-untracked-cache")
    git(repository, "status", "--short")
    after = present(repository)
    git(repository, "update-index", "--no-untracked-cache")
    assert b"UNTR" in after
    assert same_index(before, after)


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (("update-index", "--assume-unchanged", "a"), ("update-index", "--no-assume-unchanged", "a")),
        (("update-index", "--skip-worktree", "a"), ("update-index", "--no-skip-worktree", "a")),
        (("update-index", "--chmod=+x", "a"), ("update-index", "--chmod=-x", "a")),
        (("rm", "--quiet", "--cached", "a"), ("add", "a")),
        (("mv", "a", "b"), ("mv", "b", "a")),
    ],
)
def test_what_a_person_does_to_git_s_own_index_counts(repository, change, back):
    before = present(repository)
    git(repository, *change)
    after = present(repository)
    git(repository, *back)
    index_digest(after)
    assert not same_index(before, after)
    assert same_index(before, present(repository))


def test_an_index_with_a_shared_part_is_not_understood(repository):
    git(repository, "update-index", "--split-index")
    try:
        with pytest.raises(InvalidDocumentError):
            index_digest(present(repository))
    finally:
        git(repository, "update-index", "--no-split-index")
