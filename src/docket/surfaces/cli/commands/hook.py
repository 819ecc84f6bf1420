"""`docket hook AGENT EVENT`: what an agent's hook calls. Handled by `surfaces.hooks.cold` before this is loaded."""

from __future__ import annotations

import click

from docket.rules.agents.hooks import HOOK_READERS
from docket.surfaces.hooks.cold import run


@click.command()
@click.argument("agent", type=click.Choice(sorted(HOOK_READERS)))
@click.argument("event")
def hook(agent: str, event: str) -> int:
    """Tell docket that a tool of an agent is about to run, or has ended.

    An agent calls this by itself once its hooks are set up. The event's payload is read from standard input. It always
    ends with 0 and within two seconds, or those of DOCKET_HOOK_SECONDS, and says nothing: with DOCKET_DEBUG=1 it says
    on standard error what it did.

    \b
    Example, a hook in Claude Code's settings:
      {"type": "command", "command": "docket hook claude PreToolUse"}
    """
    return run((agent, event))
