"""The ledgers of the vectors, event by event: every figure is worked out by hand beside it."""

from __future__ import annotations

from collections.abc import Callable

from record_vectors.primitives import Json, digest, digest_of

SESSION, NUMBER = "5e55109ab0c1", "DKT-20261105-0BA5ED"
SOME, OTHER, THIRD = "5a" * 32, "6b" * 32, "7c" * 32
POLICY: Json = {
    "name": "vectors",
    "budget": {"mode": "usd", "admission": "metered"},
    "caps": {"max_usd": "2.00", "max_tokens": None, "max_model_calls": None, "max_wall_seconds": 3600},
    "models": {"allow": ["gpt-*", "claude-*"], "deny": []},
    "egress": {"mode": "deny", "allow": []},
    "files": {"watch": ["."], "ignore": [], "deny_write": [".env"]},
}
CACHED = {**POLICY, "cache": {"enabled": True, "max_entries": 64, "max_hits": 2, "ttl_seconds": "600"}}
KEY_OF_ONE, KEY_OF_TWO = "1d" * 32, "2e" * 32


REPEATED = ("status", "streaming", "usage", "usage_source", "response_bytes", "response_sha256")


class Story:
    """Bodies of events, a second apart."""

    def __init__(self) -> None:
        self.bodies: list[Json] = []

    def tell(self, type_: str, **data: object) -> Story:
        """One more event."""
        at = f"2026-11-05T08:{len(self.bodies) // 60:02}:{len(self.bodies) % 60:02}.500Z"
        self.bodies.append({"type": type_, "ts": at, "data": data})
        return self

    def begin(self, policy: Json = POLICY, **changes: object) -> Story:
        """What stands before anything else."""
        start: Json = {
            "session_id": SESSION, "docket_number": NUMBER, "label": "a vector", "argv": ["agent", "--do"],
            "cwd": "/home/dev/tree", "tool": "docket", "version": "1.0.0", "fold": "docket/fold/v1", "agent": "generic",
            "admission": "metered", "boundary": {"host": "127.0.0.1", "port": 41000}, "upstream_overrides": {},
            "host": {"platform": "Linux"}, "prices": {"schema": "docket/prices/v1", "as_of": "2026-11-01"},
        }  # fmt: skip
        self.tell("session.start", **(start | changes))
        return self.tell("policy.applied", name=policy["name"], digest=digest_of(policy), document=policy)

    def look(self, phase: str, files: int) -> Story:
        """A pass over the tree."""
        tree = digest(f"{phase} {files}".encode())
        return self.tell(
            "fs.snapshot", phase=phase, roots=["."], files=files, directories=1, symlinks=0, omissions=0,
            bytes_watched=10 * files, tree_sha256=tree,
        )  # fmt: skip

    def spawn(self) -> Story:
        """The agent's start."""
        return self.tell("proc.spawn", argv=["agent", "--do"], cwd="/home/dev/tree", env_set=["OPENAI_BASE_URL"],
                         isolation=["subreaper"])  # fmt: skip

    def price(self, pattern: str, fresh: str, cached: str | None, output: str) -> Story:
        """A family; dollars for a million tokens."""
        more = {} if cached is None else {"cached_input": cached}
        return self.tell("x-docket.price", pattern=pattern, input=fresh, output=output, source="typed", **more)

    def ask(self, call: int, provider: str, model: str, **changes: object) -> Story:
        """A request."""
        request: Json = {
            "call": call, "provider": provider, "wire": "openai-chat", "model": model, "method": "POST",
            "path": "/v1/chat/completions", "streaming": False, "fingerprint": "0123456789abcdef",
            "request_sha256": SOME, "body_bytes": 200, "held_usd": "0.01",
        }  # fmt: skip
        return self.tell("model.request", **(request | changes))

    def answer(
        self, call: int, of: tuple[str, str], usage: Json, parts: list[Json], bill: tuple[str, str], **changes: object
    ) -> Story:
        """A reply `of` a provider's model; `bill` is its cost and the running sum."""
        (provider, model), (cost, total) = of, bill
        reply: Json = {
            "call": call, "provider": provider, "model": model, "status": 200, "outcome": "complete",
            "latency_ms": 40 * call, "usage": usage, "usage_source": "reported", "components": parts, "cost_usd": cost,
            "cumulative_cost_usd": total, "assumed_price": False, "streaming": False, "response_bytes": 300,
            "response_sha256": OTHER,
        }  # fmt: skip
        return self.tell("model.response", **(reply | changes))

    def finish(self, spent: str, paths: tuple[Json, ...] = ({"path": "src/new.py"},)) -> Story:
        """An agent that ended by itself, and what it changed."""
        self.tell("proc.exit", exit_code=0, leftover_processes=0)
        for path in paths:
            self.tell(
                "fs.change", **path, change="added", after={"kind": "file", "mode": 420, "size": 10, "sha256": THIRD}
            )
        self.look("after", 2 + len(paths))
        return self.over(spent)

    def over(self, spent: str) -> Story:
        """The last two events."""
        self.tell("x-docket.budget", admission="metered", cap_usd="2.00", spent_usd=spent, overshoot_usd="0.00",
                  bound_usd="0.05", peak_held_usd="0.01")  # fmt: skip
        return self.tell("session.end", exit_code=0, exit_source="agent", duration_seconds="9.125", interrupted=False,
                         cost_usd=spent)  # fmt: skip


