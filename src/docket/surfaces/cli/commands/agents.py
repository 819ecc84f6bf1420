"""`docket agents`: which agents docket knows how to start, which of them are here, and what it does to each."""

from __future__ import annotations

import shutil

import click

from docket.formats.canonical import JsonValue
from docket.rules.agents.described import described
from docket.rules.agents.interface import Recipe
from docket.rules.agents.registry import RECIPES, recognise
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import recipes_like
from docket.surfaces.cli.installed import find
from docket.surfaces.render.agent_list import Agent, at_length, table

_MAX_WIDTH = 100


@click.command()
@click.argument("name", required=False, shell_complete=recipes_like)
@click.option("--json", "as_json", is_flag=True, help="Print the recipes as JSON.")
def agents(name: str | None, *, as_json: bool) -> int:
    """List the agents that docket knows how to start, or show one at length.

    For each: where it is installed and in which version, the versions docket was tried on, and what `docket run` does
    to it: variables, files, what is switched off, how it is refused, how it is stopped, what it does not hold. An
    agent that is not in the list is started as `generic`. Nothing is changed, and no connection is opened.

    \b
    Examples:
      docket agents
      docket agents gemini
      docket agents --json
    """
    chosen = RECIPES if name is None else (recognise((), name),)
    found = [_agent(recipe) for recipe in chosen]
    if as_json:
        documents: list[JsonValue] = [_members(agent) for agent in found]
        console.result(console.as_json(documents if name is None else documents[0]))
        return exits.OK
    lines = table(found) if name is None else at_length(found[0], min(shutil.get_terminal_size().columns, _MAX_WIDTH))
    for number, line in enumerate(lines):
        console.result(click.style(line, bold=True) if number == 0 else line)
    return exits.OK


def _agent(recipe: Recipe) -> Agent:
    return Agent(name=recipe.name, facts=recipe.facts, does=described(recipe), installed=find(recipe.facts))


def _members(agent: Agent) -> dict[str, JsonValue]:
    facts, does, installed = agent.facts, agent.does, agent.installed
    here: JsonValue = None if installed is None else {"path": installed.path, "version": installed.version}
    return {
        "name": agent.name,
        "title": facts.title,
        "program": facts.program or None,
        "also_as": facts.also_as or None,
        "installed": here,
        "tried": list(facts.tried),
        "on_a_tried_version": agent.on_a_tried_version,
        "reached": facts.reached,
        "token": facts.token,
        "variables": [*does.variables, *does.shared],
        "arguments": list(does.arguments),
        "files": list(does.files),
        "quiet": facts.quiet,
        "refusal_status": does.refusal_status,
        "retries": facts.retries,
        "asks_for_usage": does.asks_for_usage,
        "agent_headers": list(does.agent_headers),
        "tool_calls": does.has_hooks,
        "signals": facts.signals,
        "refused": list(facts.refused),
        "limits": list(facts.limits),
        "remarks": list(facts.remarks),
    }
