"""What the shell completes a word with: runs, snapshots, restores, tool uses, models, phases, an agent's command."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from docket.errors import DocketError
from docket.host.clock import SystemClock
from docket.host.disk import SYSTEM_DISK
from docket.stores.unfinished import receipt_numbers, unfinished
from docket.surfaces.cli.project import current_folder, layout_at

_MOST_COMPLETED = 50


def receipts_like(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the docket numbers that begin so, living runs first, then the newest days; else files. For the shell."""
    from docket.stores.run_search import live_runs  # noqa: PLC0415 - only the shell's completion asks

    found: list[str] = []
    with suppress(DocketError):
        layout = layout_at(current_folder(), None)
        live = [run.docket_number for run in live_runs(layout) if run.docket_number is not None]
        folders = (layout.docket_dir, layout.state)
        ended = {number for folder in folders for number in receipt_numbers(folder, SYSTEM_DISK)}
        found = [*live, *sorted(ended, reverse=True)]
    return _completed(found, begun) or [CompletionItem(begun, type="file")]


def killed_like(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the numbers of killed runs that begin so."""
    from docket.stores.run_search import run_of_session  # noqa: PLC0415 - only the shell's completion asks

    found: list[str] = []
    with suppress(DocketError):
        layout = layout_at(current_folder(), None)
        runs = [run_of_session(layout, session_id) for session_id in unfinished(layout)]
        found = [run.docket_number or run.session_id for run in runs if run is not None]
    return _completed(found, begun)


def snapshots_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the session ids of snapshots that begin so, the newest first."""
    from docket.stores.snapshots import snapshot_folders  # noqa: PLC0415 - only the shell's completion asks

    found: list[str] = []
    with suppress(DocketError):
        folders = snapshot_folders(layout_at(current_folder(), None))
        found = [folder.session_id for folder in reversed(folders)]
    return [name for name in found if name.startswith(begun)][:_MOST_COMPLETED]


def records_like(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the records of this project's restores that begin so, the newest first; else files."""
    from docket.stores.restores import record_paths  # noqa: PLC0415 - only the shell's completion asks

    found: list[str] = []
    with suppress(DocketError):
        found = [str(path) for path in record_paths(layout_at(current_folder(), None))]
    fitting = [path for path in found if path.startswith(begun)][:_MOST_COMPLETED]
    return [CompletionItem(path) for path in fitting] or [CompletionItem(begun, type="file")]


def tool_uses_like(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the tool uses whose windows are over and that begin so, the newest first."""
    from docket.stores.windows.evidence import Evidence  # noqa: PLC0415 - only the shell's completion asks
    from docket.surfaces.hooks.place import windows_place  # noqa: PLC0415 - only the shell's completion asks

    found: list[tuple[str, str, str]] = []
    with suppress(DocketError):
        every = Evidence(windows_place(current_folder()).windows).every_closed()
        found = [(record.closed_at, record.key.tool_use_id, record.tool_name) for record in every]
    fitting = [(use, tool) for _at, use, tool in sorted(found, reverse=True) if use.startswith(begun)]
    return [CompletionItem(use, help=tool) for use, tool in dict(fitting[:_MOST_COMPLETED]).items()]


def models_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the commands and the models of `docket prices` that begin so."""
    from docket.rules.spending.price_listing import DEFAULT_PROVIDERS, lines_of_providers  # noqa: PLC0415
    from docket.surfaces.cli.pricebook import book_in_force  # noqa: PLC0415 - only the shell's completion asks

    models: list[str] = []
    with suppress(DocketError):
        lines = lines_of_providers(book_in_force(None), DEFAULT_PROVIDERS, SystemClock().now())
        models = [line.model for line in lines]
    return [name for name in dict.fromkeys(("show", "import", "reset", *models)) if name.startswith(begun)]


def phases_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the phases of a game day that begin as the last of the list does, behind those already named."""
    from docket.rules.drills.phases import PHASES  # noqa: PLC0415 - only the shell's completion asks

    named, comma, last = begun.rpartition(",")
    return [f"{named}{comma}{phase.name}" for phase in PHASES if phase.name.startswith(last)]


def profiles_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the profiles of a redaction that begin as the last of the list does, behind those already named."""
    from docket.formats.ledger.redaction_facts import Profile  # noqa: PLC0415 - only the shell's completion asks

    named, comma, last = begun.rpartition(",")
    words = [str(profile) for profile in Profile] if comma else [*map(str, Profile), "all"]
    return [f"{named}{comma}{word}" for word in words if word.startswith(last) and word not in named.split(",")]


def recipes_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the launch recipes that begin so."""
    from docket.rules.agents.registry import names  # noqa: PLC0415 - only the shell's completion asks

    return [name for name in names() if name.startswith(begun)]


def files_like(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Leave the command of an agent to the shell, which knows files."""
    return [CompletionItem(begun, type="file")]


def _completed(numbers: Iterable[str], begun: str) -> list[CompletionItem]:
    fitting = [number for number in dict.fromkeys(numbers) if number.upper().startswith(begun.upper())]
    return [CompletionItem(number) for number in fitting[:_MOST_COMPLETED]]
