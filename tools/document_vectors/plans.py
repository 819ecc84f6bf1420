"""Vectors of plans, `docket/plan/v1` (spec/plan.md)."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator

from document_vectors.paths import ROOT, path_twins, spelling_twins
from document_vectors.spelling import Json, Scenario, coded, spelt

DOCUMENT = "docket/plan/v1"
ZEROS = "0" * 64
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_LEAST, _MOST = str(-(2**63)), str(2**63 - 1)


def figures(document: bytes) -> Json:
    """Count the steps of a plan, by what they do."""
    steps = [json.loads(line)["step"] for line in document.splitlines()[1:]]
    return {name: steps.count(name) for name in ("remove", "write", "directory", "symlink", "mode", "link")}


def scenarios() -> Iterator[Scenario]:
    """Yield every scenario."""
    yield from _accepted()
    yield from spelling_twins(_plan(_write()), "Document 1")
    yield from _shapes()
    yield from path_twins(lambda members: _plan(_named(_write(), members)), "Document 3")
    yield from (_as_link(item) for item in path_twins(_link_to, "Document 3") if "nul" not in item.name)
    yield from _targets()
    yield from _orders()
    yield from _steps()
    yield from _attributes()
    yield from _acls()
    yield from _preconditions()


def _plan(*steps: Json, **changes: object) -> bytes:
    return b"".join(spelt(line) for line in ({"format": DOCUMENT, "root": ROOT} | changes, *steps))


def _write(path: str = "a", **changes: object) -> Json:
    members: Json = {"step": "write", "path": path, "precondition": "absent", "mode": 420, "sha256": ZEROS, "size": 1}
    return members | changes


def _remove(path: str = "a", kind: str = "file", **changes: object) -> Json:
    return {"step": "remove", "path": path, "precondition": "anything", "kind": kind, **changes}


def _directory(path: str = "a", **changes: object) -> Json:
    return {"step": "directory", "path": path, "precondition": "absent", "mode": 493, **changes}


def _symlink(path: str = "a", **changes: object) -> Json:
    return {"step": "symlink", "path": path, "precondition": "absent", "target": "b", **changes}


def _mode(path: str = "a", **changes: object) -> Json:
    return {"step": "mode", "path": path, "precondition": "anything", "mode": 420, **changes}


def _link(path: str = "b", to: str | Json = "a", **changes: object) -> Json:
    target = {"path": to} if isinstance(to, str) else to
    return {"step": "link", "path": path, "precondition": "absent", "to": target, **changes}


def _link_to(members: Json) -> bytes:
    return _plan(_link("z", to=members))


def _as_link(item: Scenario) -> Scenario:
    return Scenario(
        name=item.name.replace("path-", "link-to-", 1), says=item.says + ", where a link leads too",
        accepted=item.accepted, refused=item.refused, rule=item.rule, reason=item.reason,
    )  # fmt: skip


def _named(item: Json, members: Json) -> Json:
    return {name: value for name, value in item.items() if name != "path"} | members


def _without(item: Json, *names: str) -> Json:
    return {name: value for name, value in item.items() if name not in names}


def _state(kind: str = "file", **changes: object) -> Json:
    """Return a file's whole state, or with another kind only what is named."""
    file: Json = {"mode": 420, "sha256": ZEROS, "size": 1} if kind == "file" else {}
    return {"kind": kind} | file | changes


def _twin(told: str, rule: str, good: bytes, bad: bytes, reason: str = "wrong-value") -> Scenario:
    name, _, says = told.partition(": ")
    return Scenario(name=name, says=says, accepted=good, refused=bad, rule=rule, reason=reason)


