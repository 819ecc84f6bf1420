"""What is known to everybody, and so gives nobody away: public models, providers, tools of agents, words of protocols.

Rules: a list is of exact words. What is on none of them is taken for somebody's own.
"""

from __future__ import annotations

import re

from docket.formats.dataclass import dataclass
from docket.rules.providers.registry import names as provider_names

METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT"))
SERVICE = frozenset(
    ("auto", "batch", "default", "fast", "flex", "on_demand", "optimized", "performance", "priority", "scale",
     "standard", "standard_only", "global", "not_available", "us", "eu")
)  # fmt: skip
PROVIDERS = frozenset(provider_names())
AGENTS = frozenset(("", "main"))
AGENT_PARTS = frozenset(("main", "sub", "sub:", ":"))
TOOLS = frozenset(
    ("Agent", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS", "MultiEdit",
     "NotebookEdit", "NotebookRead", "Read", "Skill", "SlashCommand", "Task", "TodoRead", "TodoWrite",
     "ToolSearch", "WebFetch", "WebSearch", "Write", "apply_patch", "bash", "container.exec", "edit",
     "exec_command", "fetch", "glob", "google_web_search", "grep", "list", "list_directory", "local_shell",
     "multiedit", "patch", "read", "read_file", "read_many_files", "replace", "run_shell_command",
     "save_memory", "search_file_content", "shell", "task", "todoread", "todowrite", "unified_exec",
     "update_plan", "view_image", "web_fetch", "web_search", "webfetch", "write", "write_file", "write_stdin",
     "write_todos")
)  # fmt: skip
_ENVIRONMENT = frozenset(
    ("ADC", "AIDER", "ALL", "ANALYTICS", "ANTHROPIC", "API", "ASSIST", "AUTH", "AUTO", "AWS", "BACKEND", "BASE",
     "BEARER", "BEDROCK", "BOUNDARY", "CACHE", "CA", "CERT", "CERTS", "CHECK", "CLAUDE", "CLI", "CLINE", "CODE",
     "CODEX", "CODING", "COMPUTE", "CONFIG", "CONFIGURED", "CONTENT", "COPILOT", "COST", "DATA", "DEEPSEEK",
     "DEFAULT", "DIR", "DISABLE", "DOCKET", "ENDPOINT", "ENV", "EXTRA", "FETCH", "FILE", "FOUNDRY", "GCA",
     "GEMINI", "GENAI", "GLOBAL", "GOOGLE", "GROQ", "HEADERS", "HOME", "HTTP", "HTTPS", "KEY", "LITELLM",
     "LOCAL", "MANTLE", "MAP", "MISTRAL", "MODE", "MODEL", "MODELS", "MSWEA", "NO", "NODE", "NONESSENTIAL",
     "NOTES", "NUMBER", "OFFLINE", "OPENAI", "OPENCODE", "OPENROUTER", "PATH", "PI", "PROJECT", "PROVIDER",
     "PROXY", "PURE", "QWEN", "REGION", "RELEASE", "REQUESTS", "SANDBOX", "SESSION", "SET", "SETTINGS", "SHELL",
     "SHOW", "SILENT", "SKIP", "SOCKET", "SSL", "STARTUP", "SYSTEM", "TELEMETRY", "TOKEN", "TRACKING",
     "TRAFFIC", "TRANSPORT", "TYPE", "UNIX", "UPDATE", "URL", "USE", "VERSION", "VERTEX", "VERTEXAI", "XDG")
)  # fmt: skip
_DATE = re.compile(r"-(?:20[0-9]{2}-?[01][0-9]-?[0-3][0-9]|latest)\Z")
_BY_BOOK = re.compile(
    r"(?:assumed: )?(?:(?P<what>[^ ,]+), |the dearest prices of (?P<section>[a-z0-9-]+), )?"
    r"(?:docket/price-book/v1|docket/prices/v1) as of (?:20[0-9]{2}-[01][0-9]-[0-3][0-9]|unknown)"
)
_BY_RULE = frozenset(("quota mode: counted, not priced", "free by rule: the provider's host is local"))
_SECTIONS = PROVIDERS | frozenset(
    ("aws", "azure", "baseten", "cerebras", "cohere", "google", "meta", "minimax", "moonshotai", "novita",
     "perplexity", "x-ai", "zai")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPrices:
    """What everybody can read in the price table that docket ships: its models, in lower case, and its digest."""

    models: frozenset[str] = frozenset()
    digest: str = ""

    def knows(self, model: str) -> bool:
        """Whether a model is of that table, by its name with or without a vendor before it or a date behind it."""
        name = model.lower()
        bare = _DATE.sub("", name)
        return any(form in self.models for form in (name, bare, name.rpartition("/")[2], bare.rpartition("/")[2]))

    def knows_part(self, text: str) -> bool:
        """Whether a text is a part of a public name, as that of a pattern is."""
        lowered = text.lower()
        return self.knows(text) or any(lowered in model for model in self.models)

    def is_source(self, text: str) -> bool:
        """Whether a text says that a price is one of that table's, or of a rule of docket's."""
        match = _BY_BOOK.fullmatch(text)
        if match is None:
            return text in _BY_RULE
        section, _, model = (match["what"] or match["section"] or "aws").partition("/")
        return section in _SECTIONS and (not model or self.knows(model.partition("+")[0]))


def is_known_variable(name: str) -> bool:
    """Whether the name of a variable is made of words that variables of agents and of systems are made of."""
    return all(word.upper() in _ENVIRONMENT for word in name.split("_"))
