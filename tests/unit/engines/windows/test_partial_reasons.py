"""Why a window may tell nothing: each reason from the thing that really makes it, through both hooks of a tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import windows_lab
from docket.engines.windows.finish import resume_groups
from docket.engines.windows.leave import leave
from docket.formats.canonical import decode, encode
from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.delta import Delta, decode_delta, encode_delta
from docket.formats.windows.key import WindowKey
from docket.formats.windows.names import PartialReason, Status
from docket.formats.windows.records import Tombstone, decode_record, encode_record
from docket.host.disk import SYSTEM_DISK
from docket.host.liveness import own_identity
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.wiring import windows_world
from windows_lab import WindowsLab, deadline, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
Case = Callable[[Path, pytest.MonkeyPatch], Delta]


def instead_of_git(root: Path, monkeypatch: pytest.MonkeyPatch, command: str, script: str) -> None:
    """A program in git's place that does something else first where git is asked for this."""
    real = shutil.which("git")
    (root / "bin").mkdir()
    path = root / "bin/git"
    path.write_text(f'#!/bin/sh\nif [ "$1" = "{command}" ]; then {script}; fi\nexec {real} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")


def both(lab: WindowsLab) -> Delta:
    lab.pre("u")
    write(lab.tree / "a", "other\n")
    return lab.delta(lab.post("u"))


def too_many_files(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    return both(windows_lab.folder_lab(root, limits=windows_lab.LookLimits(max_paths=1)))


def too_many_bytes(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    return both(windows_lab.folder_lab(root, limits=windows_lab.LookLimits(max_bytes=3)))


def a_name_that_is_no_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.git_lab(root)
    instead_of_git(root, monkeypatch, "ls-files", 'if [ "$3" = --others ]; then printf "../outside\\0"; exit 0; fi')
    return both(lab)


def a_list_that_cannot_be_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.git_lab(root)
    instead_of_git(root, monkeypatch, "diff-files", 'printf ":100644 nonsense\\0"; exit 0')
    return both(lab)


def a_head_that_moves_during_each_look(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.git_lab(root)
    lab.git("commit", "-q", "--allow-empty", "-m", "two")
    heads = [lab.git("rev-parse", name).strip() for name in ("HEAD", "HEAD^")]
    head = lab.tree / ".git/HEAD"
    move = f'if grep -q {heads[0]} "{head}"; then echo {heads[1]}; else echo {heads[0]}; fi > "{head}.new"'
    instead_of_git(root, monkeypatch, "diff-files", f'{move}; mv "{head}.new" "{head}"')
    return both(lab)


def a_repository_that_lost_what_stood_in_it(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.git_lab(root)
    lab.pre("u")
    write(lab.tree / "a", "other\n")
    lab.git("commit", "-qa", "--amend", "-m", "rewritten")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    return lab.delta(lab.post("u"))


def a_git_that_is_slow(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.git_lab(root)
    lab.pre("u")
    write(lab.tree / "a", "other\n")
    instead_of_git(root, monkeypatch, "diff-files", "exec sleep 60")
    lab.world = replace(lab.world, budget_seconds=1.0)
    lab.post("u")
    lab.world = replace(lab.world, budget_seconds=windows_lab.SECONDS)
    resume_groups(lab.world, deadline())
    return lab.delta(lab.post("u"))


def a_lock_that_somebody_holds(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.folder_lab(root)
    lab.pre("u")
    with SYSTEM_DISK.folder(lab.windows) as folder:
        held = folder.hold("lock", exclusive=True, wait_seconds=5.0)
        lab.world = replace(lab.world, budget_seconds=0.35)
        outcome = lab.post("u")
        held.release()
    return lab.delta(outcome)


def a_store_that_somebody_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    """As a hook of its own sees it: the store is opened anew for each."""
    lab = windows_lab.git_lab(root)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(root / "state"))
    place = windows_place(lab.tree)
    lab.world = windows_world(place)
    lab.pre("u")
    with (place.windows / "git/config").open("a") as config:
        config.write("[include]\n\tpath = /dev/null\n")
    lab.world = replace(windows_world(place), budget_seconds=windows_lab.SECONDS)
    return lab.delta(lab.post("u"))


def a_finisher_that_died(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.folder_lab(root)
    lab.pre("u")
    gone = ProcessIdentity(pid=2**22 + 1, started="1", boot_id=own_identity().boot_id)
    lab.world = replace(lab.world, owner=lambda: gone)
    with monkeypatch.context() as patch:
        patch.setattr("docket.engines.windows.complete.finish_group", lambda *_, **__: None)
        lab.post("u")
    resume_groups(lab.world, deadline())
    return lab.delta(lab.post("u"))


def an_end_that_comes_after_an_hour(root: Path, monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.folder_lab(root)
    lab.pre("u")
    monkeypatch.setattr("docket.rules.windows.grouping.HORIZON_MS", 0)
    return lab.delta(lab.post("u"))


def an_end_without_a_beginning(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.folder_lab(root)
    return lab.delta(lab.post("u"))


def a_run_whose_processes_are_gone(root: Path, _monkeypatch: pytest.MonkeyPatch) -> Delta:
    lab = windows_lab.folder_lab(root)
    lab.pre("u")
    leave([lab.key("u").window_id], lab.world, deadline())
    return lab.delta(lab.post("u"))


CASES: dict[PartialReason, Case] = {
    PartialReason.FILE_LIMIT: too_many_files,
    PartialReason.BYTE_LIMIT: too_many_bytes,
    PartialReason.UNSUPPORTED_PATH: a_name_that_is_no_path,
    PartialReason.MALFORMED_STATUS: a_list_that_cannot_be_read,
    PartialReason.HEAD_CHANGED: a_head_that_moves_during_each_look,
    PartialReason.ALTERNATE_OBJECT_MISSING: a_repository_that_lost_what_stood_in_it,
    PartialReason.TIMEOUT: a_git_that_is_slow,
    PartialReason.REGISTRY_LOCK_TIMEOUT: a_lock_that_somebody_holds,
    PartialReason.SNAPSHOT_STORE_UNAVAILABLE: a_store_that_somebody_changed,
    PartialReason.POST_SNAPSHOT_LOST: a_finisher_that_died,
    PartialReason.STALE_ACTIVE_WINDOW: an_end_that_comes_after_an_hour,
    PartialReason.PRE_SNAPSHOT_MISSING: an_end_without_a_beginning,
    PartialReason.PROCESS_GONE: a_run_whose_processes_are_gone,
}


@pytest.mark.parametrize("reason", PartialReason)
def test_a_reason_has_its_cause(tmp_path, monkeypatch, reason):
    delta = CASES[reason](tmp_path, monkeypatch)
    assert (delta.status, delta.reason, delta.files) == (Status.PARTIAL, reason, ())


def test_a_reason_that_nobody_here_knows_is_kept(tmp_path, monkeypatch):
    value = decode(encode_delta(an_end_without_a_beginning(tmp_path, monkeypatch)))
    document = encode({**value, "reason": "of_a_later_day"})
    assert encode_delta(decode_delta(document)) == document
    key = WindowKey(repository="r", provider="p", session_id="s", turn_id="t", tool_use_id="u")
    tombstone = Tombstone(key=key, at="2026-01-01T00:00:00.000Z", reason="of_a_later_day")
    assert decode_record(Tombstone, encode_record(tombstone)) == tombstone
