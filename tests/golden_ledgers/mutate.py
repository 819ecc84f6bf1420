"""Every small change of a JSON value: of each leaf, each member, each item."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]


def mutations(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name of the change, changed copy) for every leaf, member and item of `value`."""
    for path, leaf in leaves(value):
        for number, other in enumerate(others(leaf)):
            yield f"{dotted(path)} -> {other!r:.40} #{number}", replaced(value, path, other)
    for path in containers(value):
        yield from _of_container(value, path)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf; an empty container is a leaf too."""
    items = _items(value)
    if not items:
        yield path, value
    for key, member in items:
        yield from leaves(member, (*path, key))


def containers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every object and array."""
    if isinstance(value, (dict, list)):
        yield path
    for key, member in _items(value):
        yield from containers(member, (*path, key))


def others(leaf: Any) -> Iterator[Any]:
    """Yield values near `leaf`, of its type and of another."""
    if isinstance(leaf, bool):
        yield from (not leaf, int(leaf))
    elif isinstance(leaf, int):
        yield from (leaf + 1, str(leaf))
    elif isinstance(leaf, str):
        yield leaf[:-1] + ("1" if leaf[-1:] != "1" else "2")
        yield leaf + " "
    elif leaf is None:
        yield from ("x", 0)
    elif isinstance(leaf, dict):
        yield {"x": 1}
    else:
        yield ["x"]


def replaced(value: Any, path: Path, other: Any) -> Any:
    """Return `value` with `other` at `path`: a copy of what is on the way there, sharing all that is beside it."""
    if not path:
        return other
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], other)
    return changed


def at(value: Any, path: Path) -> Any:
    """Return what stands at `path`."""
    for key in path:
        value = value[key]
    return value


def dotted(path: Path) -> str:
    """Return a path in words."""
    return ".".join(str(key) for key in path) or "(whole)"


def _of_container(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    there = at(value, path)
    for key, _ in _items(there):
        fewer = copy.copy(there)
        del fewer[key]
        yield f"{dotted((*path, key))} removed", replaced(value, path, fewer)
    if isinstance(there, dict):
        yield f"{dotted(path)} with one member more", replaced(value, path, {**there, "zzz": 1})
    elif there:
        yield f"{dotted(path)} with its last item twice", replaced(value, path, [*there, there[-1]])
        if len(there) > 1 and there[0] != there[1]:
            exchanged = [there[1], there[0], *there[2:]]
            yield f"{dotted(path)} with two items exchanged", replaced(value, path, exchanged)


def _items(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []
