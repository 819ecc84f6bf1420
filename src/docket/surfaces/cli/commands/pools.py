"""`docket pools`: named budgets that the runs of this machine share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress

import click

from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolLimits, day_of, is_pool_name
from docket.host.clock import SystemClock
from docket.stores.pools.port import Balance, PoolStore, RunShare
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.options import dollars
from docket.surfaces.cli.pool_access import living_balance, open_pools
from docket.surfaces.render.figures import plural

NONE = "none"


def names_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the pools whose names begin so, for the shell's completion."""
    with suppress(DocketError), closing(open_pools()) as store:
        return [name for name in store.names() if name.startswith(begun)]
    return []


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def pools(context: click.Context, *, as_json: bool) -> int:
    """Show and set the budgets that runs on this machine share.

    A pool has a limit by the day, by the week and in all, in any combination. A run draws on it with
    `docket run --pool NAME`. Days and weeks are those of UTC; a week begins on Monday.

    \b
    Examples:
      docket pools
      docket pools set team --daily-usd 20 --total-usd 500
      docket pools show team --json
      docket run --pool team -- claude -p "fix the failing test"
    """
    if context.invoked_subcommand is not None:
        return exits.OK
    return _list(as_json=as_json)


@pools.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(*, as_json: bool) -> int:
    """List the pools with what is left of each.

    \b
    Examples:
      docket pools list
      docket pools list --json | jq '.pools[].daily.left_usd'
    """
    return _list(as_json=as_json)


@pools.command()
@click.argument("name", shell_complete=names_like)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(name: str, *, as_json: bool) -> int:
    """Show one pool and the runs that draw on it.

    \b
    Examples:
      docket pools show team
      docket pools show team --json | jq -r .weekly.left_usd
    """
    with closing(open_pools()) as store:
        balance = living_balance(store, name)
    if as_json:
        console.result(console.as_json(document(balance)))
        return exits.OK
    for line in _lines(balance):
        console.result(line)
    for share in balance.shares:
        console.result(f"  run {share.run.docket_number}: {_share(share)}")
    return exits.OK


@pools.command("set", short_help="Make a pool, or change its limits.")
@click.argument("name", shell_complete=names_like)
@click.option("--daily-usd", metavar="AMOUNT", help="Dollars a day (UTC), or none for no limit.")
@click.option("--weekly-usd", metavar="AMOUNT", help="Dollars a week (Monday to Sunday, UTC), or none.")
@click.option("--total-usd", metavar="AMOUNT", help="Dollars in all, until it is reset, or none.")
def set_(name: str, daily_usd: str | None, weekly_usd: str | None, total_usd: str | None) -> int:
    """Make a pool, or change the limits that are named; what was spent stays.

    \b
    Examples:
      docket pools set team --daily-usd 20 --total-usd 500
      docket pools set team --weekly-usd none
    """
    if not is_pool_name(name):
        detail = f"{name[:80]!r} is no name of a pool: write letters, digits, '.', '_' and '-', at most 64"
        raise UsageError(Reason.USAGE, detail)
    given = {Period.DAILY: daily_usd, Period.WEEKLY: weekly_usd, Period.TOTAL: total_usd}
    if not any(given.values()):
        raise UsageError(Reason.USAGE, "no limit is named", hint=f"as in: docket pools set {name} --daily-usd 20")
    chosen = {period: _limit(f"--{period}-usd", text) for period, text in given.items() if text is not None}
    with closing(open_pools(create=True)) as store:
        limits = _changed(_limits_now(store, name), chosen)
        if all(limits.of(period) is None for period in Period):
            raise UsageError(Reason.USAGE, f"the pool {name} would have no limit", hint="docket pools remove ends it")
        store.define(name, limits)
    console.say(f"pool {name}: {_limits(limits)}")
    return exits.OK


