"""`docket init`: write a commented policy file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import click

from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.policy import NAME_KEY
from docket.rules.policy.order import TREE_POLICY
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.presets import DEFAULT_PRESET, PRESETS, policy_text, preset


@click.command()
@click.option("--path", type=click.Path(path_type=Path), default=TREE_POLICY, show_default=True, help="File to write.")
@click.option("--name", help="Name of the policy; the preset's by default.")
@click.option("--max-usd", metavar="AMOUNT", default="5.00", show_default=True, help="Dollars a run may spend.")
@click.option(
    "--from", "start", metavar="PRESET", default=DEFAULT_PRESET, show_default=True,
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
    text = policy_text(chosen, name=_name(name, chosen.name), max_usd=_amount(max_usd))
    _write(path, text.encode("utf-8"), force=force)
    console.result(f"wrote {console.plain(str(path))}")
    console.result(f"next: {chosen.command}")
    return exits.OK


def _amount(text: str) -> Usd:
    try:
        return Usd.parse(text)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--max-usd: {error.detail}") from error


def _name(given: str | None, fallback: str) -> str:
    name = fallback if given is None else given
    try:
        NAME_KEY.kind.check(name)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--name {error.detail}") from error
    return name


def _write(path: Path, data: bytes, *, force: bool) -> None:
    try:
        if force:
            _replace(path, data)
            return
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise UsageError(
            Reason.USAGE, f"{path} exists and is left as it is", hint="--force replaces it; --path writes elsewhere"
        ) from error
    except OSError as error:
        raise UnavailableError(Reason.WRITE_FAILED, f"{path} cannot be written: {error.strerror}") from error


def _replace(path: Path, data: bytes) -> None:
    # A file is never seen half written, and a link that stands there is replaced, not followed.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
