"""The section on proof: what binds receipt and ledger, who vouches for them, and the verifier's controls.

Rules:
1. The page says nothing of a verdict until its reader has it checked, and says what such a check is worth: a page that
   somebody else made may hold another verifier.
2. A ledger is carried whole or not at all, and so are kept replies: what is not carried is said with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.engines.run_page.gathered import Evidence
from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.surfaces.render import figures
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.embedded import bytes_block, json_block
from docket.surfaces.render.page.html import Html, element, joined
from docket.surfaces.render.page.tables import facts


def verify_button() -> Html:
    """Return the button that begins a check; there may be several."""
    return element("button", "Verify", type="button", class_="main verify")


def proof(document: JsonObject, carried: Evidence) -> Html:
    """Return the section's contents; `carried` is what the page's blocks hold."""
    return joined([facts(list(_facts(document, carried))), *_controls(document, carried)])


def _facts(document: JsonObject, carried: Evidence) -> Iterator[tuple[str, str | Html]]:
    yield "Docket number", figures.text(document, "docket_number")
    if lenient.part(document, "proof") is not None:
        yield "Origin", _mono(figures.text(document, "proof", "origin"))
        yield "Run", f"number {figures.text(document, 'proof', 'run')} of its project"
        previous = lenient.part(document, "proof", "previous", "receipt_sha256")
        if previous is not None:
            session = figures.text(document, "proof", "previous", "session")
            yield "Follows", joined([f"session {session}, whose receipt is ", _mono(str(previous))])
    yield "Ledger", f"{plural(lenient.count_at(document, 'ledger', 'events'), 'event')}"
    yield "Head", _mono(figures.text(document, "ledger", "head"))
    yield "Root", _mono(figures.text(document, "ledger", "merkle_root"))
    yield "Ledger file", _mono(f"sha256 {figures.text(document, 'ledger', 'file_sha256')}")
    yield "Receipt file", _mono(f"sha256 {carried.receipt.sha256}")
    yield "Vouched for", figures.vouching(document)
    key = lenient.part(document, "signature", "public_key")
    if isinstance(key, str):
        yield "Public key", _mono(key)


def _mono(text: str) -> Html:
    return element("code", text, dir="ltr")


def _controls(document: JsonObject, carried: Evidence) -> Iterator[Html]:
    yield element("h3", "Check it here")
    yield element("p", f"This page carries {_carried(carried)}, and the verifier. Nothing leaves the page.")
    yield element("noscript", element("p", "Checking needs JavaScript, which is off here; docket verify needs none."))
    saves = [_save("receipt", f"{figures.text(document, 'docket_number')}.receipt.json")]
    if carried.ledger is not None:
        saves.append(_save("ledger", f"{figures.text(document, 'session', 'id')}.jsonl"))
    yield element("div", verify_button(), " ", joined(saves, between=" "), class_="bar scripted", hidden=True)
    yield element(
        "div",
        element("label", "Public key whose word you take (hexadecimal, PEM or a verifier key)", for_="key"),
        element(
            "textarea", "", id="key", rows="2", spellcheck="false", autocomplete="off", aria_describedby="key-note"
        ),
        element(
            "p",
            "It may stay empty. One from this page says nothing: have it from who signs.",
            id="key-note",
            class_="muted small",
        ),
        _drop(),
        element("p", "", id="verdict-below", class_="verdict"),
        element("div", "", id="checks"),
        class_="scripted",
        hidden=True,
    )
    yield element(
        "p",
        "Who did not make this page should not take its word: a page can be changed as any file can. Save the receipt "
        "and the ledger and check them with ",
        element("code", "docket verify"),
        ", or choose them in a page of your own.",
        class_="muted",
    )


def _drop() -> Html:
    return element(
        "div",
        element("label", "Check other files: a receipt, and its ledger if you have it", for_="chosen"),
        element("br"),
        element("input", type="file", id="chosen", multiple=True),
        element("span", " or drop them anywhere on this page", class_="muted"),
        element("p", "", id="subject"),
        element("button", "Back to this page's own", type="button", id="own", hidden=True),
        class_="drop",
        id="drop",
    )


def _save(what: str, name: str) -> Html:
    return element("button", f"Save the {what}", type="button", data_save=what, data_name=name)


def _carried(carried: Evidence) -> str:
    said = [f"the receipt ({carried.receipt.size_bytes:,} bytes)"]
    if carried.ledger is None:
        said.append(f"no ledger ({carried.why_no_ledger})")
    else:
        said.append(f"its ledger ({carried.ledger.size_bytes:,} bytes)")
    said += [plural(carried.delta_count, "delta") + " of tool windows"] * (carried.deltas is not None)
    said += ["the checkpoints"] * (carried.checkpoints is not None)
    if carried.responses is not None:
        said.append(f"{carried.response_count:,} kept replies" if carried.response_count != 1 else "one kept reply")
    elif carried.why_no_responses:
        said.append(f"no kept replies ({carried.why_no_responses})")
    return ", ".join(said)


def blocks(evidence: Evidence) -> Iterator[Html]:
    """Yield the blocks of what the page carries."""
    for name in ("receipt", "ledger", "deltas", "checkpoints", "responses"):
        carried = getattr(evidence, name)
        if carried is not None and carried.coded is not None:
            yield bytes_block(name, carried.coded)
    why = f"this page carries none: {evidence.why_no_responses}" if evidence.why_no_responses else ""
    yield json_block("why-not", {"retained-responses": why} if why else {})


__all__ = ["blocks", "proof", "verify_button"]