@pools.command()
@click.argument("name", shell_complete=names_like)
def reset(name: str) -> int:
    """Forget what was spent from a pool; what running calls hold stays.

    \b
    Example:
      docket pools reset team
    """
    with closing(open_pools()) as store:
        store.reset(name)
    console.say(f"pool {name}: what was spent is forgotten")
    return exits.OK


@pools.command()
@click.argument("name", shell_complete=names_like)
def remove(name: str) -> int:
    """End a pool; refused while a run draws on it.

    \b
    Example:
      docket pools remove team
    """
    with closing(open_pools()) as store:
        living_balance(store, name)
        store.remove(name)
    console.say(f"pool {name} is no more")
    return exits.OK


def document(balance: Balance) -> dict[str, object]:
    """Return a pool as JSON: amounts as decimal strings, null where there is no limit."""
    periods = {}
    for period in Period:
        limit, taken = balance.limits.of(period), balance.taken[period]
        left = None if limit is None else str(Usd(max(0, limit.micros - taken.micros - balance.held_micros)))
        periods[str(period)] = {
            "limit_usd": None if limit is None else str(limit),
            "spent_usd": str(Usd(taken.spent_micros)),
            "unknown_usd": str(Usd(taken.unknown_micros)),
            "left_usd": left,
        }
    return {
        "name": balance.name,
        **periods,
        "held_usd": str(Usd(balance.held_micros)),
        "runs": [
            {
                "docket_number": share.run.docket_number,
                "session_id": share.run.run_id,
                "pid": share.run.process.pid,
                "entered_at": share.run.entered_at,
                "spent_usd": str(Usd(share.taken.spent_micros)),
                "unknown_usd": str(Usd(share.taken.unknown_micros)),
                "held_usd": str(Usd(share.held_micros)),
            }
            for share in balance.shares
        ],
    }


def _list(*, as_json: bool) -> int:
    balances = _balances()
    if as_json:
        console.result(console.as_json({"pools": [document(balance) for balance in balances]}))
        return exits.OK
    for balance in balances:
        for line in _lines(balance):
            console.result(line)
    if not balances:
        console.say("there is no pool on this machine; docket pools set NAME --daily-usd AMOUNT makes one")
    return exits.OK


def _balances() -> list[Balance]:
    """Return every pool of this machine as it stands; none where nobody has made one yet."""
    try:
        store = open_pools()
    except UnavailableError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        return []
    with closing(store):
        return [living_balance(store, name) for name in store.names()]


def _lines(balance: Balance) -> list[str]:
    lines = [f"{balance.name}: {_held(balance)}"]
    for period in Period:
        limit, taken = balance.limits.of(period), balance.taken[period]
        if limit is None:
            continue
        unknown = f", ${Usd(taken.unknown_micros)} of it unknown" if taken.unknown_micros else ""
        lines.append(f"  {period}: ${Usd(taken.micros)} of ${limit} used{unknown}")
    return lines


def _held(balance: Balance) -> str:
    if not balance.shares:
        return "no run is in it"
    return f"${Usd(balance.held_micros)} held by {plural(len(balance.shares), 'live run')}"


def _share(share: RunShare) -> str:
    return f"${Usd(share.taken.micros)} used, ${Usd(share.held_micros)} held, process {share.run.process.pid}"


def _limits(limits: PoolLimits) -> str:
    named = [f"{period} ${limit}" for period in Period if (limit := limits.of(period)) is not None]
    return ", ".join(named)


def _limit(option: str, text: str) -> Usd | None:
    return None if text.lower() == NONE else dollars(option, text)


def _limits_now(store: PoolStore, name: str) -> PoolLimits:
    if name not in store.names():
        return PoolLimits()
    return store.balance(name, day_of(SystemClock().now())).limits


def _changed(now: PoolLimits, chosen: Mapping[Period, Usd | None]) -> PoolLimits:
    limits = {period: chosen.get(period, now.of(period)) for period in Period}
    return PoolLimits(daily_usd=limits[Period.DAILY], weekly_usd=limits[Period.WEEKLY], total_usd=limits[Period.TOTAL])
