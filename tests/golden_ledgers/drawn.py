"""Ledgers of payloads drawn at random from the vocabulary, each well formed, in no order that a run would give.

Rules: the seed decides everything; names and numbers are drawn from short lists, so that they meet again.
"""

from __future__ import annotations

import random
import typing
from dataclasses import fields
from enum import StrEnum
from types import UnionType
from typing import Any

from docket.formats.amount import Usd
from docket.formats.digest import Digest
from docket.formats.ledger.model_events import PriceRow
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import FOLD, SessionStart
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage
from golden_ledgers.build import LedgerBuilder, policy

NAMES = (
    "a", "b", "gpt-5", "\ufb01", "\U0001f600", "__proto__", "constructor", "", "tunnel", "request", "upstream_status",
    "rate_limited",
)  # fmt: skip
PATHS = (
    b"a", b"src/new.py", b"caf\xe9", b"\xf0\x9f\x98", b"\xe2\x82a\xc3\xa9", b"\xed\xa0\x80", b"\xff\xfe/x",
    "\u00e9/\U0001f600".encode(),
)  # fmt: skip
KNOWN: dict[str, tuple[Any, ...]] = {
    "phase": ("before", "after", "contents"),
    "reason": (*NAMES[8:], "upstream_broken", "upstream_error_event", "injected_fault"),
    "kind": ("tunnel", "request", "door"),
    "admission": ("metered", "strict", "ceiling"),
    "event": ("cache.hits_ceiling_reached",),
    "status": (200, 404, 500, 503),
    "isolation": (("subreaper", "pidfd"), ("pidfd",), ()),
    "pattern": ("*", "gpt-?", "g*", "gpt-5", "a", "b/gpt*"),
}
SECTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "budget": {
        "mode": ("usd", "quota"), "pools": ([], ["team"]), "pass_endpoints": ([], ["x"]),
        "unknown_endpoints": ("refuse", "pass", None),
    },
    "caps": {
        "max_usd": (None, "1.00"), "max_tokens": (None, 5), "max_model_calls": (None, 0), "max_wall_seconds": (None, 1),
        "per_model": ({}, {"*": {"max_usd": "1"}}), "per_agent": ({}, {"main": {}}),
    },
    "models": {"allow": ([], ["a"]), "deny": ([], ["b"])},
    "egress": {"mode": ("deny", "tunnel")},
    "files": {"deny_write": ([], [".env"])},
    "resilience": {"max_calls_per_minute": (None, 3), "max_calls_per_second": (None, "0.5")},
    "cache": {"enabled": (True, False), "max_hits": (3,)},
    "evidence": {"record_responses": (True, False)},
}  # fmt: skip
PUBLIC = (
    "session.start", "policy.applied", "session.end", "model.response", "model.denied", "model.error", "fs.change",
    "policy.violation", "tool.call", "tool.result", "net.allowed", "net.denied", "cap.exceeded", "cap.warning", "other",
)  # fmt: skip
MEMBERS = (
    "session_id", "docket_number", "label", "argv", "cwd", "exit_code", "breached", "interrupted", "name", "digest",
    "document", "path", "change", "ok", "latency_ms",
)  # fmt: skip
ANYTHING: tuple[Any, ...] = (None, True, False, 0, 1, "", "added", "removed", [], ["a"], {}, {"a": None})