def _accepted() -> Iterator[Scenario]:
    old = _state(mode=384, sha256="73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac", size=2)
    notes = _state(sha256="7b9a72466d3960eb2aacccfc848939453490db0678bd4725def3f789b891c919", size=6)
    program = _state(sha256="a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf", size=10)
    yield Scenario(
        name="example",
        says="the example of the page",
        accepted=_plan(
            _remove("old/data", precondition=old),
            _remove("old", "directory", precondition=_state("directory", mode=493)),
            _symlink("latest", precondition="anything", target="src/app.py"),
            _write("notes.txt", precondition=notes, mtime_ns="1700000000123456789", size=7,
                   sha256="9160d4be34c8695bd172a76c7c7966587ea5a4d991ad22c87b2b91af54aa9ebb"),
            _mode("run.sh", precondition=program, mode=493),
            _directory("src"),
            _write("src/app.py", size=11,
                   sha256="96dd2db88b7dc8e28cabe68d8e766dde83570e8050ca995a1af38b609cec8395"),
            _link("copy.py", "src/app.py"),
        ),
    )  # fmt: skip
    attributes = [{"name": coded(b"user.a"), "value": coded(b"\xff")}, {"name": coded(b"user.b"), "value": ""}]
    yield Scenario(
        name="every-member",
        says="every member that a step can have, at its ends",
        accepted=_plan(
            _remove("s", "symlink"),
            _named(_write(mode=0, mtime_ns="-1", sha256=EMPTY, size=0, sparse=True, xattrs=attributes,
                          precondition=_state("symlink", target="elsewhere")), {"path_b64": coded(b"caf\xe9")}),
            _directory("d", mode=0o3777, mtime_ns="0", precondition=_state("directory", mode=4095)),
            _without(_symlink("d/l", mtime_ns="5", target_b64="/w==",
                              precondition=_state("symlink", target_b64="/w==")), "target"),
            _mode("m", mode=384, mtime_ns="9", precondition={"kind": "file", "mode": 0, "size": 3}),
            _write("none", mode=511, sha256=EMPTY, size=0, xattrs=[], precondition="anything"),
            _link("h", precondition="anything", to={"path_b64": coded(b"caf\xe9")}),
            root={"device": str(2**64 - 1), "inode": "0"},
        ),
    )  # fmt: skip
    yield Scenario(name="nothing", says="a plan that does nothing", accepted=_plan())
    yield Scenario(
        name="names",
        says="names that a shell, a pattern or an eye reads otherwise",
        accepted=_plan(*(_write(name) for name in (" a", "*", "-d", ":c", "[ab].t", "a\nb", "e\u0301", "\u00e9"))),
    )


def _shapes() -> Iterator[Scenario]:
    good = _plan(_write())
    yield _twin("format-other: the format's number counts", "Document 1",
                good, _plan(_write(), format="docket/plan/v2"), "unknown-format")  # fmt: skip
    yield _twin("header-unknown-member: a header has two members", "Document 1",
                good, _plan(_write(), by="me"), "unknown-member")  # fmt: skip
    yield _twin("member-unknown: no step has a place to copy from", "Document 1",
                good, _plan(_write(source="/etc/passwd")), "unknown-member")  # fmt: skip
    yield _twin("member-of-another-step: a step has its own members alone", "Document 1",
                _plan(_remove()), _plan(_remove(mode=420)), "unknown-member")  # fmt: skip
    yield _twin("member-missing: a step says what it expects", "Document 1",
                good, _plan(_without(_write(), "precondition")), "missing-member")  # fmt: skip
    yield _twin("empty-line: a line is a step", "Document 1", good, good + b"\n", "not-json")
    yield _twin("size-text: a size is a number", "Document 1", good, _plan(_write(size="1")), "wrong-type")
    yield _twin("size-negative: a size is not below 0", "Document 1", _plan(_write(size=0)), _plan(_write(size=-1)))
    yield _twin("size-huge: a number has 53 bits at most", "Document 1",
                _plan(_write(size=2**53 - 1)), _plan(_write(size=2**53)), "integer-too-large")  # fmt: skip
    yield _twin("digest-a-path: a content is named by its digest", "Document 1",
                good, _plan(_write(sha256="../../etc/passwd")), "not-a-digest")  # fmt: skip
    yield _twin("identity-number: an inode is a text", "Document 2",
                good, _plan(_write(), root={**ROOT, "inode": 2}), "wrong-type")  # fmt: skip
    yield _twin("identity-zero-in-front: an inode has no zero in front", "Document 2",
                _plan(root={**ROOT, "inode": "0"}), _plan(root={**ROOT, "inode": "02"}))  # fmt: skip
    yield _twin("identity-huge: an inode has 64 bits", "Document 2",
                _plan(root={**ROOT, "inode": str(2**64 - 1)}), _plan(root={**ROOT, "inode": str(2**64)}))  # fmt: skip
    yield _twin("name-long: a name has 255 bytes", "Document 3",
                _plan(_write("n" * 255)), _plan(_write("n" * 256)), "name-too-long")  # fmt: skip
    yield _twin("link-to-name-long: a name has 255 bytes, where a link leads too", "Document 3",
                _plan(_link(to="n" * 255)), _plan(_link(to="n" * 256)), "name-too-long")  # fmt: skip


