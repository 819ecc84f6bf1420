"""Scenarios of records that agree with themselves and with no run: chained anew, the receipt made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from record_vectors import ledgers
from record_vectors.primitives import Json, digest_of
from record_vectors.scenario import Scenario, first, retold

Change = Callable[[list[Json]], object]


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    yield from _payloads()
    yield from _courses()
    yield from _rare()
    yield from _many()
    yield from _named()
    yield from _old_receipts()


def at(type_: str, **members: object) -> Change:
    """The first event of a type gets these members."""
    return lambda bodies: first(bodies, type_).update(members)


def _payloads() -> Iterator[Scenario]:
    plain, fails = ledgers.plain(), "ledger-payloads"
    for name, says, change in (
        ("payload-member-unknown", "a known type has no other member", at("proc.exit", core=True)),
        ("payload-member-null", "a member is never null", at("model.request", agent_id=None)),
        ("payload-amount-spelling", "an amount has one spelling", at("x-docket.budget", peak_held_usd="0.010000")),
        ("payload-digest-upper-case", "a digest is in lower case", at("model.request", request_sha256="AB" * 32)),
        ("payload-way-out", "a path stays in the tree", at("fs.change", path="../etc/passwd")),
        ("payload-instant", "an instant is one", lambda b: b[3].update(ts="yesterday")),
        ("payload-instant-second", "a second is one", lambda b: b[3].update(ts="2026-11-05T08:00:61.000Z")),
    ):
        # What has not its form folds as the old receipt has it: nothing is asked of it but its form.
        yield retold(name, says, fails, (plain, change), derived=False)


def _courses() -> Iterator[Scenario]:
    plain, several = ledgers.plain(), ledgers.several()

    def moved(bodies: list[Json], from_: str, to: int) -> None:
        place = next(i for i, body in enumerate(bodies) if body["type"] == from_)
        data = bodies.pop(place)
        bodies.insert(to, data)
        _timed(bodies)

    def twice(type_: str) -> Change:
        def change(bodies: list[Json]) -> None:
            place = next(i for i, body in enumerate(bodies) if body["type"] == type_)
            bodies.insert(place, bodies[place])
            _timed(bodies)

        return change

    order, shape, parts = "event-order", "session-shape", "components"
    for name, says, fails, story, change in (
        ("course-policy-late", "the policy stands before the agent", shape, plain,
         lambda b: moved(b, "policy.applied", 3)),
        ("course-spawn-twice", "an agent is started once", shape, plain, twice("proc.spawn")),
        ("course-exit-before-spawn", "it ends behind its start", shape, plain, lambda b: moved(b, "proc.exit", 2)),
        ("course-second-start", "a session begins once", shape, plain, twice("session.start")),
        ("course-passes-exchanged", "the pass before comes first", shape, plain,
         lambda b: (moved(b, "fs.snapshot", len(b) - 2))),
        ("course-call-number", "calls are numbered from 1", order, plain,
         lambda b: (first(b, "model.request").update(call=2), first(b, "model.response").update(call=2))),
        ("course-provider-other", "who was asked answers", order, plain, at("model.request", provider="anthropic")),
        ("course-model-other", "for the model that was asked for", order, plain,
         at("model.request", model="gpt-5-mini")),
        ("course-streaming-other", "as it was asked", order, plain, at("model.request", streaming=True)),
        ("course-answered-twice", "a call is answered once", order, plain, twice("model.response")),
        ("course-running-sum", "running sums add up", order, plain, at("model.response", cumulative_cost_usd="0.00")),
        ("course-final-sum", "so does the last", order, plain, at("session.end", cost_usd="0.00")),
        ("course-time-backwards", "time does not step back", order, plain,
         lambda b: b[5].update(ts="2026-11-05T07:00:00.000Z")),
        ("course-usage-uncarried", "components carry the usage", parts, plain,
         lambda b: first(b, "model.response")["usage"].update(output_tokens=51)),
        ("course-family-twice", "a family is written once", parts, several, twice("x-docket.price")),
        ("course-uncovered-write", "what was written to a cache is priced", parts, several,
         lambda b: b[_second_reply(b)]["data"]["usage"].update(cache_write_5m_tokens=1499)),
    ):  # fmt: skip
        yield retold(name, says, fails, (story, change))


def _second_reply(bodies: list[Json]) -> int:
    return [place for place, body in enumerate(bodies) if body["type"] == "model.response"][1]


def _timed(bodies: list[Json]) -> None:
    """The instants again in their order."""
    for body, ts in zip(bodies, sorted(body["ts"] for body in bodies), strict=True):
        body["ts"] = ts


def _rare() -> Iterator[Scenario]:
    busy, staged, windowed = ledgers.busy(), ledgers.staged(), ledgers.windowed()

    def other_policy_cap(bodies: list[Json]) -> None:
        policy = first(bodies, "policy.applied")
        policy["document"] = {**policy["document"], "caps": {"max_usd": "9.00"}}
        policy["digest"] = digest_of(policy["document"])

    def in_window(member: str, value: str) -> Change:
        return lambda bodies: first(bodies, "tool.call")["window"].update({member: value})

    shape, caps, windows = "session-shape", "cap-limits", "tool-windows"
    for name, says, fails, story, change in (
        ("caps-limit-other", "a cap is the policy's", caps, busy, at("cap.exceeded", limit="9.00")),
        ("caps-policy-other", "and the policy is the run's", caps, busy, other_policy_cap),
        ("caps-breached-other", "a cap that ended a run was exceeded", caps, busy,
         at("session.end", breached="max_tokens")),
        ("caps-budget-other", "the budget's cap is the policy's", caps, ledgers.plain(),
         at("x-docket.budget", cap_usd="1.00")),
        ("tunnel-number", "tunnels are numbered from 1", "event-order", busy, at("net.allowed", tunnel=2)),
        ("stage-without-steps", "what landed has a step for each change", shape, staged,
         at("x-docket.workspace-settled", applied=0)),
        ("stage-without-approval", "what is protected has an approval", shape, staged,
         at("x-docket.workspace-intent", protected=1)),
        ("stage-of-another", "an outcome is of the stage that was opened", shape, staged,
         at("x-docket.workspace-settled", transaction="ffffffffffff")),
        ("stage-landed-after-review", "what waits does not land", shape, ledgers.staged("review"),
         lambda b: first(b, "x-docket.workspace-settled").update(outcome="committed")),
        ("window-key-other", "a window's name is made of its key", windows, windowed, in_window("turn_id", "u")),
        ("window-mode-other", "a tree's window is no stage's", windows, windowed, in_window("mode", "stage")),
        ("window-tree-other", "a delta begins where its window did", windows, windowed,
         at("x-docket.tool-delta", tree_before="99" * 20)),
        ("window-alone-of-two", "one window by itself has one member", windows, windowed,
         at("x-docket.tool-delta", members=2)),
    ):  # fmt: skip
        yield retold(name, says, fails, (story, change))


def _many() -> Iterator[Scenario]:
    story = ledgers.plain()
    first(story.bodies, "x-docket.price").update(pattern="gpt-5" + "/[" * 4000)
    more = at("x-docket.price", pattern="gpt-5" + "/[" * 8193)
    yield retold("patterns-too-many", "of patterns there are no more than can be compared", "cost-recomputation",
                 (story, more))  # fmt: skip


def _named() -> Iterator[Scenario]:
    """A letter of Unicode 16, whose lower case is an old one."""
    story = ledgers.plain()
    letter, lower = "\ua7cb", "\u0264"
    for type_ in ("x-docket.price", "model.request", "model.response"):
        data = first(story.bodies, type_)
        data.update({"pattern" if type_ == "x-docket.price" else "model": letter})
    first(story.bodies, "model.response")["components"][0].update(model=letter)
    yield retold("letter-of-later", "a letter that came after Unicode 14 has no other case", "cost-recomputation",
                 (story, at("x-docket.price", pattern=lower)))  # fmt: skip


def _old_receipts() -> Iterator[Scenario]:
    plain, rebuilt = ledgers.plain(), "receipt-rebuild"
    for name, says, fails, change in (
        ("other-exit-code", "a ledger with another end", rebuilt, at("session.end", exit_code=1)),
        ("other-argument", "with another argument", rebuilt, at("session.start", argv=["agent"])),
        ("other-change", "with another change", rebuilt, at("fs.change", change="removed")),
        ("other-tokens", "with other tokens", "usage-rows-rebound",
         lambda b: first(b, "model.response")["components"][0].update(output_tokens=40)),
        ("other-cost", "with another cost", "usage-rows-rebound",
         lambda b: first(b, "model.response")["components"][0].update(cost_usd="0.000001")),
        ("other-model", "with another model", "usage-rows-rebound",
         lambda b: first(b, "model.response")["components"][0].update(model="gpt-6")),
    ):  # fmt: skip
        yield retold(
            f"ledger-{name}", f"{says}, chained anew, and the old receipt", fails, (plain, change), derived=False
        )
