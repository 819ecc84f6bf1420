"""`docket run -- AGENT …`: an agent under a budget, on the record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.surfaces.cli.completing import files_like, recipes_like
from docket.surfaces.cli.running import RunArguments, carry_out


def _upstreams(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for value in values:
        name, equals, url = value.partition("=")
        if not equals or not name or not url:
            raise click.BadParameter(f"{value!r} is not NAME=URL, as in openai=https://gateway.example.com/v1")
        if name in named:
            raise click.BadParameter(f"{name} is named twice")
        named[name] = url
    return named


def _pools_like(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    from docket.surfaces.cli.commands.pools import names_like  # noqa: PLC0415 - only the shell's completion asks

    return names_like(context, parameter, begun)


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- AGENT [ARGS]...", shell_complete=files_like)
@click.option("-p", "--policy", type=click.Path(path_type=Path), help="Policy file (see docket init).")
@click.option("--max-usd", metavar="AMOUNT", help="Dollars the run may spend, as in 2 or 0.05.")
@click.option("--max-tokens", type=click.IntRange(min=0), help="Tokens the run may use.")
@click.option("--max-calls", type=click.IntRange(min=0), help="Model calls the run may make.")
@click.option("--max-minutes", metavar="MINUTES", help="How long the run may last, as in 20 or 0.5.")
@click.option("--on-breach", type=click.Choice(["kill", "deny"]), help="End the run at a cap, or only refuse calls.")
@click.option(
    "--admission",
    type=click.Choice(["metered", "strict", "ceiling"]),
    help="metered: admit on an estimate, cut the stream that would cross. strict: reserve the worst case first. "
    "ceiling: admit until the cap is reached.",
)
@click.option("--pool", multiple=True, metavar="NAME", shell_complete=_pools_like,
              help="Draw on this pool too (see docket pools). May be repeated.")  # fmt: skip
@click.option("--max-usd-per-model", multiple=True, metavar="PATTERN=AMOUNT",
              help="Dollars for the models of a pattern. May be repeated.")  # fmt: skip
@click.option("--max-usd-per-agent", multiple=True, metavar="[PATTERN=]AMOUNT",
              help="Dollars for each agent: main, or sub:NAME. May be repeated.")  # fmt: skip
@click.option("--budget-mode", type=click.Choice(["usd", "quota"]), help="quota counts without dollars.")
@click.option("--allow-model", multiple=True, metavar="PATTERN", help="Allow only these models. May be repeated.")
@click.option("--deny-model", multiple=True, metavar="PATTERN", help="Refuse these models. May be repeated.")
@click.option("--max-repeats", type=click.IntRange(min=0), help="Times an answered request may be sent again.")
@click.option("--max-calls-per-minute", type=click.IntRange(min=1), help="Model calls in any 60 seconds; more wait.")
@click.option("--cache", is_flag=True, help="Answer a call that was answered before with the same reply.")
@click.option("--cache-ttl", metavar="SECONDS", help="How long a reply may be used; 0 is no limit. Means --cache.")
@click.option("--cache-max-hits", type=click.IntRange(min=0),
              help="Answers from the cache in the run; 0 is no ceiling. Means --cache.")  # fmt: skip
@click.option("--sign", metavar="KEY", shell_complete=files_like,
              help="Sign the receipt with this key (docket keygen): a file, or fd:N for a descriptor.")  # fmt: skip
@click.option("--seal", is_flag=True, help="Seal the receipt with the key of your state folder, made if need be.")
@click.option("--seal-key", type=click.Path(path_type=Path), metavar="FILE",
              help="Seal it with the key of this file instead. Means --seal.")  # fmt: skip
@click.option("--anchor", "anchors", multiple=True, metavar="FILE|git-trailer", shell_complete=files_like,
              help="Append the ledger's last head to FILE, or print it as git trailers. May be repeated.")  # fmt: skip
@click.option("--record-responses", is_flag=True, help="Keep the bodies of replies beside the ledger.")
@click.option("--snapshot/--no-snapshot", default=None,
              help="Keep the tree's contents before the agent starts, for docket restore.")  # fmt: skip
@click.option("--snapshot-max-bytes", type=click.IntRange(min=0), metavar="N",
              help="Bytes it may hold, 1 GiB by default; more refuses the run. Means --snapshot.")  # fmt: skip
@click.option("--snapshot-max-file-bytes", type=click.IntRange(min=0), metavar="N",
              help="Larger files are not kept; 256 MiB by default. Means --snapshot.")  # fmt: skip
@click.option("--rollback-on-breach", is_flag=True,
              help="Put the tree back when a cap ends the run. Means --snapshot.")  # fmt: skip
@click.option("--windows/--no-windows", default=None,
              help="Give the agent hooks, and keep what each tool call changes, for docket windows.")  # fmt: skip
@click.option("--workspace-tx", is_flag=True,
              help="Let the agent work on a copy of the tree that lands only on success, all or nothing.")  # fmt: skip
@click.option("--workspace-tx-exclude", multiple=True, metavar="PATTERN",
              help="Absent in the copy, and never landed (masked). May be repeated.")  # fmt: skip
@click.option("--workspace-tx-share", multiple=True, metavar="PATTERN",
              help="The tree's own, written through at once, as for build caches. May be repeated.")  # fmt: skip
@click.option("--workspace-tx-protect", multiple=True, metavar="PATTERN",
              help="Lands only with an approval. May be repeated.")  # fmt: skip
@click.option("--workspace-tx-approve", is_flag=True, help="Let changes to protected paths land in this run.")
@click.option("--workspace-tx-backend", type=click.Choice(["auto", "copy", "reflink", "overlay"]),
              help="How the copy is made.")  # fmt: skip
@click.option("--workspace-tx-settle", type=click.Choice(["auto", "review", "discard"]),
              help="At the end: land a success, leave it for docket tx, or never land it.")  # fmt: skip
@click.option(
    "--faults", metavar="RULES|FILE.toml", help="Make the run a drill: inject faults, as in status=529@calls=2."
)
@click.option("--fault-seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Which calls a fault's share hits; the same seed hits the same calls.")  # fmt: skip
@click.option("--agent", metavar="NAME", shell_complete=recipes_like,
              help="Launch recipe to use, or none; by default the program decides.")  # fmt: skip
@click.option("--upstream", "upstreams", multiple=True, metavar="NAME=URL", callback=_upstreams,
              help="Send a provider's calls to URL. May be repeated.")  # fmt: skip
@click.option("--prices", type=click.Path(path_type=Path), help="Price file in place of docket's own.")
@click.option("--label", help="A word of yours that stands in the receipt.")
@click.option("--cwd", type=click.Path(path_type=Path), help="Folder to run in.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Put all evidence into this folder.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the boundary; 0 lets the system choose."
)
@click.option("--http-proxy", is_flag=True,
              help="Be the agent's proxy for other hosts too; the policy's egress section says which.")  # fmt: skip
@click.option("--report", type=click.Choice(["summary", "full", "none"]), default="summary", show_default=True,
              help="What to print on standard error at the end.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line on standard error at the end instead.")
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
def run(command: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401 - click hands options over by name
    """Run AGENT under docket: metered, capped, recorded.

    Everything after -- is the agent's command line and is run as it is. Its output is not touched; what docket has to
    say goes to standard error. The exit code is the agent's own unless docket ended the run (docs: exit codes).

    \b
    Examples:
      docket run --max-usd 2 -- claude -p "fix the failing test"
      docket run --max-calls 40 --max-minutes 20 -- codex exec "add a changelog entry"
      docket run --policy docket.toml --admission strict -- aider --message "rename Foo to Bar" foo.py
      docket run --upstream openai=http://127.0.0.1:8080/v1 -- ./my-agent
      docket run --pool team --max-usd-per-model '*opus*=1' -- claude -p "review the last commit"
      docket run --http-proxy --policy policy.toml -- claude -p "update the dependencies"
      docket run --faults 'status=529@calls=2-4' -- codex exec "add a changelog entry"
    """
    if not command:
        raise UsageError(
            Reason.USAGE, "no agent to run is named", hint='as in: docket run --max-usd 2 -- claude -p "…"'
        )
    quiet = bool(options["quiet"]) or bool(options["as_json"]) or options["report"] == "none"
    asked = RunArguments(command=command, quiet=quiet, **{k: v for k, v in options.items() if k != "quiet"})
    return carry_out(asked)
