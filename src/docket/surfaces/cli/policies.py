"""The policy of a run: which files are read, in which order they have a say, and what the record says of it.

What a file may say is `rules.policy`; this module finds the files and turns what is wrong with them into a refusal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docket.errors import DocketError, InvalidDocumentError, RefusedBeforeStartError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.policy import Policy, SnapshotPolicy
from docket.formats.run.policy_toml import MAX_POLICY_BYTES, parse_policy
from docket.host.regular_file import read_regular_file
from docket.rules.policy.enforced import check_enforced
from docket.rules.policy.order import (
    TREE_POLICY,
    USER_POLICY,
    PolicyFile,
    PolicySources,
    effective_policy,
    protected_selectors,
)
from docket.rules.policy.override import Overrides
from docket.surfaces.cli.project import config_folder

if TYPE_CHECKING:
    from docket.formats.tree.manifest import SnapshotLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The policy that holds, where it comes from, the selectors that protect its files, and remarks for the record."""

    policy: Policy
    source: str | None
    protected: tuple[str, ...]
    remarks: tuple[str, ...]


def decide_policy(tree: Path, named: Path | None, flags: Mapping[str, object]) -> Decided:
    """Read the policy files and return what holds.

    RefusedBeforeStartError tells everything wrong with a file; UsageError what is wrong with a flag or a path.
    """
    overrides = Overrides.parse(flags)
    named_file = None if named is None else _read(named, must_exist=True)
    user_path = _own_path()
    user_file = None if named is not None or user_path is None else _read(user_path, must_exist=False)
    tree_file = _read(tree / TREE_POLICY, must_exist=False)
    effective = effective_policy(PolicySources(named=named_file, user=user_file, tree=tree_file, overrides=overrides))
    remarks = check_enforced(effective.policy, http_proxy=bool(flags.get("http_proxy")))
    inside = [_inside(tree, path) for path in (named, user_path) if path is not None]
    return Decided(
        policy=effective.policy,
        source=effective.source,
        protected=protected_selectors([path for path in inside if path is not None]),
        remarks=(*effective.warnings, *remarks),
    )


def own_policy_vouches() -> bool:
    """Whether the person's own policy has runs signed or sealed; one that cannot be read does not."""
    path = _own_path()
    with suppress(DocketError):
        own = None if path is None else _read(path, must_exist=False)
        return own is not None and bool(own.policy.proof.sign or own.policy.proof.seal)
    return False


def _own_path() -> Path | None:
    config = config_folder()
    return None if config is None else config / USER_POLICY


def _read(path: Path, *, must_exist: bool) -> PolicyFile | None:
    try:
        data = read_regular_file(path, MAX_POLICY_BYTES)
    except UnavailableError as error:
        if error.reason != Reason.NOT_FOUND:
            # A policy that is there and cannot be read may hold a cap: going on without it would lose the cap.
            raise RefusedBeforeStartError(error.reason, f"the policy {error.detail}") from error
        if must_exist:
            raise UsageError(error.reason, f"the policy {error.detail}", hint="docket init writes one") from error
        return None
    try:
        return PolicyFile(policy=parse_policy(data, str(path)), source=os.path.realpath(path))
    except InvalidDocumentError as error:
        raise RefusedBeforeStartError(error.reason, error.detail, hint=error.hint, points=error.points) from error


def _inside(tree: Path, path: Path) -> RelPath | None:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(tree):
        return None
    return RelPath.parse(os.fsencode(real.relative_to(tree)))


def snapshot_limits(section: SnapshotPolicy) -> SnapshotLimits | None:
    """Return how much a snapshot may hold, None where none is to be taken."""
    if not section.enabled:
        return None
    from docket.formats.tree.manifest import SnapshotLimits  # noqa: PLC0415 - a run without a snapshot never loads it

    return SnapshotLimits(
        max_bytes=section.max_bytes, max_file_bytes=section.max_file_bytes, max_entries=section.max_entries
    )
