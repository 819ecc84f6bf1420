"""`docket init`: write a commented policy file."""

from __future__ import annotations

import stat
from pathlib import Path

import click

from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.run.policy import NAME_KEY
from docket.host.durable import publish_public
from docket.rules.policy.order import TREE_POLICY
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.options import dollars
from docket.surfaces.cli.presets import DEFAULT_PRESET, PRESETS, policy_text, preset


def presets_like(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Return the presets whose names begin so, for the shell's completion."""
    return [entry.name for entry in PRESETS if entry.name.startswith(begun)]


@click.command()
@click.option("--path", type=click.Path(path_type=Path), default=TREE_POLICY, show_default=True, help="File to write.")
@click.option("--name", help="Name of the policy; the preset's by default.")
@click.option("--max-usd", metavar="AMOUNT", default="5.00", show_default=True, help="Dollars a run may spend.")
@click.option(
    "--from", "start", metavar="PRESET", default=DEFAULT_PRESET, show_default=True,
    shell_complete=presets_like,
    help=f"Agent to start from: {', '.join(entry.name for entry in PRESETS)}.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that stands there.")
def init(path: Path, name: str | None, max_usd: str, start: str, *, force: bool) -> int:
    """Write a commented policy file.

    Every key stands in it with its meaning; what is switched on is the dollar cap. In a project the file may only
    tighten what you allow yourself, so it can be committed; to make it the policy itself, name it with --policy.

    \b
    Examples:
      docket init --from claude-code --max-usd 10
      docket init --path ~/.config/docket/policy.toml
    """
    chosen = preset(start)
    text = policy_text(chosen, name=_name(name, chosen.name), max_usd=dollars("--max-usd", max_usd))
    _write(path, text.encode("utf-8"), force=force)
    console.result(f"wrote {console.plain(str(path))}")
    console.result(f"next: {console.plain(chosen.command(str(path)))}")
    return exits.OK


def _name(given: str | None, fallback: str) -> str:
    name = fallback if given is None else given
    try:
        NAME_KEY.kind.check(name)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--name {error.detail}") from error
    return name


def _write(path: Path, data: bytes, *, force: bool) -> None:
    if force and _is_special(path):
        raise UsageError(Reason.NOT_A_FILE, f"{path} is not a regular file and is left as it is")
    try:
        publish_public(path, data, overwrite=force)
    except UnavailableError as error:
        if error.reason == Reason.ALREADY_EXISTS:
            hint = "--force replaces it; --path writes elsewhere"
            raise UsageError(Reason.USAGE, f"{path} exists and is left as it is", hint=hint) from error
        raise UnavailableError(error.reason, f"{path} cannot be written: {error.detail}") from error


def _is_special(path: Path) -> bool:
    """Whether a device, a FIFO or a socket stands there: /dev/null must not become a policy."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
