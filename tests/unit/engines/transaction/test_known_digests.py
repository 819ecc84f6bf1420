"""What is known of a base's contents outlives the passes over its stages."""

import os
from pathlib import Path

import pytest

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.closing import close_transaction, drop_stage
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, TransactionWorld
from docket.formats.run.policy import WorkspaceBackend
from docket.formats.workspace.state import SurfaceRules
from docket.host import tree as host_tree
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.stores.statcache import StatCache
from docket.stores.workspace.transactions import Transactions

LATER_NS = 3_600_000_000_000


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text(name)
    clock = host_tree.file_system_clock_ns
    monkeypatch.setattr(host_tree, "file_system_clock_ns", lambda root: (clock(root) or 0) + LATER_NS)
    return folder


def test_a_pass_over_a_stage_forgets_nothing_of_the_base(base: Path, tmp_path: Path) -> None:
    cache = StatCache()
    scanner = ObserveWorld(cache=cache, copies=0)
    world = TransactionWorld(
        observe=lambda request: observe_tree(request, scanner),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions(tmp_path / "state/workspace-tx"),
        backends=(CopyBackend(),),
    )
    opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules(), backend=WorkspaceBackend.COPY), world)
    (Path(os.fsdecode(opened.stage.root)) / "a").write_text("new")
    close_transaction(opened, world)
    drop_stage(opened, world)
    known = cache.files
    read: list[bytes] = []
    lookup = cache.lookup

    class Counting:
        lookup = staticmethod(lambda key: read.append(key) or lookup(key))
        keep = cache.keep

    observe_tree(ObserveRequest(root=os.fsencode(base)), ObserveWorld(cache=Counting(), copies=0))
    assert known >= 3
    assert len(read) == 3
    assert all(lookup(key) is not None for key in read)
