"""Reading a policy file: TOML in which nothing unknown, mistyped or doubtful is let through.

Rules (docs/reference/policy.md):
1. Every unknown key or section and every wrong type is an error that names the key, its line and the nearest known
   key, so that a slip of the finger never removes a cap.
2. Numbers are exact: a dollar amount counts as it is written, never through binary floating point.
3. All errors of a file are reported together, in the order of its lines.
4. Naming a key of `cache`, `evidence` or `snapshot` switches it on, unless its own switch is written beside it.

It knows nothing of paths: `source` is only what messages call the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass, field
from docket.formats.nearest import nearest
from docket.formats.reason import Reason
from docket.formats.run.policy import KEYS, NAME_KEY, SECTIONS, Key, Policy, Section, Upstreams
from docket.formats.run.policy_kinds import shown_toml
from docket.formats.run.policy_reach import check_upstream
from docket.formats.run.toml_lines import KeyPath, Lines, locate

MAX_POLICY_BYTES = 1024 * 1024
UPSTREAMS = "upstreams"

_SWITCHES = {"cache": "enabled", "evidence": "record_responses", "snapshot": "enabled"}
_BY_SECTION: Mapping[str, Mapping[str, Key]] = {
    name: {key.name: key for key in KEYS if key.section == name} for name in dict.fromkeys(key.section for key in KEYS)
}
_SECTION_NAMES = (*_BY_SECTION, UPSTREAMS)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """One thing wrong with a policy file; `key` is its dotted name, `line` counts from 1."""

    key: str | None
    line: int | None
    message: str

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}: "
        return place + (self.message if self.key is None else f"{self.key} {self.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReading:
    """A policy file as read: the policy, or every problem it has."""

    policy: Policy | None
    problems: tuple[PolicyProblem, ...]


def parse_policy(text: bytes, source: str) -> Policy:
    """Return the policy of a file; InvalidDocumentError(POLICY_INVALID) tells all that is wrong with it."""
    reading = read_policy(text)
    if reading.policy is not None:
        return reading.policy
    problems = tuple(str(problem) for problem in reading.problems)
    one = len(problems) == 1
    raise InvalidDocumentError(
        Reason.POLICY_INVALID,
        f"{source}: {problems[0]}" if one else f"{source} has {len(problems)} errors:",
        hint="nothing was started; docket init --path FILE writes a policy with every key explained",
        points=() if one else problems,
    )


def read_policy(text: bytes) -> PolicyReading:
    """Read a policy file; never raises."""
    decoded = _decoded(text)
    if isinstance(decoded, PolicyProblem):
        return PolicyReading(policy=None, problems=(decoded,))
    import tomllib  # noqa: PLC0415 - most runs read no policy file

    try:
        tables = tomllib.loads(decoded, parse_float=Decimal)
    except RecursionError:
        return PolicyReading(policy=None, problems=(_problem(None, None, "it is nested too deeply"),))
    except ValueError as error:
        return PolicyReading(policy=None, problems=_syntax_problems(decoded, error))
    found = _Found(locate(decoded))
    for name, value in tables.items():
        _read_section(found, name, value)
    policy = None if found.problems else _assembled(found)
    problems = sorted(found.problems, key=lambda problem: problem.line or 0)
    return PolicyReading(policy=policy, problems=tuple(problems))


@dataclass(slots=True)
class _Found:
    lines: Lines
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    upstreams: dict[str, str] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    problems: list[PolicyProblem] = field(default_factory=list)

    def problem(self, path: tuple[str, ...], message: str) -> None:
        self.problems.append(_problem(path, self.lines.of(*path), message))


def _decoded(text: bytes) -> str | PolicyProblem:
    if len(text) > MAX_POLICY_BYTES:
        return _problem(None, None, f"it is larger than {MAX_POLICY_BYTES} bytes")
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        return _problem(None, line, f"byte 0x{text[error.start]:02x} is not UTF-8")
    if decoded.startswith("\ufeff"):
        return _problem(None, 1, "it begins with a byte order mark; save it as UTF-8 without one")
    return decoded


def _syntax_problems(text: str, error: ValueError) -> tuple[PolicyProblem, ...]:
    repeated = [
        _problem(found.path, found.line, f"stands twice; it already stands on line {found.first_line}")
        for found in locate(text).repeated
    ]
    message = str(error)
    place = _PLACE.search(message)
    # What the parser says of a repeated key is said better, with both lines, by the walk.
    if repeated and ("overwrite" in message or "twice" in message or "Duplicate" in message):
        return tuple(repeated)
    if place is None:
        return (*repeated, _problem(None, None, "a number has too many digits"))
    line = int(place.group(1)) if place.group(1) else text.rstrip().count("\n") + 1
    parser_says = _problem(None, line, f"not TOML: {message[: place.start()]}")
    return tuple(sorted((*repeated, parser_says), key=lambda problem: problem.line or 0))


def _read_section(found: _Found, name: str, value: object) -> None:
    if name not in _SECTION_NAMES:
        noun = "section" if isinstance(value, dict) else "key"
        found.problem((name,), f"is not a known {noun}; {_nearest_section(name, noun)}")
    elif not isinstance(value, dict):
        found.problem((name,), f"must be a table, written as [{name}], not {shown_toml(value)}")
    elif name == UPSTREAMS:
        _read_upstreams(found, value)
    else:
        for key_name, member in value.items():
            _read_key(found, name, key_name, member)


def _read_key(found: _Found, section: str, name: str, value: object) -> None:
    key = _BY_SECTION[section].get(name)
    if key is None:
        found.problem((section, name), f"is not a known key; {_nearest_key(section, name)}")
        return
    try:
        found.values.setdefault(section, {})[name] = key.kind.from_toml(value)
        found.stated.add(key.path)
    except InvalidDocumentError as error:
        found.problem((section, name), error.detail)


def _read_upstreams(found: _Found, table: Mapping[str, object]) -> None:
    for name, url in table.items():
        try:
            check_upstream(name, url)
            found.upstreams[name] = str(url)
            found.stated.add(f"{UPSTREAMS}.{name}")
        except InvalidDocumentError as error:
            found.problem((UPSTREAMS, name), error.detail)


def _assembled(found: _Found) -> Policy | None:
    sections: dict[str, Any] = {}
    for section in SECTIONS:
        values = found.values.get(section.NAME, {})
        switch = _SWITCHES.get(section.NAME)
        if switch and values and switch not in values:
            values[switch] = True
            found.stated.add(f"{section.NAME}.{switch}")
        _construct(found, section, values, sections)
    if found.problems:
        return None
    name = found.values.get(NAME_KEY.section, {}).get(NAME_KEY.name, NAME_KEY.default)
    try:
        return Policy(name=name, upstreams=Upstreams.of(found.upstreams), stated=frozenset(found.stated), **sections)
    except InvalidDocumentError as error:
        found.problems.append(_problem(None, found.lines.of("budget", "mode"), error.detail))
        return None


def _construct(found: _Found, section: type[Section], values: dict[str, Any], sections: dict[str, Any]) -> None:
    try:
        sections[section.NAME] = section(**values)
    except InvalidDocumentError as error:
        found.problems.append(_problem(None, found.lines.of(section.NAME), error.detail))


def _nearest_section(name: str, noun: str) -> str:
    if noun == "key":
        paths = [key.path for key in KEYS if key.name == _close(name, [key.name for key in KEYS])]
        if paths:
            return f"the nearest is {paths[0]}"
    near = _close(name.split(".", maxsplit=1)[0], _SECTION_NAMES)
    if near is not None:
        return f"the nearest is [{near}]"
    return f"the sections are {', '.join(_SECTION_NAMES)}"


def _nearest_key(section: str, name: str) -> str:
    here = _BY_SECTION[section]
    near = _close(name, tuple(here))
    if near is not None:
        return f"the nearest is {section}.{near}"
    elsewhere = _close(name, [key.name for key in KEYS])
    if elsewhere is not None:
        return f"the nearest is {next(key.path for key in KEYS if key.name == elsewhere)}"
    return f"[{section}] has {', '.join(here)}"


def _close(name: str, known: tuple[str, ...] | list[str]) -> str | None:
    return next(iter(nearest(name.lower().replace("-", "_"), known)), None)


def _problem(path: KeyPath | None, line: int | None, message: str) -> PolicyProblem:
    return PolicyProblem(key=None if path is None else dotted(path), line=line, message=message)


def dotted(path: KeyPath) -> str:
    """Return a key path as TOML would write it, such as `caps.max_usd` or `"a b".c`."""
    return ".".join(
        part if isinstance(part, str) and _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=True)
        for part in path
    )