def counts(fresh: int, cached: int = 0, output: int = 0, **more: int) -> Json:
    """A usage: all input, the part of it from a cache, output."""
    return {"input_tokens": fresh, "cached_input_tokens": cached, "output_tokens": output, **more}


def part(model: str, cost: str, fresh: int, cached: int = 0, output: int = 0) -> Json:
    """A component."""
    return {"model": model, **counts(fresh, cached, output), "cost_usd": cost}


def opened(policy: Json = POLICY, **changes: object) -> Story:
    """A run up to the agent's start."""
    return Story().begin(policy, **changes).look("before", 2).spawn()


def called(**changes: object) -> Story:
    """A run with one call, before its end."""
    story = opened(**changes).price("gpt-5", "1.25", "0.125", "10").ask(1, "openai", "gpt-5")
    # 600 x 1.25 + 400 x 0.125 + 50 x 10 = 750 + 50 + 500
    return story.answer(1, ("openai", "gpt-5"), counts(1000, 400, 50), [part("gpt-5", "0.001300", 1000, 400, 50)],
                        ("0.001300", "0.001300"))  # fmt: skip


def plain() -> Story:
    """One call and a new file."""
    return called().finish("0.001300")


def idle(**changes: object) -> Story:
    """No call."""
    return opened(**changes).finish("0.00", ())


def several() -> Story:
    """Two models, one of them with writes to a cache and a search; a half micro-dollar that is rounded to even."""
    story = called()
    for name, fresh, cached, output in (
        ("claude-x", "3", "0.3", "15"),
        ("claude-x+cache-write-5m", "3.75", "3.75", "0"),
        ("claude-x+web-search", "10000", None, "0"),
    ):
        story.price(name, fresh, cached, output)
    story.ask(2, "anthropic", "claude-x")
    usage = counts(5000, 3000, 100, cache_write_5m_tokens=1500, web_searches=1)
    components = [
        part("claude-x+cache-write-5m", "0.005625", 1500),  # 1500 x 3.75
        part("claude-x+web-search", "0.01", 1),  # 1 x 10,000
        part("claude-x", "0.003900", 3500, 3000, 100),  # 500 x 3 + 3000 x 0.3 + 100 x 15
    ]
    story.answer(2, ("anthropic", "claude-x"), usage, components, ("0.019525", "0.020825"))
    story.ask(3, "openai", "gpt-5")
    # 2 x 1.25 = 2.5: to even, 2
    story.answer(3, ("openai", "gpt-5"), counts(2), [part("gpt-5", "0.000002", 2)], ("0.000002", "0.020827"))
    return story.finish("0.020827")


def estimated() -> Story:
    """Two calls, of one of which nobody counted the tokens, by a model without a price."""
    story = called().price("*", "15", "15", "75").ask(2, "openai", "gpt-next")
    # 100 x 15 + 10 x 75
    return story.answer(
        2, ("openai", "gpt-next"), counts(100, 0, 10), [part("gpt-next", "0.002250", 100, 0, 10)],
        ("0.002250", "0.003550"),
        usage_source="estimated", usage_note="no count came", outcome="cut", assumed_price=True,
    ).finish("0.003550")  # fmt: skip


