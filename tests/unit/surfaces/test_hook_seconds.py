"""How long a hook may take."""

from __future__ import annotations

import pytest

from docket.surfaces.hooks.seconds import hook_seconds


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(None, 2.0), ("7.5", 7.5), ("0.5", 0.5), ("0.1", 0.5), ("1e9", 60.0), ("inf", 60.0), ("nan", 2.0), ("-3", 2.0),
     ("0", 2.0), ("", 2.0), ("two", 2.0)],
)  # fmt: skip
def test_two_seconds_or_what_the_variable_says_within_bounds(monkeypatch, said, seconds):
    if said is None:
        monkeypatch.delenv("DOCKET_HOOK_SECONDS", raising=False)
    else:
        monkeypatch.setenv("DOCKET_HOOK_SECONDS", said)
    assert hook_seconds() == seconds
