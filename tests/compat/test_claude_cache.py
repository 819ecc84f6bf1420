"""Claude Code, the real program, asked the same twice in one run: the second answer comes from the cache."""

from __future__ import annotations

import shlex

from agent_lab import assert_consistent, program, provider_for

from docket.demo.script import Script, Tokens, Turn

ASKED = [
    "claude", "-p", "say hello", "--output-format", "text", "--model", "claude-haiku-4-5",
    "--dangerously-skip-permissions",
]  # fmt: skip


def test_the_same_question_again_is_answered_from_the_cache(lab):
    program("claude")
    script = Script(
        side=Turn(text='{"title":"A title"}', tokens=Tokens(fresh=10, output=2)),
        turns=(Turn(text="Hello.", tokens=Tokens(fresh=1000, cache_write_5m=200, output=50)),),
    )
    twice = f"{shlex.join(ASKED)} && {shlex.join(ASKED)}"
    made = lab.with_variables(ANTHROPIC_API_KEY="sk-ant-dummy")
    with provider_for(script) as provider:
        flags = ["--max-usd", "5", "--cache", "--upstream", f"anthropic={provider.url}"]
        run = made.docket_run(flags, ["sh", "-c", twice])
    assert run.exit_code == 0, run.said
    assert run.stdout.count("Hello.") == 2, run.said
    hits = run.of_type("model.cache_hit") + run.of_type("x-docket.cache-hit")
    # Haiku 4.5: 1000 x 1 + 200 x 1.25 + 50 x 5, in micro-dollars
    assert [hit["avoided_cost_usd"] for hit in hits if hit["model"].startswith("claude-haiku")][-1] == "0.001500"
    assert_consistent(run)