def killed() -> Story:
    """A run whose record stops while a call is out."""
    return called().ask(2, "openai", "gpt-5")


def gap() -> Story:
    """A ledger that could not take two events."""
    story = called().tell("x-docket.evidence-gap", first_failing_seq=7, unwritten_events=2, detail="no space")
    return story.finish("0.001300")


def hit_of(reply: Json, seq: int, event_hash: str, key: str) -> Json:
    """A reply given again."""
    return {
        "provider": reply["provider"], "model": reply["components"][-1]["model"], "key": key,
        "origin": {"seq": seq, "hash": event_hash}, "method": "POST", "path": "/v1/chat/completions",
        "request_sha256": SOME, "body_bytes": 200, "fingerprint": "0123456789abcdef", "age_ms": 20,
        **{name: reply[name] for name in REPEATED},
        "avoided_cost_usd": reply["cost_usd"],
    }  # fmt: skip


def cached(hash_of: Callable[[list[Json], int], str]) -> Story:
    """A stored reply that is given again twice; `hash_of` is the hash of an event among those so far."""
    story = opened(CACHED).price("gpt-5", "1.25", "0.125", "10").ask(1, "openai", "gpt-5")
    story.answer(1, ("openai", "gpt-5"), counts(1000, 400, 50), [part("gpt-5", "0.001300", 1000, 400, 50)],
                 ("0.001300", "0.001300"), cache={"key": KEY_OF_ONE, "stored": True})  # fmt: skip
    seq = len(story.bodies) - 1
    hit = hit_of(story.bodies[seq]["data"], seq, hash_of(story.bodies, seq), KEY_OF_ONE)
    story.tell("model.cache_hit", **hit).tell("model.cache_hit", **hit)
    story.tell("note", code="cache-ceiling", message="two were given again", event="cache.hits_ceiling_reached")
    return story.finish("0.001300")


def cached_in_parts(hash_of: Callable[[list[Json], int], str]) -> Story:
    """The same of a reply of two components."""
    story = opened(CACHED).price("claude-x", "3", "0.3", "15").price("claude-x+cache-write-5m", "3.75", "3.75", "0")
    story.ask(1, "anthropic", "claude-x")
    components = [part("claude-x+cache-write-5m", "0.005625", 1500), part("claude-x", "0.003000", 500, 0, 100)]
    story.answer(1, ("anthropic", "claude-x"), counts(2000, 0, 100, cache_write_5m_tokens=1500), components,
                 ("0.008625", "0.008625"), cache={"key": KEY_OF_TWO, "stored": True})  # fmt: skip
    seq = len(story.bodies) - 1
    hit = hit_of(story.bodies[seq]["data"], seq, hash_of(story.bodies, seq), KEY_OF_TWO)
    return story.tell("x-docket.cache-hit", **hit).finish("0.008625")


def staged(decision: str = "commit") -> Story:
    """A stage with one new file, which landed or waits."""
    story = _on_a_stage(Story().begin()).look("before", 2).spawn()
    return _settled(story, decision).over("0.00")


def _on_a_stage(story: Story) -> Story:
    return story.tell(
        "x-docket.workspace-opened", transaction="0a1b2c3d4e5f", backend="copy", view="stage", settle="auto",
        manifest_sha256=SOME, files=2, directories=1, symlinks=0, bytes_staged=20, excluded=0, shared=0, protected=1,
        approved=False, not_preserved=0, store="/home/dev/.state/workspace-tx/0a1b2c3d4e5f",
    )  # fmt: skip


def _settled(story: Story, decision: str) -> Story:
    story.tell("proc.exit", exit_code=0, leftover_processes=0)
    made = {"kind": "file", "mode": 420, "size": 10, "sha256": THIRD}
    story.tell("fs.change", path="src/new.py", change="added", after=made).look("after", 3)
    why = {} if decision == "commit" else {"reason": "review-asked", "detail": "somebody is to look at it"}
    story.tell(
        "x-docket.workspace-intent", transaction="0a1b2c3d4e5f", decision=decision, result_sha256=OTHER,
        diff_sha256=THIRD, added=1, modified=0, removed=0, retyped=0, protected=0, approval="none", base_moved=False,
        not_preserved=[], excluded_writes=[], excluded_write_count=0, **why,
    )  # fmt: skip
    landed = {"outcome": "committed", "plan_sha256": SOME, "applied": 1, "already": 0}
    waits = {"outcome": "left-for-review", **why}
    told = landed if decision == "commit" else waits
    return story.tell("x-docket.workspace-settled", transaction="0a1b2c3d4e5f", **told)


