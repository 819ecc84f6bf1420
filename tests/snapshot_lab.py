"""Snapshots of small trees for tests: a tree, a state folder, and how one is taken and judged."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.snapshot import SnapshotOutcome, SnapshotRequest, SnapshotWorld, take_snapshot
from docket.errors import UnavailableError
from docket.formats.tree.listing import Listing
from docket.formats.tree.manifest import SnapshotLimits, SurfaceRules
from docket.formats.tree.surface import Surface
from docket.host.disk import SYSTEM_DISK, Disk
from docket.stores.layout import Layout
from docket.stores.statcache import StatCache

NOW = "2026-01-31T12:00:00.000Z"
LIMITS = SnapshotLimits(max_bytes=10**9, max_file_bytes=10**8, max_entries=10**6)


class Noon:
    def now(self) -> str:
        return NOW

    def monotonic_ns(self) -> int:
        return 0


@dataclass
class SnapshotLab:
    """A tree on the machine's disk whose snapshots go to any disk."""

    root: Path
    disk: Disk = SYSTEM_DISK
    cache: StatCache = field(default_factory=StatCache)
    state: Path = Path()
    copies: int = 0

    def __post_init__(self) -> None:
        self.tree = self.root / "tree"
        self.tree.mkdir(exist_ok=True)
        self.state = self.root / "state" if isinstance(self.disk, type(SYSTEM_DISK)) else Path("/state")
        self.layout = Layout(tree_root=self.tree, state=self.state, docket_dir=self.tree / ".docket", evidence=())
        if self.disk is SYSTEM_DISK:
            self.state.mkdir(exist_ok=True)

    def observe(self, request: ObserveRequest) -> Listing:
        world = ObserveWorld(cache=self.cache, copies=self.copies, share_after_files=1 if self.copies else 10**9)
        return observe_tree(request, world)

    def take(self, session_id: str, limits: SnapshotLimits = LIMITS, **changes: Any) -> SnapshotOutcome:
        request = SnapshotRequest(
            root=os.fsencode(self.tree),
            layout=self.layout,
            session_id=session_id,
            docket_number="DKT-20260131-00C0DE",
            surface=changes.pop("surface", Surface()),
            rules=SurfaceRules(watch=(".",), ignore=(), evidence=()),
            limits=limits,
        )
        members = {"observe": self.observe, "clock": Noon(), "disk": self.disk, "free": lambda _: 10**12, **changes}
        return take_snapshot(request, SnapshotWorld(**members))

    def manifest(self, session_id: str) -> dict[str, Any]:
        """The manifest as any JSON reader has it; KeyError-free access is the test's own business."""
        document: dict[str, Any] = json.loads(self.read(self.state / "snapshots" / session_id / "manifest.json"))
        return document

    def read(self, path: Path) -> bytes:
        with self.disk.folder(path.parent) as folder, folder.open(path.name) as file:
            return file.read(0, file.size())

    def is_complete(self, session_id: str) -> bool:
        try:
            self.read(self.state / "snapshots" / session_id / "manifest.json")
        except UnavailableError:
            return False
        return True

    def judge(self, session_id: str) -> int:
        """Every content that the manifest names is there and has its digest and size; returns how many files it has."""
        entries, kept = self.manifest(session_id)["entries"], self.pooled()
        for entry in entries:
            data = kept[entry["blob"]]
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (entry["sha256"], entry["size"])
        return len(entries)

    def pooled(self) -> dict[str, bytes]:
        """What the pool holds, by `<aa>/<rest>`, with Python's own reader of tar archives."""
        return self.pooled_on(self.disk, self.state)

    @staticmethod
    def pooled_on(disk: Disk, state: Path) -> dict[str, bytes]:
        kept = dict[str, bytes]()
        with disk.folder(state / "snapshots" / "contents") as contents:
            for fan in contents.names():
                with contents.folder(fan) as inner:
                    for name in inner.names():
                        with inner.open(name) as file:
                            data = file.read(0, file.size())
                        if fan != "packs":
                            kept[f"{fan}/{name}"] = data
                        elif name.endswith(".tar"):
                            kept |= unpacked(data)
        return kept


def unpacked(pack: bytes) -> dict[str, bytes]:
    """The contents in a pack, by their names in it, as any reader of tar archives has them."""
    with tarfile.open(fileobj=io.BytesIO(pack)) as archive:
        found = {item.name: archive.extractfile(item) for item in archive}
        return {name: file.read() for name, file in found.items() if file is not None and "/" in name}


def on(disk: Disk, root: Path, cache: StatCache | None = None) -> SnapshotLab:
    """Return a lab over the same tree that keeps its snapshots on another disk."""
    return SnapshotLab(root, disk=disk, cache=cache or StatCache())
