"""Write docs/reference/cli.md from the commands' own help; a test holds the page to it.

Usage: python tools/generate_cli_reference.py
"""

from __future__ import annotations

from pathlib import Path

import click

from docket.surfaces.cli.root import COMMANDS, root

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
WIDTH = 100


def page() -> str:
    """Return the page: the group's help, then each command's."""
    parts = [
        "# Command line",
        "",
        "What `docket COMMAND --help` prints.",
        "",
        "```text",
        _help(root, "docket"),
        "```",
        "",
    ]
    context = click.Context(root, info_name="docket")
    for name in COMMANDS:
        command = root.get_command(context, name)
        if command is not None:
            parts += [f"## docket {name}", "", "```text", _help(command, f"docket {name}"), "```", ""]
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    text = command.get_help(context)
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
