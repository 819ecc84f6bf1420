"""Trailers go where git puts them, whatever the person's configuration says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.git_trailers import with_trailers

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
ONE, TWO = "Docket-Receipt: sha256:00", "Docket-Checkpoint: a 1 00"


def test_they_stand_last_and_once_and_beside_others() -> None:
    message = with_trailers(b"subject\n\nbody\n---\nnot a patch\n", (ONE, TWO))
    assert message == f"subject\n\nbody\n---\nnot a patch\n\n{ONE}\n{TWO}\n".encode()
    assert with_trailers(message, (ONE, TWO)) == message
    another = with_trailers(message, (ONE.replace("00", "11"),))
    assert another == message + b"Docket-Receipt: sha256:11\n"


def test_no_configuration_and_no_program_of_the_persons_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text('[trailer "Docket-Receipt"]\n\tcommand = touch ran\n\twhere = start\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert with_trailers(b"subject\n\nSigned-off-by: a\n", (ONE,)) == f"subject\n\nSigned-off-by: a\n{ONE}\n".encode()
    assert not (tmp_path / "ran").exists()


def test_without_git_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        with_trailers(b"subject\n", (ONE,))
    assert caught.value.reason == Reason.PROGRAM_MISSING