def _targets() -> Iterator[Scenario]:
    def link(**members: object) -> bytes:
        return _plan(_without(_symlink(), "target") | members)

    good = link(target="/etc/passwd")
    yield _twin("target-empty: a link leads somewhere", "Document 3", good, link(target=""))
    yield _twin("target-nul: a target has no NUL", "Document 3", good, link(target="a\0b"))
    yield _twin("target-long: a target has 4,095 bytes", "Document 3", link(target="t" * 4095), link(target="t" * 4096))
    yield _twin("target-no-base64: a target of bytes is base64", "Document 3",
                link(target_b64="/w=="), link(target_b64="*"))  # fmt: skip
    yield _twin("target-other-bits: base64 re-encodes to itself", "Document 3",
                link(target_b64="/w=="), link(target_b64="/x=="), "not-canonical")  # fmt: skip
    yield _twin("target-utf8-in-base64: a UTF-8 target stands as text", "Document 3",
                link(target="a"), link(target_b64=coded(b"a")), "not-canonical")  # fmt: skip
    yield _twin("target-both: a target stands in one member", "Document 3",
                link(target="a"), link(target="a", target_b64="/w=="), "unknown-member")  # fmt: skip
    yield _twin("target-none: a link has a target", "Document 3", link(target="a"), link(), "missing-member")


def _orders() -> Iterator[Scenario]:
    yield _twin("path-twice: a path stands in one step", "Document 4",
                _plan(_write("a"), _write("b")), _plan(_write("a"), _write("a")), "duplicate-key")  # fmt: skip
    yield _twin("path-twice-in-groups: nor is it removed and made", "Document 4",
                _plan(_remove("a"), _write("b")), _plan(_remove("a"), _write("a")), "duplicate-key")  # fmt: skip
    pairs = (
        ("tree-order", "tree order is not the order of texts", _write("src/app.py"), _write("src-notes")),
        ("removed-first", "what goes goes first", _remove("z"), _write("a")),
        ("removed-deepest-first", "what a directory holds goes before it", _remove("d/a"), _remove("d", "directory")),
        ("links-last", "links come when their files stand", _write("z"), _link("b", to="z")),
        ("directory-first", "a directory stands before what it holds", _directory("d"), _write("d/a")),
    )
    for name, says, first, second in pairs:
        yield _twin(f"order-{name}: {says}", "Document 5", _plan(first, second), _plan(second, first), "not-canonical")
    good = _plan(_directory("a"), _write("a/b"))
    for name, step in (("a-file", _write("a")), ("a-link", _symlink("a")), ("a-mode", _mode("a"))):
        yield _twin(f"below-{name}: what holds something is a directory", "Document 6",
                    good, _plan(step, _write("a/b")))  # fmt: skip
    yield _twin("below-what-goes: what is removed holds nothing", "Document 6",
                good, _plan(_remove("a", "directory"), _write("a/b")))  # fmt: skip
    yield _twin("below-deeper: at any depth", "Document 6",
                _plan(_directory("a"), _write("a/b/c")), _plan(_write("a"), _write("a/b/c")))  # fmt: skip
    to_file = _plan(_write("a"), _link("b", to="a"))
    yield _twin("link-to-what-goes: a link leads to a file that stays", "Document 6",
                to_file, _plan(_remove("a"), _link("b", to="a")))  # fmt: skip
    yield _twin("link-to-a-link: links lead to files alone", "Document 6",
                to_file, _plan(_link("a", to="c"), _link("b", to="a")))  # fmt: skip
    yield _twin("link-to-itself: nor to themselves", "Document 6", to_file, _plan(_link("b", to="b")))
    yield _twin("link-to-a-directory: nor to directories", "Document 6",
                to_file, _plan(_directory("a"), _link("b", to="a")))  # fmt: skip
    yield _twin("link-to-a-symlink: nor to symbolic links", "Document 6",
                to_file, _plan(_symlink("a"), _link("b", to="a")))  # fmt: skip


