"""A tree made from nothing is filled by as many processes as are allowed, and stays what its directories say."""

import os

import pytest

from docket.engines import apply_files
from docket.engines.apply import Filling, Options, apply, open_tree
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.formats.reason import Reason
from docket.formats.tree.plan import plan_of
from docket.formats.tree.steps import StepStatus
from docket.host.tree import file_key
from docket.rules.workspace.stage_plan import stage_parts
from docket.stores.statcache import settled_part
from docket.stores.workspace.tree_contents import TreeContents


@pytest.fixture
def base(tmp_path):
    for number in range(40):
        folder = tmp_path / "base" / f"d{number % 8}" / f"e{number}"
        folder.mkdir(parents=True)
        for name in ("one", "two", 'strange "name"', "\udcff"):
            (folder / name).write_text(f"{number} {len(name)}")
        (folder / "one").chmod(0o755)
        os.utime(folder / "one", ns=(5, 1_000_000_000 * number))
        os.utime(folder, ns=(5, 2_000_000_000 * number))
        (folder / "link").symlink_to("one")
        os.link(folder / "two", folder / "second")
    (tmp_path / "base/d0").chmod(0o555)
    yield tmp_path / "base"
    (tmp_path / "base/d0").chmod(0o755)


def seen(root):
    listing = observe_tree(ObserveRequest(root=os.fsencode(root), details=True), ObserveWorld(copies=0))
    return listing, [item.links for item in listing.details.paths], listing.details.directory_mtimes


def filled(base, stage, **options):
    stage.mkdir()
    parts = stage_parts(seen(base)[0])
    filling = Filling(root=os.fsencode(base), files=parts.plain, **options)
    with (
        open_tree(os.fsencode(stage), durable=False) as tree,
        TreeContents(os.fsencode(base), parts.files) as contents,
    ):
        return apply(plan_of(parts.steps, tree.identity), contents, tree, Options(filling=filling))


@pytest.mark.parametrize("copies", [0, 2])
def test_a_stage_is_what_its_base_is(base, tmp_path, monkeypatch, copies):
    monkeypatch.setattr("docket.formats.tree.plain._RUN_FILES", 16)
    made: list[bytes] = []
    outcomes = filled(base, tmp_path / "stage", copies=copies, share_after_files=0, made=made.append)
    assert {item.status for item in outcomes} == {StepStatus.APPLIED}
    assert seen(tmp_path / "stage") == seen(base)
    assert seen(tmp_path / "stage")[0].mtimes == seen(base)[0].mtimes
    told = b"".join(made)
    keys = {told[at : at + 40] for at in range(0, len(told), 72)}
    assert keys == {file_key(path.stat()) for path in (tmp_path / "stage").glob("*/*/one")}
    assert settled_part(told, 2**62) == told
    assert settled_part(told, 0) == b""
    (tmp_path / "stage/d0").chmod(0o755)


def test_the_first_that_cannot_be_made_is_told(base, tmp_path, monkeypatch):
    monkeypatch.setattr("docket.formats.tree.plain._RUN_FILES", 16)
    real = apply_files.fill

    def changing(tree, filling):
        (base / "d7/e39/one").write_text("another")
        return real(tree, filling)

    monkeypatch.setattr("docket.engines.apply_batches.fill", changing)
    *_, last = filled(base, tmp_path / "stage", copies=1, share_after_files=0)
    assert (last.path.raw, last.reason) == (b"d7/e39/one", Reason.CHANGED_WHILE_READ)
    assert last.status is StepStatus.FAILED
    (tmp_path / "stage/d0").chmod(0o755)


@pytest.mark.parametrize("folders", [0, 3])
def test_a_base_without_a_plain_file_is_staged(tmp_path, folders):
    (tmp_path / "bare").mkdir()
    for number in range(folders):
        (tmp_path / f"bare/d{number}").mkdir()
    outcomes = filled(tmp_path / "bare", tmp_path / "stage", copies=2, share_after_files=0)
    assert {item.status for item in outcomes} <= {StepStatus.APPLIED}
    assert sorted(path.name for path in (tmp_path / "stage").iterdir()) == [f"d{number}" for number in range(folders)]
