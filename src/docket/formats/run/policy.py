"""The policy of a run: what it may spend, reach and touch.

Rules (docs/reference/policy.md):
1. The effective policy, after the file in the tree and the flags, is what is digested and embedded in the record.
2. `document` writes every key of every section; `upstreams`, `cache`, `evidence`, `snapshot`, `windows`, `workspace`
   and `proof` stand in it only when they differ from their defaults: a section added later moves no older digest.
3. `from_document` accepts exactly what `document` produces.

Files are read by `policy_toml`; which file wins, and what a file in the tree may say, is `rules.policy`.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, encode
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.digest import Digest, digest_of
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.run.policy_kinds import Text
from docket.formats.run.policy_modes import (
    CachePolicy,
    EvidencePolicy,
    SnapshotPolicy,
    WindowsPolicy,
    WorkspaceBackend,
    WorkspacePolicy,
    WorkspaceSettle,
)
from docket.formats.run.policy_proof import ProofPolicy
from docket.formats.run.policy_reach import EgressMode, EgressPolicy, FilesPolicy, ModelsPolicy, Upstreams
from docket.formats.run.policy_section import Key, Section
from docket.formats.run.policy_spending import (
    Admission,
    BudgetMode,
    BudgetPolicy,
    CapsPolicy,
    OnBreach,
    ResiliencePolicy,
    UnknownEndpoints,
    UnknownModels,
)

DEFAULT_NAME = "default"

SECTIONS: tuple[type[Section], ...] = (
    BudgetPolicy,
    CapsPolicy,
    ModelsPolicy,
    EgressPolicy,
    FilesPolicy,
    ResiliencePolicy,
    CachePolicy,
    EvidencePolicy,
    SnapshotPolicy,
    WorkspacePolicy,
    WindowsPolicy,
    ProofPolicy,
)
ALWAYS_WRITTEN = SECTIONS[:6]

NAME_KEY = Key(
    section="policy",
    name="name",
    kind=Text(),
    default=DEFAULT_NAME,
    summary="What receipts and reports call the policy.",
)
KEYS: tuple[Key, ...] = (NAME_KEY, *(key for section in SECTIONS for key in section.table()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A valid policy. `stated` names the keys its file wrote (`caps.max_usd`); it is not part of its value."""

    name: str = DEFAULT_NAME
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    caps: CapsPolicy = field(default_factory=CapsPolicy)
    models: ModelsPolicy = field(default_factory=ModelsPolicy)
    egress: EgressPolicy = field(default_factory=EgressPolicy)
    files: FilesPolicy = field(default_factory=FilesPolicy)
    resilience: ResiliencePolicy = field(default_factory=ResiliencePolicy)
    cache: CachePolicy = field(default_factory=CachePolicy)
    evidence: EvidencePolicy = field(default_factory=EvidencePolicy)
    snapshot: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    workspace: WorkspacePolicy = field(default_factory=WorkspacePolicy)
    windows: WindowsPolicy = field(default_factory=WindowsPolicy)
    proof: ProofPolicy = field(default_factory=ProofPolicy)
    upstreams: Upstreams = field(default_factory=Upstreams)
    stated: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __post_init__(self) -> None:
        try:
            NAME_KEY.kind.check(self.name)
        except InvalidDocumentError as error:
            raise InvalidDocumentError(error.reason, f"policy.name {error.detail}") from error
        in_dollars = next(iter(self._dollar_limits()), None)
        if self.budget.mode is BudgetMode.QUOTA and in_dollars is not None:
            raise InvalidDocumentError(
                Reason.WRONG_VALUE,
                f'budget.mode = "quota" counts no dollars, so {in_dollars} could never hold: '
                "cap tokens or calls instead, or count in dollars",
            )

    @property
    def limits_dollars(self) -> bool:
        """Whether any limit is in dollars, so that every call must have a price."""
        return any(True for _ in self._dollar_limits())

    @property
    def limits_tokens(self) -> bool:
        """Whether any limit is in tokens."""
        budgets = (*self.caps.per_model, *self.caps.per_agent)
        return self.caps.max_tokens is not None or any(one.max_tokens is not None for one in budgets)

    @property
    def limits_calls(self) -> bool:
        """Whether any limit is in model calls."""
        budgets = (*self.caps.per_model, *self.caps.per_agent)
        return self.caps.max_model_calls is not None or any(one.max_model_calls is not None for one in budgets)

    @property
    def refuses_unknown_endpoints(self) -> bool:
        """Whether what may bill and cannot be metered is refused: a limit or a rule could not be held over it."""
        limited = self.limits_dollars or self.limits_tokens or bool(self.models.allow or self.models.deny)
        return limited and self.budget.unknown_endpoints is UnknownEndpoints.REFUSE

    def _dollar_limits(self) -> Iterator[str]:
        if self.caps.max_usd is not None:
            yield "caps.max_usd"
        for name in ("per_model", "per_agent"):
            if any(one.max_usd is not None for one in getattr(self.caps, name)):
                yield f"a limit in dollars of caps.{name}"
        if self.budget.pools:
            yield "a pool"

    def document(self) -> dict[str, JsonValue]:
        """Return the JSON document that is digested and embedded in the record."""
        members: dict[str, JsonValue] = {"name": self.name}
        for section in SECTIONS:
            value: Section = getattr(self, section.NAME)
            if section in ALWAYS_WRITTEN or value != section():
                members[section.NAME] = value.document()
        if self.upstreams.entries:
            members["upstreams"] = self.upstreams.mapping()
        return members

    @property
    def recorded(self) -> Policy:
        """The policy as a record has it: where a person's key lies is for nobody who reads that, nor for the agent.

        Which key signs is said by the run's first event.
        """
        return replace(self, proof=replace(self.proof, sign="")) if self.proof.sign else self

    @property
    def digest(self) -> Digest:
        """The SHA-256 of the canonical document."""
        return digest_of(self.document())

    @classmethod
    def from_document(cls, value: JsonValue) -> Policy:
        """Read what `document` writes; InvalidDocumentError names the member that is wrong."""
        reader = Reader(value, "policy")
        sections = {
            section.NAME: section.from_document(reader.object(section.NAME))
            for section in SECTIONS
            if section in ALWAYS_WRITTEN or reader.has(section.NAME)
        }
        policy = cls(
            name=reader.text("name"),
            upstreams=_upstreams(reader.mapping("upstreams")) if reader.has("upstreams") else Upstreams(),
            **sections,  # type: ignore[arg-type]
        )
        reader.close()
        if encode(policy.document()) != encode(value):
            raise InvalidDocumentError(
                Reason.NOT_CANONICAL, "policy: a section that equals its default does not stand in the document"
            )
        return policy


def _upstreams(mapping: JsonObject) -> Upstreams:
    pairs = {}
    for name, url in mapping.items():
        if not isinstance(url, str):
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"policy.upstreams.{name} is not a text")
        pairs[name] = url
    return Upstreams.of(pairs)


__all__ = [
    "DEFAULT_NAME",
    "KEYS",
    "NAME_KEY",
    "SECTIONS",
    "Admission",
    "BudgetMode",
    "BudgetPolicy",
    "CachePolicy",
    "CapsPolicy",
    "EgressMode",
    "EgressPolicy",
    "EvidencePolicy",
    "FilesPolicy",
    "Key",
    "ModelsPolicy",
    "OnBreach",
    "Policy",
    "ProofPolicy",
    "ResiliencePolicy",
    "Section",
    "SnapshotPolicy",
    "UnknownEndpoints",
    "UnknownModels",
    "Upstreams",
    "WindowsPolicy",
    "WorkspaceBackend",
    "WorkspacePolicy",
    "WorkspaceSettle",
]