def _steps() -> Iterator[Scenario]:
    yield _twin("step-other: there are six steps", "Steps 1", _plan(_remove()), _plan(_remove(step="truncate")))
    for kind in ("fifo", "socket", "block-device", "unknown"):
        yield _twin(f"remove-{kind}: a special file is never removed", "Steps 1",
                    _plan(_remove()), _plan(_remove(kind=kind)))  # fmt: skip
    yield _twin("mode-setuid: no file becomes setuid", "Steps 3", _plan(_write(mode=0o777)), _plan(_write(mode=0o4755)))
    yield _twin("mode-setgid: no file becomes setgid", "Steps 3", _plan(_mode(mode=0o777)), _plan(_mode(mode=0o2755)))
    yield _twin("mode-sticky-file: no file becomes sticky", "Steps 3", _plan(_mode(mode=0)), _plan(_mode(mode=0o1000)))
    yield _twin("mode-setuid-directory: no directory becomes setuid", "Steps 3",
                _plan(_directory(mode=0o3777)), _plan(_directory(mode=0o4755)))  # fmt: skip
    yield _twin("mode-negative: a mode is not below 0", "Steps 3", _plan(_mode(mode=0)), _plan(_mode(mode=-1)))
    good = _plan(_directory(mtime_ns="1"))
    yield _twin("time-number: a time is a text", "Steps 4", good, _plan(_directory(mtime_ns=1)), "wrong-type")
    yield _twin("time-plus: a time has no plus", "Steps 4", good, _plan(_directory(mtime_ns="+1")))
    yield _twin("time-minus-zero: zero has no minus", "Steps 4",
                _plan(_directory(mtime_ns="0")), _plan(_directory(mtime_ns="-0")))  # fmt: skip
    yield _twin("time-latest: a time has 64 bits", "Steps 4",
                _plan(_write(mtime_ns=_MOST)), _plan(_write(mtime_ns=str(2**63))))  # fmt: skip
    yield _twin("time-earliest: a time before 1970 has 64 bits too", "Steps 4",
                _plan(_write(mtime_ns=_LEAST)), _plan(_write(mtime_ns=str(-(2**63) - 1))))  # fmt: skip
    yield _twin("sparse-false: sparse stands where it is true", "Steps 5",
                _plan(_write(sparse=True)), _plan(_write(sparse=False)), "not-canonical")  # fmt: skip


def _attributes() -> Iterator[Scenario]:
    def plan(*pairs: tuple[bytes, bytes], **more: object) -> bytes:
        return _plan(_write(xattrs=[{"name": coded(name), "value": coded(value), **more} for name, value in pairs]))

    one, two = plan((b"user.a", b"\xff")), plan((b"user.a", b""), (b"user.b", b""))
    yield _twin("xattrs-order: attributes stand in the order of their names", "Steps 6",
                two, plan((b"user.b", b""), (b"user.a", b"")), "not-canonical")  # fmt: skip
    yield _twin("xattrs-twice: an attribute stands once", "Steps 6",
                two, plan((b"user.a", b""), (b"user.a", b"1")), "not-canonical")  # fmt: skip
    yield _twin("xattrs-security: no attribute gives powers", "Steps 6", one, plan((b"security.capability", b"\1")))
    yield _twin("xattrs-no-name: an attribute has a name behind its namespace", "Steps 6",
                plan((b"user.x", b"")), plan((b"user.", b"")))  # fmt: skip
    yield _twin("xattrs-nul: an attribute's name has no NUL", "Steps 6", one, plan((b"user.a\0b", b"")))
    yield _twin("xattrs-name-long: an attribute's name has 255 bytes", "Steps 6",
                plan((b"user." + b"n" * 250, b"")), plan((b"user." + b"n" * 251, b"")))  # fmt: skip
    yield _twin("xattrs-value-long: an attribute's value has 65,536 bytes", "Steps 6",
                plan((b"user.a", bytes(65536))), plan((b"user.a", bytes(65537))))  # fmt: skip
    yield _twin("xattrs-unknown-member: an attribute has name and value", "Steps 6",
                one, plan((b"user.a", b"\xff"), flags=1), "unknown-member")  # fmt: skip


