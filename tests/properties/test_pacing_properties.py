"""Pacing against its own definition: exact windows, the order of asking, no slot left idle, bounded waits."""

from __future__ import annotations

import heapq
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from boundary_rig.gate_calls import call
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Go, Pause
from docket.rules.boundary.pacing import Pacing, Span

SPANS = st.lists(st.builds(Span, st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=2).map(tuple)
ARRIVALS = st.lists(st.integers(0, 60), max_size=25).map(sorted)
FOREVER = 10**6


class Simulation:
    """What a boundary does with the gate: asks, waits out pauses, asks everybody again when a call leaves."""

    def __init__(self, spans, max_wait):
        self.gate = Pacing(spans, max_wait)
        self.events, self.order = [], count()
        self.calls, self.waiting = [], {}
        self.went, self.refused = {}, {}

    def at(self, instant, what, number):
        heapq.heappush(self.events, (instant, next(self.order), what, number))

    def arrive(self, instant, patience=None):
        number = len(self.calls)
        self.calls.append(call())
        self.at(instant, "ask", number)
        if patience is not None:
            self.at(instant + patience, "leave", number)
        return number

    def run(self):
        while self.events:
            now, _, what, number = heapq.heappop(self.events)
            if what == "ask" or (what == "tick" and self.waiting.get(number) == now):
                self.ask(number, now)
            elif what == "leave" and number in self.waiting:
                del self.waiting[number]
                self.gate.withdrawn(self.calls[number], now)
                for other in list(self.waiting):
                    self.ask(other, now)
            elif what == "unsent" and number in self.went:
                self.gate.withdrawn(self.calls[number], now)

    def ask(self, number, now):
        match self.gate.ask(self.calls[number], now):
            case Go():
                self.waiting.pop(number, None)
                self.went[number] = now
            case Pause(until_ns, heeds_release):
                assert until_ns > now
                assert heeds_release
                self.waiting[number] = until_ns
                self.at(until_ns, "tick", number)
            case Refused() as refused:
                self.waiting.pop(number, None)
                self.refused[number] = (now, refused)


def busiest(instants, length):
    """The most calls in any half-open stretch of `length`; it is enough to look at those that begin with a call."""
    return max((sum(begin <= other < begin + length for other in instants) for begin in instants), default=0)


@given(SPANS, ARRIVALS)
def test_each_call_goes_at_the_first_instant_that_the_spans_and_the_order_allow(spans, arrivals):
    simulation = Simulation(spans, FOREVER)
    for instant in arrivals:
        simulation.arrive(instant)
    simulation.run()
    # The definition: after whoever came before, and for each span a whole length after the call so many before.
    starts = []
    for instant in arrivals:
        earliest = max([instant, *starts[-1:]])
        for span in spans:
            if len(starts) >= span.calls:
                earliest = max(earliest, starts[-span.calls] + span.length_ns)
        starts.append(earliest)
    assert [simulation.went[number] for number in range(len(arrivals))] == starts


@given(SPANS, st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 20)), max_size=25), st.integers(0, 40))
def test_no_stretch_ever_holds_more_whoever_leaves_and_however_long_one_waits(spans, visits, max_wait):
    simulation = Simulation(spans, max_wait)
    came = {}
    for instant, patience in sorted(visits, key=lambda visit: visit[0]):
        came[simulation.arrive(instant, patience)] = instant
    simulation.run()
    for span in spans:
        assert busiest(list(simulation.went.values()), span.length_ns) <= span.calls
    went = [simulation.went[number] for number in sorted(simulation.went)]
    assert went == sorted(went)
    assert all(simulation.went[number] - came[number] <= max_wait for number in simulation.went)
    for number, (now, refused) in simulation.refused.items():
        assert now in (came[number], came[number] + max_wait)
        assert refused.retry_after_seconds == 1
    assert not simulation.waiting


@given(SPANS, ARRIVALS, st.sets(st.integers(0, 24)))
def test_what_is_taken_back_leaves_no_trace(spans, arrivals, unsent):
    simulation = Simulation(spans, 0)
    for instant in arrivals:
        number = simulation.arrive(instant)
        if number in unsent:
            simulation.at(instant, "unsent", number)
    simulation.run()
    kept = [instant for number, instant in simulation.went.items() if number not in unsent]
    for span in spans:
        assert busiest(kept, span.length_ns) <= span.calls
    # Alone with the calls that were kept, the gate lets the same ones go.
    alone = Simulation(spans, 0)
    for instant in kept:
        alone.arrive(instant)
    alone.run()
    assert sorted(alone.went.values()) == sorted(kept)
