"""Names that are no paths of a tree, and how a document is no canonical JSON: the same for each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from document_vectors.spelling import Json, Scenario, coded

ROOT: dict[str, str] = {"device": "64768", "inode": "2097161"}
# name, what it shows, the members of a path that stands, those of one that does not
PATHS: tuple[tuple[str, str, Json, Json], ...] = (
    ("absolute", "a path is relative", {"path": "etc/passwd"}, {"path": "/etc/passwd"}),
    ("upward", "a path has no part ..", {"path": "a/b"}, {"path": "a/../../b"}),
    ("upward-alone", "a path is not ..", {"path": "..."}, {"path": ".."}),
    ("dot", "a path has no part .", {"path": "a/.b"}, {"path": "a/./b"}),
    ("empty-part", "a path has no empty part", {"path": "a/b"}, {"path": "a//b"}),
    ("ends-in-slash", "a path ends in a name", {"path": "a"}, {"path": "a/"}),
    ("empty", "a path has a name", {"path": " "}, {"path": ""}),
    ("nul", "a name has no NUL", {"path": "a\x01b"}, {"path": "a\0b"}),
    ("too-long", "a path has 16,384 bytes at most", {"path": "a/" * 8191 + "ab"}, {"path": "a/" * 8192 + "a"}),
    ("both-spellings", "a path stands in one member", {"path_b64": "/w=="}, {"path": "\\xff", "path_b64": "/w=="}),
    ("other-spelling-null", "a member that is null stands too", {"path": "a"}, {"path": "a", "path_b64": None}),
    ("no-spelling", "there is a path", {"path": "a"}, {}),
    ("not-a-text", "a path is a text", {"path": "1"}, {"path": 1}),
    ("utf8-in-base64", "what is UTF-8 stands as text", {"path": "a"}, {"path_b64": coded(b"a")}),
    ("absolute-bytes", "bytes in base64 are relative", {"path_b64": coded(b"\xff")}, {"path_b64": coded(b"/\xff")}),
    ("upward-bytes", "bytes in base64 lead nowhere", {"path_b64": coded(b"a/\xff")}, {"path_b64": coded(b"../\xff")}),
    ("base64-unpadded", "base64 is padded", {"path_b64": "/w=="}, {"path_b64": "/w"}),
    ("base64-other-bits", "base64 re-encodes to itself", {"path_b64": "/w=="}, {"path_b64": "/x=="}),
    ("base64-url", "base64 has the letters of RFC 4648 section 4", {"path_b64": "/w=="}, {"path_b64": "_w=="}),
    ("base64-line-end", "base64 has no line end", {"path_b64": "/w=="}, {"path_b64": "/w==\n"}),
)  # fmt: skip


def path_twins(spell: Callable[[Json], bytes], rule: str) -> Iterator[Scenario]:
    """Yield a twin for each of PATHS; `spell` returns the document that holds a path with these members."""
    for name, says, good, bad in PATHS:
        yield Scenario(
            name=f"path-{name}", says=says, accepted=spell(good), refused=spell(bad), rule=rule, reason="not-a-path"
        )


def spelling_twins(document: bytes, rule: str) -> Iterator[Scenario]:
    """Yield the twins of spellings of a document that holds the identity ROOT and ends in LF."""
    device, inode = (b'"%s":"%s"' % (key.encode(), value.encode()) for key, value in ROOT.items())
    name, _, value = device.partition(b":")

    def twin(name: str, says: str, reason: str, refused: bytes) -> Scenario:
        return Scenario(
            name=f"spelling-{name}", says=says, accepted=document, refused=refused, rule=rule, reason=reason
        )

    def instead(old: bytes, new: bytes) -> bytes:
        return document.replace(old, new, 1)

    cut = document[:-1]
    yield twin("no-line-end", "a line end is the last byte", "torn-tail", cut)
    yield twin("nothing", "no bytes are no document", "torn-tail", b"")
    yield twin("blank", "no blank stands between members", "not-canonical", instead(device, name + b": " + value))
    yield twin("carriage-return", "a line ends in LF alone", "not-canonical", cut + b"\r\n")
    yield twin("byte-order-mark", "no byte order mark stands in front", "byte-order-mark", b"\xef\xbb\xbf" + document)
    yield twin("escape", "a digit has no escape", "not-canonical", instead(value, b'"\\u00%02x' % value[1] + value[2:]))
    yield twin("member-twice", "a member stands once", "not-canonical", instead(device, device + b"," + device))
    yield twin("members-out-of-order", "members stand in their order", "not-canonical",
               instead(device + b"," + inode, inode + b"," + device))  # fmt: skip
    yield twin("not-utf8", "the bytes are UTF-8", "not-utf8", instead(value, b'"\xff"'))
    yield twin("half-a-pair", "half of a surrogate pair is no text", "lone-surrogate", instead(value, b'"\\ud800"'))
    yield twin("not-json", "the bytes are JSON", "not-json", cut[:-1] + b"\n")
    yield twin("list", "a document is an object", "wrong-type", b"[]\n")
