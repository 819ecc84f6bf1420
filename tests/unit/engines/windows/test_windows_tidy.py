"""Tidying: what nobody needs goes after a day, what is open, young or evidence stays; and what the doctor says."""

from __future__ import annotations

import os
import random
import shutil
import time
from dataclasses import replace

import pytest

import windows_lab
from disks.faulty_disk import FaultyDisk, stop_at
from docket.engines.windows import tidy as tidying
from docket.engines.windows.doctor import DoctorWorld, Examined, Finding, examine
from docket.engines.windows.finish import finish_group
from docket.engines.windows.folder_upkeep import FolderUpkeep
from docket.engines.windows.tidy import Tidied, TidyRequest, tidy
from docket.errors import DocketError
from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.key import pre_ref
from docket.formats.windows.names import PartialReason
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.git_place import find_git_place
from docket.stores.windows.git_store import open_git_store
from docket.stores.windows.git_upkeep import GitUpkeep
from docket.stores.windows.looking import looking
from docket.stores.windows.upkeep import Upkeep
from windows_lab import WindowsLab, deadline, told, write

DAY_NS = 86_400 * 10**9


@pytest.fixture(params=["git", "folder"])
def lab(request, tmp_path) -> WindowsLab:
    if request.param == "git" and shutil.which("git") is None:
        pytest.skip("needs git")
    return windows_lab.git_lab(tmp_path) if request.param == "git" else windows_lab.folder_lab(tmp_path)


def upkeep_of(lab: WindowsLab, disk: Disk = SYSTEM_DISK) -> Upkeep:
    place = find_git_place(lab.tree)
    if place is None:
        return FolderUpkeep(lab.windows, disk)
    return GitUpkeep(lab.windows, open_git_store(lab.windows, place, lab.store.hashes, disk=disk))


def request_of(lab: WindowsLab, *, days: float = 0, apply: bool = True, budget: int = 0) -> TidyRequest:
    now_ns = time.time_ns() + int(days * DAY_NS)
    return TidyRequest(windows=lab.windows, now_ns=now_ns, apply=apply, budget_bytes=budget)


def tidied(lab: WindowsLab, *, days: float = 0, apply: bool = True, budget: int = 0) -> Tidied:
    return tidy(request_of(lab, days=days, apply=apply, budget=budget), lab.world, upkeep_of(lab))


def examined(lab: WindowsLab, *, days: float = 0, budget: int = 10**9) -> Examined:
    world = DoctorWorld(
        registry=lab.world.registry, evidence=lab.world.evidence, now=lab.world.moment(),
        store=lambda: (lab.store, upkeep_of(lab)),
    )  # fmt: skip
    return examine(request_of(lab, days=days, budget=budget), world)


def findings(found: Examined) -> list[str]:
    return [one.finding for one in found.found]


def kept_files(lab: WindowsLab) -> dict[str, bytes]:
    return {str(path.relative_to(lab.windows)): path.read_bytes() for path in lab.windows.rglob("*") if path.is_file()}


def some_windows(lab: WindowsLab, count: int = 3) -> dict[str, bytes]:
    """Windows that are over, with their evidence."""
    for number in range(count):
        assert told(lab.tool(f"u{number}", f"echo {'x' * 500}{number} > new{number}"))
    return evidence_of(lab)


def evidence_of(lab: WindowsLab) -> dict[str, bytes]:
    kinds = ("closed", "deltas", "tombstones", "partials")
    return {path: data for path, data in kept_files(lab).items() if path.split("/")[0] in kinds}


