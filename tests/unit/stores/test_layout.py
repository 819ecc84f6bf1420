"""Where docket keeps things."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from disks.memory_disk import MemoryDisk
from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish
from docket.stores.layout import (
    Layout,
    ledger_name,
    open_docket_dir,
    prepare_state,
    project_key,
    receipt_name,
    resolve_layout,
    state_home,
)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def resolved(tree: Path, state: Path, docket_dir: Path | None = None) -> Layout:
    return resolve_layout(tree, docket_dir=docket_dir, environment={"DOCKET_STATE_DIR": str(state)})


def refusal(work, *arguments, **options):
    with pytest.raises(DocketError) as caught:
        work(*arguments, **options)
    return caught.value


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_live_evidence_stands_outside_the_tree(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    key = hashlib.sha256(os.fsencode(tree)).hexdigest()[:32]
    assert layout.state == tmp_path / "state" / key
    assert layout.docket_dir == tree / ".docket"
    assert layout.evidence == (RelPath(b".docket"),)
    assert layout.is_split
    assert layout.ledger_path("0123456789ab") == layout.state / "runs" / "0123456789ab.jsonl"
    assert (ledger_name("s"), receipt_name("DKT-1")) == ("s.jsonl", "DKT-1.receipt.json")
    assert list(tmp_path.iterdir()) == [tree], "resolving makes nothing"


def test_a_link_to_a_tree_finds_the_same_project(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    assert resolved(tmp_path / "link", tmp_path / "state") == resolved(tree, tmp_path / "state")
    assert project_key(tree) != project_key(tmp_path)


def test_a_name_that_is_not_utf8(tmp_path):
    tree = Path(os.fsdecode(os.fsencode(tmp_path) + b"/t\xff"))
    tree.mkdir()
    layout = resolved(tree, tmp_path / "state")
    prepare_state(layout)
    assert b'"path_b64"' in (layout.state / "project.json").read_bytes()


def test_one_folder_of_the_persons_choice(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state", tree / "evidence")
    assert layout.state == layout.docket_dir == tree / "evidence"
    assert layout.evidence == (RelPath(b"evidence"),)
    assert not layout.is_split
    outside = resolved(tree, tmp_path / "state", tmp_path / "elsewhere")
    assert (outside.state, outside.evidence) == (tmp_path / "elsewhere", ())


def test_a_chosen_folder_is_relative_to_where_docket_is_called(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tree)
    assert resolved(tree, tmp_path, Path("sub/evidence")).state == tree / "sub" / "evidence"
    assert resolved(tree, tmp_path, Path("evidence")).state == tree / "evidence"
    (tree / "sub").mkdir()
    monkeypatch.chdir(tree / "sub")
    assert resolved(tree, tmp_path, Path()).state == tree / "sub"
    assert resolved(tree, tmp_path, Path("../../x/..")).state == tmp_path


@pytest.mark.parametrize("spelled", [".", "sub/..", "../tree"])
def test_the_tree_itself_is_no_folder_for_evidence(tree, tmp_path, monkeypatch, spelled):
    (tree / "sub").mkdir()
    monkeypatch.chdir(tree)
    assert isinstance(refusal(resolved, tree, tmp_path, Path(spelled)), UsageError)


@pytest.mark.parametrize("spelled", ["/", "//", "/tmp/..", "../../../../../../../../../.."])
def test_the_root_is_no_folder_for_evidence(tree, tmp_path, monkeypatch, spelled):
    monkeypatch.chdir(tree)
    error = refusal(resolved, tree, tmp_path, Path(spelled))
    assert (type(error), error.detail) == (UsageError, "/ is everybody's folder; evidence needs a folder to itself")


def test_a_home_is_no_folder_for_evidence(tree, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for home in ("home", "link"):
        environment = {"HOME": str(tmp_path / home)}
        error = refusal(resolve_layout, tree, docket_dir=tmp_path / "home", environment=environment)
        assert (type(error), error.reason) == (UsageError, Reason.USAGE)
        assert error.detail == f"{tmp_path}/home is a home; evidence needs a folder to itself"
        inside = resolve_layout(tree, docket_dir=tmp_path / "home" / "x", environment=environment)
        assert inside.state == tmp_path / "home" / "x"


@pytest.mark.parametrize("names", [["mine.txt"], ["runs", "other"], [".git"], ["receipts", "z", "a"]])
def test_a_chosen_folder_with_other_things_is_left_as_it_is(tree, tmp_path, names):
    chosen = tree / "docs"
    chosen.mkdir()
    for name in names:
        (chosen / name).mkdir()
    error = refusal(prepare_state, resolved(tree, tmp_path / "state", chosen))
    assert isinstance(error, UsageError)
    first = min(name for name in names if name not in ("runs", "receipts"))
    assert error.detail.startswith(f"{chosen} holds other things than docket's, {first} among them")
    assert sorted(path.name for path in chosen.iterdir()) == sorted(names)
    # The folder above the tree holds the tree.
    assert isinstance(refusal(prepare_state, resolved(tree, tmp_path / "state", tmp_path)), UsageError)


@pytest.mark.parametrize("names", [[], ["runs"], ["runs", "receipts", "latest", "mine"], [".gitkeep", "x.tmp"]])
def test_a_chosen_folder_that_is_new_or_dockets_own_is_taken(tree, tmp_path, names):
    chosen = tmp_path / "evidence"
    chosen.mkdir()
    for name in names:
        (chosen / name).mkdir()
    prepare_state(resolved(tree, tmp_path / "state", chosen))
    assert {"runs", "receipts", *names} <= {path.name for path in chosen.iterdir()}
    assert (chosen / ".gitignore").exists() is (not names)


def test_a_state_folder_inside_the_tree_is_no_part_of_what_is_watched(tree):
    layout = resolved(tree, tree / "home" / "state")
    assert layout.evidence == (RelPath(b".docket"), RelPath(b"home/state"))


def test_the_state_folder_of_the_platform(tree, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_home({}) == tmp_path / "xdg" / "docket"
    assert state_home({"DOCKET_STATE_DIR": ""}) == tmp_path / "xdg" / "docket"
    assert state_home({"DOCKET_STATE_DIR": "/"}) == Path("/")


def test_a_state_folder_is_named_absolutely():
    error = refusal(state_home, {"DOCKET_STATE_DIR": "state"})
    assert isinstance(error, UsageError)
    assert error.hint == "set DOCKET_STATE_DIR"


@pytest.mark.parametrize("which", [".docket", "state", "project"])
@pytest.mark.parametrize(("kind", "reason"), [("link", Reason.IS_A_SYMLINK), ("file", Reason.NOT_A_DIRECTORY)])
def test_a_docket_folder_is_a_folder(tree, tmp_path, which, kind, reason):
    state = tmp_path / "state"
    places = {".docket": tree / ".docket", "state": state, "project": state / project_key(tree)}
    place = places[which]
    place.parent.mkdir(exist_ok=True)
    if kind == "link":
        (tmp_path / "target").mkdir()
        place.symlink_to(tmp_path / "target")
    else:
        place.write_text("x")
    error = refusal(resolved, tree, state)
    assert (type(error), error.reason) == (UnavailableError, reason)
    assert str(place) in error.detail


def test_a_chosen_folder_that_is_a_link_is_refused(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    assert refusal(resolved, tree, tmp_path / "state", tmp_path / "link").reason == Reason.IS_A_SYMLINK
    # a link further up is the person's own
    assert resolved(tree, tmp_path / "state", tmp_path / "link" / "x").state == tree / "x"


@pytest.mark.parametrize("mask", [0, 0o022, 0o177, 0o777])
def test_folders_are_made_private_and_usable_whatever_the_umask(tree, tmp_path, mask):
    layout = resolved(tree, tmp_path / "state")
    old = os.umask(mask)
    try:
        prepare_state(layout)
    finally:
        os.umask(old)
    assert mode(layout.state / "project.json") == 0o600
    assert {mode(path) for path in (layout.state.parent, layout.state, *layout.state.iterdir()) if path.is_dir()} == {
        0o700
    }
    assert sorted(path.name for path in layout.state.iterdir()) == ["project.json", "receipts", "runs"]
    assert (layout.state / "project.json").read_text() == f'{{\n  "path": "{tree}"\n}}\n'
    assert list(tree.iterdir()) == [], "the tree stays as it is until the end"


@pytest.fixture
def open_place():
    """A folder that any user may reach and write to."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        if any(not above.stat().st_mode & stat.S_IXOTH for above in place.parents):
            pytest.skip("the folder for temporary files is closed to others")
        yield place


