"""Which keys of a policy have no effect in this run, so that nobody relies on a limit that is not held.

Rules:
1. A key that limits something and is not held in this run refuses it: a limit that silently does nothing is worse than
   none.
2. Any other key that is not acted upon in this run is a remark.
"""

from __future__ import annotations

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.formats.run.policy import KEYS, Policy

FOR_THE_PROXY = ("egress.mode", "egress.allow")
LIMITS_OF_A_STAGE = ("workspace.protect",)
FOR_A_STAGE = ("workspace.backend", "workspace.settle", "workspace.exclude", "workspace.share")


def check_enforced(policy: Policy, *, http_proxy: bool = False) -> tuple[str, ...]:
    """Return remarks on keys that have no effect here; RefusedBeforeStartError for a limit that would not be held."""
    changed = {key.path for key in KEYS[1:] if getattr(getattr(policy, key.section), key.name) != key.default}
    remarks: list[str] = []
    if not policy.workspace.transaction:
        missing = [path for path in LIMITS_OF_A_STAGE if path in changed]
        if missing:
            raise RefusedBeforeStartError(
                Reason.POLICY_INVALID,
                f"{', '.join(missing)} holds only in a run with workspace.transaction",
                hint="run with --workspace-tx, or take it out of the policy to run without it",
            )
        remarks += [f"{path} has no effect in a run without --workspace-tx" for path in FOR_A_STAGE if path in changed]
    if not http_proxy:
        remarks += [f"{path} has no effect in a run without --http-proxy" for path in FOR_THE_PROXY if path in changed]
    return tuple(remarks)
