"""Putting docket's hooks into the text of an agent's settings, finding them there, and taking them out again.

Rules:
1. Hooks of others stay as they are, byte for byte. Taking docket's out gives the bytes that stood before they were put
   in, unless the file was changed in between: then only docket's own are gone.
2. What is not JSON, or holds something else where hooks should be, is refused and left as it is.
3. Putting them in a second time changes nothing; ones that were set up otherwise, by an older docket say, are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.rules.agents.hook_settings import Entry, is_docket_line
from docket.rules.agents.json_text import Part, added, indent_of, parse, taken

HOOKS = "hooks"
_LINES = ("command", "bash")


def with_hooks(text: str, agent: str, wanted: Mapping[str, list[Entry]]) -> str:
    """Return the settings with these hooks; InvalidDocumentError where the text is none that can hold them."""
    if found_hooks(text, agent) == {event: list(entries) for event, entries in wanted.items()}:
        return text
    bare = without_hooks(text, agent)
    unit = indent_of(bare)
    root = _object(parse(bare), "the file")
    if HOOKS not in root:
        return added(bare, parse(bare), _member(HOOKS, wanted, unit, 1), (unit, ""))
    for event, entries in wanted.items():
        hooks = _object(parse(bare), "the file")[HOOKS]
        here = _object(hooks, HOOKS)
        if event not in here:
            bare = added(bare, hooks, _member(event, list(entries), unit, 2), (unit * 2, unit))
            continue
        for entry in entries:
            lists = _object(_object(parse(bare), "the file")[HOOKS], HOOKS)
            bare = added(bare, lists[event], json.dumps(entry), (unit * 3, unit * 2))
    return bare


def without_hooks(text: str, agent: str) -> str:
    """Return the settings without docket's hooks; the same text where there are none."""
    while True:
        path = next(_ours(text, agent), None)
        if path is None:
            return text
        text = _cut(text, path)


def found_hooks(text: str, agent: str) -> dict[str, list[Entry]]:
    """Return docket's hooks that stand in the settings, by their events."""
    found: dict[str, list[Entry]] = {}
    root = parse(text)
    for path in _ours(text, agent):
        part = _at(root, path)
        found.setdefault(str(path[1]), []).append(json.loads(text[part.start : part.end]))
    return found


def fresh_text(base: Mapping[str, object], wanted: Mapping[str, list[Entry]]) -> str:
    """Return the text of a file that docket makes."""
    members = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in base.items()]
    return "{\n" + ",\n".join([*members, f"  {_member(HOOKS, wanted, '  ', 1)}"]) + "\n}\n"


def is_fresh(text: str, agent: str, base: Mapping[str, object]) -> bool:
    """Whether a file is exactly as docket makes one, so that nothing of it is anybody else's."""
    found = found_hooks(text, agent)
    return bool(found) and text == fresh_text(base, found)


def _ours(text: str, agent: str) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of docket's entries: hooks, event, number, and where it stands among others two steps more."""
    root = _object(parse(text), "the file")
    hooks = _object(root[HOOKS], HOOKS) if HOOKS in root else {}
    for event, entries in hooks.items():
        if entries.items is None:
            _refuse(f"{HOOKS}.{event} is no list")
        for number, entry in enumerate(entries.items):
            inner = (entry.members or {}).get(HOOKS)
            if inner is None or inner.items is None:
                if _is_ours(entry, agent):
                    yield HOOKS, event, number
                continue
            ours = [index for index, one in enumerate(inner.items) if _is_ours(one, agent)]
            if ours and len(ours) == len(inner.items):
                yield HOOKS, event, number
            else:
                yield from ((HOOKS, event, number, HOOKS, index) for index in ours)


def _is_ours(entry: Part, agent: str) -> bool:
    members = entry.members or {}
    return any(is_docket_line(members[name].text, agent) for name in _LINES if name in members)


def _cut(text: str, path: tuple[str | int, ...]) -> str:
    """Take out what stands at a path, and what holds nothing from then on and was made for it alone."""
    while True:
        holder = _at(parse(text), path[:-1])
        last = path[-1]
        index = last if isinstance(last, int) else list(holder.members or {}).index(last)
        text, is_left_over = taken(text, holder, index)
        if not is_left_over or len(path) == 1:
            return text
        path = path[:-1]


def _at(part: Part, path: tuple[str | int, ...]) -> Part:
    for step in path:
        part = (part.items or ())[step] if isinstance(step, int) else (part.members or {})[step]
    return part


def _member(name: str, value: Mapping[str, list[Entry]] | list[Entry], unit: str, depth: int) -> str:
    """Return a member of an object that is that deep; each entry of a list of hooks on a line of its own."""
    inner, end = f"\n{unit * (depth + 1)}", f"\n{unit * depth}"
    if isinstance(value, Mapping):
        opening, closing = "{", "}"
        parts = [_member(event, entries, unit, depth + 1) for event, entries in value.items()]
    else:
        opening, closing = "[", "]"
        parts = [json.dumps(entry) for entry in value]
    return f"{json.dumps(name)}: {opening}{inner}{f',{inner}'.join(parts)}{end}{closing}"


def _object(part: Part, what: str) -> Mapping[str, Part]:
    if part.members is None:
        _refuse(f"{what} is no object")
    return part.members


def _refuse(detail: str) -> NoReturn:
    raise InvalidDocumentError(Reason.WRONG_TYPE, detail)
