"""Markup from data: whatever a text holds, it stays a text, in contents, in attributes and in blocks of data."""

from __future__ import annotations

import json

import pytest

from docket.engines.run_page.packing import packed
from docket.surfaces.render.page.embedded import bytes_block, json_block
from docket.surfaces.render.page.html import Html, element, escaped, joined, line_escaped
from page_lab import held, parsed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("</script><!--", "&lt;/script&gt;&lt;!--"),
        ("\"'", "&quot;&#39;"),
        ("&amp;", "&amp;amp;"),
        ("two\nlines\tand\0", "two\\x0alines\\x09and\\x00"),
        ("right \u202eto left\u2066", "right \\u202eto left\\u2066"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("half \ud800", "half \\ud800"),
        ("byte \udce9", "byte \\xe9"),
        ("tag \U000e0041 \ufeff\u200f", "tag \\U000e0041 \\ufeff\\u200f"),
        ("日本 é", "日本 é"),
    ],
)
def test_a_text_stays_a_text(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert element("p", text) == f"<p>{shown}</p>"
    assert element("p", title=text) == f'<p title="{shown}"></p>'
    assert element("p", [text, Html("<br>")]) == f"<p>{shown}<br></p>"


def test_a_line_keeps_its_tabs() -> None:
    assert line_escaped("\tif a < b:\r") == "\tif a &lt; b:\\x0d"


def test_attributes_and_elements_without_an_end() -> None:
    assert (
        element("input", for_="a", data_x="1", hidden=True, checked=False, alt=None)
        == '<input for="a" data-x="1" hidden>'
    )
    assert element("path", d="M0 0") == '<path d="M0 0"></path>'
    assert joined(["<", Html("<i></i>")], between=" ") == "&lt; <i></i>"


def test_a_block_of_json_ends_where_it_ends() -> None:
    value = {"</script><!--": ["<script>", "\u2028", "\x7f", "&amp;", "\ud800"]}
    block = json_block("x", value)
    inside = block.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\x7f") & set(inside)
    assert inside.isascii()
    assert json.loads(inside) == value


def test_a_block_of_bytes_is_the_same_for_the_same() -> None:
    data = bytes(range(256)) * 100
    assert packed(data) == packed(data)
    page = parsed(f"<html>{bytes_block('receipt', packed(data).coded or '')}</html>")
    assert held(page, "receipt") == data
