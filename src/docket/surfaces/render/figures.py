"""Words and figures that every rendering of a receipt shares: how it ended, what it cost, in which form.

Pure functions from a receipt document to text; layout belongs to `text` and `markdown`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TypeGuard

from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.digest import is_digest
from docket.formats.lenient import count_at, part, texts_at
from docket.formats.proof.origin import fingerprint
from docket.formats.workspace.scope import UNSETTLED, Decision, Settled

ALL_PATHS = "the ledger names every one (fs.change)"


def text(document: JsonObject, *names: str, default: str = "unknown") -> str:
    """Return a nested member as text."""
    value = part(document, *names)
    return default if value is None else str(value)


MODEL_HEADINGS = ("Model", "Rows", "Input", "Cached", "Output", "Cost")


def model_cells(row: JsonObject) -> tuple[str, ...]:
    """Return a row of `totals.by_model` as texts under MODEL_HEADINGS."""
    counts = (f"{count_at(row, n):,}" for n in ("calls", "input_tokens", "cached_input_tokens", "output_tokens"))
    return (text(row, "model"), *counts, f"${text(row, 'cost_usd')}")


def command_line(document: JsonObject) -> str:
    """Return the agent's command as one could type it."""
    return shlex.join(texts_at(document, "session", "argv"))


def ending(document: JsonObject) -> str:
    """Return in a few words how the run ended."""
    breached = part(document, "session", "breached")
    code = part(document, "session", "exit_code")
    if breached:
        return f"stopped by the cap {breached}, exit {code}"
    if part(document, "session", "interrupted"):
        return f"interrupted, exit {code}"
    if code is None:
        return "no recorded end"
    source = part(document, "session", "exit_source")
    whose = {"agent": "the agent's own", "docket": "docket's own", "signal": "by a signal"}.get(str(source), "")
    return f"exit {code}" + (f" ({whose})" if whose and code != 0 else "")


def duration(document: JsonObject) -> str:
    """Return how long the run lasted."""
    seconds = part(document, "session", "duration_seconds")
    return "not known: the record has no end" if seconds is None else f"{seconds} s"


def spend(document: JsonObject) -> str:
    """Return spend against its cap; in quota mode that is tokens."""
    if part(document, "policy", "document", "budget", "mode") == "quota":
        most = part(document, "policy", "document", "caps", "max_tokens")
        limit = f" of {most:,}" if isinstance(most, int) else ""
        return f"{count_at(document, 'totals', 'total_tokens'):,}{limit} tokens (quota)"
    cost = f"${text(document, 'totals', 'cost_usd', default='0.00')}"
    cap = part(document, "policy", "document", "caps", "max_usd")
    admission = part(document, "policy", "document", "budget", "admission")
    if cap is None:
        return f"{cost} (no cap in dollars)"
    return f"{cost} of ${cap}" + (f" ({admission})" if admission else "")


def calls(document: JsonObject) -> str:
    """Return how many model calls were made, refused and failed."""
    made = count_at(document, "model_calls", "count")
    refused, errors = count_at(document, "model_calls", "denied"), count_at(document, "model_calls", "errors")
    extra = [f"{refused} refused"] * bool(refused) + [f"{errors} failed"] * bool(errors)
    return ", ".join([plural(made, "call"), *extra])


def proxied(document: JsonObject) -> str:
    """Return what went through the proxy and what it refused, empty where neither happened."""
    allowed, denied = (count_at(document, "network", f"tunnels_{what}") for what in ("allowed", "denied"))
    return f"{plural(allowed, 'connection')} through the proxy, {denied} refused" if allowed or denied else ""


def files(document: JsonObject) -> str:
    """Return how many files changed and how."""
    changed = count_at(document, "files", "changed")
    before, after = (part(document, "files", "passes", name, "tree_sha256") for name in ("before", "after"))
    passes = part(document, "files", "passes")
    if isinstance(passes, Mapping) and None in (passes.get("before"), passes.get("after")):
        return "what changed is not known: there was no pass over the files at both ends"
    has_gap = part(document, "evidence", "unwritten_events") not in (None, 0)
    if not changed:
        return "files changed, which ones is not on the record" if before != after and has_gap else "no file changed"
    kinds = [
        f"{count_at(document, 'files', kind):,} {kind}"
        for kind in ("added", "modified", "removed", "retyped")
        if count_at(document, "files", kind)
    ]
    where = " in a stage that did not land" if is_left_on_a_stage(document) else ""
    if is_unknown_what_landed(document):
        where = " in a stage of which the record does not say whether it landed"
    line = f"{'at least ' * has_gap}{plural(changed, 'path')} changed{where} ({', '.join(kinds)})"
    violations = count_at(document, "files", "violations")
    return line + (f", {plural(violations, 'policy violation')}" if violations else "")


def is_left_on_a_stage(document: JsonObject) -> bool:
    """Return whether the agent worked on a stage whose changes are not in the tree, and could still be landed."""
    return part(document, "workspace", "outcome") in (Settled.REFUSED, Settled.DISCARDED, Settled.LEFT_FOR_REVIEW)


def is_unknown_what_landed(document: JsonObject) -> bool:
    """Return whether a commit was meant, and the record does not say whether it came to its end."""
    if part(document, "workspace", "outcome") == UNSETTLED:
        return part(document, "workspace", "decision", "is") == Decision.COMMIT
    return part(document, "workspace", "outcome") == Settled.INTERRUPTED


def gap(document: JsonObject) -> str:
    """Return how many events could not be recorded, empty where all were."""
    unwritten = count_at(document, "evidence", "unwritten_events")
    if not part(document, "evidence", "write_failures"):
        return ""
    lost = plural(unwritten, "event")
    return f"the record has a gap: {lost} could not be written, and what they cost is not in the sum"


def changed_paths(document: JsonObject, shown: int) -> tuple[tuple[str, ...], int]:
    """Return the first `shown` of the changed paths, and how many more there are."""
    paths = texts_at(document, "files", "top_paths")[:shown]
    return tuple(paths), max(0, count_at(document, "files", "changed") - len(paths)) if paths else 0


def plural(number: int, noun: str) -> str:
    """Return `1 call` or `2 calls`, with thousands separated."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def vouching(document: JsonObject) -> str:
    """Return who says that the receipt is theirs; whether to believe them is for who verifies."""
    public_key, key_id = part(document, "signature", "public_key"), part(document, "seal", "key_id")
    said = [f"signed by {fingerprint(bytes.fromhex(public_key))}"] if _is_key(public_key) else []
    said += [f"sealed with {key_id}"] if isinstance(key_id, str) else []
    if said:
        return ", ".join(said)
    if any(part(document, "proof", name) for name in ("signature", "seal")):
        return "nobody vouches for it, though a key was to"
    return "not signed: consistent at best"


def _is_key(text: JsonValue) -> TypeGuard[str]:
    return isinstance(text, str) and is_digest(text)  # 32 bytes in hexadecimal digits, as a digest is
