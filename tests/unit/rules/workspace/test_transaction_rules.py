"""States, settling, preconditions and protected paths of transactions: tables of facts and what they mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import WorkspaceSettle
from docket.formats.tree.listing import (
    Counts,
    DirectoryEntry,
    FileEntry,
    Kind,
    Listing,
    Omission,
    SymlinkEntry,
    listing_of,
)
from docket.formats.tree.surface import Surface
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.scope import Decision
from docket.formats.workspace.state import Evidence, Status, SurfaceRules
from docket.rules.selectors import compile_patterns
from docket.rules.workspace.preflight import (
    MAX_ENTRIES,
    RESERVE_BYTES,
    RESERVE_INODES,
    git_documents,
    leads_into_base,
    place_refusal,
    room_refusal,
)
from docket.rules.workspace.protected import Approval, approval, protected_hits
from docket.rules.workspace.renames import Rename, renames
from docket.rules.workspace.settle import EndFacts, settle
from docket.rules.workspace.states import MOVES, Move, Standing, after, standing
from docket.rules.workspace.surface import Classes, PathClass, staged_only

A, B = Digest("aa" * 32), Digest("bb" * 32)
FOLDER = EntryState(kind="directory", mode=0o755)


def file(path: bytes, sha256: Digest = A, size: int = 1, mode: int = 0o644) -> FileEntry:
    return FileEntry(path=RelPath(path), size=size, mode=mode, mtime_ns=0, sha256=sha256)


def folder(path: bytes) -> DirectoryEntry:
    return DirectoryEntry(path=RelPath(path), mode=0o755)


def state(sha256: Digest = A, size: int = 1) -> EntryState:
    return EntryState(kind="file", mode=0o644, size=size, sha256=sha256)


def changed(path: bytes, kind: Change, before: EntryState | None = None, now: EntryState | None = None) -> FsChange:
    return FsChange(path=RelPath(path), change=kind, before=before, after=now)


def changes(*found: FsChange) -> ChangeSet:
    return change_set_of(A, found)


# What each move leads to, from open, closed, committing, committed, refused, discarded; - where it cannot happen.
TABLE = {
    Move.CLOSE: "closed - - - - -",
    Move.BEGIN: "- committing - - committing committing",
    Move.COMMIT: "- - committed - - -",
    Move.REFUSE: "- refused refused - refused refused",
    Move.DISCARD: "discarded discarded - - discarded discarded",
}


@pytest.mark.parametrize("move", Move)
def test_which_status_may_follow_which(move: Move) -> None:
    found = [after(status, move) for status in Status]
    assert " ".join("-" if status is None else str(status) for status in found) == TABLE[move]


def test_what_was_committed_is_over() -> None:
    assert not [move for status, move in MOVES if status is Status.COMMITTED]


@pytest.mark.parametrize("status", Status)
def test_an_owner_that_is_gone_counts_only_while_something_is_under_way(status: Status) -> None:
    assert standing(status, owner_is_gone=False) == Standing(status.value)
    gone = {Status.OPEN: Standing.INTERRUPTED, Status.COMMITTING: Standing.INTERRUPTED_COMMIT}
    assert standing(status, owner_is_gone=True) == gone.get(status, Standing(status.value))


WELL = EndFacts(agent_exit=0)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (replace(WELL, breached="max_usd"), Reason.RUN_BREACHED),
        (replace(WELL, interrupted=True), Reason.RUN_INTERRUPTED),
        (replace(WELL, agent_exit=None), Reason.AGENT_FAILED),
        (replace(WELL, agent_exit=2), Reason.AGENT_FAILED),
        (replace(WELL, survivors=1), Reason.STILL_RUNNING),
        (replace(WELL, violations=1), Reason.POLICY_VIOLATED),
        (replace(WELL, last_call="was refused (max_usd)"), Reason.LAST_CALL_FAILED),
        (replace(WELL, ledger_complete=False), Reason.EVIDENCE_FAILED),
        (replace(WELL, breached="max_usd", interrupted=True, agent_exit=1), Reason.RUN_BREACHED),
    ],
)
@pytest.mark.parametrize("mode", WorkspaceSettle)
def test_anything_that_was_not_well_discards(facts: EndFacts, reason: Reason, mode: WorkspaceSettle) -> None:
    found = settle(facts, mode)
    assert (found.decision, found.reason) == (Decision.DISCARD, reason)
    assert found.detail


def test_a_run_that_was_well_is_settled_as_it_was_asked_to() -> None:
    assert settle(WELL, WorkspaceSettle.AUTO).decision is Decision.COMMIT
    assert settle(WELL, WorkspaceSettle.AUTO).reason is None
    review, never = settle(WELL, WorkspaceSettle.REVIEW), settle(WELL, WorkspaceSettle.DISCARD)
    assert (review.decision, review.reason) == (Decision.REVIEW, Reason.SETTLE_REVIEW)
    assert (never.decision, never.reason) == (Decision.DISCARD, Reason.SETTLE_DISCARD)


@pytest.mark.parametrize(
    ("base", "state_root", "home", "reason"),
    [
        (b"/work", b"/state", b"/home/me", None),
        (b"/work", b"/worker", None, None),
        (b"/", b"/state", None, Reason.BASE_REFUSED),
        (b"/home/me", b"/state", b"/home/me", Reason.BASE_REFUSED),
        (b"/work", b"/work/.state/tx", None, Reason.NESTED),
        (b"/state/tx/work", b"/state/tx", None, Reason.NESTED),
        (b"/work", b"/work", None, Reason.NESTED),
    ],
)
def test_where_a_base_may_stand(base: bytes, state_root: bytes, home: bytes | None, reason: Reason | None) -> None:
    found = place_refusal(base, state_root, home)
    assert (found and found.reason) == reason
    if reason is Reason.NESTED:
        assert found is not None
        assert base.decode() in found.detail
        assert state_root.decode() in found.detail


class Large(Listing):
    """A listing of which only the counts matter."""

    def __init__(self, counts: Counts) -> None:
        super().__init__(b"", counts=counts)


@pytest.mark.parametrize(
    ("counts", "free", "inodes", "numbers"),
    [
        (Counts(files=10, bytes=1000), RESERVE_BYTES + 1100, RESERVE_INODES + 11, None),
        (Counts(files=10, bytes=1000), None, None, None),
        (Counts(files=10, bytes=1000), RESERVE_BYTES + 1099, None, (RESERVE_BYTES + 1100, RESERVE_BYTES + 1099)),
        (Counts(files=5, directories=3, symlinks=2), None, 1034, (1035, 1034)),
        (Counts(files=MAX_ENTRIES, symlinks=1), None, None, (MAX_ENTRIES + 1, MAX_ENTRIES)),
    ],
)
def test_what_must_fit(counts: Counts, free: int | None, inodes: int | None, numbers: tuple[int, int] | None) -> None:
    found = room_refusal(Large(counts), free, inodes)
    if numbers is None:
        assert found is None
    else:
        assert found is not None
        assert all(f"{number:,}" in found.detail for number in numbers)


BASE = b"/work/tree"


def link(path: bytes, target: bytes) -> SymlinkEntry:
    return SymlinkEntry(path=RelPath(path), target=target)


@pytest.mark.parametrize(
    ("entry", "leads"),
    [
        (link(b"l", b"/work/tree/a"), True),
        (link(b"l", b"/work/tree"), True),
        (link(b"l", b"/work/x/../tree/a"), True),
        (link(b"l", b"//work/tree/a"), True),
        (link(b"l", b"/work/tree-2"), False),
        (link(b"l", b"/usr/bin/python3"), False),
        (link(b"l", b"../sibling"), False),
        (link(b"l", b"a"), False),
    ],
)
def test_links_that_lead_back(entry: SymlinkEntry, leads: bool) -> None:
    found = leads_into_base(listing_of([entry]), BASE, [])
    assert (found is not None) is leads
    if found is not None:
        assert found.reason is Reason.LEADS_INTO_BASE
        assert "l (a link to " in found.detail


@pytest.mark.parametrize(
    ("path", "data", "leads"),
    [
        (b".git", b"gitdir: /other/.git/worktrees/tree\n", True),
        (b".git", b"gitdir: ../main/.git/worktrees/tree", True),
        (b"sub/.git", b"gitdir: ../.git/modules/sub\r\n", False),
        (b"sub/.git", b"gitdir: ../../x\n", True),
        (b".git", b"not git's\n", False),
        (b".git/config", b"[core]\n\tworktree = /work/tree\n", True),
        (b".git/config", b'[core]\n\tWorkTree="../../x"\n', True),
        (b".git/modules/sub/config", b"[core]\n\tworktree = ../../../sub\n", False),
        (b".git/config", b"[core]\n\tworktree = ~/x\n", True),
        (b".git/config", b"[core]\n\tbare = false\n", False),
        (b".git/commondir", b"../../main/.git\n", True),
        (b".git/worktrees/w/commondir", b"../..\n", False),
        (b".git/objects/info/alternates", b"/elsewhere/objects\n# a remark\n\n", False),
        (b".git/objects/info/alternates", b"../../../other/.git/objects\n", True),
        (b".git/objects/info/alternates", b"../modules/x/objects\n", False),
    ],
)
def test_documents_of_git_that_lead_out_of_a_stage(path: bytes, data: bytes, leads: bool) -> None:
    assert (leads_into_base(listing_of([]), BASE, [(RelPath(path), data)]) is not None) is leads


def test_of_many_that_lead_back_the_first_are_named() -> None:
    links = [link(b"%02d" % number, b"/work/tree/x") for number in range(8)]
    found = leads_into_base(listing_of(links), BASE, [])
    assert found is not None
    assert "04 (" in found.detail
    assert "05 (" not in found.detail
    assert "and 3 more" in found.detail


def test_which_files_are_documents_of_git() -> None:
    wanted = [b".git/config", b".git/config.worktree", b".git/objects/info/alternates", b"sub/.git"]
    others = [b".git/HEAD", b"config", b"info/alternates", b".gitignore"]
    listing = listing_of([*map(file, (*wanted, *others)), folder(b".git"), folder(b"sub")])
    assert [path.raw for path in git_documents(listing)] == wanted


STAGED = listing_of([folder(b"d"), folder(b"d/keys"), file(b"d/keys/secret"), file(b"d/other"), file(b".env")])
GONE = (
    changed(b"d", Change.REMOVED, FOLDER),
    changed(b"d/keys", Change.REMOVED, FOLDER),
    changed(b"d/keys/secret", Change.REMOVED, state()),
    changed(b"d/other", Change.REMOVED, state()),
)


@pytest.mark.parametrize(
    ("patterns", "found", "hits"),
    [
        ((), (changed(b".env", Change.REMOVED, state()),), []),
        ((".env",), (), []),
        ((".env",), (changed(b".env", Change.MODIFIED, state(), state(B)),), [b".env"]),
        (("keys/",), (changed(b"d/keys/new", Change.ADDED, now=state()),), [b"d/keys/new"]),
        (("secret",), GONE, [b"d", b"d/keys", b"d/keys/secret"]),
        (("secret",), (changed(b"d", Change.RETYPED, FOLDER, state()), *GONE[1:]), [b"d", b"d/keys", b"d/keys/secret"]),
        (("secret",), (changed(b"d", Change.MODIFIED, FOLDER, EntryState(kind="directory", mode=0o700)),), []),
        (("nothing",), GONE, []),
    ],
)
def test_what_touches_a_protected_path(
    patterns: tuple[str, ...], found: tuple[FsChange, ...], hits: list[bytes]
) -> None:
    assert [path.raw for path in protected_hits(changes(*found), STAGED, patterns)] == hits


def test_an_approval_is_for_the_run_or_for_one_change_set() -> None:
    one, other = changes(*GONE), changes(GONE[0])
    assert approval(one, for_run=False, digest=None) is Approval.NONE
    assert approval(one, for_run=True, digest=None) is Approval.RUN
    assert approval(one, for_run=False, digest=one.digest) is Approval.DIFF
    assert approval(one, for_run=True, digest=other.digest) is Approval.NONE


RULES = SurfaceRules(
    exclude=("secret*", "!secret.txt", "out/"),
    share=("cache/", "secret.log"),
    evidence=(Evidence(path=RelPath(b".docket")),),
)


@pytest.mark.parametrize(
    ("path", "is_directory", "wanted"),
    [
        (b"a", False, PathClass.STAGED),
        (b"secret.key", False, PathClass.MASKED),
        (b"secret.txt", False, PathClass.STAGED),
        (b"secret.log", False, PathClass.MASKED),
        (b"out", True, PathClass.MASKED),
        (b"out", False, PathClass.STAGED),
        (b"out/deep/a", False, PathClass.MASKED),
        (b"cache/x/y", False, PathClass.SHARED),
        (b"cache/out/y", False, PathClass.MASKED),
        (b".docket/runs", True, PathClass.MASKED),
    ],
)
def test_the_class_of_a_path(path: bytes, is_directory: bool, wanted: PathClass) -> None:
    assert Classes.of(RULES).of_path(RelPath(path), is_directory=is_directory) is wanted


def test_one_surface_measures_base_and_stage() -> None:
    surface = Classes.of(RULES).surface((RelPath(b"cache"),))
    for raw, is_directory in ((b"secret.key", False), (b"out", True), (b"cache", False), (b".docket", True)):
        assert surface.left_out(raw, is_directory=is_directory) is not None
    for raw in (b".git/objects", b"secret.txt", b"src"):
        assert surface.left_out(raw, is_directory=True) is None
    assert Classes.of(SurfaceRules()).surface().ignored is None


def test_each_list_decides_by_its_own_last_pattern() -> None:
    matcher = Classes.of(RULES).unstaged()
    assert matcher is not None
    assert matcher.patterns == (*RULES.exclude, *RULES.share)
    assert matcher.matches(RelPath(b"cache/a"), is_directory=False)
    assert not matcher.matches(RelPath(b"secret.txt"), is_directory=False)


def test_the_paths_that_a_pass_did_not_enter_are_told_by_class() -> None:
    listing = listing_of(
        [
            Omission(path=RelPath(b"out"), reason=Reason.EXCLUDED, kind=Kind.DIRECTORY),
            Omission(path=RelPath(b"cache"), reason=Reason.EXCLUDED, kind=Kind.DIRECTORY),
            Omission(path=RelPath(b"pipe"), reason=Reason.SPECIAL_FILE, kind=Kind.FIFO),
        ]
    )
    assert Classes.of(RULES).outermost(listing) == ((RelPath(b"out"),), (RelPath(b"cache"),))


def test_what_a_run_watches_is_watched_as_far_as_it_is_staged() -> None:
    watched = Surface(ignored=compile_patterns(["*.log"]), evidence=(RelPath(b".docket"),))
    found = staged_only(watched, RULES, (RelPath(b"cache"),))
    assert found.evidence == (RelPath(b".docket"), RelPath(b"cache"))
    assert all(found.left_out(raw, is_directory=False) for raw in (b"a.log", b"secret.key", b"cache"))
    assert found.left_out(b"a", is_directory=False) is None
    assert staged_only(Surface(), SurfaceRules(), ()) == Surface()


def test_a_rename_is_an_addition_with_the_content_of_a_removal_once() -> None:
    found = changes(
        changed(b"a", Change.REMOVED, state(A, 3)),
        changed(b"b", Change.ADDED, now=state(A, 3)),
        changed(b"c", Change.ADDED, now=state(A, 3)),
        changed(b"d", Change.REMOVED, state(B, 0)),
        changed(b"e", Change.ADDED, now=state(B, 0)),
        changed(b"f", Change.REMOVED, FOLDER),
        changed(b"g", Change.ADDED, now=FOLDER),
    )
    assert renames(found) == {RelPath(b"b"): Rename(RelPath(b"a"))}
