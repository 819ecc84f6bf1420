"""The policy as a value: its document, digest and strict reader."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from decimal import Decimal

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.run.policy import (
    KEYS,
    SECTIONS,
    Admission,
    BudgetMode,
    BudgetPolicy,
    CachePolicy,
    CapsPolicy,
    EgressMode,
    EgressPolicy,
    EvidencePolicy,
    FilesPolicy,
    ModelsPolicy,
    OnBreach,
    Policy,
    ProofPolicy,
    ResiliencePolicy,
    SnapshotPolicy,
    UnknownEndpoints,
    UnknownModels,
    Upstreams,
    WindowsPolicy,
    WorkspaceBackend,
    WorkspacePolicy,
    WorkspaceSettle,
)
from docket.formats.run.sub_budgets import SubBudget

DEFAULT = {
    "name": "default",
    "budget": {
        "mode": "usd",
        "admission": "metered",
        "unknown_models": "refuse",
        "unknown_endpoints": "refuse",
        "pass_endpoints": [],
    },
    "caps": {
        "max_usd": None,
        "max_tokens": None,
        "max_model_calls": None,
        "max_wall_seconds": None,
        "warn_at": "0.8",
        "on_breach": "kill",
        "grace_seconds": 5,
        "admission_wait_ms": 2000,
    },
    "models": {"allow": [], "deny": []},
    "egress": {"mode": "deny", "allow": []},
    "files": {"watch": ["."], "ignore": [], "deny_write": []},
    "resilience": {
        "breaker_threshold": 5,
        "breaker_cooldown_seconds": 30,
        "breaker_max_cooldown_seconds": 300,
        "max_calls_per_minute": None,
        "max_calls_per_second": None,
        "max_events": None,
        "max_ledger_bytes": 268435456,
        "fail_fast_evidence": False,
        "min_free_bytes": 16777216,
    },
}

FULL = Policy(
    name="everything",
    budget=BudgetPolicy(
        mode=BudgetMode.USD,
        admission=Admission.STRICT,
        unknown_models=UnknownModels.ASSUME,
        unknown_endpoints=UnknownEndpoints.PASS,
        pass_endpoints=("openai/v1/moderations",),
        lower_max_tokens=True,
        pools=("team",),
    ),
    caps=CapsPolicy(
        max_usd=Usd(1_250_001),
        max_tokens=9007199254740991,
        max_model_calls=0,
        max_wall_seconds=60,
        warn_at=Decimal("0.75"),
        on_breach=OnBreach.DENY,
        grace_seconds=Decimal("0.5"),
        admission_wait_ms=0,
        max_repeats=3,
        per_model=(SubBudget(pattern="*opus*", max_usd=Usd(2_000_000)),),
        per_agent=(SubBudget(pattern="sub:*", max_tokens=5, max_model_calls=0),),
        on_sub_breach=OnBreach.KILL,
    ),
    models=ModelsPolicy(allow=("claude-*",), deny=("*opus*",), priced_as=("mine=gpt-4.1",)),
    egress=EgressPolicy(mode=EgressMode.TUNNEL, allow=("example.com", ".example.org")),
    files=FilesPolicy(watch=("src", "docs"), ignore=("*.log",), deny_write=(".env", "!ok")),
    resilience=ResiliencePolicy(
        breaker_threshold=1,
        breaker_cooldown_seconds=0,
        breaker_max_cooldown_seconds=0,
        max_calls_per_minute=1,
        max_calls_per_second=Decimal("2.5"),
        max_pace_wait_seconds=0,
        max_events=1,
        max_ledger_bytes=None,
        fail_fast_evidence=True,
        min_free_bytes=0,
    ),
    cache=CachePolicy(
        enabled=True, ttl_seconds=Decimal("1.25"), max_entries=1, max_hits=0, max_bytes=2, max_response_bytes=1
    ),
    evidence=EvidencePolicy(record_responses=True, record_response_max_bytes=1, record_total_max_bytes=2),
    snapshot=SnapshotPolicy(enabled=True, max_bytes=3, max_file_bytes=2, max_entries=1, rollback_on_breach=True),
    workspace=WorkspacePolicy(
        transaction=True,
        backend=WorkspaceBackend.COPY,
        settle=WorkspaceSettle.REVIEW,
        exclude=("a",),
        share=("c",),
        protect=("b",),
    ),
    windows=WindowsPolicy(enabled=True),
    proof=ProofPolicy(sign="/keys/a.key", seal=True),
    upstreams=Upstreams.of({"openai": "https://gw.example.com/v1", "anthropic": "http://127.0.0.1:9"}),
)

FULL_DOCUMENT = {
    "name": "everything",
    "budget": {
        "mode": "usd",
        "admission": "strict",
        "unknown_models": "assume",
        "unknown_endpoints": "pass",
        "pass_endpoints": ["openai/v1/moderations"],
        "lower_max_tokens": True,
        "pools": ["team"],
    },
    "caps": {
        "max_usd": "1.250001",
        "max_tokens": 9007199254740991,
        "max_model_calls": 0,
        "max_wall_seconds": 60,
        "warn_at": "0.75",
        "on_breach": "deny",
        "grace_seconds": "0.5",
        "admission_wait_ms": 0,
        "max_repeats": 3,
        "per_model": {"*opus*": {"max_usd": "2.00"}},
        "per_agent": {"sub:*": {"max_tokens": 5, "max_model_calls": 0}},
        "on_sub_breach": "kill",
    },
    "models": {"allow": ["claude-*"], "deny": ["*opus*"], "priced_as": ["mine=gpt-4.1"]},
    "egress": {"mode": "tunnel", "allow": ["example.com", ".example.org"]},
    "files": {"watch": ["src", "docs"], "ignore": ["*.log"], "deny_write": [".env", "!ok"]},
    "resilience": {
        "breaker_threshold": 1,
        "breaker_cooldown_seconds": 0,
        "breaker_max_cooldown_seconds": 0,
        "max_calls_per_minute": 1,
        "max_calls_per_second": "2.5",
        "max_pace_wait_seconds": 0,
        "max_events": 1,
        "max_ledger_bytes": None,
        "fail_fast_evidence": True,
        "min_free_bytes": 0,
    },
    "cache": {
        "enabled": True,
        "ttl_seconds": "1.25",
        "max_entries": 1,
        "max_hits": 0,
        "max_bytes": 2,
        "max_response_bytes": 1,
    },
    "evidence": {"record_responses": True, "record_response_max_bytes": 1, "record_total_max_bytes": 2},
    "snapshot": {
        "enabled": True,
        "max_bytes": 3,
        "max_file_bytes": 2,
        "max_entries": 1,
        "rollback_on_breach": True,
    },
    "workspace": {
        "transaction": True,
        "backend": "copy",
        "settle": "review",
        "exclude": ["a"],
        "share": ["c"],
        "protect": ["b"],
    },
    "windows": {"enabled": True},
    "proof": {"sign": "/keys/a.key", "seal": True},
    "upstreams": {"anthropic": "http://127.0.0.1:9", "openai": "https://gw.example.com/v1"},
}


@pytest.mark.parametrize(("policy", "document"), [(Policy(), DEFAULT), (FULL, FULL_DOCUMENT)])
def test_the_document_and_its_digest(policy, document):
    assert policy.document() == document
    # The canonical form of such a document, by the standard library alone.
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert policy.digest == hashlib.sha256(canonical).hexdigest()
    assert Policy.from_document(json.loads(canonical)) == policy


def test_every_section_and_key_is_in_the_table():
    assert [key.path for key in KEYS[1:]] == [
        f"{section}.{name}" for section, keys in FULL_DOCUMENT.items() if section not in ("name", "upstreams")
        for name in keys
    ]  # fmt: skip
    assert KEYS[0].path == "policy.name"
    assert all(key.summary.endswith(".") for key in KEYS)


@pytest.mark.parametrize("section", ["cache", "evidence", "snapshot", "windows", "workspace", "proof"])
def test_a_section_that_equals_its_default_does_not_move_the_digest_and_is_refused_in_a_document(section):
    policy = replace(FULL, **{section: next(cls for cls in SECTIONS if section == cls.NAME)()})
    document = policy.document()
    assert section not in document
    assert Policy.from_document(document) == policy
    document[section] = next(cls for cls in SECTIONS if section == cls.NAME)().document()
    with pytest.raises(InvalidDocumentError, match="equals its default"):
        Policy.from_document(document)


def broken(change):
    document = copy.deepcopy(FULL_DOCUMENT)
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda d: d.pop("caps"), "caps"),
        (lambda d: d["caps"].pop("max_usd"), "max_usd"),
        (lambda d: d["caps"].update(max_usdd="1.00"), "max_usdd"),
        (lambda d: d.update(extra={}), "extra"),
        (lambda d: d["caps"].update(max_usd="1.2"), "caps.max_usd"),
        (lambda d: d["caps"].update(max_usd=1), "caps.max_usd"),
        (lambda d: d["caps"].update(warn_at="0.750"), "caps.warn_at"),
        (lambda d: d["caps"].update(warn_at="00.75"), "caps.warn_at"),
        (lambda d: d["caps"].update(warn_at=0), "caps.warn_at"),
        (lambda d: d["caps"].update(grace_seconds="5"), "caps.grace_seconds"),
        (lambda d: d["caps"].update(grace_seconds=True), "caps.grace_seconds"),
        (lambda d: d["caps"].update(grace_seconds=None), "caps.grace_seconds"),
        (lambda d: d["caps"].update(max_tokens=True), "caps.max_tokens"),
        (lambda d: d["caps"].update(max_tokens="5"), "caps.max_tokens"),
        (lambda d: d["caps"].update(admission_wait_ms=None), "caps.admission_wait_ms"),
        (lambda d: d["caps"].update(on_breach="die"), "caps.on_breach"),
        (lambda d: d["models"].update(allow="claude-*"), "models.allow"),
        (lambda d: d["models"].update(allow=[1]), "models.allow"),
        (lambda d: d["files"].update(watch=[]), "files.watch"),
        (lambda d: d["resilience"].update(fail_fast_evidence=0), "resilience.fail_fast_evidence"),
        (lambda d: d["resilience"].update(max_ledger_bytes=5), "resilience.max_ledger_bytes"),
        (lambda d: d.update(name=""), "policy.name"),
        (lambda d: d.update(name=5), "policy.name is not a text"),
        (lambda d: d.update(upstreams={}), "equals its default"),
        (lambda d: d.update(upstreams=[]), "upstreams"),
        (lambda d: d["upstreams"].update(openai=5), "upstreams.openai"),
        (lambda d: d["upstreams"].update(openai="ftp://x"), "URL"),
        (lambda d: d["upstreams"].update(openai="https://gw.example.com/v1?key=1"), "without user, query"),
        (lambda d: d["budget"].update(mode="quota"), "quota"),
        (lambda d: d["resilience"].update(breaker_cooldown_seconds=1), "breaker_max_cooldown_seconds"),
    ],
)
def test_the_reader_takes_only_what_the_writer_writes(change, names):
    with pytest.raises(InvalidDocumentError, match=names):
        Policy.from_document(broken(change))


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_a_document_is_an_object(value):
    with pytest.raises(InvalidDocumentError):
        Policy.from_document(value)


def test_what_a_file_stated_is_no_part_of_the_value():
    assert Policy(stated=frozenset({"caps.max_usd"})) == Policy()
    assert Policy(stated=frozenset({"caps.max_usd"})).digest == Policy().digest


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: CapsPolicy(max_usd=Decimal(5)), "caps.max_usd"),
        (lambda: CapsPolicy(max_tokens=-1), "caps.max_tokens"),
        (lambda: CapsPolicy(max_tokens=2**53), "caps.max_tokens"),
        (lambda: CapsPolicy(max_wall_seconds=0), "caps.max_wall_seconds"),
        (lambda: CapsPolicy(warn_at=Decimal("NaN")), "caps.warn_at"),
        (lambda: CapsPolicy(warn_at=0.8), "caps.warn_at"),
        (lambda: CapsPolicy(on_breach="kill"), "caps.on_breach"),
        (lambda: ModelsPolicy(allow=["x"]), "models.allow"),
        (lambda: ModelsPolicy(allow=("\ud800",)), "models.allow"),
        *[
            (lambda text=text: ModelsPolicy(priced_as=(text,)), "models.priced_as")
            for text in ("mine", "=gpt", "mine=", " mine=gpt", "mine= gpt", "m" * 257 + "=gpt")
        ],
        (lambda: ResiliencePolicy(fail_fast_evidence=1), "fail_fast_evidence"),
        (lambda: Policy(name="a\nb"), "policy.name"),
        (lambda: Policy(name=" a"), "policy.name"),
        (lambda: Policy(name="x" * 201), "policy.name"),
        (lambda: Upstreams((("b", "http://h"), ("a", "http://h"))), "sorted"),
        (lambda: Upstreams((("a", "http://h"), ("a", "http://g"))), "once"),
        (lambda: Upstreams.of({"A": "http://h"}), "provider name"),
    ],
)
def test_a_value_that_exists_is_valid(make, names):
    with pytest.raises(InvalidDocumentError, match=names):
        make()


def test_what_names_stand_for():
    models = ModelsPolicy(priced_as=("mine=gpt-4.1", "a=b=c", "mine=other"))
    assert models.price_names() == {"mine": "gpt-4.1", "a=b": "c"}


def test_a_rollback_without_a_snapshot_is_refused():
    with pytest.raises(InvalidDocumentError, match="rollback_on_breach"):
        SnapshotPolicy(rollback_on_breach=True)


def test_a_record_has_no_word_of_where_a_key_lies_and_no_other_digest_moves():
    plain = Policy()
    assert plain.recorded is plain
    named = Policy(proof=ProofPolicy(sign="/keys/a.key"))
    assert named.recorded == plain
    assert named.recorded.digest == plain.digest
    sealed = Policy(proof=ProofPolicy(sign="/keys/a.key", seal=True))
    assert sealed.recorded.document() == {**plain.document(), "proof": {"sign": "", "seal": True}}
    assert Policy.from_document(sealed.recorded.document()) == sealed.recorded
    # What was recorded before is read as it stands.
    told = sealed.document()
    canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert told["proof"] == {"sign": "/keys/a.key", "seal": True}
    assert Policy.from_document(told).digest == hashlib.sha256(canonical).hexdigest() == sealed.digest


def test_the_file_of_a_key_is_named_by_a_path_that_means_the_same_from_everywhere():
    for path in ("", "/keys/a.key", "~/a.key"):
        assert ProofPolicy(sign=path).document() == {"sign": path, "seal": False}
    for path in ("a.key", "./a.key", "/a\nb", " /a", "~user/a", 1, None):
        with pytest.raises(InvalidDocumentError, match=r"proof\.sign must be the path"):
            ProofPolicy(sign=path)
