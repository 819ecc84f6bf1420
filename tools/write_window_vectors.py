"""Write spec/vectors/windows.json: line differences and deltas with their right answers.

It shares no code with docket: the differences are found here by whole paths kept for each diagonal, as spec/windows.md
says them, and the documents are spelled by the json module.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "spec/vectors/windows.json"
BEFORE, AFTER, ZEROS = "1" * 40, "2" * 40, "0" * 40
DEPTH = 1024


def search(old: list[str], new: list[str], deepest: int) -> list[tuple[int, int]]:
    """Step 3 of the page: the matches, each diagonal with the whole way that leads to it."""
    ways: dict[int, tuple[int, list[tuple[int, int]]]] = {}
    for depth in range(deepest + 1):
        for k in range(-depth, depth + 1, 2):
            x, way = 0, list[tuple[int, int]]()
            if depth == 0:
                pass
            elif k == -depth or (k != depth and ways[k - 1][0] < ways[k + 1][0]):
                x, way = ways[k + 1]
            else:
                x, way = ways[k - 1][0] + 1, ways[k - 1][1]
            way = list(way)
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                way.append((x, x - k))
                x += 1
            ways[k] = (x, way)
            if x >= len(old) and x - k >= len(new):
                return way
    return []


def difference(old: list[str], new: list[str], deepest: int = DEPTH) -> list[dict[str, Any]]:
    """All four steps of the page."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    rest_old = [(at, line) for at, line in enumerate(old) if start <= at < len(old) - end]
    rest_new = [(at, line) for at, line in enumerate(new) if start <= at < len(new) - end]
    left = [pair for pair in rest_old if any(pair[1] == other[1] for other in rest_new)]
    right = [pair for pair in rest_new if any(pair[1] == other[1] for other in rest_old)]
    found = search([line for _, line in left], [line for _, line in right], deepest)
    matches = {left[a][0]: right[b][0] for a, b in found}
    hunks, x, y = [], start, start
    for stop_x, stop_y in [*sorted(matches.items()), (len(old) - end, len(new) - end)]:
        if (x, y) != (stop_x, stop_y):
            hunks.append({
                "old_start": x + 1, "old_count": stop_x - x, "old_lines": old[x:stop_x],
                "new_start": y + 1, "new_count": stop_y - y, "new_lines": new[y:stop_y],
            })  # fmt: skip
        x, y = stop_x + 1, stop_y + 1
    return hunks


def lines() -> list[dict[str, Any]]:
    """Pairs of texts with their hunks."""
    chance = random.Random(20260101)  # noqa: S311 - examples, not secrets
    pairs = [("", ""), ("", "ab"), ("ab", ""), ("abcabba", "cbabac"), ("abab", "baba"), ("axb", "ayb"), ("aa", "aaa")]
    for size in range(1, 40):
        letters = "abcdefgh"[: 2 + size % 7]
        old, new = ("".join(chance.choice(letters) for _ in range(chance.randrange(size + 1))) for _ in "12")
        pairs.append((old, new))
    found = []
    for number, (old, new) in enumerate(pairs):
        deepest = DEPTH if number % 5 else 3
        found.append({"old": list(old), "new": list(new), "depth": deepest,
                      "hunks": difference(list(old), list(new), deepest)})  # fmt: skip
    return found


def document(**members: object) -> dict[str, Any]:
    """A delta, with other members in the place of these; None takes one away."""
    found = {
        "version": 1, "kind": "agent_tool_delta", "scope": "tool", "status": "complete", "hashes": "sha1",
        "window": {"started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:00:01Z", "duration_ms": 1000},
        "actors": [{"provider": "claude", "session_id": "s", "turn_id": "t"}],
        "tool_uses": [{"tool_use_id": "u", "tool_name": "Bash", "event_id": "e", "actor": 0}],
        "files": [edit()], "limits": {"files_observed": 1, "bytes_read": 4, "truncated": False},
    } | members  # fmt: skip
    return {name: member for name, member in found.items() if member is not None}


def edit(**members: object) -> dict[str, Any]:
    """A file whose second line was replaced."""
    hunk = {"old_start": 2, "old_count": 1, "old_lines": ["b"], "new_start": 2, "new_count": 1, "new_lines": ["c"]}
    found = {
        "path": "a", "operation": "edit", "before_hash": BEFORE, "after_hash": AFTER, "before_mode": "100644",
        "after_mode": "100644", "hunks": [hunk],
    } | members  # fmt: skip
    return {name: member for name, member in found.items() if member is not None}


ACCEPTED = {
    "an edit": document(),
    "nothing changed": document(files=[]),
    "partial": document(status="partial", reason="timeout", files=[], hashes=None),
    "a reason nobody knows": document(status="partial", reason="lightning_struck", files=[], hashes=None),
    "a path that is no text": document(files=[edit(path=None, path_b64="Yf8=")]),
    "created": document(files=[edit(operation="create", before_hash=ZEROS, before_mode="000000", hunks=[{
        "old_start": 1, "old_count": 0, "old_lines": [], "new_start": 1, "new_count": 1, "new_lines_b64": ["/w=="]}])]),
    "the last line's end alone": document(files=[edit(hunks=None, new_no_eof_newline=True)]),
    "a mode alone": document(files=[edit(hunks=None, after_hash=BEFORE, after_mode="100755")]),
    "a commit meanwhile": document(head_before=BEFORE, head_after=AFTER, head_moves=1),
}  # fmt: skip
REFUSED = {
    "partial with files": document(status="partial", reason="timeout"),
    "complete with a reason": document(reason="timeout"),
    "binary with hunks": document(files=[edit(binary=True)]),
    "counts that are not those of the lines": document(files=[edit(hunks=[{**edit()["hunks"][0], "old_count": 2}])]),
    "a tool use twice": document(scope="concurrent_group", tool_uses=document()["tool_uses"] * 2),
    "files out of order": document(files=[edit(path="b"), edit()],
                                   limits={"files_observed": 2, "bytes_read": 0, "truncated": False}),
    "false that is written": document(files=[edit(binary=False)]),
    "lines in base64 that are text": document(files=[edit(hunks=[{
        "old_start": 2, "old_count": 1, "old_lines_b64": ["Yg=="], "new_start": 2, "new_count": 1,
        "new_lines": ["c"]}])]),
    "hunks that keep different numbers of lines": document(files=[edit(hunks=[
        {**edit()["hunks"][0], "new_start": 3}])]),
    "an unknown member": document(mood="good"),
}  # fmt: skip


def canonical(value: object) -> str:
    """Return the canonical text of a value whose keys are ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write the file."""
    vectors = {
        "lines": lines(),
        "accepted": [{"name": name, "document": canonical(value)} for name, value in ACCEPTED.items()],
        "refused": [{"name": name, "document": canonical(value)} for name, value in REFUSED.items()],
    }
    TARGET.write_text(json.dumps(vectors, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
