"""Fixtures of the compat tests."""

from __future__ import annotations

import pytest
from agent_lab import Lab


def pytest_collection_modifyitems(items):
    """Every test here needs a foreign program."""
    for item in items:
        if "/compat/" in str(item.path):
            item.add_marker(pytest.mark.compat)


@pytest.fixture
def lab(tmp_path):
    """A fresh repository."""
    return Lab(root=tmp_path).build()
