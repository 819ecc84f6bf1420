"""Hooks in the text of somebody's settings: put in, known again, taken out to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError, UsageError
from docket.rules.agents.hook_files import (
    FILES,
    hook_file,
    installed_events,
    installed_text,
    uninstalled_text,
    wanted_events,
)
from docket.rules.agents.hook_settings import GROUPS, HookWords
from docket.rules.agents.hook_shapes import CLAUDE
from docket.rules.agents.hook_text import found_hooks, fresh_text, is_fresh, with_hooks, without_hooks
from docket.rules.agents.json_text import MAX_CHARACTERS, MAX_DEPTH, parse

WORDS = HookWords(command=("/usr/bin/docket",))
WANTED = GROUPS["claude"](CLAUDE, WORDS)
SMALL = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "docket hook claude PreToolUse"}]}]}


@pytest.mark.parametrize(
    "text",
    ["{}", "{}\n", "{ }", "{\n}\n", "{\n  }", '{"a":1}', '{\n\t"a": 1\n}\n', '{"hooks":{}}', '{"hooks":{\n  }}',
     '{"hooks": {"PreToolUse": []}}', '{"hooks": {"PreToolUse": [ ], "Stop": [1]}, "x": {}}', '{\r\n  "a": 1\r\n}\r\n',
     '{"hooks": {"PreToolUse": [{"matcher": "x", "hooks": [{"command": "mine"}]}]}, "b": [1, 2]}',
     '{"model": "\\u00e9\\ud83d\\ude00", "hooks": {"Stop": [{"hooks": [{"command": "docket hook codex Stop"}]}]}}'],
)  # fmt: skip
def test_what_was_put_in_comes_out_to_the_byte(text):
    held = with_hooks(text, "claude", WANTED)
    assert found_hooks(held, "claude") == WANTED
    assert with_hooks(held, "claude", WANTED) == held
    before, after = json.loads(text), json.loads(held)
    assert {name: value for name, value in after.items() if name != "hooks"} == {
        name: value for name, value in before.items() if name != "hooks"
    }
    for event, entries in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(entries)] == entries
    assert without_hooks(held, "claude") == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
HOOKS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "é"]), st.lists(VALUES, max_size=2), max_size=3)


@given(
    st.dictionaries(st.text(max_size=4).filter(lambda name: name != "hooks"), VALUES, max_size=3),
    st.none() | HOOKS,
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
    st.booleans(),
)
def test_any_settings_come_out_as_they_were(members, hooks, indent, is_ascii, is_first):
    both = members if hooks is None else {"hooks": hooks, **members} if is_first else {**members, "hooks": hooks}
    text = json.dumps(both, indent=indent, ensure_ascii=is_ascii)
    held = with_hooks(text, "claude", SMALL)
    assert found_hooks(held, "claude") == SMALL
    assert without_hooks(held, "claude") == text


def test_hooks_of_an_older_docket_are_replaced():
    old = with_hooks('{"a": 1}', "claude", SMALL)
    new = with_hooks(old, "claude", WANTED)
    assert found_hooks(new, "claude") == WANTED
    assert without_hooks(new, "claude") == '{"a": 1}'


def test_a_file_that_was_changed_in_between_loses_docket_s_hooks_alone():
    held = json.loads(with_hooks('{"a": 1}', "claude", SMALL))
    held["hooks"]["PreToolUse"].insert(0, {"hooks": [{"command": "theirs"}]})
    held["hooks"]["PreToolUse"][1]["hooks"].append({"command": "beside"})
    held["hooks"]["Stop"] = [{"hooks": [{"command": "docket hook claude Stop"}]}, {"hooks": [{"command": "after"}]}]
    del held["a"]
    left = without_hooks(json.dumps(held, indent=4), "claude")
    assert json.loads(left) == {"hooks": {
        "PreToolUse": [{"hooks": [{"command": "theirs"}]}, {"matcher": "*", "hooks": [{"command": "beside"}]}],
        "Stop": [{"hooks": [{"command": "after"}]}],
    }}  # fmt: skip


def test_what_held_docket_s_hooks_alone_goes_with_them():
    text = json.dumps({"a": 1, "hooks": SMALL}, indent=2)
    assert json.loads(without_hooks(text, "claude")) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "line 1: it ends here"), ("{", "line 1: it ends here"), ('{\n"a": 1,\n}', "line 3: a comma too many"),
     ("{\n// x\n}", "line 2: a comment"), ('{"a": 1 /* x */}', "line 1: a comment"), ("{'a': 1}", "should not stand"),
     ('{"a" 1}', "a name without a value"), ('{"a": 1, "a": 2}', "'a' stands twice"), ("[1,]", "a comma too many"),
     ('{"a": 1} {}', "behind the end"), ('{"a": "\n"}', "a text without an end"), ("{} # x", "behind the end"),
     ("[" * (MAX_DEPTH + 2), "too deep"), ("\ufeff{}", "should not stand"), ('{"a": 01}', "should not stand"),
     ("[1 2]", "should not stand"), ("[]", "the file is no object"), ('{"hooks": 1}', "hooks is no object"),
     ('{"hooks": {"Stop": {}}}', "hooks.Stop is no list"), (" " * (MAX_CHARACTERS + 1), "characters")],
)  # fmt: skip
def test_what_cannot_hold_hooks_is_refused_with_its_line(text, why):
    with pytest.raises(InvalidDocumentError) as refused:
        with_hooks(text, "claude", WANTED)
    assert why in refused.value.detail


def test_values_are_where_they_are():
    text = ' {"a": [1, "b", {}, []], "c": null}'
    root = parse(text)
    assert [text[start:end] for start, end in root.spans()] == ['"a": [1, "b", {}, []]', '"c": null']
    assert [text[start:end] for start, end in root.members["a"].spans()] == ["1", '"b"', "{}", "[]"]
    assert root.members["c"].spans() == []


def test_a_file_that_docket_made_is_known_whatever_it_was_called_with():
    for base in ({}, {"version": 1}):
        text = fresh_text(base, WANTED)
        assert json.loads(text) == {**base, "hooks": WANTED}
        assert is_fresh(text, "claude", base)
        assert not is_fresh(text + " ", "claude", base)
    assert not is_fresh("{}", "claude", {})


@pytest.mark.parametrize("agent", list(FILES))
def test_each_agent_s_file_is_made_changed_and_removed(agent):
    file = hook_file(agent)
    made = installed_text(file, None, WORDS)
    assert set(installed_events(file, made)) == set(wanted_events(file))
    assert installed_text(file, made, WORDS) == made
    assert uninstalled_text(file, made) is None
    if file.is_own:
        with pytest.raises(InvalidDocumentError, match="not written by docket"):
            installed_text(file, "// mine\n", WORDS)
        assert (uninstalled_text(file, "// mine\n"), installed_events(file, "// mine\n")) == ("// mine\n", ())
    else:
        held = installed_text(file, '{"x": 1}\n', WORDS)
        assert uninstalled_text(file, held) == '{"x": 1}\n'
        assert installed_events(file, '{"x": 1}\n') == ()


@pytest.mark.parametrize(("agent", "why"), [("kiro", "an agent of yours"), ("codx", "mean codex"), ("zzz", "no hooks")])
def test_agents_without_a_file_for_hooks_are_refused(agent, why):
    with pytest.raises(UsageError) as refused:
        hook_file(agent)
    assert why in refused.value.detail
