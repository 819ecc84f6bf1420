"""Whose line it is, after everything that happens to a tree: two agents, a person, renames, branches, tools unseen.

The model (`blame_lab`) reads the tree's contents and nothing of docket's. Most trees stand in memory; a few are real
repositories with real commits, rebases and hooks.
"""

from __future__ import annotations

import random
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import windows_lab
from blame_lab import EPOCH, MemoryRecord, Model, Tokens, Tool, Tree, Window, joined, said, tokens
from docket.engines.windows.blame import BlameWorld, blame_file, recorded_history
from docket.formats.relpath import RelPath
from docket.host.git_batch import GitBatch
from docket.host.git_place import find_git_place, object_format
from docket.stores.windows.git_sights import GitSights
from docket.stores.windows.git_store import open_git_store

PATHS = ("a", "b", "d/x", "d/y")
SEEDS, STEPS = 40, 30
SLOW_SEEDS = 3000
GIT_STEPS = 22


class Story:
    """One tree, in memory, with what happens to it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.tokens = Tokens(self.chance)
        self.record, self.model = MemoryRecord(), Model()
        self.now = EPOCH
        self.uses = self.turn = 0
        self.saved: list[Tree] = []
        self.running: tuple[list[Tool], datetime, str] | None = None
        for path in PATHS[:2]:
            self.tree[path] = self.tokens.edited(b"")
        self.branches = [dict(self.tree)]

    @property
    def tree(self) -> Tree:
        return self.record.tree

    def step(self) -> str:
        """Let something happen; return what."""
        self.now += timedelta(seconds=self.chance.randint(5, 400))
        actions = {
            "edit": 8,
            "rename": 2,
            "copy": 2,
            "gather": 2,
            "remove": 1,
            "save": 2,
            "switch": 2,
            "window": 12,
            "missed": 1,
        }
        action = self.chance.choices(list(actions), list(actions.values()))[0]
        getattr(self, action)()
        return action

    def tool(self) -> Tool:
        self.uses += 1
        self.turn += self.chance.random() < 0.5
        return Tool(f"use-{self.uses}", self.chance.choice(["claude", "codex"]), f"turn-{self.turn}")

    def window(self) -> None:
        """A tool begins, or all that run end."""
        if self.running is None:
            self.running = [self.tool()], self.now, self.record.look()
            self.model.look(self.tree, self.now)
        elif self.chance.random() < 0.4:
            self.running[0].append(self.tool())
        else:
            tools, since, before = self.running
            self.record.close(tools, (since, self.now), (before, self.record.look()))
            self.model.close(self.tree, Window(tuple(tools), (since, self.now)))
            self.running = None

    def missed(self) -> None:
        tool = self.tool()
        self.record.close_partial(tool, self.now)
        self.model.missed(tool, self.now)

    def edit(self) -> None:
        path = self.chance.choice(PATHS)
        self.tree[path] = self.tokens.edited(self.tree.get(path, b""))

    def rename(self) -> None:
        old, new = self.chance.choice(PATHS), self.chance.choice(PATHS)
        if old in self.tree and new not in self.tree:
            self.tree[new] = self.tree.pop(old)

    def copy(self) -> None:
        old, new = self.chance.choice(PATHS), self.chance.choice(PATHS)
        if old in self.tree:
            self.tree[new] = self.tree[old]

    def gather(self) -> None:
        """Two files of one content go, and a third one of it comes: nobody knows which of them it was."""
        pairs = [(a, b) for a in self.tree for b in self.tree if a < b and self.tree[a] == self.tree[b]]
        free = [path for path in PATHS if path not in self.tree]
        if pairs and free:
            a, b = self.chance.choice(pairs)
            self.tree[free[0]] = self.tree.pop(a)
            del self.tree[b]

    def remove(self) -> None:
        self.tree.pop(self.chance.choice(PATHS), None)

    def save(self) -> None:
        self.branches.append(dict(self.tree))

    def switch(self) -> None:
        """Another commit is checked out, or a stash comes back."""
        self.record.tree = dict(self.chance.choice(self.branches))


def lived(seed: int) -> None:
    story = Story(seed)
    done = []
    for _ in range(STEPS):
        done.append(story.step())
        if story.running is None:
            for path, wanted in story.model.told(story.tree).items():
                assert said(story.record.blame(path)) == wanted, (seed, done, path)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_line_has_its_class_after_every_step(seed):
    lived(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_line_has_its_class_in_thousands_of_stories():
    for seed in range(SEEDS, SLOW_SEEDS):
        lived(seed)


@pytest.mark.parametrize("seed", range(1000, 1000 + SEEDS))
def test_what_is_lost_of_the_evidence_leads_to_no_false_claim(seed):
    damaged(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_lost_leads_to_a_false_claim_in_thousands_of_stories():
    for seed in range(1000 + SEEDS, 1000 + SLOW_SEEDS):
        damaged(seed)


def damaged(seed: int) -> None:
    """Whatever is lost: who is named did put that line there, and what is outside did come there outside."""
    story = Story(seed)
    for _ in range(STEPS):
        story.step()
    while story.running is not None:
        story.window()
    walk, record, chance = story.model.walked(), story.record, random.Random(seed)
    walk.look(story.tree, story.now)
    for kept in (record.trees, record.contents, record.deltas):
        for name in [name for name in kept if chance.random() < 0.2]:
            del kept[name]
    closed = [window for window in record.closed if chance.random() > 0.05]
    record.unreadable, record.closed = len(record.closed) - len(closed), closed
    for path, content in story.tree.items():
        origins = record.blame(path)
        assert len(origins) == len(tokens(content))
        for token, origin, (kind, uses) in zip(tokens(content), origins, said(origins), strict=True):
            ever = walk.ever[token]
            named = any(isinstance(claim, Window) and {tool.use for tool in claim.tools} <= uses for claim in ever)
            came = story.model.came_outside(str(origin.path), token, story.tree)
            assert kind == "unknown" or (named if uses else came), (seed, path, token)


class StagedStory(Story):
    """The same, with runs whose tools work on a stage that lands whole, lands merged, or does not."""

    def __init__(self, seed: int) -> None:
        self.made: dict[tuple[str, str], Window] = {}
        super().__init__(seed)

    def window(self) -> None:
        if self.running is None and self.chance.random() < 0.4:
            self.stage()
        else:
            super().window()

    def stage(self) -> None:
        """A run begins with the tree as it is; its tools edit the stage, while a person may edit the tree."""
        staged, name = dict(self.tree), f"stage-{self.uses}"
        for _ in range(self.chance.randint(1, 3)):
            since = self.now
            self.now += timedelta(seconds=20)
            tool, before = self.tool(), dict(staged)
            path = self.chance.choice(PATHS)
            staged[path] = self.tokens.edited(staged.get(path, b""))
            fresh = set(tokens(staged[path])) - set(tokens(before.get(path, b"")))
            self.made.update(((path, token), Window((tool,), (since, self.now))) for token in fresh)
            self.record.close_staged([tool], (since, self.now), (before, staged), name)
            self.now += timedelta(seconds=20)
        if self.chance.random() < 0.3:
            self.edit()
        if self.chance.random() < 0.8:
            merged = {
                path: set(tokens(self.tree.get(path, b""))) | set(tokens(content)) for path, content in staged.items()
            }
            whole = self.chance.random() < 0.7
            self.record.tree = staged if whole else {path: joined(sorted(lines)) for path, lines in merged.items()}
        self.now += timedelta(seconds=20)


@pytest.mark.parametrize("seed", range(2000, 2000 + SEEDS))
def test_what_a_stage_brings_is_of_its_tools_or_unknown(seed):
    brought(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_stages_bring_in_thousands_of_stories():
    for seed in range(2000 + SEEDS, 2000 + SLOW_SEEDS):
        brought(seed)


def brought(seed: int) -> int:
    """Nobody is named who did not put that line there, and no line of a stage's tool is outside; return how many."""
    story, named = StagedStory(seed), 0
    for _ in range(STEPS):
        story.step()
        if story.running is not None:
            continue
        walk = story.model.walked()
        walk.look(story.tree, story.now)
        for path, content in story.tree.items():
            origins = story.record.blame(path)
            assert len(origins) == len(tokens(content))
            for token, (kind, uses) in zip(tokens(content), said(origins), strict=True):
                claims = {
                    claim
                    for claim in (*walk.ever[token], *(story.made.get((place, token)) for place in PATHS))
                    if isinstance(claim, Window)
                }
                right = any({tool.use for tool in claim.tools} <= uses for claim in claims)
                named += (path, token) in story.made and right
                assert right if uses else kind == "unknown" or (path, token) not in story.made, (seed, path, token)
    return named


