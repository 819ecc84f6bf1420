"""HTML from data: every text is escaped where it enters, and only what was built here counts as markup.

Rules:
1. A text from a record is data. Control characters, marks of direction and halves of characters are shown, never
   sent; `&`, `<`, `>` and both quotes are references, in contents and in attributes alike.
2. `Html` is markup. Nothing but `element`, `joined` and constants of this package's own makes one.
3. No attribute holds a script or a style, so that a policy can forbid both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from docket.surfaces.cli.console import plain

_ALONE = frozenset(("br", "col", "input", "link", "meta", "wbr"))
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_TRANSLATION = str.maketrans(_REFERENCES)


class Html(str):
    """Markup that is safe to put into a page."""

    __slots__ = ()


Child: TypeAlias = "Html | str | Iterable[Html | str]"
Value: TypeAlias = "str | bool | None"


def escaped(text: str) -> Html:
    """Return a text as contents or as an attribute's value."""
    return Html(visible(text).translate(_TRANSLATION))


def visible(text: str) -> str:
    """Return a text with what is not to be sent made visible (rule 1)."""
    return text if text.isascii() and text.isprintable() else plain(text)


def line_escaped(text: str) -> Html:
    """Return a line of a file: as `escaped`, its tabs as they are."""
    return Html("\t".join(visible(piece) for piece in text.split("\t")).translate(_TRANSLATION))


def element(name: str, *children: Child, **attributes: Value) -> Html:
    """Return an element; `_` in an attribute's name is `-`, at its end nothing.

    An attribute of None or False is left out, of True has no value.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = joined(children)
    return Html(f"<{name}{told}>{inside}</{name}>" if name not in _ALONE else f"<{name}{told}>")


def joined(children: Iterable[Child], between: str = "") -> Html:
    """Return children one after another, each text escaped."""
    return Html(between.join(_child(child) for child in children))


def _child(child: Child) -> str:
    if isinstance(child, Html):
        return child
    return escaped(child) if isinstance(child, str) else joined(child)


def _attribute(key: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(value)}"'


__all__ = ["Child", "Html", "element", "escaped", "joined", "line_escaped", "visible"]
