"""What a path is to git, what of a change set lands in a repository that moved, and where git writes outside."""

import pytest

from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, listing_of
from docket.formats.workspace.change_set import change_set_of
from docket.rules.workspace.git_landing import adapted
from docket.rules.workspace.git_paths import GitPaths, GitRole, is_made_anew_by_git
from docket.rules.workspace.git_reach import places_outside

LOOSE = b".git/objects/ab/" + b"c" * 38
BARE = [RelPath(b"store/" + name) for name in (b"HEAD", b"objects", b"refs")]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        (b".git/index", GitRole.INDEX),
        (b"sub/.git/index", GitRole.INDEX),
        (b".git/modules/sub/index", GitRole.INDEX),
        (b".git/worktrees/w/index", GitRole.INDEX),
        (b"store/index", GitRole.INDEX),
        (b".git/refs/heads/index", GitRole.REF),
        (b".git/logs/refs/heads/index", GitRole.OTHER),
        (b".git/index.lock", GitRole.LOCK),
        (b".git/refs/heads/main.lock", GitRole.LOCK),
        (b".git/hooks/own.lock", GitRole.OTHER),
        (b".git/FETCH_HEAD", GitRole.NOTE),
        (b".git/logs/ORIG_HEAD", GitRole.OTHER),
        (b".git/objects/info/packs", GitRole.NOTE),
        (b".git/objects/info/alternates", GitRole.STORED),
        (LOOSE, GitRole.OBJECT),
        (b".git/objects/ab/" + b"c" * 62, GitRole.OBJECT),
        (b".git/objects/ab/" + b"C" * 38, GitRole.STORED),
        (b".git/objects/ab", GitRole.FANOUT),
        (b".git/objects/pack", GitRole.STORED),
        (b".git/objects/pack/pack-1.idx", GitRole.STORED),
        (b".git/HEAD", GitRole.OTHER),
        (b".git", None),
        (b"index", None),
        (b".hg/index", None),
    ],
)
def test_roles(path: bytes, role: GitRole | None) -> None:
    assert GitPaths(BARE).role(RelPath(path)) is role


@pytest.mark.parametrize(
    ("path", "anew"),
    [
        (b".git/objects/ab", True),
        (b"sub/.git/refs/heads", True),
        (b".git/logs/refs/heads", True),
        (b".git/objects/pack", False),
        (b".git/refs", False),
        (b".git", False),
        (b"objects/ab", False),
    ],
)
def test_folders_that_git_makes_when_it_needs_them(path: bytes, anew: bool) -> None:
    assert is_made_anew_by_git(RelPath(path)) is anew


def test_a_tree_that_is_itself_a_repository_has_no_roles() -> None:
    assert GitPaths(RelPath(name) for name in (b"HEAD", b"objects", b"refs")).role(RelPath(b"index")) is None


def file(digit: str, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=1, sha256=Digest(digit * 64))


FOLDER = EntryState(kind="directory", mode=0o755)
A, B, C = file("a"), file("b"), file("c")
EMPTY = listing_of([])


class Base:
    """A base of plain values."""

    def __init__(self, has=None, *, says=(), packed=None, moved=False, names=()) -> None:
        self.has, self.said, self.value, self.moved = has or {}, says, packed, moved
        self.held = frozenset(names)

    def present(self, path):
        return self.has.get(path.raw)

    def stands(self, path):
        return path.raw in self.has

    def names(self, folder):
        return self.held

    def says(self, path, other):
        return other in self.said

    def packed(self, path):
        return self.value

    def has_moved(self, folder):
        return self.moved


def change(path: bytes, before: EntryState | None, after: EntryState | None) -> FsChange:
    kinds = {(False, True): Change.ADDED, (True, False): Change.REMOVED, (True, True): Change.MODIFIED}
    kind = kinds[before is not None, after is not None]
    return FsChange(path=RelPath(path), change=kind, before=before, after=after)


def landing(base: Base, *changes: FsChange, opened=EMPTY, stage=EMPTY) -> list[tuple[bytes, object, object]]:
    found = adapted(change_set_of(Digest("0" * 64), changes), base, opened, stage)
    return [(item.path.raw, item.before, item.after) for item in found.changes]


def test_what_is_not_git_s_is_left_alone() -> None:
    made = change_set_of(Digest("0" * 64), [change(b"a", A, B)])
    assert adapted(made, Base(), EMPTY, EMPTY) is made


@pytest.mark.parametrize(
    ("base", "before"),
    [
        (Base({b".git/index": A}), A),
        (Base({b".git/index": B}), A),
        (Base({b".git/index": C}, says=[A]), C),
        (Base({b".git/index": C}), A),
        (Base({b".git/index": FOLDER}), A),
        (Base(), A),
    ],
)
def test_an_index_lands_over_one_that_says_what_it_said(base: Base, before: EntryState) -> None:
    assert landing(base, change(b".git/index", A, B)) == [(b".git/index", before, B)]


def test_an_index_that_says_the_same_stays() -> None:
    assert landing(Base({b".git/index": C}, says=[B, A]), change(b".git/index", A, B)) == []


