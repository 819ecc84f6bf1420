"""The command group: names, order and lazy loading of the commands, and the one place that turns errors into exits."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from docket import __version__
from docket.errors import DocketError
from docket.formats.nearest import nearest
from docket.formats.reason import Reason
from docket.surfaces.cli import console, exits

COMMANDS: dict[str, str] = {
    "run": "Run an agent under a budget, on the record.",
    "verify": "Check a receipt and its ledger offline.",
    "keygen": "Make a key that signs receipts.",
    "report": "Show what a run did and cost.",
    "explain": "Explain where a run's money went and what went wrong.",
    "diff": "Compare two runs.",
    "runs": "List runs and what they cost in all.",
    "watch": "Watch a run from another terminal.",
    "restore": "Put back what a run changed.",
    "tx": "Review, land or discard the work of staged runs.",
    "recover": "Write the receipts of runs that were killed.",
    "windows": "Show what each tool call changed.",
    "blame": "Show which tool call each line of a file comes from.",
    "export": "Export what is recorded in formats of others.",
    "undo": "Take back what one tool call changed.",
    "snapshots": "Show, check and remove kept contents of trees.",
    "pools": "Show and set budgets that runs share.",
    "agents": "Show the agents docket knows how to start.",
    "prices": "Show the price table.",
    "init": "Write a commented policy file.",
    "demo": "See a runaway agent stopped, without keys or network.",
    "game-day": "Drill an agent: run it through faults and read what it did.",
    "doctor": "Check this machine and this project.",
    "hooks": "Set up the hooks by which agents tell docket of their tool calls.",
    "hook": "Take what an agent's hook says of a tool call.",
    "completion": "Print the shell completion script.",
}

_DISK_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

EPILOG = """\b
Examples:
  docket demo
  docket run --max-usd 2 -- claude -p "fix the failing test"
  docket report
  docket verify .docket/latest.receipt.json
"""


class LazyGroup(click.Group):
    """A group whose commands are imported only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return its command object."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"docket.surfaces.cli.commands.{cmd_name.replace('-', '_')}")
        if not gc.isenabled():  # as main.py left it
            gc.freeze()
            gc.enable()
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is a usage error that names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = nearest(args[0], COMMANDS)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx=ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from COMMANDS, so that `--help` imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="docket %(version)s")
def root() -> None:
    """Run any coding agent under a budget that holds, with a record anyone can check.

    docket opens no connection of its own: it forwards the agent's calls to the agent's own providers and nothing else.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the group on `arguments` and return the exit code; never raises."""
    try:
        code = root.main(list(arguments), prog_name="docket", standalone_mode=False)
        _flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return exits.SIGNAL_BASE + 2
    except click.ClickException as error:
        console.note(_told(error))
        return exits.USAGE
    except DocketError as error:
        if error.reason == Reason.WRITE_FAILED:
            _forget_stdout()
        console.fail(error)
        return exits.exit_code(error)
    except BrokenPipeError:
        _forget_stdout()
        return exits.FAILED
    except KeyboardInterrupt:
        return exits.SIGNAL_BASE + 2
    except MemoryError:
        console.say("error: there is not enough memory")
        return exits.UNAVAILABLE
    except OSError as error:
        if error.errno not in _DISK_REFUSALS or error.filename is not None:
            return _internal(error)
        # click's own help, written to a full disk.
        _forget_stdout()
        console.fail(console.unwritten(error))
        return exits.UNAVAILABLE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person never sees a traceback
        return _internal(error)
    return code if isinstance(code, int) else exits.OK


def _flush() -> None:
    # At the interpreter's exit it would be too late to say that it failed.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise console.unwritten(error) from error


def _told(error: click.ClickException) -> str:
    if isinstance(error, click.UsageError) and error.ctx is not None and error.message == error.ctx.get_help():
        return error.message  # no command was named: click's error is the help itself, and no name is in it
    usage = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        asked = f"{error.ctx.command_path} {error.ctx.help_option_names[-1]}"
        usage = f"{error.ctx.get_usage()}\nTry '{asked}' for help.\n\n"
    # What is missing is described by docket alone, over several lines; anything else may hold a name.
    message = error.format_message()
    shown = message if isinstance(error, click.MissingParameter) else console.plain(message)
    return f"{usage}Error: {shown}"


def _internal(error: Exception) -> int:
    import traceback  # noqa: PLC0415 - what a fault alone needs

    console.say(f"internal error: {type(error).__name__}: {console.plain(str(error))}")
    if os.environ.get("DOCKET_DEBUG"):
        traceback.print_exception(error)
    else:
        console.say("this is a fault in docket; run again with DOCKET_DEBUG=1 to see where")
    return exits.INTERNAL


def _forget_stdout() -> None:
    # Its reader went away (`docket report | head`), or its disk is full: no complaint at the interpreter's exit.
    with suppress(OSError, ValueError):  # standard output is no descriptor in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
