"""The reference page of the agents is what their recipes say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from docket.rules.agents.registry import RECIPES

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_page_is_generated_from_the_recipes():
    spec = importlib.util.spec_from_file_location(
        "generate_agents_reference", REPOSITORY / "tools" / "generate_agents_reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = module.PAGE.read_text(encoding="utf-8")
    assert written == module.page()
    assert all(f"\n## {recipe.name}\n" in written for recipe in RECIPES)
    assert max(map(len, (line for line in written.splitlines() if not line.startswith("|")))) <= module.WIDTH
