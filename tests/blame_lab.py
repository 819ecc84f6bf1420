"""A tree with windows in memory, and a model of whose lines are whose that reads nothing but the tree's contents.

Every line is a token that is made once, and every token has its place among all others, so that lines never swap. The
model goes forward, from look to look, by tokens; docket goes backward, by hashes and hunks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from docket.formats.digest import Digest, sha256
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import Actor, Delta, Limits, Span, ToolUse, encode_delta, normalised
from docket.formats.windows.key import IN_STAGE, WindowKey
from docket.formats.windows.names import REGULAR_MODE, Hashes, Scope, Status
from docket.formats.windows.records import ClosedWindow, Tombstone
from docket.rules.windows.blame import PresentFile, blame
from docket.rules.windows.blame_history import Recorded, history_of
from docket.rules.windows.compare import Room, compare_file
from docket.rules.windows.origin import LineOrigin, Origin

Tree = dict[str, bytes]
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def name_of(content: bytes) -> str:
    """What a folder's delta calls a content."""
    return str(sha256(content))


@dataclass(frozen=True)
class Tool:
    """A tool call: whose, in which session and turn."""

    use: str
    agent: str
    turn: str

    def key(self) -> WindowKey:
        """Its window's key."""
        return WindowKey(repository="r", provider=self.agent, session_id=f"{self.agent}-s", turn_id=self.turn,
                         tool_use_id=self.use)  # fmt: skip


@dataclass
class MemoryRecord:
    """What docket would keep of the windows of a tree in memory, and the port over it."""

    tree: Tree = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    closed: list[ClosedWindow] = field(default_factory=list)
    deltas: dict[Digest, Delta] = field(default_factory=dict)
    tombstones: list[Tombstone] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    rules: str | None = None
    ignored: tuple[RelPath, ...] = ()
    unwatched: set[RelPath] = field(default_factory=set)
    unreadable: int = 0
    committed: dict[RelPath, bytes] = field(default_factory=dict)

    def look(self) -> str:
        """Keep the tree as it is; return its name."""
        name = name_of(repr(sorted(self.tree.items())).encode())
        self.trees[name] = dict(self.tree)
        self.contents.update((name_of(content), content) for content in self.tree.values())
        return name

    def close(
        self, tools: list[Tool], span: tuple[datetime, datetime], trees: tuple[str, str], **other: object
    ) -> Digest:
        """Keep the record of tools that ran between two looks."""
        before, after = self.trees[trees[0]], self.trees[trees[1]]
        room = Room()
        files = [
            compare_file(
                TreeChange(path=RelPath(path.encode()), before=_side(before.get(path)), after=_side(after.get(path))),
                Hashes.CONTENT_SHA256, self.contents.get, room,
            )
            for path in sorted({*before, *after}, key=str.encode)
            if before.get(path) != after.get(path)
        ]  # fmt: skip
        delta = normalised(_delta(tools, span, files=tuple(files), status=Status.COMPLETE))
        return self.keep(delta, tools, trees=trees, **other)

    def close_staged(
        self, tools: list[Tool], span: tuple[datetime, datetime], trees: tuple[Tree, Tree], stage: str
    ) -> None:
        """Keep the record of tools that ran on a stage, whose trees are gone."""
        own, count, kept = self.tree, len(self.closed), dict(self.trees)
        names = []
        for tree in trees:
            self.tree = tree
            names.append(self.look())
        self.close(tools, span, (names[0], names[1]))
        self.tree, self.trees = own, kept
        for record in self.closed[count:]:
            key = replace(record.key, mode=IN_STAGE, repository=stage)
            self.closed[self.closed.index(record)] = replace(record, key=key)

    def close_partial(self, tool: Tool, at: datetime) -> None:
        """Keep the record of a tool whose beginning nobody saw."""
        self.tombstones.append(Tombstone(key=tool.key(), at=stamp(at), reason="pre_snapshot_missing"))
        self.keep(_delta([tool], (at, at), status=Status.PARTIAL), [tool])

    def keep(self, delta: Delta, tools: list[Tool], *, trees: tuple[str | None, str | None] = (None, None),
             **other: object) -> Digest:  # fmt: skip
        """Keep a delta and the records of its windows."""
        digest = sha256(encode_delta(delta))
        self.deltas[digest] = delta
        whole = delta.status is Status.COMPLETE
        for tool in tools:
            self.closed.append(
                ClosedWindow(key=tool.key(), tool_name="Bash", event_id="e", closed_at=delta.window.completed_at,
                             delta_sha256=digest, status=delta.status, members=len(tools),
                             group_id="0" * 32 if whole else None, tree_before=trees[0], tree_after=trees[1],
                             seq=len(self.closed) + 1 if whole else None, **other))  # fmt: skip
        return digest

    def recorded(self) -> Recorded:
        """All that is kept."""
        return Recorded(repository="r", closed=self.closed, deltas=self.deltas, tombstones=self.tombstones,
                        unreadable=self.unreadable)  # fmt: skip

    def blame(self, path: str) -> tuple[LineOrigin, ...]:
        """What docket says of the lines of a file."""
        content = self.tree[path]
        file = PresentFile(path=RelPath(path.encode()), content=content, name=name_of(content))
        return blame(file, history_of(self.recorded()), self)

    # The port

    def present(self, path: RelPath) -> Side:
        """What stands at a path now."""
        return _side(self.tree.get(path.raw.decode()))

    def side(self, tree: str, path: RelPath) -> Side | None:
        """What stood at a path in a tree."""
        return None if tree not in self.trees else _side(self.trees[tree].get(path.raw.decode()))

    def twins(self, tree: str, name: str) -> tuple[RelPath, ...] | None:
        """The paths of a tree that had a content."""
        if tree not in self.trees:
            return None
        return tuple(RelPath(path.encode()) for path, content in self.trees[tree].items() if name_of(content) == name)

    def content(self, name: str) -> bytes | None:
        """A content."""
        return self.contents.get(name)

    def committed_now(self, path: RelPath) -> bytes | None:
        """What a commit holds at a path."""
        return self.committed.get(path)

    def ignore_files(self, path: RelPath) -> tuple[RelPath, ...]:
        """The ignore files on the way to a path."""
        return self.ignored

    def is_watched(self, path: RelPath) -> bool:
        """Whether a look sees a path."""
        return path not in self.unwatched