def test_a_umask_that_takes_everything_keeps_nothing_from_its_owner(open_place):
    (open_place / "tree").mkdir()
    layout = resolved(open_place / "tree", open_place / "state")
    child = os.fork()
    if child == 0:
        # As root no bit is missed; the copy becomes somebody who needs them.
        done = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.umask(0o777)
            for _ in range(2):
                prepare_state(layout)
                with SYSTEM_DISK.folder(layout.state) as state, state.folder("made", create=True) as made:
                    publish(made, "file", b"x")
                    done = int(made.open("file").read(0, 9) != b"x")
        finally:
            os._exit(done)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_preparing_twice_changes_nothing_and_tightens(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    prepare_state(layout)
    for path in (layout.state, layout.state / "runs", layout.state / "receipts"):
        path.chmod(0o755)
    before = (layout.state / "project.json").stat().st_ino
    prepare_state(layout)
    assert (layout.state / "project.json").stat().st_ino == before
    assert {mode(layout.state), mode(layout.state / "runs"), mode(layout.state / "receipts")} == {0o700}


def test_a_state_folder_of_another_user_is_refused(tree, tmp_path, monkeypatch):
    layout = resolved(tree, tmp_path / "state")
    prepare_state(layout)
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    assert refusal(prepare_state, layout).reason == Reason.NOT_OURS


def test_a_chosen_folder_ignores_itself_in_git(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state", tree / "evidence")
    prepare_state(layout)
    assert (tree / "evidence" / ".gitignore").read_text() == "*\n"
    assert not (tree / "evidence" / "project.json").exists()
    with open_docket_dir(layout, SYSTEM_DISK) as folder:
        assert folder.path == tree / "evidence"


def test_the_visible_folder_is_made_at_the_end(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    with open_docket_dir(layout, SYSTEM_DISK) as folder:
        assert folder.names() == (".gitignore",)
    (tree / ".docket" / ".gitignore").write_text("mine\n")
    with open_docket_dir(layout, SYSTEM_DISK):
        assert (tree / ".docket" / ".gitignore").read_text() == "mine\n"


def test_a_tree_that_is_gone_is_not_made_again(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    tree.rmdir()
    assert refusal(open_docket_dir, layout, SYSTEM_DISK).reason == Reason.NOT_FOUND
    assert not tree.exists()


def test_a_folder_that_became_a_link_is_not_entered(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    (tree / ".docket").symlink_to(tmp_path)
    assert refusal(open_docket_dir, layout, SYSTEM_DISK).reason == Reason.IS_A_SYMLINK


def test_a_folder_that_takes_no_file_is_not_used(tree, tmp_path):
    layout = resolved(tree, tmp_path / "state")
    memory = MemoryDisk()
    memory.folder(tree, create=True).close()
    disk = FaultyDisk(memory, fail(Reason.READ_ONLY, "create", ".tmp"))
    assert refusal(open_docket_dir, layout, disk).reason == Reason.READ_ONLY
