"""Lines of keys: a text built line by line knows where its keys stand; the walk must find the same."""

from __future__ import annotations

import json
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from docket.formats.run.toml_lines import locate

BARE = st.text("abcdefgXYZ019_-", min_size=1, max_size=4)
HOSTILE = st.text("abc=[]{}\"'\\#\n., \t\u00e9\U0001f600", max_size=12)
GAP = st.sampled_from(["", "\n", "# a = 1\n", "\n\n", "   # [t]\n"])


def basic(text):
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@st.composite
def keys(draw):
    return draw(st.one_of(BARE, BARE.map(lambda text: text + " x"), HOSTILE))


def key_text(draw, key):
    bare = key and all(c.isascii() and (c.isalnum() or c in "_-") for c in key)
    forms = [basic(key)]
    if bare:
        forms.append(key)
    if "'" not in key and "\n" not in key and all(ord(c) >= 32 or c == "\t" for c in key):
        forms.append(f"'{key}'")
    return draw(st.sampled_from(forms))


@st.composite
def scalars(draw):
    """A value's text and the line breaks in it; texts hold what looks like keys."""
    kind = draw(st.sampled_from(["number", "basic", "literal", "long", "long literal", "array", "date"]))
    body = draw(HOSTILE)
    if kind == "basic":
        return basic(body)
    if kind == "literal":
        return "'" + body.replace("'", "").replace("\n", "") + "'"
    if kind == "long":
        return '"""\n' + body.replace("\\", "\\\\").replace('"', '\\"') + draw(st.sampled_from(["", '"', '""'])) + '"""'
    if kind == "long literal":
        return "'''\n" + body.replace("'", "") + draw(st.sampled_from(["", "'", "''"])) + "'''"
    if kind == "array":
        inner = [basic(text) for text in draw(st.lists(HOSTILE, max_size=3))]
        return "[" + draw(GAP).join(f"{item},\n" for item in inner) + "]"
    return draw(st.sampled_from(["1", "-1.5e3", "true", "nan", "1979-05-27 07:32:00Z", "0xff"]))


@st.composite
def documents(draw):
    """A TOML text of unlike keys, with the line of each: {path: line}."""
    text, expected = "", {}
    used_tables = draw(st.lists(keys(), unique=True, max_size=3))
    for table in [None, *used_tables]:
        prefix = () if table is None else (table,)
        if table is not None:
            text += draw(GAP)
            expected[prefix] = text.count("\n") + 1
            text += f"[ {key_text(draw, table)} ]" + draw(st.sampled_from(["\n", " # c = 1\n", "\r\n"]))
        for key in draw(st.lists(keys(), unique=True, max_size=4)):
            if table is None and key in used_tables:
                continue
            text += draw(GAP) + draw(st.sampled_from(["", "  ", "\t"]))
            line = text.count("\n") + 1
            expected[(*prefix, key)] = line
            shape = draw(st.sampled_from(["plain", "dotted", "inline"]))
            if shape == "plain":
                text += f"{key_text(draw, key)} = {draw(scalars())}"
            elif shape == "dotted":
                inner = draw(keys())
                expected[(*prefix, key, inner)] = line
                text += f"{key_text(draw, key)} . {key_text(draw, inner)}={draw(scalars())}"
            else:
                inner = draw(keys())
                text += f"{key_text(draw, key)} = {{ {key_text(draw, inner)} = {draw(scalars())} }}"
                expected[(*prefix, key, inner)] = line
            text += draw(st.sampled_from(["\n", " # x = 1\n", "\r\n"]))
    return text, expected


@given(documents())
def test_every_key_stands_where_it_was_written(document):
    text, expected = document
    tomllib.loads(text)
    found = {path: line for path, line in locate(text).first.items() if not any(isinstance(p, int) for p in path)}
    assert found == expected
    assert locate(text).repeated == ()


def paths_of(value, prefix=()):
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*prefix, name)
        yield from paths_of(member, (*prefix, name))


PIECES = st.sampled_from(
    ["a", "b", " ", "\n", "=", "[", "]", "{", "}", ",", ".", '"', "'", '"""', "'''", "\\", "#", "1", "\r\n", "[[", "]]"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_tomllib_accepts_has_a_line_for_every_key(text):
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        locate(text)
        return
    found = locate(text).first
    for path in paths_of(document):
        assert 1 <= found[path] <= text.count("\n") + 1
    assert locate(text).repeated == ()
