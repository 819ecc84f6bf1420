"""Which policy holds: the order of the files and flags.

Rules (docs/reference/policy.md, Which policy holds):
1. The base is the file named with `--policy`, else the person's own `policy.toml`, else the defaults.
2. A policy file in the tree may then only tighten, unless it is the file the person named: who names it vouches for it.
3. Flags have the last word.
4. A policy file inside the tree is a protected path, and so is the place where one would be read.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.dataclass import dataclass, field
from docket.formats.relpath import RelPath
from docket.formats.run.policy import Policy
from docket.rules.policy.override import Overrides, override
from docket.rules.policy.tighten import tighten

TREE_POLICY = "docket.toml"
USER_POLICY = "policy.toml"
_SPECIAL = frozenset("\\*?[]!#")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy as read; `source` names the file, the same text for the same file."""

    policy: Policy
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySources:
    """What may have a say, None where a file does not exist."""

    named: PolicyFile | None = None
    user: PolicyFile | None = None
    tree: PolicyFile | None = None
    overrides: Overrides = field(default_factory=Overrides)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePolicy:
    """The policy that holds, where it comes from (None: defaults and flags alone), and what was not followed."""

    policy: Policy
    source: str | None
    warnings: tuple[str, ...]


def effective_policy(sources: PolicySources) -> EffectivePolicy:
    """Return the policy that holds; UsageError where the flags contradict it."""
    base = sources.named or sources.user
    policy = Policy() if base is None else base.policy
    source = None if base is None else base.source
    warnings: tuple[str, ...] = ()
    tree = sources.tree
    if tree is not None and (base is None or base.source != tree.source):
        tightened, ignored = tighten(policy, tree.policy)
        if tightened != policy:
            source = tree.source if source is None else f"{source}, tightened by {tree.source}"
        policy = tightened
        warnings = tuple(f"{tree.source}: {sentence}" for sentence in ignored)
    return EffectivePolicy(policy=override(policy, sources.overrides), source=source, warnings=warnings)


def protected_selectors(policy_files: Iterable[RelPath]) -> tuple[str, ...]:
    """Return the `deny_write` patterns that protect policy files in the tree, each exactly its path."""
    paths = dict.fromkeys([RelPath.parse(TREE_POLICY.encode()), *policy_files])
    return tuple(f"/{_literal(path)}" for path in paths)


def _literal(path: RelPath) -> str:
    text = path.raw.decode("utf-8", "surrogateescape")
    escaped = "".join(f"\\{char}" if char in _SPECIAL else char for char in text)
    # A blank at the end of a pattern is dropped unless it is escaped.
    return escaped if not escaped.endswith(" ") else escaped[:-1] + "\\ "
