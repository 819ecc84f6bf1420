"""A blame in words and as JSON: costs and models where calls are joined, what is unknown, what came back."""

from __future__ import annotations

from datetime import timedelta

from blame_lab import EPOCH, MemoryRecord, Tool, name_of
from docket.engines.windows.blame import FileBlame, ModelCall
from docket.formats.relpath import RelPath
from docket.formats.windows.key import WindowKey
from docket.rules.line_difference import split_lines
from docket.surfaces.render.blame import Calls, Shown, as_members, legend, rows


def shown(record: MemoryRecord, calls: Calls = lambda _: None) -> Shown:
    content = record.tree["a"]
    blame = FileBlame(path=RelPath(b"a"), name=name_of(content), content=content, lines=split_lines(content).lines,
                      origins=record.blame("a"))  # fmt: skip
    return Shown(blame=blame, first=1, last=len(blame.lines), calls=calls)


def tool(record: MemoryRecord, content: bytes, *uses: str, minute: int) -> None:
    before = record.look()
    record.tree["a"] = content
    since = EPOCH + timedelta(minutes=minute)
    tools = [Tool(use, "claude", f"t{minute}") for use in uses]
    record.close(tools, (since, since + timedelta(seconds=5)), (before, record.look()))


def call(key: WindowKey) -> ModelCall | None:
    joined = key.tool_use_id in ("u1", "u2")
    return ModelCall(provider="anthropic", model="claude-sonnet-4-6", cost_usd="0.004210") if joined else None


def test_a_cost_is_of_one_tool_use_and_said_to_be_derived():
    record = MemoryRecord(tree={"a": b""})
    tool(record, b"1\n", "u1", minute=0)
    tool(record, b"1\n2\n", "u2", "u3", minute=1)
    tool(record, b"1\n2\n3\n", "u4", minute=2)
    view = shown(record, call)
    assert [row.cost for row in rows(view)] == ["$0.004210", "-", "-"]
    told = list(legend(view))
    assert told[0].endswith("  claude Bash u1, claude-sonnet-4-6, turn t0, session claude-s")
    assert told[1].strip() == "2026-01-01 00:00:00 to 00:00:05"
    assert told[-2].startswith("costs are derived")
    uses = as_members(view)["tool_uses"]
    assert [use["cost"] for use in uses] == [
        {"usd": "0.004210", "derived": True}, {"usd": "0.004210", "derived": True}, None, None,
    ]  # fmt: skip
    assert [use["model"] for use in uses] == ["claude-sonnet-4-6", "claude-sonnet-4-6", None, None]
    assert not any("derived" in line for line in legend(shown(record)))


def test_who_may_have_been_unseen_and_what_came_back():
    record = MemoryRecord(tree={"a": b""})
    tool(record, b"1\n", "u1", minute=0)
    record.tree["a"] = b"other\n"
    tool(record, b"other\n2\n", "u2", minute=1)
    record.tree["a"] = b"1\n"
    back = list(legend(shown(record)))
    assert back[1].endswith("(it held these lines before, and does again)")
    assert back[-1] == "1 line: 1 of one tool call"
    record.close_partial(Tool("late", "codex", "t9"), EPOCH + timedelta(minutes=3))
    record.tree["a"] = b"other\n2\nnew\n"
    (last,) = [row for row in rows(shown(record)) if row.text == "new"]
    assert (last.mark, last.who) == ("unknown", "tool_unseen")
    told = list(legend(shown(record)))
    assert "unknown   tool_unseen: a tool ran meanwhile of which nothing whole is recorded" in told
    assert any(line.endswith("codex Bash late, turn t9, session codex-s, no whole record") for line in told)


def test_nothing_to_tell():
    assert list(legend(shown(MemoryRecord(tree={"a": b""})))) == ["0 lines"]