class Drawn:
    """Values of the payload classes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def ledger(self, length: int) -> LedgerBuilder:
        """A ledger that begins with a session.start of docket's and a policy."""
        built = LedgerBuilder()
        built.add(self.payload(SessionStart, fold=FOLD))
        if self.chance(9):
            built.add(policy(self.policy()))
        kinds = [kind for kind in PAYLOADS.values() if kind is not SessionStart]
        for _ in range(length):
            built.add(self.payload(self.random.choice(kinds)))
        if self.chance(1):
            built.add_raw("x-docket.from-later", {"a": None})
        return built

    def policy(self) -> dict[str, Any]:
        """A policy document in which sections and members may be missing."""
        document: dict[str, Any] = {"name": "drawn"}
        for section, members in SECTIONS.items():
            if self.chance(8):
                document[section] = {
                    name: self.random.choice(values) for name, values in members.items() if self.chance(8)
                }
        return document

    def payload(self, cls: type[Payload], **given: Any) -> Payload:
        """A payload of that class."""
        made = self.record(cls, **given)
        assert isinstance(made, Payload)
        return made

    def record(self, cls: type, **given: Any) -> Any:
        """A value of a dataclass."""
        if cls is PriceRow:
            given |= {"input": "1.25", "cached_input": self.random.choice((None, "0.5")), "output": "10"}
        hints = typing.get_type_hints(cls, localns={"Sequence": list, "Mapping": dict, "JsonValue": Any})
        members = {item.name: self.member(item.name, hints[item.name]) for item in fields(cls)}
        return cls(**{**members, **given})

    def member(self, name: str, kind: Any) -> Any:
        """A value for a member."""
        origin = typing.get_origin(kind)
        if origin in (UnionType, typing.Union):
            inner = next(one for one in typing.get_args(kind) if one is not type(None))
            return self.member(name, inner) if self.chance(5) else None
        if name in KNOWN and kind in (str, int, tuple[str, ...]):
            return self.random.choice(KNOWN[name])
        if origin is tuple:
            return tuple(self.member(name[:-1], typing.get_args(kind)[0]) for _ in range(self.random.randrange(4)))
        if origin is not None:
            return self.random.choice(({}, {"http_proxy": True}, {"as_of": "2026-09-30", "a": [1]}))
        return self.value(kind)

    def value(self, kind: Any) -> Any:
        """A value of a class."""
        if kind is str:
            return self.random.choice(NAMES)
        if kind is int:
            return self.random.choice((0, 1, 2, 7, 40, 1000, 123_456_789))
        if kind is bool:
            return self.chance(5)
        if kind is Usd:
            return Usd(self.random.choice((0, 1, 3, 10_000, 1_234_567, 5_000_000_000_001)))
        if kind is Digest:
            return Digest(self.random.choice(("0a", "1b")) * 32)
        if kind is RelPath:
            return RelPath.parse(self.random.choice(PATHS))
        if kind is Usage:
            return self.usage()
        return self.random.choice(list(kind)) if issubclass(kind, StrEnum) else self.record(kind)

    def usage(self) -> Usage:
        """Counts of which the cached parts are within the input."""
        counts = {item.name: self.random.randrange(3) * self.random.randrange(50) for item in fields(Usage)}
        return Usage(**(counts | {"input_tokens": 1000 + counts["input_tokens"]}))

    def chance(self, tenths: int) -> bool:
        """True that often."""
        return self.random.randrange(10) < tenths

    def theirs(self, length: int) -> LedgerBuilder:
        """A ledger of another writer: types of the public vocabulary, whose members may be anything or missing."""
        built = LedgerBuilder()
        for _ in range(length):
            kind = self.random.choice(PUBLIC)
            data = {name: self.random.choice(ANYTHING) for name in self.random.sample(MEMBERS, 6)}
            if kind == "model.response":
                data |= self.reply()
            built.add_raw(kind, data)
        return built

    def reply(self) -> dict[str, Any]:
        """The members of a reply that are read as a row."""
        usage: dict[str, Any] = {"input_tokens": 3, "cached_input_tokens": 1, "output_tokens": 0, "other": None}
        return {
            "model": self.random.choice(NAMES),
            "provider": self.random.choice(NAMES),
            "usage": dict(self.random.sample(sorted(usage.items()), 3)),
            "usage_source": self.random.choice(("reported", "estimated")),
            "cost_usd": self.random.choice(("0.5", "5", "0.000001")),
            "reported_by": self.random.choice(ANYTHING),
            "cache": self.random.choice((*ANYTHING, {"stored": True, "key": "k"}, {"stored": True, "key": 5})),
        }
