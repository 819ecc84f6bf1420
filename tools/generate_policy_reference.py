"""Write `docs/reference/policy.md` from the key table of `docket.formats.run.policy`.

Run it when a key changes: `python tools/generate_policy_reference.py`. A test compares the file with what this gives.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from docket.formats.run.policy import KEYS, NAME_KEY, SECTIONS, Key, OnBreach
from docket.rules.policy.enforced import FOR_A_STAGE, LIMITS_OF_A_STAGE

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "policy.md"

OPENING = f"""# Policy

<!-- Written by tools/generate_policy_reference.py. Change the key table, not this file. -->

A policy says what a run may spend, reach and touch. It is a TOML file; every key is optional. `docket init` writes one
with all keys explained.

```toml
[caps]
max_usd = 5.00
on_breach = "{OnBreach.KILL}"

[models]
allow = ["claude-*"]

[files]
deny_write = [".env", "secrets/"]
```

## Reading

- A key or section that is not known is an error, and so is a value of another type. Errors name the key, its line and
  the nearest known key, all of a file's together: `docket.toml: line 2: caps.max_usdd is not a known key; the nearest
  is caps.max_usd`. Nothing is started (exit code 43).
- Amounts are exact: at most six decimals of a dollar, as a number or a text. NaN, infinities and negative numbers are
  refused.
- The file is UTF-8 without a byte order mark, at most 1 MiB.
- Naming a key of `cache`, `evidence` or `snapshot` switches it on, unless `enabled = false` or
  `record_responses = false` stands beside it.

## Which policy holds

1. The base is the file named with `--policy`, else `policy.toml` in your configuration folder, else the defaults.
2. `docket.toml` in the folder of the run may then only tighten the base. If it is the very file named with `--policy`,
   you vouch for it, and it is the base.
3. Flags have the last word: a cap, `--on-breach`, `--admission`, `--budget-mode`, `--allow-model`,
   `--max-calls-per-minute`, `--cache` and its kin, `--record-responses`, `--snapshot` and its kin, and `--upstream`
   replace what the policy says. `--pool` and `--deny-model` add to it, and a sub-budget replaces that of its pattern.

What comes out is the effective policy. It is what is digested, recorded and embedded in the receipt.

## A policy in the tree

A repository is not trusted with your money or your machine. A key of its `docket.toml` that would loosen anything keeps
your value, and one warning names the key. The last column of the tables says what it may do. `docket.toml` is itself a
protected path: a change to it during a run is always a violation.

## Keys

A key without a default is off. Patterns of models are matched without regard to case, with `*`, `?` and `[...]`.
Patterns of files are those of `.gitignore`.
"""

UPSTREAMS = """### `[upstreams]`

Where a provider's calls go instead of its own address, as `NAME = "URL"`. A URL has no user, query or fragment. In the
tree: never followed.

```toml
[upstreams]
openai = "https://gateway.example.com/v1"
```
"""

_LATER = ", ".join(f"`{key.path}`" for section in SECTIONS for key in section.table() if key.later)
DOCUMENT = f"""## The digested document

The record holds the effective policy as JSON. Every key of every section stands in it, amounts and fractions as decimal
strings, whole numbers as integers, an absent cap as null, and the policy's name as `name` at the top. `cache`,
`evidence`, `snapshot`, `workspace` and `upstreams` stand in it only when they differ from their defaults, so that the
digest of a policy that does not use them stays what it was. The digest is the SHA-256 of the canonical JSON. Keys that
came later than their section are left out in the same way:

{textwrap.fill(_LATER, 120, break_on_hyphens=False)}.
"""

# What a file in the tree may do with a key; a test holds this table against the rules.
IN_THE_TREE = {
    "policy.name": "names the policy if yours has no name",
    "budget.mode": "never",
    "budget.admission": "`metered`, `strict`",
    "budget.lower_max_tokens": "`false`",
    "budget.pools": "never",
    "caps.on_sub_breach": "`kill`",
    "budget.unknown_models": "`refuse`",
    "budget.unknown_endpoints": "`refuse`",
    "budget.pass_endpoints": "fewer",
    "models.allow": "fewer",
    "models.deny": "more",
    "models.priced_as": "never",
    "caps.on_breach": "`kill`",
    "egress.mode": "`deny`",
    "egress.allow": "fewer",
    "files.watch": "more",
    "files.ignore": "never",
    "files.deny_write": "more, without `!`",
    "resilience.breaker_cooldown_seconds": "higher",
    "resilience.breaker_max_cooldown_seconds": "higher",
    "resilience.max_pace_wait_seconds": "never",
    "resilience.fail_fast_evidence": "`true`",
    "resilience.min_free_bytes": "higher",
    "cache.enabled": "`false`",
    "evidence.record_responses": "never",
    "evidence.record_response_max_bytes": "never",
    "evidence.record_total_max_bytes": "never",
    "snapshot.enabled": "`true`",
    "snapshot.max_file_bytes": "higher",
    "snapshot.rollback_on_breach": "never",
    "proof.sign": "never",
    "proof.seal": "never",
    "windows.enabled": "`true`",
    "workspace.transaction": "`true`",
    "workspace.backend": "never",
    "workspace.settle": "`review`, `discard`",
    "workspace.exclude": "never",
    "workspace.share": "never",
    "workspace.protect": "more, without `!`",
}


def render() -> str:
    """Return the page."""
    parts = [OPENING, "### `[policy]`\n", _table((NAME_KEY,))]
    for section in SECTIONS:
        parts += [f"### `[{section.NAME}]`\n", section.PURPOSE + "\n", _table(section.table())]
    return "\n".join([*parts, UPSTREAMS, _not_yet(), DOCUMENT])


def _table(keys: tuple[Key, ...]) -> str:
    rows = ["| key | type | default | meaning | in the tree |", "|---|---|---|---|---|"]
    for key in keys:
        meaning = f"{key.summary} Must be {key.kind.wants}." if key.kind.wants not in key.summary else key.summary
        rows.append(
            f"| `{key.name}` | {key.kind.toml_type} | {_default(key)} | {_cell(meaning)} | "
            f"{IN_THE_TREE.get(key.path, 'lower')} |"
        )
    return "\n".join([*rows, ""])


def _default(key: Key) -> str:
    value = key.kind.to_json(key.default)
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(key.default, str):
        return f"`{value}`"
    return f"`{_cell(json.dumps(value))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _not_yet() -> str:
    refused = ", ".join(f"`{path}`" for path in LIMITS_OF_A_STAGE)
    recorded = ", ".join(f"`{path}`" for path in FOR_A_STAGE)
    return (
        "## Without a stage\n\n"
        f"Without `workspace.transaction` these keys are recorded and have no effect: {recorded}. A limit that would "
        f"not be held refuses the run: {refused}.\n"
    )


if __name__ == "__main__":
    unknown = set(IN_THE_TREE) - {key.path for key in KEYS}
    if unknown:
        raise SystemExit(f"no such keys: {sorted(unknown)}")
    OUTPUT.write_text(render(), encoding="utf-8")
