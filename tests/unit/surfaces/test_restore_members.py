"""A plan as JSON: what each step finds and leaves, looked up once for all of them."""

from __future__ import annotations

from pathlib import Path

from docket.engines.foresee import Foreseen
from docket.engines.restore import Origin, Proposal
from docket.formats.tree.plan import ABSENT, WriteFile, plan_of
from docket.rules.tree.restore import Intention, Verb
from docket.stores.layout import Layout
from docket.surfaces.render.restore_plan import proposed_members
from fakes.memory_content import MemoryContent
from tree_lab import file_state, p


class Counted(dict):
    """A mapping that counts how often all of it is gone through."""

    passes = 0

    def values(self):
        self.passes += 1
        return super().values()


def test_what_is_left_at_many_paths_is_told_in_one_pass():
    contents = MemoryContent()
    new, was = contents.put([b"new"]), file_state(b"old")
    steps = [WriteFile(path=p(f"{number:03}"), precondition=ABSENT, content=new, mode=0o600) for number in range(200)]
    foreseen = Counted((step.path, Foreseen(step=step, was=was)) for step in steps)
    proposal = Proposal(
        origin=Origin(session_id="0123456789ab", docket_number="DKT-20261001-00C0DE"),
        root=b"/tree",
        layout=Layout(tree_root=Path("/tree"), state=Path("/state"), docket_dir=Path("/tree/.docket"), evidence=()),
        plan=plan_of(steps, (1, 2)),
        intentions=tuple(Intention(path=step.path, verb=Verb.WRITE, step=step) for step in steps),
        foreseen=foreseen,
        contents=contents,
        force=False,
    )
    paths = proposed_members(proposal)["paths"]
    old = {"kind": "file", "mode": 0o644, "size": 3, "sha256": was.sha256}
    left = {"kind": "file", "mode": 0o600, "size": 3, "sha256": file_state(b"new").sha256}
    assert [(item["path"], item["was"], item["now"]) for item in paths] == [
        (f"{number:03}", old, left) for number in range(200)
    ]
    assert foreseen.passes == 1
