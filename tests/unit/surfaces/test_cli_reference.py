"""The reference page of the command line is what the commands print."""

from __future__ import annotations

import importlib.util
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_page_is_generated_from_the_commands():
    spec = importlib.util.spec_from_file_location(
        "generate_cli_reference", REPOSITORY / "tools" / "generate_cli_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.page()
    cut = [line for line in page.splitlines() if line.startswith("  ") and line.endswith("...")]
    assert cut == [], "a list of commands says each in a whole sentence"
