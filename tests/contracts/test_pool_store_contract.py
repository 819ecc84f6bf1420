"""Every store of pools keeps the port's rules: the machine's own and the one in memory."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docket.errors import UnavailableError
from docket.formats.amount import Usd
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.run.pool import Period, PoolAsk, PoolLimits, Taken
from docket.stores.pools.port import PoolRun
from docket.stores.pools.sqlite import SqlitePools
from fakes.pools import MemoryPools

MONDAY, TUESDAY, SUNDAY = "2026-11-30", "2026-12-01", "2026-11-29"
LIMITS = PoolLimits(daily_usd=Usd(1000), weekly_usd=Usd(3000), total_usd=Usd(10_000))


def run(name: str) -> PoolRun:
    return PoolRun(
        run_id=name,
        docket_number=f"DKT-20261130-{name}",
        process=ProcessIdentity(pid=7, started="1", boot_id="b"),
        lock_path=f"/l/{name}",
        ledger_path=f"/g/{name}\udcff",
        entered_at=f"2026-11-30T00:00:00.00{len(name)}Z",
    )


@pytest.fixture(params=["sqlite", "memory"])
def store(request, tmp_path):
    opened = SqlitePools.open(tmp_path / "state", create=True) if request.param == "sqlite" else MemoryPools()
    opened.define("team", LIMITS)
    yield opened
    opened.close()


def ask(store, run_id, need, least=None, ahead=0, *, day=MONDAY):
    question = PoolAsk(need_micros=need, least_micros=need if least is None else least, ahead_micros=ahead)
    return store.reserve("team", run_id, question, day).granted_micros


def test_a_pool_is_made_changed_listed_and_removed(store):
    store.define("alone", PoolLimits(total_usd=Usd(5)))
    assert store.names() == ("alone", "team")
    assert store.balance("alone", MONDAY).limits == PoolLimits(total_usd=Usd(5))
    store.define("alone", PoolLimits(daily_usd=Usd(7)))
    assert store.balance("alone", MONDAY).limits == PoolLimits(daily_usd=Usd(7))
    store.remove("alone")
    assert store.names() == ("team",)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.balance("none", MONDAY),
        lambda store: store.enter("none", run("a")),
        lambda store: store.reset("none"),
        lambda store: store.remove("none"),
        lambda store: store.reserve("team", "nobody", PoolAsk(need_micros=1, least_micros=1), MONDAY),
        lambda store: store.settle("team", "nobody", Taken(1, 0), MONDAY),
    ],
)
def test_what_is_not_there_is_not_found(store, call):
    with pytest.raises(UnavailableError) as raised:
        call(store)
    assert raised.value.reason == Reason.NOT_FOUND


def test_a_run_stands_in_a_pool_with_all_that_is_known_of_it(store):
    assert store.enter("team", run("a")) == LIMITS
    assert store.enter("team", run("a")) == LIMITS
    (share,) = store.balance("team", MONDAY).shares
    assert share.run == run("a")
    assert (share.taken, share.held_micros) == (Taken(), 0)
    with pytest.raises(UnavailableError) as raised:
        store.remove("team")
    assert raised.value.reason == Reason.IN_USE
    store.release("team", "a")
    store.release("team", "a")
    assert store.balance("team", MONDAY).shares == ()


def test_grants_never_pass_a_limit_together(store):
    store.enter("team", run("a"))
    store.enter("team", run("bb"))
    assert ask(store, "a", 600) == 600
    assert ask(store, "bb", 401) == 0
    assert ask(store, "bb", 401, least=400) == 400
    assert ask(store, "a", 601) == 600
    assert store.balance("team", MONDAY).held_micros == 1000


def test_a_slice_ahead_is_a_sixteenth_of_what_is_left_at_most(store):
    store.enter("team", run("a"))
    # 1000 - 200 leaves 800, a sixteenth of which is 50.
    assert ask(store, "a", 200, ahead=9999) == 250
    assert ask(store, "a", 260, ahead=3) == 263


def test_equality_with_a_limit_is_within_it(store):
    store.enter("team", run("a"))
    assert ask(store, "a", 1000) == 1000
    store.settle("team", "a", Taken(1000, 0), MONDAY)
    answer = store.reserve("team", "a", PoolAsk(need_micros=1001, least_micros=1001), MONDAY)
    assert (answer.granted_micros, answer.tightest, answer.left_micros) == (1000, Period.DAILY, 0)


def test_what_is_said_twice_counts_once_and_less_is_never_taken_back(store):
    store.enter("team", run("a"))
    for taken in (Taken(300, 20), Taken(300, 20), Taken(100, 0)):
        store.settle("team", "a", taken, MONDAY)
    balance = store.balance("team", MONDAY)
    assert balance.taken == dict.fromkeys(Period, Taken(300, 20))
    assert balance.shares[0].taken == Taken(300, 20)


def test_a_run_that_takes_more_than_it_was_granted_has_it_booked(store):
    store.enter("team", run("a"))
    ask(store, "a", 100)
    store.settle("team", "a", Taken(1500, 0), MONDAY)
    answer = store.reserve("team", "a", PoolAsk(need_micros=1501, least_micros=1501), MONDAY)
    assert (answer.granted_micros, answer.left_micros) == (1500, -500)


def test_days_and_weeks_begin_anew_and_the_total_does_not(store):
    store.enter("team", run("a"))
    store.settle("team", "a", Taken(900, 0), SUNDAY)
    store.settle("team", "a", Taken(1000, 0), MONDAY)
    store.settle("team", "a", Taken(1030, 0), TUESDAY)
    taken = store.balance("team", TUESDAY).taken
    assert {period: one.spent_micros for period, one in taken.items()} == {
        Period.DAILY: 30,
        Period.WEEKLY: 130,
        Period.TOTAL: 1030,
    }


def test_a_clock_that_is_set_back_frees_nothing(store):
    store.enter("team", run("a"))
    store.settle("team", "a", Taken(1000, 0), MONDAY)
    taken = store.balance("team", SUNDAY).taken
    assert taken[Period.DAILY] == taken[Period.WEEKLY] == Taken(1000, 0)


def test_a_reservation_outlives_its_day(store):
    store.enter("team", run("a"))
    store.enter("team", run("bb"))
    assert ask(store, "a", 800, day=MONDAY) == 800
    assert ask(store, "bb", 300, day=TUESDAY) == 0
    store.settle("team", "a", Taken(800, 0), TUESDAY)
    assert ask(store, "bb", 300, day=TUESDAY) == 0
    assert ask(store, "bb", 200, day=TUESDAY) == 200


def test_what_is_given_back_is_there_for_others(store):
    store.enter("team", run("a"))
    store.enter("team", run("bb"))
    ask(store, "a", 1000)
    store.settle("team", "a", Taken(100, 0), MONDAY)
    store.give_back("team", "a", 50)
    assert store.balance("team", MONDAY).held_micros == 0
    assert ask(store, "bb", 900) == 900
    store.give_back("team", "nobody", 0)


def test_what_was_taken_stays_after_the_run_and_goes_with_a_reset(store):
    store.enter("team", run("a"))
    ask(store, "a", 500)
    store.settle("team", "a", Taken(400, 100), MONDAY)
    store.release("team", "a")
    assert store.balance("team", MONDAY).taken[Period.TOTAL] == Taken(400, 100)
    store.reset("team")
    assert store.balance("team", MONDAY).taken[Period.TOTAL] == Taken()


def test_a_pool_without_limits_grants_what_is_asked(store):
    store.define("free", PoolLimits())
    store.enter("free", run("a"))
    answer = store.reserve("free", "a", PoolAsk(need_micros=10**9, least_micros=1, ahead_micros=5), MONDAY)
    assert (answer.granted_micros, answer.tightest, answer.left_micros) == (10**9, None, None)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "settle", "give", "release", "enter", "reset"]),
        st.sampled_from(["a", "bb", "ccc"]),
        st.integers(0, 1200),
        st.integers(0, 200),
        st.sampled_from([SUNDAY, MONDAY, TUESDAY]),
    ),
    max_size=30,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_both_stores_say_the_same_and_hold_the_limits(tmp_path_factory, steps):
    stores = [SqlitePools.open(tmp_path_factory.mktemp("s") / "state", create=True), MemoryPools()]
    for one in stores:
        one.define("team", LIMITS)
        for name in ("a", "bb", "ccc"):
            one.enter("team", run(name))
    for step, name, first, second, day in steps:
        before = stores[0].balance("team", day).held_micros
        said = [_said(one, step, name, (first, second), day) for one in stores]
        assert said[0] == said[1]
        balances = [one.balance("team", day) for one in stores]
        assert balances[0] == balances[1]
        if step == "ask" and balances[0].held_micros > before:
            for period, taken in balances[0].taken.items():
                limit = LIMITS.of(period)
                assert limit is not None
                assert taken.micros + balances[0].held_micros <= limit.micros
    stores[0].close()


def _said(store, step, name, amounts, day):
    first, second = amounts
    try:
        match step:
            case "ask":
                question = PoolAsk(need_micros=first + second, least_micros=first, ahead_micros=second)
                return store.reserve("team", name, question, day)
            case "settle":
                return store.settle("team", name, Taken(first, second), day)
            case "give":
                return store.give_back("team", name, first)
            case "release":
                return store.release("team", name)
            case "enter":
                return store.enter("team", run(name))
            case _:
                return store.reset("team")
    except UnavailableError as error:
        return error.reason
