"""The report's lines on what stood beside the calls: the cache, kept responses, pace, breakers, pools,
the snapshot, a rollback, a drill, what the agent said of itself.

Pure functions from a receipt document to text. A line stands only where there is something to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docket.errors import InvalidDocumentError
from docket.formats import lenient
from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject
from docket.formats.reason import Reason
from docket.formats.workspace.scope import Settled
from docket.surfaces.render import figures

_KEPT = ("files", "bytes_stored", "bytes_shared")
_NEVER_LANDS = frozenset(  # what the stage holds refuses the next commit as it did this one
    {
        Reason.NAME_TOO_LONG,
        Reason.NOT_PERMITTED,
        Reason.OTHER_FILE_SYSTEM,
        Reason.SPECIAL_FILE,
        Reason.TOO_LARGE,
        Reason.UNREADABLE,
    }
)
_ROLLED = ("restored", "refused", "not_covered", "kept")


def lines(document: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield labelled lines."""
    said = (
        ("Cache", cache(document)),
        ("Kept", _kept(document)),
        ("Pools", _pools(document)),
        ("Pace", _pace(document)),
        ("Breaker", _breakers(document)),
        ("Snapshot", snapshot(document)),
        ("Stage", stage(document)),
        ("Rollback", rollback(document)),
        ("Drill", _drill(document)),
        ("Tools", tools_said(document)),
        ("Said", _said(document)),
    )
    yield from ((name, text) for name, text in said if text)


def cache(document: JsonObject) -> str:
    """Return how many calls the cache answered and what that saved, empty where there was none."""
    if lenient.part(document, "cache") is None:
        return ""
    hits = lenient.count_at(document, "cache", "hits") + lenient.count_at(document, "cache", "component_hits", "hits")
    saved = _micros(document, "cache", "saved_usd") + _micros(document, "cache", "component_hits", "saved_usd")
    ceiling = ", as many as the policy lets it" if lenient.part(document, "cache", "hits_ceiling_reached") else ""
    return f"{figures.plural(hits, 'call')} answered again{ceiling}, ${Usd(saved)} not spent"


def snapshot(document: JsonObject) -> str:
    """Return what was kept of the tree before the run, empty where nothing was to be."""
    taken = lenient.part(document, "ops", "snapshot", "taken")
    if taken is not True:
        return f"not taken: {figures.text(document, 'ops', 'snapshot', 'detail')}" if taken is False else ""
    files, stored, shared = (lenient.count_at(document, "ops", "snapshot", name) for name in _KEPT)
    missing = lenient.count_at(document, "ops", "snapshot", "not_covered_count")
    left = f", {figures.plural(missing, 'path')} not covered" if missing else ""
    known = f" ({shared:,} of them shared with earlier snapshots)" if shared else ""
    return f"{figures.plural(files, 'file')} kept, {figures.plural(stored, 'byte')} stored{known}{left}"


def stage(document: JsonObject) -> str:
    """Return what became of the stage that the agent worked on, empty where it worked on the tree itself."""
    outcome, name = (lenient.part(document, "workspace", member) for member in ("outcome", "transaction"))
    if name is None or outcome is None:
        return ""
    if outcome == Settled.COMMITTED:
        return f"transaction {name} landed"
    detail = lenient.part(document, "workspace", "detail")
    if figures.is_unknown_what_landed(document):
        return f"what became of transaction {name} is not on the record ({outcome}{f': {detail}' if detail else ''})"
    return f"transaction {name} did not land ({outcome}{f': {detail}' if detail else ''})"


def landing(document: JsonObject) -> str:
    """Return how a person looks at a stage that did not land, and lands it; empty where it landed or nothing changed.

    Where it is not known whether it landed: how that is found. Where the commit would refuse again: no promise.
    """
    if figures.is_unknown_what_landed(document):
        name = figures.text(document, "workspace", "transaction")
        return f"; docket tx show {name} tells how it stands, docket tx recover {name} ends a commit that was cut short"
    landed = lenient.part(document, "workspace", "outcome") == Settled.COMMITTED
    if landed or not lenient.count_at(document, "files", "changed"):
        return ""
    name, reason, shown = (
        figures.text(document, "workspace", member) for member in ("transaction", "reason", "diff_sha256")
    )
    looks = f"; docket tx diff {name} shows what it would change"
    if lenient.part(document, "workspace", "outcome") == Settled.REFUSED and reason in _NEVER_LANDS:
        return f"{looks}, docket tx show {name} tells why it cannot land"
    words = f" --approve {shown}" if reason == Reason.PROTECTED_PATH else ""
    if lenient.part(document, "workspace", "outcome") == Settled.DISCARDED:
        words += " --from-discarded"
    if reason == Reason.BASE_DRIFT:
        words += " --merge"
    ends = "merges what both changed and lands it" if reason == Reason.BASE_DRIFT else "lands it"
    return f"{looks}, docket tx commit{words} {name} {ends}"


