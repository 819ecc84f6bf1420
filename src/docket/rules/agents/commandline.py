"""Reading an agent's command line: where the program's name ends, and the options a recipe must know.

Rules:
1. A program is known by its base name, also behind `npx`, `bunx`, `uvx`, `pipx run`, `node …/codex.js` and
   `python -m aider`.
2. Options are looked for up to `--`; what follows is the person's text and is never touched.
"""

from __future__ import annotations

import re

from docket.formats.dataclass import dataclass

_NODE = ("node", "nodejs", "bun", "deno")
_PYTHON = re.compile(r"python(\d(\.\d+)?)?")
# Launchers that run a package's program; the number counts the words of the launcher itself.
_RUNNERS = {
    ("npx",): 1, ("bunx",): 1, ("pnpx",): 1, ("uvx",): 1,
    ("npm", "exec"): 2, ("pnpm", "dlx"): 2, ("yarn", "dlx"): 2, ("bun", "x"): 2, ("pipx", "run"): 2,
    ("uv", "tool", "run"): 3, ("uv", "run"): 2,
}  # fmt: skip
_RUNNER_VALUES = ("-p", "--package", "--from", "--with", "--spec", "--python", "-c")
_PYTHON_VALUES = ("-W", "-X")
_SUFFIX = re.compile(r"\.(exe|cmd|bat|ps1)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """By what an agent is recognised: program names, npm or PyPI packages, script paths, Python modules."""

    names: tuple[str, ...]
    packages: tuple[str, ...] = ()
    script_parts: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def arguments_at(self, argv: tuple[str, ...]) -> int | None:
        """Return the index of the first argument behind the program, or None for another program."""
        if not argv:
            return None
        if base_name(argv[0]) in self.names:
            return 1
        runner = _runner_length(argv)
        if runner:
            at = _skip_options(argv, runner, _RUNNER_VALUES)
            return at + 1 if at < len(argv) and self._is_package(argv[at]) else None
        if base_name(argv[0]) in _NODE:
            at = _skip_options(argv, 2 if argv[1:2] == ("run",) else 1, ())
            return at + 1 if at < len(argv) and self._is_script(argv[at]) else None
        if _PYTHON.fullmatch(base_name(argv[0])):
            return self._behind_python(argv)
        return None

    def _is_package(self, word: str) -> bool:
        package, at, _ = word.rpartition("@")
        name = package if at and package else word
        return name in self.packages or name in self.names

    def _is_script(self, word: str) -> bool:
        path = word.replace("\\", "/")
        stem = base_name(path).rsplit(".", 1)[0]
        return stem in self.names or any(part in path for part in self.script_parts)

    def _behind_python(self, argv: tuple[str, ...]) -> int | None:
        at = 1
        while at < len(argv) and argv[at].startswith("-"):
            if argv[at] == "-m":
                return at + 2 if argv[at + 1 : at + 2] and argv[at + 1] in self.modules else None
            at += 2 if argv[at] in _PYTHON_VALUES else 1
        return at + 1 if at < len(argv) and self._is_script(argv[at]) else None


def base_name(path: str) -> str:
    """Return the last part of a path without a Windows program suffix."""
    return _SUFFIX.sub("", path.replace("\\", "/").rsplit("/", 1)[-1])


def _runner_length(argv: tuple[str, ...]) -> int:
    words = (base_name(argv[0]), *argv[1:3])
    for words_wanted, length in _RUNNERS.items():
        if words[: len(words_wanted)] == words_wanted:
            return length
    return 0


def _skip_options(argv: tuple[str, ...], at: int, with_value: tuple[str, ...]) -> int:
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in with_value else 1
    return at


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionUse:
    """One use of an option: its value, and the half-open range of arguments it takes up."""

    name: str
    value: str
    start: int
    end: int


def option_uses(argv: tuple[str, ...], start: int, names: tuple[str, ...]) -> tuple[OptionUse, ...]:
    """Return the uses of options that take a value: `--name V`, `--name=V`, and for one letter `-nV`."""
    found: list[OptionUse] = []
    at = start
    while at < len(argv) and argv[at] != "--":
        use = _use_at(argv, at, names)
        if use is not None:
            found.append(use)
        at = at + 1 if use is None else use.end
    return tuple(found)


def without(argv: tuple[str, ...], uses: tuple[OptionUse, ...]) -> tuple[str, ...]:
    """Return the arguments without these uses."""
    gone = {index for use in uses for index in range(use.start, use.end)}
    return tuple(word for index, word in enumerate(argv) if index not in gone)


def _use_at(argv: tuple[str, ...], at: int, names: tuple[str, ...]) -> OptionUse | None:
    word = argv[at]
    for name in names:
        if word == name and at + 1 < len(argv):
            return OptionUse(name=name, value=argv[at + 1], start=at, end=at + 2)
        short = len(name) == 2 and word.startswith(name) and len(word) > 2
        if word.startswith(f"{name}=") or short:
            value = word[len(name) :]
            return OptionUse(name=name, value=value.removeprefix("="), start=at, end=at + 1)
    return None
