"""Files of a listing whose contents were not read: how they are told, and how their digests come in later.

Rules:
1. Such a file has `UNREAD` where another has its digest; no content has that digest. Kind, mode and size are as seen.
2. A listing with them names all that was seen of the tree, and the contents of those files that were read.
3. Putting a digest in moves nothing else: every other record, and what goes beside them, stays as it is.

Who may read such a file later, and when that is what it held, is not known here (engines.transaction.base_contents).
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import FileEntry, Listing, Record
from docket.formats.tree.spans import own_line

UNREAD = Digest("0" * 64)
_DIGEST = b',"sha256":"'
_UNREAD = _DIGEST + UNREAD.encode("ascii")


def is_unread(record: Record | None) -> bool:
    """Whether a record is a file's that was not read."""
    return isinstance(record, FileEntry) and record.sha256 == UNREAD


def unread_files(listing: Listing) -> int:
    """Return how many files of a listing were not read."""
    return listing.document.count(_UNREAD)


def with_digests(listing: Listing, digests: Mapping[RelPath, Digest]) -> Listing:
    """Return a listing in which the files at those paths have those digests; what stands at none of them is left."""
    if not digests:
        return listing
    document = bytearray(listing.document)
    for path, digest in digests.items():
        start, end = own_line(listing.document, path)
        at = listing.document.find(_DIGEST, start, end)
        if at >= 0:
            at += len(_DIGEST)
            document[at : at + len(digest)] = digest.encode("ascii")
    found = Listing(
        bytes(document), counts=listing.counts, omissions=listing.omissions, mtimes=listing.mtimes, root=listing.root
    )
    found.details, found.statuses = listing.details, listing.statuses
    return found


__all__ = ["UNREAD", "is_unread", "unread_files", "with_digests"]