def _side(content: bytes | None) -> Side:
    return Side() if content is None else Side(mode=REGULAR_MODE, name=name_of(content))


def stamp(at: datetime) -> str:
    """An instant as records spell it."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _delta(tools: list[Tool], span: tuple[datetime, datetime], **other: object) -> Delta:
    complete = other["status"] is Status.COMPLETE
    actors = tuple(
        sorted({Actor(provider=tool.agent, session_id=f"{tool.agent}-s", turn_id=tool.turn) for tool in tools})
    )
    uses = tuple(
        ToolUse(tool_use_id=tool.use, tool_name="Bash", event_id="e",
                actor=actors.index(Actor(provider=tool.agent, session_id=f"{tool.agent}-s", turn_id=tool.turn)))
        for tool in tools
    )  # fmt: skip
    files = other.get("files", ())
    truncated = any(file.truncated for file in files)
    return Delta(
        scope=Scope.TOOL if len(tools) == 1 else Scope.CONCURRENT_GROUP,
        window=Span(started_at=stamp(span[0]), completed_at=stamp(span[1]),
                    duration_ms=int((span[1] - span[0]).total_seconds() * 1000)),
        actors=actors, tool_uses=uses, limits=Limits(files_observed=len(files), truncated=truncated),
        reason=None if complete else "pre_snapshot_missing", hashes=Hashes.CONTENT_SHA256 if complete else None,
        **other,
    )  # fmt: skip


# The model


@dataclass(frozen=True)
class Window:
    """Tools that ran at once, from one instant to another."""

    tools: tuple[Tool, ...]
    span: tuple[datetime, datetime]


@dataclass(frozen=True)
class Gap:
    """The time between two looks; the end None for the present."""

    since: datetime
    until: datetime | None


Claim = Window | Gap | None
"""Who made a line: a window, somebody between two looks, or whoever was there before the first look."""
Claims = dict[str, Claim]


@dataclass
class Model:
    """What happened. A tool that nobody saw begin may change what is known of what was before, so all is told anew."""

    looks: list[tuple[Tree, datetime, Window | None]] = field(default_factory=list)
    lapses: list[tuple[Tool, datetime, datetime]] = field(default_factory=list)

    def look(self, tree: Tree, at: datetime) -> None:
        """A tool is about to run."""
        self.looks.append((dict(tree), at, None))

    def close(self, tree: Tree, window: Window) -> None:
        """The last tool of a window has ended."""
        self.looks.append((dict(tree), window.span[1], window))

    def missed(self, tool: Tool, at: datetime) -> None:
        """A tool has ended whose beginning nobody saw."""
        ends = [window.span[1] for _, _, window in self.looks if window is not None
                and any(other.agent == tool.agent and other.turn != tool.turn for other in window.tools)]  # fmt: skip
        self.lapses.append((tool, max([end for end in ends if end <= at] + [at - HOUR]), at))

    def told(self, tree: Tree) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """The class of each line, and the tool uses that are named."""
        return self.walked().told(tree)

    def came_outside(self, path: str, token: str, tree: Tree) -> bool:
        """Whether a line ever came into a file between a window and the next, or now."""
        after = [{}] + [seen for seen, _, window in self.looks if window is not None]
        before = [seen for seen, _, window in self.looks if window is None] + [tree]
        return any(
            token in tokens(now.get(path, b"")) and token not in tokens(was.get(path, b""))
            for was, now in zip(after, before, strict=True)
        )

    def walked(self) -> Forward:
        """Everything that happened, from the beginning."""
        walk = Forward(lapses=self.lapses)
        for seen, at, window in self.looks:
            if window is None:
                walk.look(seen, at)
            else:
                walk.close(seen, window)
        return walk


@dataclass
class Forward:
    """Whose each token is, carried from look to look."""

    lapses: list[tuple[Tool, datetime, datetime]]
    claims: dict[str, Claims] = field(default_factory=dict)
    seen: dict[str, list[tuple[bytes, Claims]]] = field(default_factory=dict)
    ever: dict[str, set[Claim]] = field(default_factory=dict)
    last: Tree | None = None
    last_at: datetime | None = None

    def look(self, tree: Tree, at: datetime) -> None:
        """A tool is about to run."""
        self.claims = self.settled(tree, None if self.last_at is None else Gap(self.last_at, at))
        self._note(tree, at)

    def close(self, tree: Tree, window: Window) -> None:
        """The last tool of a window has ended."""
        before = self.last or {}
        made = [path for path in tree if path not in before]
        lost = [path for path in before if path not in tree]
        claims = {}
        for path, content in tree.items():
            if path in made:
                came = [other for other in made if tree[other] == content]
                went = [other for other in lost if before[other] == content]
                old = self.claims[went[0]] if len(came) == len(went) == 1 else {}
            else:
                old = self.claims[path]
            claims[path] = {token: old.get(token, window) for token in tokens(content)}
        self.claims = claims
        self._note(tree, window.span[1])

    def settled(self, tree: Tree, gap: Claim) -> dict[str, Claims]:
        """Whose the tokens are, if that is the tree after a gap."""
        if self.last is None:
            return {path: dict.fromkeys(tokens(content)) for path, content in tree.items()}
        claims = {}
        for path, content in tree.items():
            if self.last.get(path) == content:
                claims[path] = self.claims[path]
                continue
            sources = [other for other, held in self.last.items() if held == content and other not in tree]
            back = [found for held, found in self.seen.get(path, ()) if held == content]
            if self._is_lapsed(gap):
                old = self.claims.get(path, {})
                claims[path] = {token: old.get(token, gap) for token in tokens(content)}
            elif path not in self.last and len(sources) == 1:
                claims[path] = self.claims[sources[0]]
            elif back:
                claims[path] = back[-1]
            else:
                old = self.claims.get(path, {})
                claims[path] = {token: old.get(token, gap) for token in tokens(content)}
        return claims

    def told(self, tree: Tree) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """The class of each line, and the tool uses that are named."""
        present = self.settled(tree, None if self.last_at is None else Gap(self.last_at, None))
        return {
            path: [self._class(present[path][token]) for token in tokens(content)] for path, content in tree.items()
        }

    def _class(self, claim: Claim) -> tuple[str, frozenset[str]]:
        if claim is None:
            return "unknown", frozenset()
        if isinstance(claim, Window):
            beside = [
                tool.use for tool, since, until in self.lapses if since < claim.span[1] and until >= claim.span[0]
            ]
            uses = frozenset([tool.use for tool in claim.tools] + beside)
            return ("tool" if len(uses) == 1 else "group"), uses
        return ("unknown" if self._is_lapsed(claim) else "outside"), frozenset()

    def _is_lapsed(self, claim: Claim) -> bool:
        late = (isinstance(claim, Gap) and claim.until) or datetime.max.replace(tzinfo=UTC)
        return isinstance(claim, Gap) and any(since <= late and until >= claim.since for _, since, until in self.lapses)

    def _note(self, tree: Tree, at: datetime) -> None:
        self.last, self.last_at = dict(tree), at
        for path, content in tree.items():
            self.seen.setdefault(path, []).append((content, self.claims[path]))
            for token, claim in self.claims[path].items():
                self.ever.setdefault(token, set()).add(claim)


def tokens(content: bytes) -> list[str]:
    """The lines of a file."""
    return content.decode().splitlines()


def said(origins: tuple[LineOrigin, ...]) -> list[tuple[str, frozenset[str]]]:
    """What docket says, as the model says it: of what is unknown or outside nobody is named."""
    named = (Origin.TOOL, Origin.GROUP)
    return [
        (origin.origin.value, frozenset(c.key.tool_use_id for c in origin.callers if origin.origin in named))
        for origin in origins
    ]


# What happens


class Tokens:
    """Lines that are each made once, with their places."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.count = chance, 0

    def between(self, lines: list[str], place: int) -> str:
        """A new line for a place among others."""
        low = float(lines[place - 1].split()[0]) if place else 0.0
        high = float(lines[place].split()[0]) if place < len(lines) else 1.0
        self.count += 1
        return f"{low + (high - low) * self.chance.uniform(0.3, 0.7):.15f} line {self.count}"

    def edited(self, content: bytes) -> bytes:
        """A content with some lines gone and some new ones."""
        lines = tokens(content)
        for _ in range(self.chance.randint(1, 3)):
            if lines and self.chance.random() < 0.4:
                start = self.chance.randrange(len(lines))
                del lines[start : start + self.chance.randint(1, 2)]
            place = self.chance.randint(0, len(lines))
            for offset in range(self.chance.randint(0 if lines else 1, 2)):
                lines.insert(place + offset, self.between(lines, place + offset))
        return joined(lines)


def joined(lines: list[str]) -> bytes:
    """The content of lines."""
    return "".join(f"{line}\n" for line in lines).encode()