def test_what_nobody_needs_goes_after_a_day_and_evidence_never(lab):
    evidence = some_windows(lab)
    young = tidied(lab)
    assert (young.objects, young.freed_bytes, young.store_bytes > 1000) == (0, 0, True)
    done = tidied(lab, days=1.1)
    assert done.objects > 0
    assert 0 < done.freed_bytes <= done.store_bytes
    assert (done.deferred, done.left) == (None, 0)
    after = tidied(lab, days=1.1)
    assert (after.objects, after.store_bytes < done.store_bytes) == (0, True)
    assert evidence_of(lab) == evidence
    assert told(lab.tool("later", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}
    assert findings(examined(lab)) == []


def test_a_dry_run_changes_nothing_and_tells_what_would_go(lab):
    some_windows(lab)
    before = kept_files(lab)
    told_before = tidied(lab, days=1.1, apply=False)
    assert kept_files(lab) == before
    assert tidied(lab, days=1.1) == told_before


def test_within_its_budget_a_store_stays_as_it_is_and_the_oldest_go_first(lab):
    some_windows(lab)
    assert tidied(lab, days=1.1, budget=10**9).objects == 0
    whole = tidied(lab, days=1.1, apply=False)
    some = tidied(lab, days=1.1, apply=False, budget=whole.store_bytes - 1)
    assert 1 <= some.objects < whole.objects


def test_a_tool_that_runs_puts_it_off_and_what_keeps_its_tree_stays(lab):
    write(lab.tree / "mine", "not committed\n")
    lab.pre("u")
    before = kept_files(lab)
    done = tidied(lab, days=0.9)
    assert done.deferred is None or "tool runs" in done.deferred
    done = tidied(lab, days=1.1)
    assert done.deferred is not None
    assert "a tool runs: claude Bash" in done.deferred
    assert kept_files(lab) == before
    write(lab.tree / "a", "1\n2\n3\n4\n")
    (lab.tree / "mine").unlink()
    wanted = {"a": ("edit", [], ["4"]), "mine": ("delete", ["not committed"], [])}
    assert told(lab.delta(lab.post("u"))) == wanted


def test_a_group_that_is_still_to_be_finished_keeps_its_trees(lab, monkeypatch):
    write(lab.tree / "mine", "not committed\n")
    lab.pre("u")
    (lab.tree / "mine").unlink()
    monkeypatch.setattr("docket.engines.windows.complete.finish_group", lambda *_, **__: None)
    lab.post("u")  # its process stands still just after it published that it finishes the group
    plan = tidied(lab, days=1.1)
    assert plan.deferred is None
    monkeypatch.undo()
    finish_group(lab.world.registry.read().groups[0].id, lab.world, deadline(), may_look=True)
    closed = lab.world.evidence.closed(lab.key("u").window_id)
    assert told(lab.world.evidence.delta(closed.delta_sha256)) == {"mine": ("delete", ["not committed"], [])}


def test_names_of_groups_that_are_gone_go_after_a_day(lab):
    tree = lab.store.look(deadline()).baseline.tree
    ref = pre_ref(lab.store.repository, "0" * 32, lab.key("u"))
    lab.store.keep(ref, tree)  # whoever made it died before its window was registered
    assert tidied(lab).names == ()
    assert lab.store.refs() == {ref: tree}
    assert findings(examined(lab, days=1.1)) == [Finding.ORPHAN_NAME]
    assert tidied(lab, days=1.1).names == (ref,)
    assert lab.store.refs() == {}


def test_a_damaged_name_keeps_no_other_from_being_known(tmp_path):
    lab = windows_lab.folder_lab(tmp_path)
    tree = lab.store.look(deadline()).baseline.tree
    lab.store.keep("refs/one", tree)
    for number, damaged in enumerate((b"", b"{", b"[]", b'{"ref":"x"}', b'{"ref":"x","tree":1}')):
        (lab.windows / "kept" / f"{number:032x}").write_bytes(damaged)
    assert lab.store.refs() == {"refs/one": tree}
    assert [name.ref for name in FolderUpkeep(lab.windows).names()] == ["refs/one"]


def test_what_deaths_left_half_written_goes(lab):
    some_windows(lab, 1)
    left = [".x.json.0123456789abcdef.tmp", "closed/.x.json.0123456789abcdef.tmp", f"finals/{'0' * 32}.json"]
    for name in left:
        write(lab.windows / name, "{")
    (lab.windows / "stages/old").mkdir(parents=True)
    write(lab.windows / "stages/old/last.tree", "x")
    assert tidied(lab).leftovers == ()
    done = tidied(lab, days=1.1)
    assert sorted(done.leftovers) == sorted([*left, "stages/old"])
    assert not any((lab.windows / name).exists() for name in (*left, "stages/old"))
    assert [path for path in (lab.windows / "closed").iterdir() if path.name.startswith(".")] == []


def test_folders_in_which_a_look_died_go(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    lab = windows_lab.git_lab(tmp_path)
    (lab.windows / "work/dead").mkdir()
    write(lab.windows / "work/dead/index", "x")
    write(lab.windows / "git/objects/tmp_obj_0123", "x")
    assert tidied(lab, budget=10**9).objects == 0
    assert tidied(lab, days=1.1, budget=10**9).objects == 2
    assert list((lab.windows / "work").iterdir()) == []


def test_nobody_clears_while_somebody_looks(lab, monkeypatch):
    monkeypatch.setattr(tidying, "LOCK_SECONDS", 0.05)
    some_windows(lab, 1)
    before = kept_files(lab)
    with looking(lab.windows, 1.0):
        done = tidied(lab, days=1.1)
    assert done.deferred is not None
    assert kept_files(lab) == before
    with lab.world.registry.held(1.0):
        assert tidied(lab, days=1.1).deferred is not None
    assert tidied(lab, days=1.1).deferred is None


def test_what_a_look_uses_again_counts_as_young(lab):
    write(lab.tree / "mine", "not committed\n")
    first = lab.store.look(deadline()).baseline.tree
    old_s = time.time() - 2 * 86_400
    for path in lab.windows.rglob("*"):
        if path.is_file() and path.name != "raw.cache":
            os.utime(path, (old_s, old_s))
    assert lab.store.look(deadline()).baseline.tree == first
    tidied(lab)
    lab.store.keep(pre_ref(lab.store.repository, "0" * 32, lab.key("u")), first)
    (lab.tree / "mine").unlink()
    (change,) = lab.store.changes(first, lab.store.look(deadline()).baseline.tree, deadline())
    with lab.store.contents() as load:
        assert load(change.before.name, 100) == b"not committed\n"
    assert upkeep_of(lab).missing([first]) == ()


def test_work_that_takes_longer_than_the_lock_may_be_held_goes_in_turns(lab, monkeypatch):
    some_windows(lab)
    monkeypatch.setattr(tidying, "HOLD_SECONDS", 0.0)
    monkeypatch.setattr(tidying, "MAX_TURNS", 2)
    done = tidied(lab, days=1.1)
    assert done.left > 0
    monkeypatch.undo()
    assert (tidied(lab, days=1.1).left, tidied(lab, days=1.1).objects) == (0, 0)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(300)])])