def _acls() -> Iterator[Scenario]:
    def acl(*entries: tuple[int, int], version: int = 2) -> str:
        packed = (struct.pack("<HHI", tag, permissions, 1000) for tag, permissions in entries)
        return coded(struct.pack("<I", version) + b"".join(packed))

    def plan(value: str, mode: int = 0o640, name: bytes = b"system.posix_acl_access") -> bytes:
        return _plan(_write(mode=mode, xattrs=[{"name": coded(name), "value": value}]))

    def folder(value: str, name: bytes = b"system.posix_acl_default") -> bytes:
        return _plan(_directory(mode=0o2750, xattrs=[{"name": coded(name), "value": value}]))

    three, user, group, mask = ((1, 6), (4, 4), (32, 0)), (2, 7), (8, 7), (16, 4)
    rule, good = "Steps 6", plan(acl(*three))
    named = plan(acl((1, 6), user, (4, 0), group, mask, (32, 0)))
    yield _twin("acl-other-mode: an ACL says the permissions of the mode", rule, good, plan(acl(*three), 0o644))
    yield _twin("acl-mask: the mask is the group's part of a mode", rule, named,
                plan(acl((1, 6), user, (4, 4), (16, 7), (32, 0))))  # fmt: skip
    yield _twin("acl-no-mask: entries of users need a mask", rule, named, plan(acl((1, 6), user, (4, 4), (32, 0))))
    yield _twin("acl-two-masks: a mask stands once", rule, named, plan(acl(*three, mask, mask)))
    yield _twin("acl-no-owner: the owner has an entry", rule, good, plan(acl(*three[1:]), 0o040))
    yield _twin("acl-two-owners: the owner has one entry", rule, good, plan(acl(*three, (1, 6))))
    yield _twin("acl-other-tag: there are six tags", rule, good, plan(acl(*three, (64, 4))))
    yield _twin("acl-version: an ACL has version 2", rule, good, plan(acl(*three, version=1)))
    yield _twin("acl-permissions: permissions have three bits", rule, named,
                plan(acl((1, 6), (2, 8), (4, 4), mask, (32, 0))))  # fmt: skip
    yield _twin("acl-cut: entries are whole", rule, good, plan(coded(base64.b64decode(acl(*three))[:-1])))
    yield _twin("acl-default-of-a-file: directories alone have a default one", rule, folder(acl(*three)),
                plan(acl(*three), name=b"system.posix_acl_default"))  # fmt: skip
    yield _twin("acl-default-not-whole: a default one is whole too", rule, folder(acl(*three)), folder(acl(*three[1:])))
    wider = folder(acl((1, 7), (4, 7), (32, 7)), b"system.posix_acl_access")
    yield _twin("acl-wider-directory: nor does one widen a directory", rule,
                folder(acl((1, 7), (4, 5), (32, 0)), b"system.posix_acl_access"), wider)  # fmt: skip
    alone = _plan(_mode(mode=0o640, acl=acl(*three)))
    yield _twin("acl-of-a-mode: so it is beside a mode alone", rule, alone, _plan(_mode(mode=0o644, acl=acl(*three))))
    yield _twin("acl-of-a-mode-cut: and as whole", rule, alone,
                _plan(_mode(mode=0o640, acl=coded(base64.b64decode(acl(*three))[:-1]))))  # fmt: skip
    yield _twin("acl-of-a-mode-base64: it stands in base64", rule, alone, _plan(_mode(mode=0o640, acl="!")))


def _preconditions() -> Iterator[Scenario]:
    def over(state: object) -> bytes:
        return _plan(_write(precondition=state))

    good = over(_state())
    yield _twin("precondition-other-word: two words are preconditions", "Preconditions 1",
                over("anything"), over("whatever"))  # fmt: skip
    yield _twin("precondition-null: and nothing else is", "Preconditions 1", over("absent"), over(None))
    yield _twin("precondition-fifo: no special file is expected", "Preconditions 2",
                good, over(_state("fifo", mode=420)))  # fmt: skip
    yield _twin("precondition-no-size: a file has a size", "Preconditions 2", good, over(_without(_state(), "size")))
    yield _twin("precondition-no-mode: a file has a mode", "Preconditions 2",
                good, over(_without(_state(), "mode")), "missing-member")  # fmt: skip
    yield _twin("precondition-mode-large: a mode has twelve bits", "Preconditions 2",
                over(_state(mode=4095)), over(_state(mode=4096)))  # fmt: skip
    folder = _state("directory", mode=493)
    yield _twin("precondition-directory-size: a directory has a mode alone", "Preconditions 2",
                _plan(_remove(kind="directory", precondition=folder)),
                _plan(_remove(kind="directory", precondition=folder | {"size": 1})))  # fmt: skip
    yield _twin("precondition-link-mode: a link has a target alone", "Preconditions 2",
                over(_state("symlink", target="a")), over(_state("symlink", target="a", mode=511)),
                "unknown-member")  # fmt: skip
    yield _twin("precondition-link-both: a target stands in one member", "Preconditions 2",
                over(_state("symlink", target_b64="/w==")), over(_state("symlink", target="\\xff", target_b64="/w==")),
                "unknown-member")  # fmt: skip
    yield _twin("precondition-kind-differs: what is removed is what is expected", "Preconditions 2",
                _plan(_remove(precondition=_state())), _plan(_remove(precondition=folder)))  # fmt: skip
    unread = _without(_state(), "sha256")
    yield _twin("precondition-unread: a file of unknown content is not written over", "Preconditions 3",
                _plan(_mode(precondition=unread)), over(unread))  # fmt: skip
    yield _twin("precondition-unread-removed: nor removed", "Preconditions 3",
                _plan(_mode(precondition=unread)), _plan(_remove(precondition=unread)))  # fmt: skip