def everything(hash_of: Callable[[list[Json], int], str], proof: Json) -> Story:
    """Rows in parts, replies given again, windows, assertions and a stage that landed, under `proof`."""
    story = _on_a_stage(Story().begin(CACHED, proof=proof)).look("before", 2).spawn()
    story.price("claude-x", "3", "0.3", "15").price("claude-x+cache-write-5m", "3.75", "3.75", "0")
    components = [part("claude-x+cache-write-5m", "0.005625", 1500), part("claude-x", "0.003000", 500, 0, 100)]
    usage = counts(2000, 0, 100, cache_write_5m_tokens=1500)
    story.ask(1, "anthropic", "claude-x")
    story.answer(1, ("anthropic", "claude-x"), usage, components, ("0.008625", "0.008625"), tool_use_ids=["toolu_a"],
                 cache={"key": KEY_OF_TWO, "stored": True})  # fmt: skip
    several = len(story.bodies) - 1
    story.price("gpt-5", "1.25", "0.125", "10").ask(2, "openai", "gpt-5")
    one = [part("gpt-5", "0.001300", 1000, 400, 50)]
    story.answer(2, ("openai", "gpt-5"), counts(1000, 400, 50), one, ("0.001300", "0.009925"),
                 cache={"key": KEY_OF_ONE, "stored": True})  # fmt: skip
    single = len(story.bodies) - 1
    for kind, seq, key in (("model.cache_hit", single, KEY_OF_ONE), ("x-docket.cache-hit", several, KEY_OF_TWO)):
        story.tell(kind, **hit_of(story.bodies[seq]["data"], seq, hash_of(story.bodies, seq), key))
    story.tell("note", code="cache-ceiling", message="two were given again", event="cache.hits_ceiling_reached")
    window = _window("toolu_a", "a1" * 16, "11" * 20, "stage")
    _told(story, "toolu_a", window)
    _closed(story, "toolu_a", window, "d1" * 32, tree_after="22" * 20, scope="tool", members=1, files=2)
    story.tell("x-docket.hook-lost", kind="malformed", count=1)
    story.tell("net.denied", reason="bad_token", kind="door", count=2)
    story.tell("x-docket.asserted-call", provider="local", model="m", input_tokens=70, cached_input_tokens=0,
               output_tokens=9, reported_by="agent")  # fmt: skip
    return _settled(story, "commit").over("0.009925")


def windowed() -> Story:
    """A call that asks for two tools, one by itself, two windows that overlapped, one that told nothing."""
    story = called().price("claude-x", "3", "0.3", "15").ask(2, "anthropic", "claude-x")
    # 101 x 3 + 20 x 15 = 603 micro-dollars over two tools: 302 and 301
    story.answer(2, ("anthropic", "claude-x"), counts(101, 0, 20), [part("claude-x", "0.000603", 101, 0, 20)],
                 ("0.000603", "0.001903"), tool_use_ids=["toolu_a", "toolu_b"])  # fmt: skip
    alone = _window("toolu_a", "a1" * 16, "11" * 20)
    _told(story, "toolu_a", alone)
    _closed(story, "toolu_a", alone, "d1" * 32, tree_after="22" * 20, scope="tool", members=1, files=2)
    both = {name: _window(name, "b2" * 16, "22" * 20) for name in ("toolu_b", "toolu_c")}
    for name, window in both.items():
        _told(story, name, window)
    for name, window in both.items():
        story.tell(
            "tool.result",
            name="Bash",
            ok=name == "toolu_b",
            id=name,
            reported_by="agent",
            window_id=window["window_id"],
        )
    for name, window in both.items():
        _delta(story, name, window, "d2" * 32, tree_after="33" * 20, scope="concurrent_group", members=2, files=1)
    story.tell("x-docket.hook-lost", kind="malformed", count=1).tell("x-docket.hook-lost", kind="malformed", count=2)
    return story.finish("0.001903")


