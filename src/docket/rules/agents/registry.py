"""The launch recipes, and which one a command line asks for."""

from __future__ import annotations

from docket.errors import UsageError
from docket.formats.nearest import nearest
from docket.formats.reason import Reason
from docket.rules.agents.aider import AiderRecipe
from docket.rules.agents.claude import ClaudeRecipe
from docket.rules.agents.cline import ClineRecipe
from docket.rules.agents.codex import CodexRecipe
from docket.rules.agents.copilot import CopilotRecipe
from docket.rules.agents.gemini import GeminiRecipe
from docket.rules.agents.generic import GenericRecipe, UntouchedRecipe
from docket.rules.agents.interface import Recipe
from docket.rules.agents.mini import MiniRecipe
from docket.rules.agents.opencode import OpencodeRecipe
from docket.rules.agents.pi import PiRecipe
from docket.rules.agents.qwen import QwenRecipe

GENERIC: Recipe = GenericRecipe()

RECIPES: tuple[Recipe, ...] = (
    ClaudeRecipe(),
    CodexRecipe(),
    GeminiRecipe(),
    OpencodeRecipe(),
    CopilotRecipe(),
    AiderRecipe(),
    MiniRecipe(),
    QwenRecipe(),
    PiRecipe(),
    ClineRecipe(),
    GENERIC,
    UntouchedRecipe(),
)

# Short names, here and for the presets of `docket init`.
ALIASES = {"claude": "claude-code", "mini": "mini-swe-agent"}


def names() -> tuple[str, ...]:
    """Return what `--agent` takes."""
    return tuple(recipe.name for recipe in RECIPES)


def recognise(argv: tuple[str, ...], name: str | None = None) -> Recipe:
    """Return the recipe of that name, else the first that knows the program; UsageError for an unknown name."""
    if name is not None:
        wanted = ALIASES.get(name, name)
        for recipe in RECIPES:
            if recipe.name == wanted:
                return recipe
        detail = f"no agent is called {name!r}{did_you_mean(name, names())}"
        raise UsageError(Reason.USAGE, detail, hint=f"known: {', '.join(names())}")
    return next((recipe for recipe in RECIPES if recipe.recognises(argv)), GENERIC)


def did_you_mean(name: str, known: tuple[str, ...]) -> str:
    """Return the end of a sentence about an unknown name: which of the known ones it may have meant, or nothing."""
    near = nearest(name, (*known, *ALIASES))
    return f"; did you mean {ALIASES.get(near[0], near[0])}?" if near else ""
