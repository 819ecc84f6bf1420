"""Which keys of a policy this version only records, so that nobody relies on a limit that is not held.

Rules:
1. A key that limits something and is not enforced yet refuses the run: a cap that silently does nothing is worse than
   none.
2. Any other key that is not acted upon yet, or not in this run, is a remark.
"""

from __future__ import annotations

from docket.errors import RefusedBeforeStartError
from docket.formats.reason import Reason
from docket.formats.run.policy import KEYS, Policy

LIMITS_NOT_HELD: tuple[str, ...] = ()
FOR_THE_PROXY = ("egress.mode", "egress.allow")
RECORDED_ONLY: tuple[str, ...] = ()


def check_enforced(policy: Policy, *, http_proxy: bool = False) -> tuple[str, ...]:
    """Return remarks on keys that have no effect yet; RefusedBeforeStartError for a limit that would not be held."""
    changed = {key.path for key in KEYS[1:] if getattr(getattr(policy, key.section), key.name) != key.default}
    missing = [path for path in LIMITS_NOT_HELD if path in changed]
    if missing:
        raise RefusedBeforeStartError(
            Reason.POLICY_INVALID,
            f"this version of docket does not enforce {', '.join(missing)}, and a limit that is not held is no limit",
            hint="take it out of the policy to run without it",
        )
    remarks = [f"{path} has no effect in this version" for path in RECORDED_ONLY if path in changed]
    if not http_proxy:
        remarks += [f"{path} has no effect in a run without --http-proxy" for path in FOR_THE_PROXY if path in changed]
    return tuple(remarks)