def rollback(document: JsonObject) -> str:
    """Return what became of putting the tree back, empty where that was not to be."""
    applied = lenient.part(document, "ops", "rollback", "applied")
    if applied is not True:
        return f"refused: {figures.text(document, 'ops', 'rollback', 'detail')}" if applied is False else ""
    done, *rest = (lenient.count_at(document, "ops", "rollback", name) for name in _ROLLED)
    words = ("refused", "not in the snapshot", "kept as they are")
    others = "".join(f", {number:,} {word}" for number, word in zip(rest, words, strict=True) if number)
    return f"{figures.plural(done, 'path')} put back{others}"


def _micros(document: JsonObject, *names: str) -> int:
    try:
        return Usd.parse(lenient.part(document, *names)).micros
    except InvalidDocumentError:
        return 0


def _kept(document: JsonObject) -> str:
    if lenient.part(document, "responses") is None:
        return ""
    if lenient.part(document, "redaction") is not None:
        return "left out of this copy"
    kept, missing = (
        lenient.count_at(document, "responses", "kept"),
        lenient.count_at(document, "responses", "not_kept"),
    )
    begun = lenient.count_at(document, "responses", "truncated")
    extra = [f"{begun:,} to the policy's size"] * bool(begun) + [f"{missing:,} could not be kept"] * bool(missing)
    size = figures.plural(lenient.count_at(document, "responses", "kept_bytes"), "byte")
    return ", ".join([f"{figures.plural(kept, 'response')} ({size})", *extra])


def _pools(document: JsonObject) -> str:
    pools = lenient.rows_at(document, "pools")
    return "; ".join(
        f"{figures.text(pool, 'pool')} ${figures.text(pool, 'spent_usd', default='0.00')} by this run" for pool in pools
    )


def _pace(document: JsonObject) -> str:
    if lenient.part(document, "ops", "rate_limiter") is None:
        return ""
    waited, refused = (lenient.count_at(document, "ops", "rate_limiter", name) for name in ("waited", "refused"))
    seconds = lenient.count_at(document, "ops", "rate_limiter", "waited_ms") / 1000
    refusals = f", {refused:,} turned away" if refused else ""
    return f"{figures.plural(waited, 'call')} waited {seconds:.1f} s in all{refusals}"


def _breakers(document: JsonObject) -> str:
    found = lenient.part(document, "ops", "circuit_breaker")
    breakers = found if isinstance(found, Mapping) else {}
    return "; ".join(
        f"{name} opened {figures.plural(lenient.count_at(breakers, name, 'openings'), 'time')}, "
        f"{figures.text(breakers, name, 'state')} at the end"
        for name in breakers
    )


def _drill(document: JsonObject) -> str:
    if not lenient.part(document, "ops", "chaos_run"):
        return ""
    injected = lenient.count_at(document, "ops", "fault_injection", "injections")
    return f"this run is one: {figures.plural(injected, 'fault')} injected"


def tools_said(document: JsonObject) -> str:
    """Return how many tools the agent says it used, empty where it named none."""
    calls, failures = lenient.count_at(document, "tools", "calls"), lenient.count_at(document, "tools", "failures")
    failed = f", {failures:,} failed" if failures else ""
    if not calls:
        return ""
    return f"{calls:,} used{failed} (the agent's word){_windows(document)}"


def _windows(document: JsonObject) -> str:
    if lenient.part(document, "windows") is None:
        return ""
    complete, files = (lenient.count_at(document, "windows", name) for name in ("complete", "files"))
    return f"; what {complete:,} of them changed is recorded, {figures.plural(files, 'path')} (docket windows list)"


def _said(document: JsonObject) -> str:
    if lenient.part(document, "asserted") is None:
        return ""
    calls, remarks = lenient.count_at(document, "asserted", "calls"), lenient.part(document, "asserted", "notes")
    notes = (
        sum(lenient.count_at(document, "asserted", "notes", name) for name in remarks)
        if isinstance(remarks, Mapping)
        else 0
    )
    tokens = lenient.count_at(document, "asserted", "input_tokens") + lenient.count_at(
        document, "asserted", "output_tokens"
    )
    parts = [f"{figures.plural(calls, 'call')} of {figures.plural(tokens, 'token')}"] * bool(calls)
    parts += [figures.plural(notes, "remark")] * bool(notes)
    return f"{', '.join(parts)} on the agent's word, in no total" if parts else ""