def test_who_dies_while_tidying_loses_nothing_that_is_open_or_evidence(lab, stride, monkeypatch):
    """One group waits to be finished by somebody else; it must come out whole after every death."""
    evidence = some_windows(lab, 2)
    place = find_git_place(lab.tree)
    write(lab.tree / "mine", "not committed\n")
    lab.pre("u")
    tree = lab.store.look(deadline()).baseline.tree
    lab.store.keep(pre_ref(lab.store.repository, "0" * 32, lab.key("v")), tree)
    (lab.tree / "mine").unlink()
    monkeypatch.setattr("docket.engines.windows.complete.finish_group", lambda *_, **__: None)
    lab.post("u")  # its process stands still just after it published that it finishes the group
    for count in range(0, 200, stride):
        disk = FaultyDisk(SYSTEM_DISK, stop_at(count))
        reopen = windows_lab.reopened if place else windows_lab.reopened_folder
        try:
            world = replace(reopen(lab.root).world, registry=lab.world.registry)
            upkeep = upkeep_of(lab, disk)
            disk.log.clear()
            tidy(request_of(lab, days=1.1), world, upkeep, disk)
        except DocketError:
            pass
        assert upkeep_of(lab).missing([tree]) == ()
        assert {name: data for name, data in evidence_of(lab).items() if name in evidence} == evidence
        if disk.steps <= count:
            break
    monkeypatch.undo()
    finish_group(lab.world.registry.read().groups[0].id, lab.world, deadline(), may_look=True)
    closed = lab.world.evidence.closed(lab.key("u").window_id)
    assert told(lab.world.evidence.delta(closed.delta_sha256)) == {"mine": ("delete", ["not committed"], [])}


def test_a_store_that_is_tidied_in_passing_keeps_to_its_hard_limit_however_much_tools_write(lab):
    chance, hard_bytes = random.Random(6), 100_000
    for number in range(12):
        lab.pre(f"u{number}")
        (lab.tree / "large.bin").write_bytes(chance.randbytes(30_000))
        lab.post(f"u{number}")
        request = replace(request_of(lab, days=1 / 48, budget=50_000), hard_bytes=hard_bytes, seconds=30.0)
        before = tidy(request, lab.world, upkeep_of(lab))
        assert before.deferred is None
        assert upkeep_of(lab).clearing(frozenset(), 0, 10**9).store_bytes <= hard_bytes
        assert before.store_bytes <= hard_bytes + 40_000
    assert len(list(lab.world.evidence.every_closed())) == 12
    lab.pre("after")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("after"))) == {"a": ("edit", [], ["4"])}


def test_a_hard_limit_takes_nothing_of_the_last_quarter_of_an_hour(lab):
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    lab.post("u")
    request = replace(request_of(lab, days=10 / 1440), hard_bytes=0)
    assert tidy(request, lab.world, upkeep_of(lab)).objects == 0


