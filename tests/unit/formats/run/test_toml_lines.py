"""The line on which each key of a TOML text stands."""

from __future__ import annotations

import pytest

from docket.formats.run.toml_lines import Repeated, locate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a = 1\nb = 2\n", {("a",): 1, ("b",): 2}, id="plain"),
        pytest.param("[t]\n\n# x\na = 1", {("t",): 1, ("t", "a"): 4}, id="table"),
        pytest.param("a.b.c = 1\na.d = 2", {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1, ("a", "d"): 2}, id="dotted"),
        pytest.param("[a . b]\nc = 1", {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 2}, id="blanks round dots"),
        pytest.param('"a b" = 1\n\'c.d\' = 2\n"" = 3', {("a b",): 1, ("c.d",): 2, ("",): 3}, id="quoted"),
        pytest.param('"\\u0061\\t\\"" = 1', {('a\t"',): 1}, id="escapes in a key"),
        pytest.param('"\\U0001F600" = 1', {("\U0001f600",): 1}, id="long escape in a key"),
        pytest.param("a = {b = 1, c.d = 2}", {("a",): 1, ("a", "b"): 1, ("a", "c"): 1, ("a", "c", "d"): 1},
                     id="inline"),
        pytest.param("a = {}\nb = []", {("a",): 1, ("b",): 2}, id="empty ones"),
        pytest.param(
            "a = [\n 1, # b = 3\n\n [2,\n3],\n]\nc = 4",
            {("a",): 1, ("a", 0): 2, ("a", 1): 4, ("a", 1, 0): 4, ("a", 1, 1): 5, ("c",): 7},
            id="array of several lines",
        ),
        pytest.param("a = [{b = 1},\n{}]", {("a",): 1, ("a", 0): 1, ("a", 0, "b"): 1, ("a", 1): 2}, id="tables in it"),
        pytest.param('a = """\nb = 1\n[c]\n"""\nd = 2', {("a",): 1, ("d",): 5}, id="keys in a long text"),
        pytest.param("a = '''\nb = 1\n\\'''\nd = 2", {("a",): 1, ("d",): 4}, id="long literal ends at its quotes"),
        pytest.param('a = """x\\""" """\nb = 1', {("a",): 1, ("b",): 2}, id="escaped quotes in a long text"),
        pytest.param('a = """x"""""\nb = 1', {("a",): 1, ("b",): 2}, id="two quotes before the end"),
        pytest.param("a = '''x'''''\nb = 1", {("a",): 1, ("b",): 2}, id="two quotes before the end of a literal"),
        pytest.param('a = ""\nb = "x # c = 1"\nd = 1', {("a",): 1, ("b",): 2, ("d",): 3}, id="hash in a text"),
        pytest.param('a = "x\\\\"\nb = 1', {("a",): 1, ("b",): 2}, id="backslash at the end of a text"),
        pytest.param("a = 1\r\nb = 2\r\n[t]\r\nc = 3", {("a",): 1, ("b",): 2, ("t",): 3, ("t", "c"): 4}, id="crlf"),
        pytest.param("a = 1979-05-27 07:32:00Z # x\nb = 1", {("a",): 1, ("b",): 2}, id="instant with a blank"),
        pytest.param(
            "[[p]]\na = 1\n[[p]]\na = 2\n[p.q]\nb = 3\n[[p.r]]\nc = 4",
            {("p",): 1, ("p", 0): 1, ("p", 0, "a"): 2, ("p", 1): 3, ("p", 1, "a"): 4, ("p", 1, "q"): 5,
             ("p", 1, "q", "b"): 6, ("p", 1, "r"): 7, ("p", 1, "r", 0): 7, ("p", 1, "r", 0, "c"): 8},
            id="arrays of tables",
        ),
        pytest.param("  [ t ] # c\n\ta\t=\t1", {("t",): 1, ("t", "a"): 2}, id="blanks"),
        pytest.param("# only\n\n", {}, id="comments alone"),
        pytest.param("", {}, id="nothing"),
    ],
)  # fmt: skip
def test_each_key_has_the_line_of_its_first_mention(text, expected):
    found = locate(text)
    assert found.first == expected
    assert found.repeated == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a = 1\n\na = 2", [(("a",), 3, 1)], id="key"),
        pytest.param("[t]\n[t]", [(("t",), 2, 1)], id="table"),
        pytest.param("[t]\na = 1\n[u]\n[t]\na = 2", [(("t",), 4, 1), (("t", "a"), 5, 2)], id="table and its key"),
        pytest.param("t.a = 1\nt.a = 2\nt.a = 3", [(("t", "a"), 2, 1), (("t", "a"), 3, 1)], id="three times"),
        pytest.param("t = {a = 1,\n a = 2}", [(("t", "a"), 2, 1)], id="inline"),
    ],
)
def test_a_key_written_again_is_reported_with_both_lines(text, expected):
    assert list(locate(text).repeated) == [Repeated(path, line, first) for path, line, first in expected]


@pytest.mark.parametrize(
    "text",
    [
        "[t", "[[t]", "[t]]", "a", "a =", "= 1", "a = [1 2]", "a = {b = 1 c = 2}", 'a = "x', "a = 'x\n'", 'a = """x',
        "a = '''x", "a.= 1", "a = 1 b = 2\n", "a = {b}", '"a\nb" = 1', "a = [}", "a = ]", "[]", "a..b = 1",
        '"x" "y" = 1',
        "a = {,}", "a = [,]", "a = 1 ]", '"\\U99999999" = 1', '"\\q" = 1',
    ],
)  # fmt: skip
def test_what_is_not_toml_ends_the_walk_quietly(text):
    found = locate("ok = 1\n" + text)
    assert found.first[("ok",)] == 1


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "{b=" * 5000, "a = " + "[" * 150 + "]" * 150])
def test_deep_nesting_ends_quietly(text):
    assert locate(text).first[("a",)] == 1


def test_the_line_of_what_has_none_is_that_of_the_table_around_it():
    found = locate("\n[t]\na = {b = 1}\n")
    assert found.of("t", "a", "b") == 3
    assert found.of("t", "z") == 2
    assert found.of("t", "a", "z", "y") == 3
    assert found.of("u") is None
    assert found.of() is None
