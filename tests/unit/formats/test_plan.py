"""A plan put together: its only order, and what it refuses to hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import symlink_state, target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    ANYTHING,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    WriteFile,
    Xattr,
    decode_plan,
    decode_step,
    encode_step,
    plan_of,
)

CONTENT = Address(Digest("ab" * 32), 7)
ROOT = (1, 2)
FILE = EntryState(kind="file", mode=0o644, size=7, sha256=CONTENT.sha256)


def p(raw):
    return RelPath(raw)


def remove(raw):
    return Remove(path=p(raw), precondition=ANYTHING, kind=Kind.FILE)


def write(raw, **more):
    return WriteFile(path=p(raw), precondition=ABSENT, content=CONTENT, mode=0o644, **more)


def directory(raw):
    return MakeDirectory(path=p(raw), precondition=ABSENT, mode=0o755)


def further(raw, to, holds=None):
    """Another name of a file that the plan does not touch."""
    known = EntryState(kind="file", mode=0o644, size=CONTENT.size, sha256=CONTENT.sha256)
    return Link(path=p(raw), precondition=ABSENT, to=p(to), holds=holds or known)


def refused(*steps):
    with pytest.raises(InvalidDocumentError) as caught:
        plan_of(steps, ROOT)
    return caught.value.reason


def test_removals_come_first_and_deepest_first_then_what_is_made_then_links():
    steps = [
        Link(path=p(b"a"), precondition=ABSENT, to=p(b"d/f")),
        write(b"d-x"),
        write(b"d/f"),
        directory(b"d"),
        remove(b"r"),
        remove(b"r/s"),
        remove(b"r/s/t"),
        remove(b"r-x"),
    ]
    order = [step.path.raw for step in plan_of(steps, ROOT).steps]
    assert order == [b"r-x", b"r/s/t", b"r/s", b"r", b"d", b"d/f", b"d-x", b"a"]


def test_a_further_name_of_a_file_tells_what_that_file_holds():
    plan = plan_of([further(b"b", b"a")], ROOT)
    state = b'{"kind":"file","mode":420,"sha256":"%s","size":%d}' % (CONTENT.sha256.encode(), CONTENT.size)
    line = b'{"path":"b","precondition":"absent","step":"link","to":{"holds":%s,"path":"a"}}' % state
    assert plan.document.split(b"\n")[1] == line
    assert decode_plan(plan.document) == plan


def test_a_directory_may_become_a_file_when_what_it_held_is_removed():
    assert len(plan_of([write(b"a"), remove(b"a/b"), remove(b"a/b/c")], ROOT)) == 3


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((write(b"a"), remove(b"a")), Reason.DUPLICATE_KEY),
        ((write(b"a"), write(b"a/b/c")), Reason.WRONG_VALUE),
        ((remove(b"a"), directory(b"a/b")), Reason.WRONG_VALUE),
        ((Link(path=p(b"b"), precondition=ABSENT, to=p(b"a")), directory(b"a")), Reason.WRONG_VALUE),
        ((Link(path=p(b"b"), precondition=ABSENT, to=p(b"../a")),), Reason.NOT_A_PATH),
        ((Link(path=p(b"b"), precondition=ABSENT, to=p(b"b")),), Reason.WRONG_VALUE),
        ((further(b"b", b"a"), write(b"a")), Reason.WRONG_VALUE),
        ((further(b"b", b"a", EntryState(kind="directory", mode=0o755)),), Reason.WRONG_VALUE),
        ((further(b"b", b"a", EntryState(kind="file", mode=0o644, size=1)),), Reason.WRONG_VALUE),
        ((further(b"b", b"a", EntryState(kind="file", mode=-1, size=1, sha256=CONTENT.sha256)),), Reason.WRONG_VALUE),
        ((write(b"../a"),), Reason.NOT_A_PATH),
        ((write(b"/a"),), Reason.NOT_A_PATH),
        ((write(b"n" * 256),), Reason.NAME_TOO_LONG),
        ((write(b"a", mtime_ns=2**63),), Reason.WRONG_VALUE),
        ((write(b"a", xattrs=(Xattr(b"user.a", b"x" * 65_537),)),), Reason.WRONG_VALUE),
        ((write(b"a", xattrs=(Xattr(b"user.", b""),)),), Reason.WRONG_VALUE),
        ((write(b"a", xattrs=(Xattr(b"user.a", b""),) * 2),), Reason.NOT_CANONICAL),
        ((Remove(path=p(b"a"), precondition=ANYTHING, kind=Kind.FIFO),), Reason.WRONG_VALUE),
        ((SetMode(path=p(b"a"), precondition=ANYTHING, mode=0o1777),), Reason.WRONG_VALUE),
        ((SetMode(path=p(b"a"), precondition=ANYTHING, mode=-1),), Reason.WRONG_VALUE),
        ((MakeSymlink(path=p(b"a"), precondition=ANYTHING, target=b""),), Reason.WRONG_VALUE),
        ((MakeSymlink(path=p(b"a"), precondition=ANYTHING, target=b"x" * 4096),), Reason.WRONG_VALUE),
        (
            (SetMode(path=p(b"a"), precondition=Holds(EntryState(kind="socket", mode=0)), mode=0),),
            Reason.WRONG_VALUE,
        ),
        (
            (SetMode(path=p(b"a"), precondition=Holds(EntryState(kind="file", mode=0)), mode=0),),
            Reason.WRONG_VALUE,
        ),
        (
            (SetMode(path=p(b"a"), precondition=Holds(EntryState(kind="symlink", mode=0, target="x")), mode=0),),
            Reason.WRONG_VALUE,
        ),
        ((Remove(path=p(b"a"), precondition=Holds(FILE), kind=Kind.SYMLINK),), Reason.WRONG_VALUE),
    ],
)
def test_what_no_plan_holds(steps, reason):
    assert refused(*steps) == reason


def test_the_state_of_an_unread_file_is_for_its_mode_alone():
    hidden = Holds(EntryState(kind="file", mode=0, size=7))
    plan = plan_of([SetMode(path=p(b"a"), precondition=hidden, mode=0o600)], ROOT)
    assert decode_plan(plan.document) == plan
    assert refused(Remove(path=p(b"a"), precondition=hidden, kind=Kind.FILE)) == Reason.WRONG_VALUE


def test_an_address_is_shown_as_its_digest():
    assert str(CONTENT) == "ab" * 32


def test_a_target_comes_back_from_its_state():
    for target in (b"plain", b"\xff\xfe", "é".encode()):
        assert target_of(symlink_state(target)) == target


def test_a_plan_is_a_header_and_a_line_a_step():
    plan = plan_of([write(b"a")], (5, 2**63))
    header, line, rest = plan.document.split(b"\n")
    assert decode(header) == {"format": "docket/plan/v1", "root": {"device": "5", "inode": "9223372036854775808"}}
    assert decode(line) == {
        "path": "a",
        "precondition": "absent",
        "step": "write",
        "sha256": "ab" * 32,
        "size": 7,
        "mode": 420,
    }
    assert rest == b""


names = st.binary(min_size=1, max_size=20).filter(lambda raw: raw not in (b".", b"..") and not {0, 47} & set(raw))
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: RelPath(b"/".join(parts)))
targets = st.binary(min_size=1, max_size=30).filter(lambda raw: 0 not in raw)
digests = st.binary(min_size=32, max_size=32).map(lambda raw: Digest(raw.hex()))
sizes = st.integers(0, 2**40)
modes = st.integers(0, 0o777)
times = st.none() | st.integers(-(2**63), 2**63 - 1)
states = st.one_of(
    st.builds(EntryState, kind=st.just("file"), mode=st.integers(0, 0o7777), size=sizes, sha256=digests),
    st.builds(EntryState, kind=st.just("directory"), mode=st.integers(0, 0o7777)),
    targets.map(symlink_state),
)
preconditions = st.just(ABSENT) | st.just(ANYTHING) | states.map(Holds)
xattrs = st.none() | st.dictionaries(targets, st.binary(max_size=20), max_size=3).map(
    lambda found: tuple(Xattr(b"user." + name, found[name]) for name in sorted(found))
)
made = {"path": paths, "precondition": preconditions}
steps = st.one_of(
    st.builds(
        WriteFile,
        **made,
        content=st.builds(Address, digests, sizes),
        mode=modes,
        mtime_ns=times,
        sparse=st.booleans(),
        xattrs=xattrs,
    ),
    st.builds(MakeDirectory, **made, mode=modes, mtime_ns=times),
    st.builds(MakeSymlink, **made, target=targets, mtime_ns=times),
    st.builds(SetMode, **made, mode=modes, mtime_ns=times),
    st.builds(Link, **made, to=paths),
    st.builds(Remove, path=paths, precondition=st.just(ANYTHING), kind=st.sampled_from(["file", "symlink"]).map(Kind)),
)


@given(steps)
def test_a_step_comes_back_as_it_was(step):
    line = encode_step(step)
    assert decode_step(line[:-1]) == step


@given(st.lists(steps, max_size=6))
def test_a_plan_comes_back_in_its_only_order(found):
    try:
        plan = plan_of(found, ROOT)
    except InvalidDocumentError:
        return
    assert decode_plan(plan.document) == plan
    assert plan_of(reversed(found), ROOT) == plan
    assert {step.path for step in plan.steps} == {step.path for step in found}
