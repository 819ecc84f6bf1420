"""Runs that died in a pool: what their ledgers say is booked, what they held goes back; nothing on a guess."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.engines.pools.entry import EntryRequest, PoolsWorld, enter
from docket.engines.pools.reap import ReapWorld, reap
from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelError
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolAsk, PoolLimits, Taken
from docket.formats.run.usage import Usage, UsageSource
from docket.host.clock import SystemClock
from docket.host.liveness import own_identity
from docket.host.locks import FileLock
from docket.stores.pools.port import PoolRun
from docket.stores.pools.sqlite import SqlitePools
from fakes.pools import MemoryPools
from golden_ledgers.build import LedgerBuilder, component, opened, price, request, response

DAY = "2026-11-30"


class Clock(SystemClock):
    def now(self) -> str:
        return f"{DAY}T12:00:00.000Z"


def ledger(*, admission: str = "metered") -> LedgerBuilder:
    """Three calls of 0.00075 on 2026-10-01, one of them estimated; one refused, one unanswered, one in flight."""
    built = opened(admission=admission)
    built.add(price("claude-sonnet-4-5", "3.00", "0.30", "15.00"))
    for call in (1, 2, 3):
        built.add(replace(request(call, "anthropic", "claude-sonnet-4-5"), held_usd=Usd(call * 1000)))
    for call in (1, 2):
        built.add(
            response(
                call, "anthropic", "claude-sonnet-4-5", usage=Usage(input_tokens=200, output_tokens=10),
                components=(component("claude-sonnet-4-5", 200, 0, 10, "0.000750"),),
                cost="0.000750", cumulative=f"0.00{call * 750:04}",
                usage_source=UsageSource.REPORTED if call == 1 else UsageSource.ESTIMATED,
            )
        )  # fmt: skip
    built.add(replace(request(4, "anthropic", "claude-sonnet-4-5"), held_usd=Usd(40)))
    built.add(replace(request(5, "anthropic", "claude-sonnet-4-5"), held_usd=Usd(500)))
    for call, reason in ((4, "upstream_status"), (5, "upstream_broken")):
        built.add(
            ModelError(
                call=call, provider="anthropic", model="claude-sonnet-4-5", status=502, latency_ms=1, reason=reason,
                error="x", response_bytes=0,
            )
        )  # fmt: skip
    return built


SPENT, UNANSWERED, IN_FLIGHT, KEPT_BY_STRICT = 1500, 500, 3000, 2000 - 750


@pytest.fixture
def store():
    pools = MemoryPools()
    pools.define("team", PoolLimits(daily_usd=Usd(100_000), total_usd=Usd(100_000)))
    return pools


def dead(tmp_path, store, *, data: bytes | None = None, boot_id: str | None = None, granted: int = 9000) -> PoolRun:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger().data() if data is None else data)
    process = replace(own_identity(), started="1")
    run = PoolRun(
        run_id="0123456789ab", docket_number="DKT-20261001-00C0DE",
        process=process if boot_id is None else replace(process, boot_id=boot_id),
        lock_path=str(tmp_path / "run.lock"), ledger_path=str(path), entered_at="2026-10-01T12:00:00.000Z",
    )  # fmt: skip
    store.enter("team", run)
    store.reserve("team", run.run_id, PoolAsk(need_micros=granted, least_micros=granted), DAY)
    return run


def world(**ports: object) -> ReapWorld:
    return ReapWorld(clock=Clock(), **ports)


def test_what_the_ledger_says_is_booked_on_its_days_and_the_rest_goes_back(tmp_path, store):
    dead(tmp_path, store)
    store.settle("team", "0123456789ab", Taken(750, 0), "2026-10-01")
    (share,) = reap(store, "team", world())
    assert share.held_micros == 9000 - 750
    balance = store.balance("team", "2026-10-01")
    assert (balance.shares, balance.held_micros) == ((), 0)
    assert balance.taken[Period.DAILY] == Taken(SPENT, UNANSWERED + IN_FLIGHT)
    assert store.balance("team", DAY).taken[Period.DAILY] == Taken()
    assert not (tmp_path / "run.lock").exists()
    assert reap(store, "team", world()) == ()


def test_a_strict_run_keeps_what_an_estimated_call_may_still_cost(tmp_path, store):
    dead(tmp_path, store, data=ledger(admission="strict").data())
    reap(store, "team", world())
    taken = store.balance("team", "2026-10-01").taken[Period.TOTAL]
    assert taken == Taken(SPENT, UNANSWERED + IN_FLIGHT + KEPT_BY_STRICT)


def test_what_was_made_in_the_background_may_have_been_billed(tmp_path, store):
    built = opened(admission="metered")
    built.add(price("gpt-5.2-codex", "1.75", "0.175", "14.00"))
    built.add(replace(request(1, "openai", "gpt-5.2-codex"), held_usd=Usd(2000)))
    built.add(
        response(
            1, "openai", "gpt-5.2-codex", usage=Usage(), components=(component("gpt-5.2-codex", 0, 0, 0, "0.00"),),
            cost="0.00", cumulative="0.00", usage_source=UsageSource.ESTIMATED,
        )
    )  # fmt: skip
    dead(tmp_path, store, data=built.data())
    reap(store, "team", world())
    assert store.balance("team", "2026-10-01").taken[Period.TOTAL] == Taken(0, 2000)


def test_a_torn_tail_is_no_event(tmp_path, store):
    dead(tmp_path, store, data=ledger().data() + b'{"seq":99,"ty')
    reap(store, "team", world())
    assert store.balance("team", DAY).taken[Period.TOTAL] == Taken(SPENT, UNANSWERED + IN_FLIGHT)


@pytest.mark.parametrize("data", [b"", b"{}\n", ledger().data()[:-300] + b"\n" + ledger().data()[-300:]])
def test_where_the_ledger_cannot_be_read_all_that_was_held_is_unknown(tmp_path, store, data):
    dead(tmp_path, store, data=data)
    store.settle("team", "0123456789ab", Taken(700, 50), DAY)
    reap(store, "team", world())
    assert store.balance("team", DAY).taken[Period.TOTAL] == Taken(700, 9000 - 700)
    assert store.balance("team", DAY).held_micros == 0


@pytest.mark.parametrize(
    "error", [UnavailableError(Reason.NOT_FOUND, "x"), InvalidDocumentError(Reason.TORN_TAIL, "x")]
)
def test_a_ledger_that_is_gone_frees_nothing(tmp_path, store, error):
    def gone(_path):
        raise error

    dead(tmp_path, store)
    reap(store, "team", world(read_events=gone))
    assert store.balance("team", DAY).taken[Period.TOTAL] == Taken(0, 9000)


def test_after_another_boot_the_last_lines_may_be_lost_so_all_that_was_held_counts(tmp_path, store):
    dead(tmp_path, store, boot_id="another")
    store.settle("team", "0123456789ab", Taken(750, 0), "2026-10-01")
    reap(store, "team", world())
    assert store.balance("team", "2026-10-01").taken[Period.TOTAL] == Taken(SPENT, 9000 - SPENT)


def test_a_run_whose_lock_is_held_or_whose_process_is_there_is_alive(tmp_path, store):
    run = dead(tmp_path, store)
    assert reap(store, "team", world(is_gone=lambda _: False)) == ()
    with FileLock.acquire(tmp_path / "run.lock"):
        assert reap(store, "team", world()) == ()
    assert [share.run for share in store.balance("team", DAY).shares] == [run]


def test_a_lock_whose_folder_is_gone_is_held_by_nobody(tmp_path, store):
    run = dead(tmp_path, store)
    store.release("team", run.run_id)
    store.enter("team", replace(run, lock_path=str(tmp_path / "gone/run.lock")))
    assert len(reap(store, "team", world())) == 1


def entry(tmp_path, open_store, names=("team",)):
    asked = EntryRequest(
        names=names, session_id="abcdefabcdef", docket_number="DKT-20261130-ABCDEF",
        ledger_path=tmp_path / "none.jsonl",
    )  # fmt: skip
    return enter(asked, PoolsWorld(open_store=open_store, locks=tmp_path / "locks", clock=Clock()))


def test_a_run_enters_and_leaves(tmp_path, store):
    dead(tmp_path, store)
    with entry(tmp_path, lambda: store) as entered:
        assert set(entered.limits) == {"team"}
        (share,) = store.balance("team", DAY).shares
        assert share.run.run_id == entered.run_id == "abcdefabcdef"
        assert (tmp_path / "locks/abcdefabcdef.lock").exists()
        # While it lives nobody takes it out, whoever looks.
        assert reap(store, "team", world()) == ()
        assert entered.leave({"team": Taken(5, 6)}) == ()
        assert store.balance("team", DAY).shares == ()
        assert store.balance("team", DAY).taken[Period.DAILY] == Taken(5, 6)
    assert not (tmp_path / "locks/abcdefabcdef.lock").exists()


def test_a_run_enters_all_pools_or_none(tmp_path, store):
    with pytest.raises(UnavailableError) as raised:
        entry(tmp_path, lambda: store, names=("team", "none"))
    assert raised.value.reason == Reason.NOT_FOUND
    assert store.balance("team", DAY).shares == ()
    assert list((tmp_path / "locks").iterdir()) == []


def test_what_cannot_be_left_is_told_and_stays_for_the_next(tmp_path, store):
    with entry(tmp_path, lambda: store) as entered:
        store.fault = UnavailableError(Reason.NO_SPACE, "the disk is full")
        assert entered.leave({}) == ("the pool team was not settled: the disk is full",)
        store.fault = None
    assert len(store.balance("team", DAY).shares) == 1

    def closed():
        raise UnavailableError(Reason.READ_ONLY, "it cannot be written")

    entered.open_store = closed
    assert entered.leave({}) == ("it cannot be written",)


def test_the_real_store_agrees(tmp_path):
    real = SqlitePools.open(tmp_path / "state", create=True)
    real.define("team", PoolLimits(total_usd=Usd(100_000)))
    dead(tmp_path, real)
    assert len(reap(real, "team", world())) == 1
    assert real.balance("team", DAY).taken[Period.TOTAL] == Taken(SPENT, UNANSWERED + IN_FLIGHT)
    real.close()
