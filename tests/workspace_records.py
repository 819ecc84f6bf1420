"""Records of commits that came after their runs, typed by hand."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.digest import Digest
from docket.formats.ledger.workspace_events import RefusedChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.commit_record import CommitRecord
from docket.formats.workspace.scope import BackendName
from docket.formats.workspace.state import Base, ChangeCounts

BASE = Base.of(b"/work/caf\xe9", (1, 2))
REFUSED = CommitRecord(
    transaction="00112233aabb",
    base=BASE,
    backend=BackendName.OVERLAY,
    was="closed",
    committed=False,
    at="2026-10-01T12:00:00.000Z",
    base_sha256=Digest("ab" * 32),
    diff_sha256=Digest("cd" * 32),
    changes=ChangeCounts(added=1),
    approval="none",
    applied=0,
    already=0,
    reason="base-drift",
    detail="a changed",
    refusals=(RefusedChange(path=RelPath(b"caf\xe9"), reason="changed-since", detail="x"),),
)
LANDED = replace(
    REFUSED,
    committed=True,
    applied=1,
    reason=None,
    detail=None,
    refusals=(),
    of_diff_sha256=Digest("ef" * 32),
    plan_sha256=Digest("01" * 32),
    session_id="0123456789ab",
    docket_number="DKT-20261001-00C0DE",
    successor="aaaaaaaaaaaa",
)
