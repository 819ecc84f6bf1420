"""Undoing any earlier tool call, against a model of unique lines that knows nothing of git or of docket's differ.

Tools edit, make, remove and change the mode of files, a person edits between them, and calls are undone, whole or by
path or by hunk, and put back. The model merges runs of lines between those that all three sides share.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from docket.engines.restore import RedoRequest, RestoreWorld, carry_out, propose_redo
from docket.engines.windows.undo import UndoRequest, propose_undo
from docket.formats.digest import Digest, sha256
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import Actor, Delta, Limits, Span, ToolUse, decode_delta, encode_delta
from docket.formats.windows.key import WindowKey
from docket.formats.windows.names import EXECUTABLE_MODE, REGULAR_MODE, Hashes, Scope, Status
from docket.formats.windows.records import ClosedWindow
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.restore import Selection
from docket.rules.windows.compare import Room, compare_file
from docket.stores.layout import Layout

NAMES = ("a", "b", "d/c")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a sync costs nothing there
AT = "2026-01-01T00:00:00.000Z"
File = tuple[tuple[str, ...], bool]
Tree = dict[str, File]


class MemoryStore:
    """What a window store answers, from contents that it was given."""

    repository, hashes = "r", Hashes.CONTENT_SHA256

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.trees: dict[str, Tree] = {}

    def take(self, tree: Tree) -> str:
        """Keep a tree."""
        name = str(len(self.trees))
        self.trees[name] = dict(tree)
        for file in tree.values():
            self.side(file)
        return name

    def side(self, file: File | None) -> Side:
        """A file as a delta names it."""
        if file is None:
            return Side()
        content = data(file)
        name = str(sha256(content))
        self.kept[name] = content
        return Side(mode=EXECUTABLE_MODE if file[1] else REGULAR_MODE, name=name)

    def changes(self, before: str, after: str, _deadline: object) -> tuple[TreeChange, ...]:
        """What differs between two trees."""
        old, new = self.trees[before], self.trees[after]
        return tuple(
            TreeChange(path=RelPath(name.encode()), before=self.side(old.get(name)), after=self.side(new.get(name)))
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        )

    @contextmanager
    def contents(self) -> Iterator[Callable[[str, int], bytes | None]]:
        """What reads contents."""
        yield lambda name, _most: self.kept.get(name)


def data(file: File) -> bytes:
    return "".join(f"{line}\n" for line in file[0]).encode()


def merged(now: File, after: File, before: File) -> File | None:
    """What the model makes of three files, None for a conflict."""
    lines: list[str] = []
    ends = [0, 0, 0]
    sides = (now[0], after[0], before[0])
    shared = [line for line in after[0] if line in now[0] and line in before[0]]
    for line in (*shared, None):
        at = [len(side) if line is None else side.index(line) for side in sides]
        ours, base, theirs = (side[start:end] for side, start, end in zip(sides, ends, at, strict=True))
        if ours != base and theirs not in (base, ours):
            return None
        lines += theirs if ours == base else ours
        lines += [] if line is None else [line]
        ends = [place + 1 for place in at]
    executable = before[1] if now[1] == after[1] else now[1]
    return tuple(lines), executable


def undone(now: File | None, after: File | None, before: File | None) -> File | str | None:
    """What the model makes of a path: a file, None for nothing, "conflict"."""
    if now == after:
        return before
    if now == before:
        return now
    if now is None or after is None or before is None:
        return "conflict"
    return merged(now, after, before) or "conflict"


class Undo(RuleBasedStateMachine):
    """A tree, the calls that changed it, and undos of any of them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="docket-undo-", dir=MEMORY))
        self.tree = self.root / "tree"
        self.tree.mkdir()
        self.store, self.now, self.lines = MemoryStore(), Tree(), 0
        self.calls: list[tuple[UndoRequest, Tree, Tree]] = []
        self.layout = Layout(tree_root=self.tree, state=self.root / "state", docket_dir=self.root, evidence=())
        self.world = RestoreWorld(clock=SystemClock(), ids=SystemIds())

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def fresh(self, count: int) -> tuple[str, ...]:
        self.lines += count
        return tuple(f"line {number}" for number in range(self.lines - count, self.lines))

    def put(self, name: str, file: File | None) -> None:
        path = self.tree / name
        if file is None:
            self.now.pop(name, None)
            path.unlink(missing_ok=True)
            if path.parent != self.tree and path.parent.exists() and not any(path.parent.iterdir()):
                path.parent.rmdir()
        else:
            self.now[name] = file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data(file))
            path.chmod(0o755 if file[1] else 0o644)

    def edited(self, file: File | None, kind: str, at: int, count: int) -> File | None:
        if file is None:
            return self.fresh(count + 6), False
        lines, executable = file
        at %= len(lines) + 1
        match kind:
            case "insert":
                return (*lines[:at], *self.fresh(count), *lines[at:]), executable
            case "delete":
                return (*lines[:at], *lines[at + count :]), executable
            case "replace":
                return (*lines[:at], *self.fresh(count), *lines[at + count :]), executable
            case "mode":
                return lines, not executable
            case _:
                return None

    @initialize()
    def begin(self) -> None:
        for name in NAMES[:2]:
            self.put(name, (self.fresh(10), False))

    edits = st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.sampled_from(("insert", "delete", "replace", "insert", "replace", "mode", "remove")),
            st.integers(0, 11),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=3,
    )

    @rule(edits=edits)
    def a_person_edits(self, edits: list[tuple[str, str, int, int]]) -> None:
        for name, kind, at, count in edits[:1]:
            self.put(name, self.edited(self.now.get(name), kind, at, count))

    @rule(edits=edits)
    def a_tool_runs(self, edits: list[tuple[str, str, int, int]]) -> None:
        before = dict(self.now)
        old = self.store.take(before)
        for name, kind, at, count in edits:
            self.put(name, self.edited(self.now.get(name), kind, at, count))
        new = self.store.take(self.now)
        self.calls.append((self.request(old, new), before, dict(self.now)))

    def request(self, old: str, new: str) -> UndoRequest:
        use = f"toolu_{len(self.calls)}"
        room = Room()
        files = [
            compare_file(change, Hashes.CONTENT_SHA256, lambda name: self.store.kept[name], room)
            for change in self.store.changes(old, new, None)
        ]
        delta = Delta(
            scope=Scope.TOOL,
            status=Status.COMPLETE,
            window=Span(started_at=AT, completed_at=AT, duration_ms=0),
            actors=(Actor(provider="claude", session_id="s", turn_id="t"),),
            tool_uses=(ToolUse(tool_use_id=use, tool_name="Edit", event_id="e", actor=0),),
            files=tuple(files),
            limits=Limits(files_observed=len(files)),
            hashes=Hashes.CONTENT_SHA256,
        )
        document = encode_delta(delta)
        record = ClosedWindow(
            key=WindowKey(repository="r", provider="claude", session_id="s", turn_id="t", tool_use_id=use),
            tool_name="Edit", event_id="e", closed_at=AT, delta_sha256=Digest(sha256(document)),
            status=Status.COMPLETE, members=1, tree_before=old, tree_after=new,
        )  # fmt: skip
        return UndoRequest(record=record, delta=decode_delta(document), layout=self.layout, root=os.fsencode(self.tree))

    @precondition(lambda self: self.calls)
    @rule(draw=st.data())
    def a_call_is_undone(self, draw: st.DataObject) -> None:
        request, before, after = draw.draw(st.sampled_from(self.calls))
        names = [str(file.path) for file in request.delta.files]
        wanted = {name: undone(self.now.get(name), after.get(name), before.get(name)) for name in names}
        chosen = draw.draw(st.sampled_from([None, *names]))
        if chosen is not None:
            request = replace(request, selection=Selection(paths=(RelPath(chosen.encode()),)))
            wanted = {chosen: wanted[chosen]}
        self.check(request, wanted, redo=draw.draw(st.booleans()))

    @precondition(lambda self: any(file.hunks for call in self.calls for file in call[0].delta.files))
    @rule(draw=st.data())
    def a_hunk_is_undone(self, draw: st.DataObject) -> None:
        hunks = [
            (call, file, number)
            for call in self.calls
            for number, (file, _) in enumerate(((f, h) for f in call[0].delta.files for h in f.hunks), 1)
        ]
        (request, before, after), file, number = draw.draw(st.sampled_from(hunks))
        first = 1 + sum(len(other.hunks) for other in request.delta.files if other.path < file.path)
        name, hunk = str(file.path), file.hunks[number - first]
        was, left = before.get(name), after.get(name)
        if was is not None and left is not None:
            gone, come = ([line.decode() for line in lines] for lines in (hunk.old_lines, hunk.new_lines))
            at = hunk.new_start - 1
            assert list(left[0][at : at + len(come)]) == come
            was = ((*left[0][:at], *gone, *left[0][at + len(come) :]), left[1])
        wanted = {name: undone(self.now.get(name), left, was)}
        self.check(replace(request, hunks=frozenset((number,))), wanted, redo=draw.draw(st.booleans()))

    def check(self, request: UndoRequest, wanted: dict[str, File | str | None], *, redo: bool) -> None:
        with ExitStack() as stack:
            found = propose_undo(request, self.store, self.world, stack)
            in_conflict = {name for name, file in wanted.items() if file == "conflict"}
            refused = {str(item.path) for item in found.proposal.intentions if item.verb == "refused"}
            assert refused == in_conflict, (refused, in_conflict)
            assert set(map(str, found.conflicts)) <= in_conflict
            assert found.refused == len(in_conflict)
            self.unchanged()
            if in_conflict:
                return
            shown = found.proposal.shown_sha256
        earlier = dict(self.now)
        with ExitStack() as stack:
            found = propose_undo(request, self.store, self.world, stack)
            assert found.proposal.shown_sha256 == shown
            restored = carry_out(found.proposal, self.world)
        assert restored.problem is None
        for name, file in wanted.items():
            assert not isinstance(file, str)
            self.now.pop(name, None) if file is None else self.now.update({name: file})
        self.unchanged()
        if redo:
            again = RedoRequest(record_path=restored.record_path, layout=self.layout)
            with ExitStack() as stack:
                carry_out(propose_redo(again, self.world, stack), self.world)
            self.now = earlier

    @invariant()
    def unchanged(self) -> None:
        """The tree is what the model says."""
        found = {
            str(path.relative_to(self.tree)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in self.tree.rglob("*")
            if path.is_file()
        }
        assert found == {name: (data(file), file[1]) for name, file in self.now.items()}


TestUndo = Undo.TestCase
TestUndo.settings = settings(
    max_examples=12, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
)
