"""The plans of the specification, accepted and refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.plan import decode_plan, plan_of

SPEC = Path(__file__).parents[2] / "spec"
VECTORS = json.loads((SPEC / "vectors/plan.json").read_text("utf-8"))


def named(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


@pytest.mark.parametrize("vector", named(VECTORS["accepted"]))
def test_accepted(vector):
    document = vector["document"].encode()
    plan = decode_plan(document)
    assert plan.digest == vector["digest"]
    assert len(plan) == vector["steps"]
    assert plan_of(reversed(plan.steps), plan.root) == plan
    answer = subprocess.run(["sha256sum"], input=document, capture_output=True, check=True)
    assert answer.stdout.split()[0].decode() == vector["digest"]


@pytest.mark.parametrize("vector", named(VECTORS["refused"]))
def test_refused(vector):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_plan(vector["document"].encode())
    assert caught.value.reason == vector["reason"]


def test_the_example_is_the_first_vector():
    text = (SPEC / "plan.md").read_text("utf-8")
    assert text.split("```\n")[1] == VECTORS["accepted"][0]["document"]
    assert VECTORS["accepted"][0]["digest"] in text
