"""A base that was staged without being read: what is read of it later, and what nobody can know any more."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction.backends.interface import Refused
from docket.engines.transaction.backends.overlay import OverlayBackend
from docket.engines.transaction.base_contents import has_moved
from docket.engines.transaction.closing import ClosedTransaction, close_transaction, drop_stage, reopen
from docket.engines.transaction.committing import CommitRefused, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.later import LaterCommit, commit_later, inspect
from docket.engines.transaction.merging import commit_merged
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.unread import UNREAD, unread_files
from docket.formats.workspace.state import Evidence, SurfaceRules
from docket.host import tree as host_tree
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.workspace.hunks import Part
from docket.rules.workspace.surface import Classes
from docket.stores.workspace.transactions import Transactions
from docket.surfaces.cli.patches import patch_lines

LATER_NS = 3_600_000_000_000
OLD_NS = 1_500_000_000_000_000_000


class Lab:
    """One base of five files and its transaction."""

    def __init__(self, place: Path) -> None:
        self.base = place / "base"
        (self.base / "d").mkdir(parents=True)
        for name in "abcde":
            (self.base / "d" / name).write_text(f"{name}\n")
        scanner = ObserveWorld(copies=0)
        self.world = TransactionWorld(
            observe=lambda request: observe_tree(request, scanner),
            clock=SystemClock(),
            ids=SystemIds(),
            transactions=Transactions(place / "state/workspace-tx"),
            backends=(OverlayBackend(),),
        )
        self.opened: OpenTransaction | None = None

    def open(self) -> Path:
        opened = open_transaction(OpenRequest(base=self.base, rules=SurfaceRules()), self.world)
        assert isinstance(opened, OpenTransaction), opened
        self.opened = opened
        return Path(opened.stage.root)

    def close(self) -> ClosedTransaction:
        assert self.opened is not None
        return close_transaction(self.opened, self.world)

    def commit(self) -> Committed | CommitRefused:
        return commit_transaction(CommitRequest(closed=self.close()), self.world)

    def text(self, name: str) -> str:
        return (self.base / name).read_text()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    made = Lab(tmp_path)
    (tmp_path / "probe").mkdir(mode=0o700)
    found = OverlayBackend().probe(made.base, tmp_path / "probe")
    if isinstance(found, Refused):
        pytest.skip(found.detail)
    clock = host_tree.file_system_clock_ns
    monkeypatch.setattr(host_tree, "file_system_clock_ns", lambda root: (clock(root) or 0) + LATER_NS)
    yield made
    if made.opened is not None:
        drop_stage(made.opened, made.world)


def before_of(closed: ClosedTransaction, name: str) -> str | None:
    states = {str(change.path): change.before for change in closed.found.change_set.changes}
    state = states[name]
    assert state is not None
    return state.sha256


def of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_nothing_is_read_but_what_changed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    digest = host_tree.FileReader.digest

    def counted(self: host_tree.FileReader, parent: int, name: str, *more: object) -> object:
        read.append(name)
        return digest(self, parent, name, *more)

    monkeypatch.setattr(host_tree.FileReader, "digest", counted)
    stage = lab.open()
    assert lab.opened is not None
    assert (read, unread_files(lab.opened.base)) == ([], 5)
    (stage / "d/a").write_text("new\n")
    (stage / "d/b").unlink()
    (stage / "d/c").chmod(0o600)
    os.utime(stage / "d/d")
    closed = lab.close()
    assert sorted(read) == ["a", "c", "d"]
    assert [str(item.path) for item in closed.found.change_set.changes] == ["d/a", "d/b", "d/c"]
    assert [before_of(closed, f"d/{name}") for name in "abc"] == [of("a\n"), of("b\n"), of("c\n")]
    assert unread_files(closed.listing) == 2


def test_a_stage_in_which_nothing_changed_has_the_digest_of_its_base(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("a\n")
    (stage / "d").chmod(0o700)
    (stage / "d").chmod(0o755)
    (lab.base / "d").chmod(0o755)
    closed = lab.close()
    assert closed.found.change_set.changes == ()
    assert closed.state.result_sha256 == closed.state.manifest_sha256
    assert closed.state.statuses_sha256 is not None


@pytest.mark.parametrize("same_time", [False, True])
def test_a_file_that_both_changed_is_refused(lab: Lab, same_time: bool) -> None:
    times = (lab.base / "d/a").stat()
    stage = lab.open()
    (stage / "d/a").write_text("agent\n")
    (stage / "d/b").write_text("agent\n")
    (lab.base / "d/a").write_text("A\n")
    if same_time:  # as large as before, and its time put back: only its ctime tells
        os.utime(lab.base / "d/a", ns=(times.st_atime_ns, times.st_mtime_ns))
    closed = lab.close()
    assert (before_of(closed, "d/a"), before_of(closed, "d/b")) == (None, of("b\n"))
    outcome = commit_transaction(CommitRequest(closed=closed), lab.world)
    assert isinstance(outcome, CommitRefused)
    assert outcome.reason is Reason.BASE_DRIFT
    assert [str(item.path) for item in outcome.paths] == ["d/a"]
    assert (lab.text("d/a"), lab.text("d/b")) == ("A\n", "b\n")


def test_a_file_that_only_the_person_changed_stays_theirs_and_the_rest_lands(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("agent\n")
    (lab.base / "d/b").write_text("person\n")
    outcome = lab.commit()
    assert isinstance(outcome, Committed), outcome
    assert (lab.text("d/a"), lab.text("d/b")) == ("agent\n", "person\n")


def test_what_both_did_alike_is_no_drift(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("both\n")
    (stage / "d/b").unlink()
    (stage / "d/c").write_text("agent\n")
    (lab.base / "d/a").write_text("both\n")
    (lab.base / "d/b").unlink()
    outcome = lab.commit()
    assert isinstance(outcome, Committed), outcome
    assert (outcome.applied, outcome.already) == (1, 2)
    assert sorted(os.listdir(lab.base / "d")) == ["a", "c", "d", "e"]


def test_an_edit_between_closing_and_committing_is_seen(lab: Lab) -> None:
    times = (lab.base / "d/a").stat()
    stage = lab.open()
    (stage / "d/a").write_text("agent\n")
    closed = lab.close()
    (lab.base / "d/a").write_text("A\n")
    os.utime(lab.base / "d/a", ns=(times.st_atime_ns, times.st_mtime_ns))
    outcome = commit_transaction(CommitRequest(closed=closed), lab.world)
    assert isinstance(outcome, CommitRefused)
    assert outcome.reason is Reason.BASE_DRIFT
    assert lab.text("d/a") == "A\n"


def test_what_was_found_out_outlasts_the_process_and_the_file(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("agent\n")
    state = lab.close().state
    assert lab.opened is not None
    lab.opened.stage.close()
    (lab.base / "d/a").write_text("person\n")
    lab.opened = reopen(state, lab.world)
    assert before_of(inspect(lab.opened, lab.world), "d/a") == of("a\n")


def test_the_rest_of_a_part_that_landed_lands_later(lab: Lab) -> None:
    stage = lab.open()
    for name in "ab":
        (stage / "d" / name).write_text("agent\n")
    state = lab.close().state
    assert lab.opened is not None
    lab.opened.stage.close()
    first = commit_later(LaterCommit(transaction=state.id, only=(RelPath(b"d/a"),)), lab.world)
    assert isinstance(first.outcome, Committed), first
    assert first.successor is not None
    assert (lab.text("d/a"), lab.text("d/b")) == ("agent\n", "b\n")
    successor = lab.world.transactions.load(first.successor)
    listing = lab.world.transactions.base_listing(successor)
    assert unread_files(listing) == 4
    assert listing.record(RelPath(b"d/b")).sha256 == UNREAD
    second = commit_later(LaterCommit(transaction=first.successor), lab.world)
    assert isinstance(second.outcome, Committed), second
    assert lab.text("d/b") == "agent\n"
    lab.opened = None


def test_what_nobody_knows_is_not_merged(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("a\nagent\n")
    (lab.base / "d/a").write_text("person\na\n")
    done = commit_merged(CommitRequest(closed=lab.close()), lab.world)
    assert isinstance(done.outcome, CommitRefused)
    assert done.outcome.reason is Reason.BASE_DRIFT
    assert lab.text("d/a") == "person\na\n"


def test_a_diff_shows_what_nobody_knows_from_what_stands_now(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("agent\n")
    (stage / "d/b").write_text("agent\n")
    (lab.base / "d/a").write_text("person\n")
    (lab.base / "d/b").unlink()
    closed = lab.close()
    shown = list(patch_lines(closed, Part(taken=closed.found.change_set)))
    assert [line for line in shown if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-person", "+agent", "+agent",
    ]  # fmt: skip


def test_git_s_own_is_read_and_what_it_stores_is_not(lab: Lab) -> None:
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "one")):
        subprocess.run(["git", *command], cwd=lab.base, check=True)
    lab.open()
    assert lab.opened is not None
    listing = lab.opened.base
    files = {str(item.path): item.sha256 for item in listing.entries if hasattr(item, "sha256")}
    unread = {path for path, digest in files.items() if digest == UNREAD}
    inside = {path for path in unread if path.startswith(".git/")}
    assert inside
    assert all(path.startswith(".git/objects/") for path in inside)
    assert files[".git/index"] == hashlib.sha256((lab.base / ".git/index").read_bytes()).hexdigest()
    assert len(unread) == listing.statuses.count(b"\n")


@pytest.mark.parametrize(
    ("what", "moved"),
    [
        ("nothing", False),
        ("content", True),
        ("same size and time", True),
        ("mode", True),
        ("new", True),
        ("gone", True),
    ],
)
def test_whether_the_base_moved_is_told_by_statuses(lab: Lab, what: str, moved: bool) -> None:
    file = lab.base / "d/a"
    os.utime(file, ns=(OLD_NS, OLD_NS))
    lab.open()
    assert lab.opened is not None
    match what:
        case "content":
            file.write_text("another\n")
        case "same size and time":
            file.write_text("A\n")
            os.utime(file, ns=(OLD_NS, OLD_NS))
        case "mode":
            file.chmod(0o600)
        case "new":
            (lab.base / "new").touch()
        case "gone":
            file.unlink()
    request = ObserveRequest(root=os.fsencode(lab.base), surface=Classes.of(SurfaceRules()).surface())
    assert has_moved(lab.opened.base, request, lab.opened, lab.world) is moved


@pytest.mark.parametrize("is_read", [False, True])
def test_what_is_not_staged_does_not_move_the_base(lab: Lab, monkeypatch: pytest.MonkeyPatch, is_read: bool) -> None:
    with monkeypatch.context() as early:
        if is_read:
            early.setattr(host_tree, "file_system_clock_ns", lambda _root: 0)  # nothing has settled, so all is read
        lab.open()
    assert lab.opened is not None
    rules = SurfaceRules(evidence=(Evidence(path=RelPath(b".own")),), share=("built",))
    request = ObserveRequest(root=os.fsencode(lab.base), surface=Classes.of(rules).surface())
    for name in (".own", "built"):
        (lab.base / name).mkdir()
        (lab.base / name / "f").touch()
    assert has_moved(lab.opened.base, request, lab.opened, lab.world) is False
    (lab.base / "own").touch()
    assert has_moved(lab.opened.base, request, lab.opened, lab.world) is True


def test_what_was_read_on_one_side_only_is_compared_by_content(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    (lab.base / "late").write_text("late\n")
    settled = host_tree.file_system_clock_ns
    with monkeypatch.context() as early:
        early.setattr(host_tree, "file_system_clock_ns", lambda _root: 0)  # nothing has settled, so all is read
        lab.open()
    assert lab.opened is not None
    assert host_tree.file_system_clock_ns is settled
    assert lab.opened.state.statuses_sha256 is None
    request = ObserveRequest(root=os.fsencode(lab.base), surface=Classes.of(SurfaceRules()).surface())
    assert has_moved(lab.opened.base, request, lab.opened, lab.world) is False
    (lab.base / "late").write_text("LATE\n")
    assert has_moved(lab.opened.base, request, lab.opened, lab.world) is True


def test_statuses_that_are_not_the_state_s_are_refused(lab: Lab) -> None:
    lab.open()
    assert lab.opened is not None
    state = lab.opened.state
    file = lab.world.transactions.path(state.id) / "base.statuses"
    assert sha256(file.read_bytes()) == state.statuses_sha256
    file.write_bytes(file.read_bytes().replace(b'"size":2', b'"size":3', 1))
    with pytest.raises(InvalidDocumentError) as caught:
        lab.world.transactions.base_listing(state)
    assert caught.value.reason == Reason.DOCUMENTS_DISAGREE


def test_a_base_that_was_moved_away_is_named_where_its_stage_is_wanted(lab: Lab) -> None:
    stage = lab.open()
    (stage / "d/a").write_text("new\n")
    closed = lab.close()
    closed.opened.stage.close()
    lab.base.rename(lab.base.with_name("elsewhere"))
    with pytest.raises(UnavailableError) as caught:
        commit_later(LaterCommit(transaction=closed.state.id), lab.world)
    detail = f"the tree {lab.base} is gone, on which the stage stands"
    assert (caught.value.reason, caught.value.detail) == (Reason.NOT_FOUND, detail)
    lab.base.with_name("elsewhere").rename(lab.base)
    commit_later(LaterCommit(transaction=closed.state.id), lab.world)
    assert lab.text("d/a") == "new\n"
