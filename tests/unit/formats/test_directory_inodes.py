"""The inodes of a listing's directories: found by the text of the listing, and none where they are not its own."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.directories import directory_members, inodes_by_member, member_of, packed_inodes
from docket.formats.tree.listing import DirectoryEntry, Kind, Listing, Omission, SymlinkEntry, listing_of

ODD = RelPath(b'od\xff,"reason":"x')
TEXT = RelPath(b'd/a,"reason":"b')


def made() -> Listing:
    return listing_of(
        [
            DirectoryEntry(path=RelPath(b"d"), mode=0o755),
            DirectoryEntry(path=TEXT, mode=0o700),
            Omission(path=RelPath(b"left"), reason=Reason.EXCLUDED, kind=Kind.DIRECTORY, mode=0o755),
            SymlinkEntry(path=RelPath(b"link"), target=b"d"),
            DirectoryEntry(path=ODD, mode=0o755),
        ]
    )


def test_each_directory_has_its_own():
    listing = made()
    assert list(directory_members(listing)) == [member_of(path) for path in (RelPath(b"d"), TEXT, ODD)]
    listing.details = replace(listing.details, directory_inodes=packed_inodes([7, 2**64 - 1, 9]))
    assert listing.details.directory_inodes == b"\7" + bytes(7) + b"\xff" * 8 + b"\x09" + bytes(7)
    assert inodes_by_member(listing) == {member_of(RelPath(b"d")): 7, member_of(TEXT): 2**64 - 1, member_of(ODD): 9}


def test_none_where_none_were_taken_down_or_they_are_not_of_this_listing():
    listing = made()
    assert inodes_by_member(listing) == {}
    listing.details = replace(listing.details, directory_inodes=packed_inodes([7]))
    assert inodes_by_member(listing) == {}
