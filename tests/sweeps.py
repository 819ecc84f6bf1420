"""Sweeps over every call of something: a part of them with every run of the tests, all of them when asked for."""

from __future__ import annotations

import pytest

PATIENT = pytest.mark.timeout(1500)


def some(stride: int) -> pytest.MarkDecorator:
    """Parameters `stride`: each so-many-th call, and each one when asked for."""
    return pytest.mark.parametrize(
        "stride", [pytest.param(stride, id="some"), pytest.param(1, id="every", marks=[pytest.mark.slow, PATIENT])]
    )
