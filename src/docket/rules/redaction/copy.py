"""A redacted copy of a ledger: the same events, hidden in part, chained anew (spec/ledger.md, Redacted copies).

Rules:
1. What names an event by its hash, a size by its root, or a window by its key is made anew for the copy.
2. Nothing that vouched for the other record is claimed for the copy: no seal, no earlier run, and a signature only by
   the key that signs the copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest, digest_of
from docket.formats.ledger.event import GENESIS, Event, draft, seal
from docket.formats.ledger.payload_codec import to_members
from docket.formats.ledger.proof_facts import SigningKey
from docket.formats.ledger.redaction_facts import NotCarried, Profile, RedactionFacts, commitment_of
from docket.formats.ledger.session_events import FOLD
from docket.formats.merkle import Frontier
from docket.formats.proof.origin import origin_of
from docket.formats.reason import Reason
from docket.formats.windows.key import WindowKey
from docket.rules.redaction.collect import collected
from docket.rules.redaction.familiar import PublicPrices
from docket.rules.redaction.hide import Hider, Known
from docket.rules.redaction.names import Names
from docket.rules.redaction.naming import Naming

_HITS = ("model.cache_hit", "x-docket.cache-hit")
_STORED = ("response_path", "response_stored_bytes", "response_stored_sha256", "response_truncated")
_NOTE = "redacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAsked:
    """`key` names digests in the copy, `opening` opens its commitment: 32 bytes by chance each, never the same.

    `public_key` is the key by which the copy is signed, None without one. `public` is what everybody knows of models
    and prices, which is not hidden.
    """

    profiles: frozenset[Profile]
    key: bytes
    opening: bytes
    public_key: bytes | None = None
    public: PublicPrices = field(default_factory=PublicPrices)


def redacted(events: Sequence[Event], asked: CopyAsked) -> list[Event]:
    """Return the copy of a whole ledger of docket's own.

    InvalidDocumentError for another writer's, for one that is a copy already, and for what this version does not know.
    """
    _refuse_foreign(events)
    hider = _hider(events, asked)
    bodies = [hider.event(event.type, event.data) for event in events]
    windows = _windows(bodies)
    chain = _Chain(windows=windows, names=hider.names)
    bodies[0] = _start(bodies[0], events, hider, asked)
    for event, body in zip(events, bodies, strict=True):
        chain.append(event, body)
    return chain.events


def _refuse_foreign(events: Sequence[Event]) -> None:
    if not events or events[0].type != "session.start" or events[0].data.get("fold") != FOLD:
        raise InvalidDocumentError(
            Reason.UNKNOWN_FORMAT, "the record is another writer's: only docket's own are copied"
        )
    if "redaction" in events[0].data:
        raise InvalidDocumentError(Reason.WRONG_VALUE, "the record is a redacted copy already")


def _hider(events: Sequence[Event], asked: CopyAsked) -> Hider:
    probe = Hider(frozenset(), _NOTHING)
    for type_ in dict.fromkeys(event.type for event in events):  # before anything of an unknown type is read
        probe.event(type_, {})
    found = collected(events)
    words = {word for profile in asked.profiles for word in found.words[profile]}
    if Profile.NAMES in asked.profiles:
        words.update(Naming(found.chosen, asked.public).hidden)
    names = Names(key=asked.key, paths=found.paths, hosts=found.hosts, hidden=words)
    return Hider(asked.profiles, names, Known(chosen=found.chosen, public=asked.public))


_NOTHING = Names(key=b"", paths=(), hosts=(), hidden=())


def _start(
    body: Mapping[str, JsonValue], events: Sequence[Event], hider: Hider, asked: CopyAsked
) -> dict[str, JsonValue]:
    facts = RedactionFacts(
        profiles=tuple(sorted(asked.profiles)),
        replaced=hider.replaced,
        not_carried=tuple(sorted(_not_carried(events))),
        commitment=commitment_of(asked.opening, events[-1].hash),
    )
    start = {**body, "redaction": to_members(facts)}
    proof = object_at(body, "proof")
    if proof:
        kept = {name: proof[name] for name in ("project", "run") if name in proof}
        signature = {} if asked.public_key is None else {"signature": _signing(asked.public_key)}
        origin = origin_of(str(body.get("session_id")), asked.public_key)
        start["proof"] = {**kept, "origin": origin, **signature}
    return start


def _signing(public_key: bytes) -> dict[str, JsonValue]:
    return to_members(SigningKey(public_key=public_key.hex()))


def _not_carried(events: Sequence[Event]) -> set[NotCarried]:
    """Return what the other record says that it has, or has beside it."""
    proof = object_at(events[0].data, "proof")
    named = {"previous": NotCarried.PREVIOUS_RUN, "seal": NotCarried.SEAL, "signature": NotCarried.SIGNATURE}
    found = {carried for name, carried in named.items() if name in proof}
    for event in events:
        if event.type == "x-docket.checkpoint":
            found.add(NotCarried.CHECKPOINTS)
        elif event.type == "x-docket.tool-delta":
            found.add(NotCarried.DELTAS)
        elif event.type == "fs.snapshot" and "store" in event.data:
            found.add(NotCarried.SNAPSHOT)
        elif event.type == "model.response" and event.data.get("response_retained") is True:
            found.add(NotCarried.RESPONSES)
    return found


def _windows(bodies: Sequence[JsonObject]) -> dict[str, str]:
    """Return the new id of each window that was seen to begin, by the old one."""
    found: dict[str, str] = {}
    for body in bodies:
        window = object_at(body, "window")
        if window:
            key = WindowKey(
                repository=str(window.get("repository")),
                provider=str(window.get("provider")),
                session_id=str(window.get("session_id")),
                turn_id=str(window.get("turn_id")),
                tool_use_id=str(body.get("id")),
                mode=str(window.get("mode")),
            )
            found[str(window.get("window_id"))] = key.window_id
    return found


class _Chain:
    """The copy as it grows; `events` are those that have their place."""

    def __init__(self, *, windows: Mapping[str, str], names: Names) -> None:
        self.events: list[Event] = []
        self._hashes: list[Digest] = []
        self._frontier = Frontier()
        self._windows, self._names = windows, names

    def append(self, event: Event, body: dict[str, JsonValue]) -> None:
        """Give an event of the copy its place."""
        data = self._linked(event.type, body)
        prev = self._hashes[-1] if self._hashes else GENESIS
        copied = seal(draft(event.type, data), seq=event.seq, ts=event.ts, prev=prev)
        self.events.append(copied)
        self._hashes.append(copied.hash)

    def _linked(self, type_: str, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if type_ == "policy.applied":
            return {**body, "digest": digest_of(body.get("document"))}
        if type_ == "x-docket.checkpoint":
            return {**body, "root": self._root_at(_number(body.get("size")))}
        if type_ in _HITS:
            seq = _number(object_at(body, "origin").get("seq"))
            return {**body, "origin": {"seq": seq, "hash": self._hashes[seq]}}
        if type_ == "model.response" and body.get("response_retained") is True:
            kept = {name: value for name, value in body.items() if name not in _STORED}
            return {**kept, "response_retained": False, "response_note": _NOTE}
        window_id = body.get("window_id")
        if isinstance(window_id, str):
            return {**body, "window_id": self._window(window_id)}
        window = object_at(body, "window")
        if window:
            return {**body, "window": {**window, "window_id": self._window(str(window.get("window_id")))}}
        return body

    def _root_at(self, size: int) -> Digest:
        """Return the root over the first `size` events; sizes only grow, as those of a record that was verified do."""
        for event_hash in self._hashes[self._frontier.size : size]:
            self._frontier.add(event_hash)
        return self._frontier.root()

    def _window(self, window_id: str) -> str:
        """Return the id of a window in the copy; one whose key nobody knows has a name like a digest's."""
        return self._windows.get(window_id) or self._names.digest(window_id)


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
