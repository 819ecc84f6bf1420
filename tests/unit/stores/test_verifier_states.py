"""The file of a verifier's state: one at a time, whole or as it was."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk, fail
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.digest import Digest
from docket.formats.proof.checkpoint import TreeHead
from docket.formats.proof.verifier_state import VerifierState
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.stores import verifier_states
from docket.stores.verifier_states import hold_state

HEAD = TreeHead(origin="docket.local/unsigned/a", size=1, root=Digest("ab" * 32))
STATE = VerifierState(heads=(HEAD,))


def test_what_is_kept_is_known_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with hold_state(path) as held:
        assert held.known == VerifierState()
        held.keep(held.known)
        assert not path.exists()  # nothing was learned
        held.keep(STATE)
    with hold_state(path) as held:
        assert held.known == STATE
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "state.json").symlink_to("there/state.json")
    with hold_state(tmp_path / "state.json") as held:
        held.keep(STATE)
    assert (tmp_path / "state.json").is_symlink()
    assert (tmp_path / "there/state.json").is_file()


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b"\xff", b'{"format":"docket/verifier-state/v9"}'])
def test_a_file_that_is_none_stays_as_it_is(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(data)
    with pytest.raises(InvalidDocumentError) as caught, hold_state(path):
        pass
    assert str(path) in caught.value.detail
    assert path.read_bytes() == data


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught, hold_state(tmp_path / "none/state.json"):
        pass
    assert caught.value.reason == Reason.NOT_FOUND


def test_what_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with hold_state(path) as held:
        held.keep(STATE)
    before = path.read_bytes()
    for operation in ("append", "sync", "replace"):
        disk = FaultyDisk(SYSTEM_DISK, fail(Reason.NO_SPACE, operation))
        with pytest.raises(UnavailableError), hold_state(path, disk=disk) as held:
            held.keep(VerifierState())
        assert path.read_bytes() == before


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    with hold_state(path) as held:
        held.keep(STATE)
        before = path.read_bytes()
        monkeypatch.setattr(verifier_states, "MAX_STATE_BYTES", len(before))
        with pytest.raises(UnavailableError, match="would be larger than") as caught:
            held.keep(STATE.with_head(TreeHead(origin="docket.local/unsigned/b", size=1, root=HEAD.root)))
    assert caught.value.reason == Reason.TOO_LARGE
    with hold_state(path) as held:
        assert held.known == STATE


def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"

    def learn(number: int) -> None:
        with hold_state(path) as held:
            held.keep(held.known.with_head(TreeHead(origin=f"docket.local/unsigned/o{number}", size=1, root=HEAD.root)))

    threads = [threading.Thread(target=learn, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with hold_state(path) as held:
        assert sorted(one.origin for one in held.known.heads) == [
            f"docket.local/unsigned/o{number}" for number in range(8)
        ]
    with hold_state(path), pytest.raises(UnavailableError) as caught, hold_state(path, wait_seconds=0):
        pass
    assert caught.value.reason == Reason.LOCKED


def test_who_waits_is_told_once_and_goes_on_when_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier_states, "QUIET_SECONDS", 0.0)
    path, told = tmp_path / "state.json", list[str]()
    with ExitStack() as other:
        other.enter_context(hold_state(path)).keep(STATE)
        waiting = [told.append, lambda _: other.close()]
        with hold_state(path, wait_seconds=5, waiting=lambda text: [each(text) for each in waiting] and None) as held:
            assert held.known == STATE
    assert told == [f"waits up to 5 s for {path}: {path}.lock is held by process {os.getpid()}"]


def test_who_waits_in_vain_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier_states, "QUIET_SECONDS", 0.0)
    path, told = tmp_path / "state.json", list[str]()
    held = hold_state(path)
    waits = hold_state(path, wait_seconds=0.02, waiting=told.append)
    with held, pytest.raises(UnavailableError) as caught, waits:
        pass
    assert (caught.value.reason, len(told)) == (Reason.LOCKED, 1)
    with hold_state(path), pytest.raises(UnavailableError), hold_state(path, wait_seconds=0.02):
        pass


def test_what_is_no_file_is_said_and_nothing_is_made_beside_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    for path in (*before, Path("/dev/null"), Path("/")):
        with pytest.raises(UnavailableError) as caught, hold_state(path):
            pass
        assert caught.value.reason == Reason.NOT_A_FILE
        assert caught.value.detail == f"{path} is no regular file, and a state is kept in one"
    assert sorted(tmp_path.iterdir()) == before
