"""Write docs/reference/agents.md from the launch recipes' own values; a test holds the page to them.

Usage: python tools/generate_agents_reference.py
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from docket.rules.agents.described import described
from docket.rules.agents.hook_files import FILES
from docket.rules.agents.hook_shape import HookShape
from docket.rules.agents.hook_shapes import SHAPES
from docket.rules.agents.interface import AgentFacts, Recipe
from docket.rules.agents.registry import RECIPES
from docket.rules.windows.tool_event import Joins

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "agents.md"
WIDTH = 120
HEAD = """\
# Agents

`docket run -- PROGRAM …` recognises the program and points it at docket. `--agent NAME` names the recipe instead, for a
wrapper script say; `--agent none` changes nothing, and then nothing is metered or capped. `docket agents` shows what
stands here, and which of them are installed.
"""
COMMON = """\
## What holds for all

- A provider stands at `http://127.0.0.1:PORT/TOKEN/PROVIDER`, or at `http://127.0.0.1:PORT/PROVIDER` for requests with
  the run's token in the header `x-docket-token`. It goes into a header or a file of the run where an agent offers that,
  never into its arguments, and no provider gets to see it. `OPENAI_BASE_URL`, `OPENAI_API_BASE`, `ANTHROPIC_BASE_URL`,
  `ANTHROPIC_API_BASE` and `AIDER_OPENAI_API_BASE` point there, for the agent and for what it starts. `NO_PROXY` and
  `no_proxy` keep what they held and gain the loopback.
- `DOCKET_NUMBER` and `DOCKET_SESSION` name the run to the agent and to what it starts.
- Your own configuration is read, never written. An address you had configured, in a variable, a file or an argument,
  becomes where docket forwards to. `--upstream` and `[upstreams]` of your policy beat it.
- A repository does not choose where calls go. What its files say about that is not followed, and a note tells it; what
  cannot be overruled refuses the run (exit code 43).
- If two variables name different addresses for one provider, the first of the list above is followed. The other is
  left as it is: calls made through it are not metered, and a note says so.
- docket refuses a call in the protocol's own error shape, with a status that the agent takes as final. Its retries stay
  as they are, for the real faults of a provider. [How long that takes](refusal-times.md) is measured.
- A run in which no call arrived says so at its end.
"""

HOOKS = """\
## Hooks

By its hooks an agent tells docket of its tool calls, and docket keeps
[what each of them changed](../how-to/see-each-tool-call.md). `docket run --windows` gives them to the agent for that
run alone; `docket hooks install` puts them into a file. The others of this page have none that docket knows.

- A tool use is known by the wire's id, so that it is joined with the model call that asked for it; by the agent's own
  where hooks have another; or by one that docket *derives* from the tool, what it was asked for and when it began.
- Hooks that you switched off yourself stay off, and a note says so. A repository cannot switch them off.
- codex runs no hook that nobody trusts. In a run docket names the digests of its own by `-c`, so that they are trusted
  and no other is.
- A payload that docket does not know is kept by its shape, the names of its members, and decides nothing.

"""


def page() -> str:
    """Return the page: what holds for all, then each recipe."""
    rows = ["| recipe | programs | tried on | a refusal is |", "|---|---|---|---|"]
    rows += [_row(recipe) for recipe in RECIPES if recipe.name != "none"]
    sections = [_section(recipe) for recipe in RECIPES]
    hooks = ["| agent | tried on | in a run | set up for good | its tools' ids | events |", "|---|---|---|---|---|---|"]
    hooks += [_hook_row(shape) for shape in SHAPES]
    return "\n".join([HEAD, *rows, "", COMMON, HOOKS + "\n".join(hooks), "", *sections])


def _hook_row(shape: HookShape) -> str:
    file = FILES.get(shape.provider)
    place = "by you, in a file of an agent of yours" if file is None else f"`~/{file.user}`, or `{file.project}`"
    tried = ", ".join(shape.tried) or "documentation alone"
    return f"| `{shape.provider}` | {tried} | {shape.in_a_run} | {place} | {_ids(shape)} | {_code(shape.hooked)} |"


def _ids(shape: HookShape) -> str:
    if not shape.has_tool_use_id:
        return "derived"
    worth = {shape.worth(name) for name in ("exec-1", "call_1")}
    if worth == {Joins.WIRE}:
        return "the wire's"
    return "its own" if worth == {Joins.OWN} else "the wire's; in code mode its own"


def _row(recipe: Recipe) -> str:
    facts = recipe.facts
    programs = f"`{facts.program}`" if facts.program else "any other"
    also = f", also through {facts.also_as}" if facts.also_as else ""
    status = described(recipe).refusal_status
    return f"| `{recipe.name}` | {programs}{also} | {', '.join(facts.tried)} | HTTP {status} |"


def _section(recipe: Recipe) -> str:
    facts, does = recipe.facts, described(recipe)
    lines = [f"## {recipe.name}", "", *_wrapped(f"{facts.title} is reached by {facts.reached}."), ""]
    for name, text in (
        ("The token stands", facts.token),
        ("Sets", _code(does.variables)),
        ("Adds the arguments", f"`{' '.join(does.arguments)}`" if does.arguments else ""),
        ("Writes", _code(does.files)),
        ("Switched off", facts.quiet),
        ("Refusals", facts.retries),
        ("Tool calls", "[hooks](#hooks) tell of them in a run with `--windows`" if does.has_hooks else ""),
        ("Usage", "asked for in a stream that does not ask for it" if does.asks_for_usage else ""),
        ("Sub-agents are told apart by", _code(does.agent_headers)),
        ("When it is stopped", facts.signals),
    ):
        lines += _item(f"{name}: {text}" if text else "")
    for title, sentences in _lists(facts):
        lines += ["", f"{title}:", ""]
        for sentence in sentences:
            lines += _item(sentence)
    return "\n".join([*lines, ""])


def _lists(facts: AgentFacts) -> list[tuple[str, tuple[str, ...]]]:
    named = [("Not started", facts.refused), ("Limits", facts.limits), ("Good to know", facts.remarks)]
    return [(title, sentences) for title, sentences in named if sentences]


def _code(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent and f"{indent[:-2]}- ",
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _item(text: str) -> list[str]:
    return _wrapped(text, "  ") if text else []


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
