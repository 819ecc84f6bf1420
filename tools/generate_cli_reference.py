"""Write docs/reference/cli.md from the commands' own help; a test holds the page to it.

Usage: python tools/generate_cli_reference.py
"""

from __future__ import annotations

from pathlib import Path

import click

from docket.surfaces.cli.root import COMMANDS, root

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
SIZE = {"terminal_width": 100, "max_content_width": 100}


def page() -> str:
    """Return the page: the group's help, then each command's."""
    group = click.Context(root, info_name="docket", **{**SIZE, **root.context_settings})
    parts = [
        "# Command line",
        "",
        "What `docket COMMAND --help` prints.",
        "",
        "```text",
        _help(group),
        "```",
        "",
    ]
    for name in COMMANDS:
        command = root.get_command(group, name)
        if command is not None:
            context = click.Context(command, parent=group, info_name=name, **SIZE)
            parts += [f"## docket {name}", "", "```text", _help(context), "```", ""]
            parts += _below(command, context)
    return "\n".join(parts)


def _below(command: click.Command, context: click.Context) -> list[str]:
    """Return the help of a command's own commands."""
    parts: list[str] = []
    for name, below in (command.commands if isinstance(command, click.Group) else {}).items():
        inner = click.Context(below, parent=context, info_name=name, **SIZE)
        parts += [f"### docket {context.info_name} {name}", "", "```text", _help(inner), "```", ""]
    return parts


def _help(context: click.Context) -> str:
    return "\n".join(line.rstrip() for line in context.get_help().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
