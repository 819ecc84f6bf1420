"""Whole launch plans as they are handed to the supervisor, one file each; a change of one is a change of behaviour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.rules.agents.interface import LaunchRequest
from docket.rules.agents.registry import recognise

CASES = sorted((Path(__file__).parent / "launch_plans").glob("*.json"))


def as_json(planned):
    return {
        "argv": list(planned.argv),
        "env_set": dict(planned.env_set),
        "files": {file.name: file.data.decode().splitlines() for file in planned.files},
        "notes": list(planned.notes),
        "links": {link.name: link.target for link in planned.links},
        "refusal": {"status": planned.refusal.status, "misread": list(planned.refusal.misread)},
        "tolerates_usage_injection": planned.tolerates_usage_injection,
        "upstreams": dict(planned.upstreams),
    }


def test_there_are_plans():
    assert len(CASES) >= 8


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_plan_is_the_one_on_file(path):
    case = json.loads(path.read_bytes())
    asked = case["request"]
    request = LaunchRequest(
        argv=tuple(asked["argv"]),
        environ=asked["environ"],
        base_url="http://127.0.0.1:45678/0123456789abcdef",
        run_dir="/state/live/S",
        inputs={name: None if text is None else text.encode() for name, text in asked["inputs"].items()},
    )
    recipe = recognise(request.argv, asked.get("agent"))
    assert recipe.name == case["recipe"]
    assert sorted(recipe.wanted_files(request)) == sorted(case["wanted_files"])
    assert as_json(recipe.plan(request)) == case["plan"]