class GitStory(Story):
    """The same in a real repository, with real hooks: branches are commits, and some are rebased."""

    def __init__(self, seed: int, root: Path) -> None:
        self.lab = windows_lab.git_lab(root, files={"a": "0.5 line 0\n", "keep": "k\n"})
        self.root = root
        super().__init__(seed)
        self.commits = [self.committed()]

    def step(self) -> str:
        before = dict(self.tree)
        self.now += timedelta(seconds=10)
        actions = {"edit": 8, "rename": 2, "remove": 1, "save": 2, "switch": 2, "rebase": 1, "window": 10}
        action = self.chance.choices(list(actions), list(actions.values()))[0]
        getattr(self, action)()
        if action in ("edit", "rename", "remove"):
            self.write(before)
        return action

    def write(self, before: Tree) -> None:
        """Bring what the model's tree became to the disk, renames as renames."""
        for path in before.keys() - self.tree.keys():
            new = [other for other, content in self.tree.items() if other not in before and content == before[path]]
            if len(new) == 1:
                (self.lab.tree / new[0]).parent.mkdir(exist_ok=True)
                (self.lab.tree / path).rename(self.lab.tree / new[0])
            else:
                (self.lab.tree / path).unlink()
        for path, content in self.tree.items():
            if before.get(path) != content:
                windows_lab.write(self.lab.tree / path, content)

    def read(self) -> None:
        """Take over what git made of the tree."""
        files = (path for path in self.lab.tree.rglob("*") if path.is_file() and ".git" not in path.parts)
        self.record.tree = {str(path.relative_to(self.lab.tree)): path.read_bytes() for path in files}

    def committed(self) -> str:
        self.lab.git("add", "-A")
        self.lab.git("commit", "-q", "--allow-empty", "-m", "c")
        return self.lab.git("rev-parse", "HEAD").strip()

    def save(self) -> None:
        self.commits.append(self.committed())

    def switch(self) -> None:
        self.save()
        self.lab.git("checkout", "-q", "--detach", self.chance.choice(self.commits))
        self.read()

    def rebase(self) -> None:
        """What was not committed becomes a commit on top of another one, unless that conflicts."""
        self.save()
        self.lab.git("rebase", "-q", self.chance.choice(self.commits), check=False)
        self.lab.git("rebase", "--abort", check=False)
        self.read()

    def window(self) -> None:
        if self.running is None:
            tools = [self.tool() for _ in range(self.chance.randint(1, 2))]
            for tool in tools:
                self.lab.pre(tool.use, provider=tool.agent, session_id=f"{tool.agent}-s", turn_id=tool.turn)
            self.running = tools, self.now, ""
            self.model.look(self.tree, self.now)
        else:
            for tool in self.running[0]:
                self.lab.post(tool.use, provider=tool.agent, session_id=f"{tool.agent}-s", turn_id=tool.turn)
            self.model.close(self.tree, Window(tuple(self.running[0]), (self.running[1], self.now)))
            self.running = None

    def told(self) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """What docket says of every file."""
        place = find_git_place(self.lab.tree)
        assert place is not None
        world = self.lab.world
        store = open_git_store(self.lab.windows, place, object_format(place))
        history = recorded_history(self.lab.store.repository, world.registry, world.evidence)
        with GitBatch(store.folder / "objects") as batch:
            sights = GitSights(store=store, batch=batch, own=())
            ports = BlameWorld(root=self.lab.tree, hashes=store.hashes, history=history, sights=sights)
            return {path: said(blame_file(RelPath(path.encode()), ports).origins) for path in self.tree}


def lived_in_git(seed: int, root: Path) -> None:
    story = GitStory(seed, root)
    story.read()
    done = []
    for _ in range(GIT_STEPS):
        done.append(story.step())
        if story.running is None:
            assert story.told() == story.model.told(story.tree), (seed, done)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(("seed", "large_bytes"), [(0, 1024), (1, 0)])
def test_a_real_repository_with_hooks_commits_and_rebases(seed, large_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr("docket.engines.windows.blame.LARGE_BYTES", large_bytes)
    lived_in_git(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_many_real_repositories(tmp_path):
    for seed in range(2, 60):
        lived_in_git(seed, tmp_path / str(seed))