def _window(tool_use_id: str, group: str, tree: str, mode: str = "tree") -> Json:
    key: Json = {"repository": "0e" * 16, "provider": "claude", "session_id": "s", "turn_id": "t", "mode": mode}
    name = digest_of({**key, "tool_use_id": tool_use_id})[:32]
    return {**key, "window_id": name, "group_id": group, "tree": tree, "hashes": "sha1", "head": "44" * 20}


def _told(story: Story, tool_use_id: str, window: Json) -> None:
    story.tell(
        "tool.call", name="Bash", id=tool_use_id, input_bytes=9, input_sha256=SOME, reported_by="agent", window=window
    )


def _closed(story: Story, tool_use_id: str, window: Json, sha256: str, **more: object) -> None:
    story.tell("tool.result", name="Bash", ok=True, id=tool_use_id, reported_by="agent", window_id=window["window_id"])
    _delta(story, tool_use_id, window, sha256, **more)


def _delta(story: Story, tool_use_id: str, window: Json, sha256: str, **more: object) -> None:
    story.tell(
        "x-docket.tool-delta", window_id=window["window_id"], id=tool_use_id, name="Bash", delta_sha256=sha256,
        status="complete", group_id=window["group_id"], tree_before=window["tree"], **more,
    )  # fmt: skip


def asserted() -> Story:
    """What an agent says of itself, beside one call that was seen."""
    story = called().tell("tool.call", name="bash", id="t1", reported_by="agent")
    story.tell("tool.result", name="bash", ok=False, id="t1", error="exit 1", reported_by="agent")
    story.tell("x-docket.asserted-call", provider="local", model="m", input_tokens=7000, cached_input_tokens=0,
               output_tokens=90, latency_ms=3, reported_by="agent")  # fmt: skip
    story.tell("note", code="plan", message="two files", reported_by="agent")
    return story.tell("note", code="recipe", message="docket's own").finish("0.001300")


def busy() -> Story:
    """Refusals, errors, a tunnel, a cap, a violation, an event of a later docket."""
    story = opened(upstream_overrides={"openai": "http://127.0.0.1:9"})
    story.tell("x-docket.other", provider="openai", method="GET", path="/v1/models", status=200, response_bytes=5)
    story.tell("net.denied", reason="bad_token", kind="door", count=2)
    story.tell("net.denied", reason="egress_host", kind="tunnel", count=1, host="x.example", port=443)
    story.tell("net.allowed", tunnel=1, kind="tunnel", host="y.example", port=443, address="203.0.113.7")
    story.tell("x-docket.net-closed", tunnel=1, outcome="closed", sent_bytes=1, received_bytes=2, duration_ms=3)
    story.ask(1, "openai", "gpt-5", altered=["max_tokens"], forwarded_sha256=OTHER)
    story.tell("model.error", call=1, provider="openai", model="gpt-5", status=529, latency_ms=4,
               reason="upstream_status", error="overloaded", response_bytes=8)  # fmt: skip
    story.price("gpt-5", "1.25", "0.125", "10").ask(2, "openai", "gpt-5")
    # 1,000,000 x 1.25 + 70,000 x 10
    story.answer(2, ("openai", "gpt-5"), counts(1_000_000, 0, 70_000), [part("gpt-5", "1.95", 1_000_000, 0, 70_000)],
                 ("1.95", "1.95"))  # fmt: skip
    story.tell("cap.warning", cap="max_usd", threshold="0.8", used_pct="97.5", used="1.95", limit="2.00")
    story.tell("cap.exceeded", cap="max_usd", limit="2.00", used="1.95", cost_usd="1.95", tokens=1_070_000, calls=1,
               action="kill", detail="the next call would cross it")  # fmt: skip
    story.tell("model.denied", provider="openai", model="gpt-5", reason="max_usd", cap="max_usd", detail="spent",
               status=400, path="/v1/chat/completions")  # fmt: skip
    story.tell("x-docket.of-a-later-docket", anything=[1, None, {"deep": True}])
    story.tell("policy.violation", rule="files.deny_write", path=".env", detail="it was written")
    return story.finish("1.95", ({"path": ".env"}, {"path": "two\nlines"}, {"path_b64": "Y2Fm6Q=="}))