def test_claims_of_windows_that_are_over_go_after_a_day(lab):
    lab.pre("u")
    window_id = lab.key("u").window_id
    lab.world.evidence.claim(window_id, "end")
    lab.world.evidence.claim("end-of-another", "v")
    assert not [path for path in tidied(lab).leftovers if path.startswith("claims/")]
    tidied(lab, days=2)  # a tool runs
    lab.post("u")
    assert {"claims/end-of-another.json", f"claims/{window_id}.json"} <= set(tidied(lab, days=2).leftovers)
    assert lab.world.evidence.claimant("end-of-another") is None


def test_of_the_shapes_of_payloads_the_newest_stay(lab, monkeypatch):
    monkeypatch.setattr(tidying, "MAX_SHAPES", 2)
    for number in range(4):
        lab.world.evidence.note_unknown("claude", f"Odd{number}", ("a",))
        time.sleep(0.01)
    tidied(lab)
    assert sorted(shape["event"] for shape in lab.world.evidence.unknown()) == ["Odd2", "Odd3"]
    monkeypatch.setattr("docket.stores.windows.evidence.MAX_UNKNOWN", 2)
    lab.world.evidence.note_unknown("claude", "Odd4", ("a",))
    assert sorted(shape["event"] for shape in lab.world.evidence.unknown()) == ["Odd2", "Odd3"]


def test_the_doctor_finds_nothing_in_good_order(lab):
    some_windows(lab, 2)
    found = examined(lab)
    assert (found.found, found.open_windows, found.closed_windows) == ((), 0, 2)
    assert found.store_bytes > 1000


def test_the_doctor_tells_what_is_wrong(lab):
    some_windows(lab, 2)
    lab.post("lost")  # a tombstone
    (closed,) = (record for record in lab.world.evidence.every_closed() if record.key.tool_use_id == "u0")
    (lab.windows / f"deltas/{closed.delta_sha256}.json").unlink()
    write(lab.windows / f"closed/{'1' * 32}.json", "{}")
    lab.world.evidence.note_unknown("claude", "Odd", ("a",))
    found = examined(lab, budget=10)
    assert sorted(findings(found)) == sorted([
        Finding.MALFORMED_ENTRY, Finding.DELTA_MISSING, Finding.TOMBSTONES, Finding.UNKNOWN_PAYLOADS,
        Finding.STORE_LARGE])  # fmt: skip
    by = {one.finding: one for one in found.found}
    assert by[Finding.TOMBSTONES].subject == PartialReason.PRE_SNAPSHOT_MISSING
    assert by[Finding.DELTA_MISSING].subject == closed.key.window_id
    assert [one.finding for one in found.found if one.is_fault] == [Finding.MALFORMED_ENTRY, Finding.DELTA_MISSING]


def test_the_doctor_tells_of_windows_that_never_ended_and_of_groups_nobody_finishes(lab, monkeypatch):
    gone = ProcessIdentity(pid=2**22 + 1, started="1", boot_id=lab.world.owner().boot_id)
    lab.pre("u")
    monkeypatch.setattr("docket.engines.windows.complete.finish_group", lambda *_, **__: None)
    lab.world = replace(lab.world, owner=lambda: gone)
    lab.post("u")
    lab.world = replace(lab.world, owner=lambda: ProcessIdentity(pid=1, started="1", boot_id=gone.boot_id))
    assert findings(examined(lab)) == [Finding.UNFINISHED_GROUP]
    monkeypatch.undo()
    lab.pre("v")
    monkeypatch.setattr("docket.rules.windows.grouping.HORIZON_MS", 0)
    assert sorted(findings(examined(lab))) == [Finding.STALE_WINDOW, Finding.UNFINISHED_GROUP]


def test_the_doctor_tells_of_a_corrupt_registry_and_of_a_store_that_cannot_be_opened(lab):
    lab.pre("u")
    world = DoctorWorld(
        registry=lab.world.registry, evidence=lab.world.evidence, now=lab.world.moment(),
        store=lambda: (_ for _ in ()).throw(DocketError("snapshot_store_unavailable", "it is a link")),
    )  # fmt: skip
    assert findings(examine(request_of(lab), world)) == [Finding.STORE_UNAVAILABLE]
    write(lab.windows / "registry.json", "{")
    assert findings(examined(lab)) == [Finding.REGISTRY_CORRUPT]


def test_the_doctor_tells_of_a_tree_that_is_not_whole_any_more(lab):
    write(lab.tree / "mine", "not committed\n")
    lab.pre("u")
    for place in ("git/objects", "listings"):
        for path in (lab.windows / place).rglob("*") if (lab.windows / place).exists() else ():
            if path.is_file() and "info" not in path.parts:
                path.unlink()
    assert findings(examined(lab)) == [Finding.OBJECT_MISSING]
