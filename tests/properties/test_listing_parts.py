"""Parts of listings, cut out of the text, against the same from decoded records."""

import random
import struct

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.details import Details
from docket.formats.tree.listing import (
    HEADER,
    DirectoryEntry,
    FileEntry,
    Kind,
    Omission,
    SymlinkEntry,
    decode_listing,
    listing_of,
)
from docket.formats.tree.parts import known_listing, links_of, paths_ending, records_at
from docket.rules.workspace.result import laid_over, outermost

NAMES = [b"a", b"a.b", b"a-", b"b", b"\x01", b"z\xff", b'q"x', b',"reason":"']
TRICKS = [b"x", b',"reason":"y', b'{"kind":"directory",', b',"sha256":"']
ENDINGS = (b"a", b"b", b"x")


def a_path(dice, most=3):
    return RelPath(b"/".join(dice.choices(NAMES, k=dice.randint(1, most))))


def a_record(dice):
    path, what = a_path(dice), dice.randrange(5)
    if what == 0:
        return DirectoryEntry(path=path, mode=0o755)
    if what == 1:
        return SymlinkEntry(path=path, target=dice.choice(TRICKS))
    if what == 2:
        kind = dice.choice([None, Kind.DIRECTORY, Kind.FILE, Kind.SYMLINK, Kind.FIFO])
        return Omission(path=path, reason=Reason.EXCLUDED, detail="prose", kind=kind, mode=dice.choice([None, 1]))
    digest = f"{dice.getrandbits(200):064x}"
    return FileEntry(path=path, size=dice.randrange(99), mode=0o644, mtime_ns=dice.randrange(-9, 10**18), sha256=digest)


def a_listing(dice):
    records = {record.path: record for record in (a_record(dice) for _ in range(dice.randint(0, 14)))}
    return listing_of(records.values())


def numbered(listing, times):
    """Give the directories and links of a listing the times that `times` has by path."""
    found = []
    for kind in (DirectoryEntry, SymlinkEntry):
        values = [times[record.path] for record in listing.records if isinstance(record, kind)]
        found.append(struct.pack(f"<{len(values)}q", *values))
    listing.details = Details(directory_mtimes=found[0], symlink_mtimes=found[1])
    return listing


def times_of(dice, listing):
    return {record.path: dice.randrange(-9, 9**9) for record in listing.records}


@pytest.mark.parametrize("seed", range(250))
def test_what_is_laid_over_is_what_records_laid_over_give(seed):
    dice = random.Random(seed)
    base, other = a_listing(dice), a_listing(dice)
    roots = outermost([a_path(dice, 2) for _ in range(dice.randint(0, 3))])

    def is_inside(record):
        return any(record.path == root or record.path.raw.startswith(root.raw + b"/") for root in roots)

    part = listing_of(filter(is_inside, other.records))
    kept = [record for record in base.records if not is_inside(record)]
    before, now = times_of(dice, base), times_of(dice, part)
    knows_times = dice.random() < 0.8
    if knows_times:
        numbered(base, before)
    numbered(part, now)
    merged = {record.path: before[record.path] if knows_times else 0 for record in kept} | now
    expected = numbered(listing_of([*kept, *part.records]), merged)

    found = laid_over(base, part, roots)
    assert found.document == expected.document
    assert (found.counts, found.mtimes, found.omissions) == (expected.counts, expected.mtimes, expected.omissions)
    assert found.details == expected.details
    assert found.records == expected.records


@pytest.mark.parametrize("seed", range(100))
def test_what_is_found_in_the_text_is_what_the_records_say(seed):
    dice = random.Random(seed)
    listing = a_listing(dice)
    known, decoded = known_listing(listing.document), decode_listing(listing.document)
    assert (known.counts, known.records, known.omissions) == (decoded.counts, decoded.records, decoded.omissions)
    paths = [a_path(dice) for _ in range(6)] + [record.path for record in listing.records[::3]]
    assert records_at(listing, paths) == {path: listing.record(path) for path in paths if listing.record(path)}
    assert links_of(listing) == tuple(record for record in listing.records if isinstance(record, SymlinkEntry))
    entries = (record.path for record in listing.records if not isinstance(record, Omission))
    assert paths_ending(listing, *ENDINGS) == tuple(path for path in entries if path.raw.endswith(ENDINGS))


def test_a_thing_that_stands_where_a_root_was_to_lie_below_it_takes_its_place():
    base = listing_of([DirectoryEntry(path=RelPath(b"d"), mode=0o755), SymlinkEntry(path=RelPath(b"d/x"), target=b"t")])
    part = listing_of([SymlinkEntry(path=RelPath(b"d"), target=b"elsewhere")])
    assert laid_over(base, part, [RelPath(b"d/x")]).records == part.records


@pytest.mark.parametrize("raw", [b"", b"{}\n", HEADER[:-1]])
def test_what_is_no_listing_is_refused(raw):
    with pytest.raises(InvalidDocumentError) as refused:
        known_listing(raw)
    assert refused.value.reason == Reason.UNKNOWN_FORMAT
