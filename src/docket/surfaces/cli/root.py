"""The command group: names, order and lazy loading of the commands, and the one place that turns errors into exits."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence

import click

from docket import __version__
from docket.errors import DocketError
from docket.surfaces.cli import console, exits

COMMANDS: dict[str, str] = {
    "run": "Run an agent under a budget, on the record.",
    "verify": "Check a receipt and its ledger offline.",
    "report": "Show what a run did and cost.",
    "prices": "Show the price table.",
    "init": "Write a commented policy file.",
    "demo": "See a runaway agent stopped, without keys or network.",
    "doctor": "Check this machine and this project.",
    "completion": "Print the shell completion script.",
}

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
        module = importlib.import_module(f"docket.surfaces.cli.commands.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is a usage error that names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
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
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return exits.SIGNAL_BASE + 2
    except click.ClickException as error:
        error.show()
        return exits.USAGE
    except DocketError as error:
        console.fail(error)
        return exits.exit_code(error)
    except BrokenPipeError:
        _forget_stdout()
        return exits.FAILED
    except KeyboardInterrupt:
        return exits.SIGNAL_BASE + 2
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person never sees a traceback
        return _internal(error)
    return code if isinstance(code, int) else exits.OK


def _internal(error: Exception) -> int:
    import os  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    console.say(f"internal error: {type(error).__name__}: {console.plain(str(error))}")
    if os.environ.get("DOCKET_DEBUG"):
        traceback.print_exception(error)
    else:
        console.say("this is a fault in docket; run again with DOCKET_DEBUG=1 to see where")
    return exits.INTERNAL


def _forget_stdout() -> None:
    # The reader of a pipe went away (`docket report | head`): keep the interpreter from complaining at exit.
    import os  # noqa: PLC0415

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