def test_notes_stay_where_they_are_others() -> None:
    note = change(b".git/FETCH_HEAD", A, B)
    assert landing(Base({b".git/FETCH_HEAD": C}), note) == []
    assert landing(Base({b".git/FETCH_HEAD": A}), note) == [(b".git/FETCH_HEAD", A, B)]


def test_objects_that_stand_stay() -> None:
    added = change(LOOSE, None, A)
    assert landing(Base({LOOSE: B, b".git/objects/ab": FOLDER}), added) == []
    assert landing(Base({LOOSE: FOLDER, b".git/objects/ab": FOLDER}), added) == [(LOOSE, None, A)]
    assert landing(Base({b".git/objects/ab": FOLDER}), change(b".git/objects/ab", None, FOLDER)) == []


def test_objects_go_only_from_a_repository_that_did_not_move() -> None:
    gone = change(LOOSE, A, None), change(b".git/objects/ab", FOLDER, None)
    both = [(b".git/objects/ab", FOLDER, None), (LOOSE, A, None)]
    assert landing(Base(), *gone) == both
    assert landing(Base(moved=True), *gone) == []
    assert landing(Base(names=[b"c" * 38]), *gone) == both
    assert landing(Base(names=[b"c" * 38, b"d" * 38]), *gone) == [(LOOSE, A, None)]
    whole = change(b".git", FOLDER, None)
    assert len(landing(Base(moved=True), whole, *gone)) == 3


def test_a_ref_that_was_packed_has_not_moved() -> None:
    value = b"1" * 40 + b"\n"
    before = EntryState(kind="file", mode=0o644, size=41, sha256=sha256(value))
    moved = change(b".git/refs/heads/main", before, B)
    at = {b".git/refs": FOLDER, b".git/refs/heads": FOLDER}
    assert landing(Base(at, packed=sha256(value)), moved) == [(b".git/refs/heads/main", None, B)]
    assert landing(Base(at), moved) == [(b".git/refs/heads/main", before, B)]
    gone = change(b".git/refs/heads/main", before, None)
    assert landing(Base(at, packed=sha256(value)), gone) == [(b".git/refs/heads/main", before, None)]


def entry(path: bytes) -> FileEntry:
    return FileEntry(path=RelPath(path), size=1, mode=0o444, mtime_ns=0, sha256=Digest("a" * 64))


def test_objects_that_went_are_put_back_with_their_folders() -> None:
    folders = [DirectoryEntry(path=RelPath(path), mode=0o755) for path in (b".git/objects", b".git/objects/ab")]
    listed = listing_of([*folders, entry(LOOSE), entry(b".git/objects/pack/p.pack"), entry(b"f")])
    head = change(b".git/HEAD", A, B)
    at = {b".git/objects": FOLDER, b".git/objects/pack/p.pack": A, b".git/objects/pack": FOLDER}
    found = landing(Base(at), head, opened=listed, stage=listed)
    assert [path for path, _, _ in found] == [b".git/HEAD", b".git/objects/ab", LOOSE]
    added = change(b".git/objects/ab/" + b"d" * 38, None, A)
    assert [path for path, _, _ in landing(Base(at), added, opened=listed, stage=listed)] == [
        b".git/objects/ab", added.path.raw,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "data", "place"),
    [
        (b".git", b"gitdir: /main/.git/worktrees/w\n", b"/main/.git/worktrees/w"),
        (b".git", b"gitdir: ../main/.git\n", b"/home/dev/main/.git"),
        (b"sub/.git", b"gitdir: ../.git/modules/sub\n", None),
        (b".git", b"gitdir: /home/dev/tree/.real\n", None),
        (b".git", b"nothing\n", None),
        (b".git/commondir", b"../../main\n", b"/home/dev/main"),
        (b".git/worktrees/w/commondir", b"../..\n", None),
        (b".git/config", b"[core]\n\tworktree = ../../x\n", b"/home/dev/x"),
        (b".git/config", b'[core]\n\tworktree = "~/x"\n', b"~/x"),
        (b".git/config", b"[core]\n\tworktree = ..\n", None),
        (b".git/objects/info/alternates", b"/elsewhere\n", None),
    ],
)
def test_documents_that_lead_outside(path: bytes, data: bytes, place: bytes | None) -> None:
    found = places_outside(EMPTY, b"/home/dev/tree", [(RelPath(path), data)])
    assert [item.place for item in found] == ([] if place is None else [place])


@pytest.mark.parametrize(
    ("path", "target", "place"),
    [
        (b".git", b"//aside/x.git", b"/aside/x.git"),
        (b".git/objects", b"../../objects", b"/home/dev/objects"),
        (b".git/refs", b"own", None),
        (b".git/hooks", b"/shared/hooks", None),
        (b"link", b"/elsewhere", None),
    ],
)
def test_links_that_lead_outside(path: bytes, target: bytes, place: bytes | None) -> None:
    listed = listing_of([SymlinkEntry(path=RelPath(path), target=target)])
    assert [item.place for item in places_outside(listed, b"/home/dev/tree", [])] == ([] if place is None else [place])
