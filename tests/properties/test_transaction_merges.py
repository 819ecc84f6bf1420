"""Merging against a model: a text of blocks, of which each side changes some; what both changed alone is a conflict."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docket.engines.transaction.committing import Committed
from docket.formats.reason import Reason
from merge_lab import MergeLab, in_memory

BLOCKS = 4
Side = dict[int, str]

sides = st.dictionaries(st.integers(0, BLOCKS - 1), st.sampled_from("xy"), max_size=BLOCKS)
modes = st.sampled_from((0o644, 0o600, 0o755))


def text(side: Side) -> str:
    """Blocks of one line each, with lines between them that nobody changes."""
    return "".join(f"{side.get(number, 'was')}\n{number}1\n{number}2\n{number}3\n" for number in range(BLOCKS))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(sides, modes), st.tuples(sides, modes))
def test_a_merge_has_what_both_changed_or_changes_nothing(ours: tuple[Side, int], theirs: tuple[Side, int]) -> None:
    for root in in_memory():
        lab = MergeLab(root)
        path = lab.base / "f"
        path.write_text(text({}))
        path.chmod(0o644)
        opened = []
        for side, mode in (ours, theirs):
            work = lab.open()
            (work.stage / "f").write_text(text(side))
            (work.stage / "f").chmod(mode)
            lab.close(work)
            opened.append(work)
        lab.land(opened[1])
        done = lab.commit(opened[0], merge=True)
        clash = any(theirs[0].get(number, word) != word for number, word in ours[0].items())
        clash = clash or len({ours[1], theirs[1], 0o644}) == 3
        if clash:
            assert not isinstance(done.outcome, Committed)
            assert done.outcome.reason is Reason.MERGE_CONFLICT
            expected = theirs
        else:
            assert isinstance(done.outcome, Committed), done.outcome
            expected = {**ours[0], **theirs[0]}, theirs[1] if ours[1] == 0o644 else ours[1]
        assert path.read_text() == text(expected[0])
        assert path.stat().st_mode & 0o7777 == expected[1]
