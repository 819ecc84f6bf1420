"""Keys on the disk: for their owner alone, never over another by mistake, and one seal key whoever asks first."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.proof.key_text import read_private_key, read_public_key, read_seal_key
from docket.formats.reason import Reason
from docket.stores.key_files import default_key_path, key_files, own_seal_key, write_pair
from golden_ledgers.proven import PUBLIC_KEY, SECRET_KEY

PUBLIC = bytes.fromhex(PUBLIC_KEY)


def test_a_pair_is_three_files_of_which_one_is_secret(tmp_path: Path) -> None:
    files = key_files(tmp_path / "new" / "a.key")
    write_pair(files, SECRET_KEY, PUBLIC, overwrite=False)
    assert [path.name for path in files.all] == ["a.key", "a.key.pub", "a.key.vkey"]
    assert [oct(path.stat().st_mode & 0o777) for path in files.all] == ["0o600", "0o644", "0o644"]
    assert read_private_key(files.private.read_bytes()) == SECRET_KEY
    assert read_public_key(files.public.read_text()) == PUBLIC == read_public_key(files.note.read_text())
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["a.key", "a.key.pub", "a.key.vkey"])
def test_no_name_that_is_taken_is_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("nowhere")
    files = key_files(tmp_path / "a.key")
    with pytest.raises(UnavailableError) as raised:
        write_pair(files, SECRET_KEY, PUBLIC, overwrite=False)
    assert raised.value.reason == Reason.ALREADY_EXISTS
    assert str(raised.value.hint).startswith("a key of yours can sign as it is; ") is (name == "a.key")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    write_pair(files, SECRET_KEY, PUBLIC, overwrite=True)
    assert not (tmp_path / name).is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_the_key_of_seals_is_made_once(tmp_path: Path) -> None:
    environment = {"DOCKET_STATE_DIR": str(tmp_path / "state")}
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(own_seal_key(environment).read_bytes())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    path = own_seal_key(environment)
    assert set(keys) == {path.read_bytes()}
    assert len(read_seal_key(path.read_bytes())) == 32
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert default_key_path(environment) == path.parent / "signing.key"
    assert [item.name for item in path.parent.iterdir()] == ["seal.key"]
