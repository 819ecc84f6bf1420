"""Hunks and the parts that they make: small files by hand, any files by their properties, and git as the witness."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docket.errors import UnavailableError, UsageError
from docket.formats.digest import Digest, sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, listing_of
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.hunk_choice import MODE, HunkChoice, TakenPath
from docket.formats.workspace.state import SurfaceRules
from docket.rules.workspace.changes import find_changes
from docket.rules.workspace.derive import landed_listing
from docket.rules.workspace.hunks import (
    MAX_LINES,
    Hunk,
    Sides,
    changes_mode,
    grouped,
    names_of,
    part_of,
    sides_of,
    whole_because,
)
from docket.rules.workspace.surface import Classes

BASE = Digest("cc" * 32)
NOTHING = Classes.of(SurfaceRules())
BEFORE = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
AFTER = b"1\ntwo\n3\n4\n5\n6\n8\n9\n10\n"
TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"{\n", b"once\n", b"\xff\r\n", b"end"]), max_size=12).map(
    lambda lines: b"".join(line if line.endswith(b"\n") or n == len(lines) - 1 else line + b"\n"
                           for n, line in enumerate(lines))
)  # fmt: skip


def state(data: bytes, mode: int = 0o644) -> EntryState:
    return EntryState(kind="file", mode=mode, size=len(data), sha256=sha256(data))


FOLDER = EntryState(kind="directory", mode=0o755)
LINK = EntryState(kind="symlink", mode=0o777, target="a")


def modified(path: bytes, before: EntryState, after: EntryState) -> FsChange:
    return FsChange(path=RelPath(path), change=Change.MODIFIED, before=before, after=after)


def changes(*found: FsChange) -> ChangeSet:
    return change_set_of(BASE, found)


def sides(before: bytes = BEFORE, after: bytes = AFTER) -> Sides:
    found = sides_of(before, after)
    assert isinstance(found, Sides)
    return found


def choice(found: ChangeSet, **take: tuple[str, ...] | None) -> HunkChoice:
    paths = (TakenPath(path=RelPath(path.encode()), hunks=hunks) for path, hunks in take.items())
    return HunkChoice(diff_sha256=found.digest, take=tuple(paths))


FILE = modified(b"f", state(BEFORE), state(AFTER, 0o755))


def test_the_hunks_of_a_file_are_its_edits_by_name() -> None:
    found = sides().hunks
    assert [(h.before_start, h.removed, h.after_start, h.added) for h in found] == [
        (1, (b"2\n",), 1, (b"two\n",)),
        (6, (b"7\n",), 6, ()),
        (9, (), 8, (b"10\n",)),
    ]
    assert [hunk.name.partition("-")[0] for hunk in found] == ["1", "2", "3"]
    # Where it is and what it is: the same lines elsewhere are another hunk, the same hunk has its name again.
    first = "1 1 1 1\n2\ntwo\n"
    assert found[0].name == f"1-{sha256(first.encode())[:12]}"
    assert sides(b"0\n" + BEFORE, b"0\n" + AFTER).hunks[0].name != found[0].name
    assert names_of(FILE, sides()) == (MODE, *(hunk.name for hunk in found))
    assert names_of(modified(b"f", state(BEFORE), state(AFTER)), None) == ()


@pytest.mark.parametrize(
    ("chosen", "content"),
    [
        ((), BEFORE),
        ((0,), b"1\ntwo\n3\n4\n5\n6\n7\n8\n9\n"),
        ((1,), b"1\n2\n3\n4\n5\n6\n8\n9\n"),
        ((2,), b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        ((0, 2), b"1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        ((0, 1, 2), AFTER),
    ],
)
def test_what_comes_of_some_hunks(chosen: tuple[int, ...], content: bytes) -> None:
    found = sides()
    assert found.with_hunks({found.hunks[number].name for number in chosen}) == content


@given(before=TEXTS, after=TEXTS, data=st.data())
def test_the_rest_of_any_choice_makes_the_staged_content(before: bytes, after: bytes, data: st.DataObject) -> None:
    found = sides(before, after)
    names = [hunk.name for hunk in found.hunks]
    assert len(set(names)) == len(names)
    assert found.with_hunks(()) == before
    assert found.with_hunks(names) == after
    chosen = set(data.draw(st.lists(st.sampled_from(names), unique=True))) if names else set()
    made = found.with_hunks(chosen)
    # In two goes: first the chosen, then, as hunks of what stands then, the rest.
    rest = sides(made, after)
    assert rest.with_hunks({hunk.name for hunk in rest.hunks}) == after


@settings(max_examples=15, deadline=None)
@given(before=TEXTS.filter(bool), after=TEXTS.filter(bool), data=st.data())
def test_git_makes_the_same_of_the_chosen_hunks(
    before: bytes, after: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = sides(before, after)
    chosen = data.draw(st.lists(st.sampled_from(found.hunks), unique=True)) if found.hunks else []
    if not chosen:
        return
    place = tmp_path_factory.mktemp("git", numbered=True)
    (place / "f").write_bytes(before)
    lines = [b"--- a/f\n+++ b/f\n"]
    shift = 0
    for hunk in sorted(chosen, key=lambda hunk: hunk.before_start):
        gone, new = len(hunk.removed), len(hunk.added)
        starts = hunk.before_start + bool(gone), hunk.before_start + shift + bool(new)
        lines.append(b"@@ -%d,%d +%d,%d @@\n" % (starts[0], gone, starts[1], new))
        for sign, texts in ((b"-", hunk.removed), (b"+", hunk.added)):
            lines += [sign + text + (b"" if text.endswith(b"\n") else b"\n\\ No newline at end of file\n")
                      for text in texts]  # fmt: skip
        shift += new - gone
    patch = b"".join(lines)
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(place), "GIT_CEILING_DIRECTORIES": str(place)}
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        cwd=place, input=patch, check=True, env=environment, timeout=60,
    )  # fmt: skip
    assert Path(place / "f").read_bytes() == found.with_hunks({hunk.name for hunk in chosen})


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b"\0", b"a", "it is binary"),
        (b"a", b"\0", "it is binary"),
        (b"a\n" * (MAX_LINES + 1), b"a\n", "it has more than 50,000 lines"),
    ],
)
def test_what_is_not_told_by_lines_has_no_hunks(before: bytes, after: bytes, why: str) -> None:
    assert sides_of(before, after) == why


def test_only_a_file_that_stays_one_has_lines_and_what_stays_has_a_mode() -> None:
    assert whole_because(FILE) is None
    added = FsChange(path=RelPath(b"f"), change=Change.ADDED, after=state(b""))
    for change in (added, modified(b"f", FOLDER, FOLDER), modified(b"f", LINK, LINK)):
        assert whole_because(change) == "it is not a file on both sides"
    assert changes_mode(FILE)
    assert changes_mode(modified(b"d", FOLDER, EntryState(kind="directory", mode=0o700)))
    for change in (
        added,
        modified(b"f", LINK, EntryState(kind="symlink", mode=0o755, target="b")),
        modified(b"f", state(b""), state(b"x")),
        FsChange(path=RelPath(b"f"), change=Change.RETYPED, before=state(b"", 0o600), after=FOLDER),
    ):
        assert not changes_mode(change)


def test_hunks_that_share_lines_around_them_are_shown_as_one() -> None:
    def hunk(start: int, removed: int) -> Hunk:
        return Hunk(name=f"{start}", before_start=start, removed=(b"x\n",) * removed, after_start=0, added=())

    hunks = (hunk(0, 2), hunk(8, 1), hunk(16, 0), hunk(22, 1))
    assert [[h.name for h in group] for group in grouped(hunks, 3)] == [["0", "8"], ["16", "22"]]
    assert grouped((), 3) == ()


def test_a_part_has_the_state_that_the_chosen_hunks_make() -> None:
    found, texts = changes(FILE, modified(b"g", state(b"1"), state(b"2"))), sides()
    names = [hunk.name for hunk in texts.hunks]
    made = b"1\ntwo\n3\n4\n5\n6\n7\n8\n9\n"
    part = part_of(found, choice(found, f=(names[0],)), {FILE.path: texts})
    assert part.taken.changes == (modified(b"f", state(BEFORE), state(made)),)
    assert (part.taken.manifest_sha256, part.made) == (BASE, {FILE.path: made})
    assert part.taken.digest != found.digest
    with_mode = part_of(found, choice(found, f=(MODE, names[0])), {FILE.path: texts})
    assert with_mode.taken.changes[0].after == state(made, 0o755)
    only_mode = part_of(found, choice(found, f=(MODE,)), {FILE.path: texts})
    assert (only_mode.taken.changes[0].after, only_mode.made) == (state(BEFORE, 0o755), {})
    content = part_of(found, choice(found, f=tuple(names)), {FILE.path: texts})
    assert (content.taken.changes[0].after, content.made) == (state(AFTER), {}), "it stands in the stage as it is"
    everything = part_of(found, choice(found, f=(MODE, *names), g=None), {FILE.path: texts})
    assert (everything.taken, everything.made) == (found, {})


def test_hunks_that_change_nothing_together_are_left() -> None:
    # Of these edits the first takes a line away that the second puts back.
    texts = Sides(
        before=(b"a\n", b"a\n"), after=(b"a\n", b"a\n", b"b\n"),
        hunks=(
            Hunk(name="1-000000000000", before_start=0, removed=(b"a\n",), after_start=0, added=()),
            Hunk(name="2-000000000000", before_start=2, removed=(), after_start=1, added=(b"a\n",)),
        ),
    )  # fmt: skip
    found = changes(modified(b"f", state(b"a\na\n"), state(b"a\na\nb\n")))
    with pytest.raises(UsageError, match="nothing is chosen"):
        part_of(found, choice(found, f=("1-000000000000", "2-000000000000")), {RelPath(b"f"): texts})


def test_a_choice_that_does_not_fit_is_refused() -> None:
    binary = modified(b"b", state(b"\0"), state(b"\0\0", 0o755))
    same = modified(b"s", state(b"x"), state(b"x", 0o755))
    linked = FsChange(path=RelPath(b"l"), change=Change.ADDED, after=LINK)
    found = changes(FILE, binary, same, linked)
    known: dict[RelPath, Sides | str] = {FILE.path: sides(), binary.path: "it is binary", linked.path: "it is a link"}
    another = HunkChoice(diff_sha256=BASE, take=(TakenPath(path=FILE.path),))
    with pytest.raises(UnavailableError, match=found.digest) as raised:
        part_of(found, another, known)
    assert raised.value.reason == Reason.PLAN_DIFFERS
    name = "1-0123456789ab"
    for take, said in (
        ({}, "nothing is chosen"),
        ({"f": (name,)}, f"f has no hunk {name}"),
        ({"s": (name,)}, f"s has no hunk {name}"),
        ({"b": (name,)}, "b has no hunks, for it is binary: take it whole or leave it"),
        ({"l": (MODE,)}, "l has no hunks, for it is a link"),
        ({"none": (name,)}, "the transaction changes nothing at none"),
        ({"none": None}, "the transaction changes nothing at none"),
    ):
        with pytest.raises(UsageError, match=said):
            part_of(found, choice(found, **take), known)
    assert part_of(found, choice(found, b=(MODE,)), known).taken.changes[0].after == state(b"\0", 0o755)
    inside = changes(modified(b"d", FOLDER, EntryState(kind="directory", mode=0o700)),
                     modified(b"d/f", state(BEFORE), state(AFTER)))  # fmt: skip
    both = HunkChoice(
        diff_sha256=inside.digest,
        take=(TakenPath(path=RelPath(b"d")), TakenPath(path=RelPath(b"d/f"), hunks=(sides().hunks[0].name,))),
    )
    with pytest.raises(UsageError, match="d/f is taken whole and by hunks"):
        part_of(inside, both, {RelPath(b"d/f"): sides()})
    own = HunkChoice(diff_sha256=inside.digest, take=(TakenPath(path=RelPath(b"d"), hunks=(MODE,)),))
    assert [str(item.path) for item in part_of(inside, own, {}).taken.changes] == ["d"]


@given(data=st.data())
def test_what_stays_after_a_part_landed_is_exactly_the_rest(data: st.DataObject) -> None:
    """Base, chosen part, rest: the rest's change set begins where the part ended, and ends where the stage does."""
    contents = {name: (data.draw(TEXTS), data.draw(TEXTS)) for name in (b"f", b"g", b"h")}
    modes = {name: (0o644, data.draw(st.sampled_from([0o644, 0o755]))) for name in contents}
    listings = [
        listing_of(
            FileEntry(path=RelPath(name), size=len(texts[side]), mode=modes[name][side], mtime_ns=0,
                      sha256=sha256(texts[side]))
            for name, texts in contents.items()
        )
        for side in (0, 1)
    ]  # fmt: skip
    whole = find_changes(*listings, NOTHING).change_set
    known = {RelPath(name): sides(*texts) for name, texts in contents.items()}
    take = []
    for change in whole.changes:
        names = names_of(change, known[change.path])
        hunks = data.draw(st.none() | st.lists(st.sampled_from(names), unique=True).map(tuple))
        if hunks != ():
            take.append(TakenPath(path=change.path, hunks=hunks))
    try:
        part = part_of(whole, HunkChoice(diff_sha256=whole.digest, take=tuple(take)), known)
    except UsageError:
        return
    landed = landed_listing(listings[0], part.taken)
    rest = find_changes(landed, listings[1], NOTHING).change_set
    assert landed_listing(landed, rest).document == listings[1].document
    untouched = {change.path for change in whole.changes} - {item.path for item in take}
    assert untouched <= {change.path for change in rest.changes}
    for change in part.taken.changes:
        content = part.made.get(change.path, contents[change.path.raw][1])
        if change.after.sha256 == change.before.sha256:
            content = contents[change.path.raw][0]
        assert change.after == state(content, change.after.mode)


def test_a_listing_after_a_part_landed_has_every_kind() -> None:
    base = listing_of([FileEntry(path=RelPath(b"gone"), size=1, mode=0o600, mtime_ns=3, sha256=BASE)])
    taken = changes(
        FsChange(path=RelPath(b"d"), change=Change.ADDED, after=FOLDER),
        FsChange(path=RelPath(b"f"), change=Change.ADDED, after=state(b"x", 0o640)),
        FsChange(path=RelPath(b"gone"), change=Change.REMOVED, before=state(b"x")),
        FsChange(path=RelPath(b"l"), change=Change.ADDED, after=LINK),
    )
    assert landed_listing(base, taken).records == (
        DirectoryEntry(path=RelPath(b"d"), mode=0o755),
        FileEntry(path=RelPath(b"f"), size=1, mode=0o640, mtime_ns=0, sha256=sha256(b"x")),
        SymlinkEntry(path=RelPath(b"l"), target=b"a"),
    )
