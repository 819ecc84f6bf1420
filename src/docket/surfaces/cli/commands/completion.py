"""`docket completion`: the shell completion script, from click's own machinery."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from docket.surfaces.cli import console


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Examples:
      docket completion bash >> ~/.bashrc
      docket completion zsh  > "${fpath[1]}/_docket"
      docket completion fish > ~/.config/fish/completions/docket.fish
    """
    from docket.surfaces.cli.root import root  # noqa: PLC0415 - the group imports this module by name

    cls = get_completion_class(shell)
    if cls is None:
        raise click.UsageError(f"no completion for {shell}")
    console.result(cls(root, {}, "docket", "_DOCKET_COMPLETE").source())
