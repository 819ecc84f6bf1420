"""The reference page of the policy is what the generator writes, and says of the tree what the rules do."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from docket.formats.run.policy import KEYS
from docket.rules.policy import tighten

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("policy_reference", ROOT / "tools/generate_policy_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_file_is_the_generated_one(generator):
    page = (ROOT / "docs/reference/policy.md").read_text(encoding="utf-8")
    assert page == generator.render(), "run tools/generate_policy_reference.py"


def test_every_key_stands_on_the_page(generator):
    page = generator.render()
    for key in KEYS:
        section = page.split(f"### `[{key.section}]`")[1].split("### `[")[0]
        assert f"| `{key.name}` |" in section


def test_what_the_page_says_of_a_tree_is_what_the_rules_do(generator):
    said = {"never": "_never", "fewer": "_fewer", "more": "_more", "higher": "_higher", "lower": "_lower", "`": "rule"}
    for key in KEYS[1:]:
        words = generator.IN_THE_TREE.get(key.path, "lower")
        rule = tighten.RULES[key.path].__name__
        kind = next(name for word, name in said.items() if words.startswith(word))
        assert rule.startswith(kind), key.path
