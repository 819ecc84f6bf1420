"""The launch recipes for a terminal: a table of all, and one of them at length.

Rules: a column is as wide as its longest cell; a line at length is broken at blanks and indented below its name. It
returns text and says nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from docket.formats.dataclass import dataclass
from docket.rules.agents.described import Description
from docket.rules.agents.interface import AgentFacts
from docket.surfaces.cli.console import plain
from docket.surfaces.cli.installed import Installed

_HEADINGS = ("recipe", "program", "installed", "tried on", "refusal")
_GAP = "  "
_NAME_WIDTH = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A recipe by its name, with what is known of it here."""

    name: str
    facts: AgentFacts
    does: Description
    installed: Installed | None

    @property
    def on_a_tried_version(self) -> bool | None:
        """Whether the installed version is one the recipe was tried on; None where that is not known."""
        if self.installed is None or self.installed.version is None:
            return None
        return self.installed.version in self.facts.tried


def table(agents: Sequence[Agent]) -> tuple[str, ...]:
    """Return the lines of the table, its headings first."""
    rows = [_HEADINGS, *(_row(agent) for agent in agents)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    return tuple(_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _row(agent: Agent) -> tuple[str, ...]:
    return (
        agent.name,
        agent.facts.program or "any",
        plain(_version(agent)),
        ", ".join(agent.facts.tried) or "-",
        f"HTTP {agent.does.refusal_status}" if agent.does.shared else "-",
    )


def _version(agent: Agent) -> str:
    if agent.installed is None:
        return "-"
    if agent.installed.version is None:
        return "yes, version unknown"
    return agent.installed.version if agent.on_a_tried_version else f"{agent.installed.version} (not tried)"


def at_length(agent: Agent, width: int) -> tuple[str, ...]:
    """Return everything about one recipe, in lines of at most `width` characters."""
    facts, does = agent.facts, agent.does
    lines = [facts.title if facts.title == agent.name else f"{facts.title} ({agent.name})", ""]
    for name, text in (
        ("program", _program(facts)),
        ("installed", plain(_version(agent)) if facts.program else ""),
        ("at", plain(agent.installed.path) if agent.installed else ""),
        ("tried on", ", ".join(facts.tried)),
        ("reached by", facts.reached),
        ("token", facts.token),
        ("sets", ", ".join(does.variables)),
        ("sets also", ", ".join(does.shared)),
        ("arguments", " ".join(does.arguments)),
        ("files", ", ".join(does.files)),
        ("quiet", facts.quiet),
        ("refusal", f"HTTP {does.refusal_status}; {facts.retries}" if does.shared else facts.retries),
        ("tools", "each call is shown by itself after docket run --windows" if does.has_hooks else ""),
        ("usage", "asked for where the agent does not ask" if does.asks_for_usage else ""),
        ("signals", facts.signals),
        *(("refused", text) for text in facts.refused),
        *(("limits", text) for text in facts.limits),
        *(("remarks", text) for text in facts.remarks),
    ):
        lines += _entry(name, text, width) if text else []
    return tuple(_without_repeats(lines))


def _program(facts: AgentFacts) -> str:
    if not facts.program:
        return ""
    return f"{facts.program}, also through {facts.also_as}" if facts.also_as else facts.program


def _entry(name: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width=max(width, 40),
        initial_indent=f"{name:<{_NAME_WIDTH}}",
        subsequent_indent=" " * _NAME_WIDTH,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _without_repeats(lines: list[str]) -> list[str]:
    """Return the lines with a name that stands above already left out."""
    kept: list[str] = []
    last = ""
    for line in lines:
        name = line[:_NAME_WIDTH].strip()
        kept.append(" " * _NAME_WIDTH + line[_NAME_WIDTH:] if name and name == last else line)
        last = name or last
    return kept
