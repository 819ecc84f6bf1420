"""What a game day leaves behind when it ends before its first phase."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from docket.demo.game_day import GameDayOptions, Told, run_game_day
from docket.rules.drills.phases import chosen

NAMES = [phase.name for phase in chosen(("rate-limit",))]


def asked(tmp_path: Path) -> GameDayOptions:
    return GameDayOptions(
        phases=chosen(("rate-limit",)), command=(), out=tmp_path / "day", project=tmp_path,
        began_at="2026-11-29T12:00:00.000Z",
    )  # fmt: skip


def test_a_signal_between_phases_is_given_back_and_what_was_found_is_written(tmp_path: Path) -> None:
    def terminated(_: Told) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run_game_day(asked(tmp_path), terminated)

    assert signal.getsignal(signal.SIGTERM) == before
    assert sorted(path.name for path in (tmp_path / "day").iterdir()) == ["game-day.json", "post-mortem.md"]
    written = json.loads((tmp_path / "day" / "game-day.json").read_text("utf-8"))
    assert "interrupted" in json.dumps(written)
    assert all(name in json.dumps(written) for name in NAMES)


def test_what_stands_there_is_replaced_and_never_written_over(tmp_path: Path) -> None:
    def planted(_: Told) -> None:
        for name in ("game-day.json", "post-mortem.md"):
            (tmp_path / name).write_text("whole")
            os.link(tmp_path / name, tmp_path / "day" / name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_game_day(asked(tmp_path), planted)

    for name in ("game-day.json", "post-mortem.md"):
        assert (tmp_path / name).read_text() == "whole"
        assert (tmp_path / "day" / name).read_bytes() != b"whole"
