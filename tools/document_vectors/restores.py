"""Vectors of the records of restores, `docket/restore/v1` (spec/restore.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from document_vectors.paths import ROOT, path_twins, spelling_twins
from document_vectors.spelling import Json, Scenario, coded, spelt

DOCUMENT = "docket/restore/v1"
PLAN, MANIFEST, ZEROS = "11" * 32, "22" * 32, "0" * 64
CALL: Json = {"manifest_sha256": None, "docket_number": "", "delta_sha256": "33" * 32, "tool_use_id": "toolu_01"}
STATUSES = ("applied", "already", "refused", "failed", "skipped")


def figures(document: bytes) -> Json:
    """Count the paths of a record, by what became of them."""
    found = [item["status"] for item in json.loads(document)["paths"]]
    return {"paths": len(found), **{name: found.count(name) for name in STATUSES}}


def scenarios() -> Iterator[Scenario]:
    """Yield every scenario."""
    yield from _accepted()
    yield from spelling_twins(_record(_refused()), "The record 1")
    yield from _shapes()
    yield from path_twins(lambda members: _record(_named(_refused(), members)), "The record 2")
    yield from _heads()
    yield from _paths()
    yield from _states()


def _record(*paths: Json, **changes: object) -> bytes:
    members: Json = {
        "format": DOCUMENT, "session_id": "0123456789ab", "docket_number": "DKT-20261001-00C0DE",
        "restored_at": "2026-10-02T08:00:00.000Z", "root": "/home/dev/tree", "root_identity": ROOT,
        "plan_sha256": PLAN, "manifest_sha256": MANIFEST, "redo_of": None, "forced": False, "paths": list(paths),
    }  # fmt: skip
    return spelt(members | changes)


def _refused(path: str = "a", **changes: object) -> Json:
    return {"path": path, "verb": "write", "status": "refused", "reason": "changed-since", **changes}


def _done(path: str = "a", was: object = None, now: object = None, *, kept: object = False, **changes: object) -> Json:
    verb = "remove" if now is None else "write"
    return {"path": path, "verb": verb, "status": "applied", "was": was, "now": now, "kept": kept, **changes}


def _file(**changes: object) -> Json:
    return {"kind": "file", "mode": 420, "sha256": ZEROS, "size": 1, **changes}


def _named(item: Json, members: Json) -> Json:
    return _without(item, "path") | members


def _without(item: Json, *names: str) -> Json:
    return {name: value for name, value in item.items() if name not in names}


def _twin(told: str, rule: int, good: bytes, bad: bytes, reason: str = "wrong-value") -> Scenario:
    name, _, says = told.partition(": ")
    return Scenario(name=name, says=says, accepted=good, refused=bad, rule=f"The record {rule}", reason=reason)


def _accepted() -> Iterator[Scenario]:
    folder: Json = {"kind": "directory", "mode": 493}
    yield Scenario(
        name="example",
        says="the example of the page: a file put back, one that somebody changed since, one that the run made",
        accepted=_record(
            _done("notes.txt", _file(sha256="7b9a72466d3960eb2aacccfc848939453490db0678bd4725def3f789b891c919", size=6),
                  _file(sha256="9160d4be34c8695bd172a76c7c7966587ea5a4d991ad22c87b2b91af54aa9ebb", size=7), kept=True),
            _refused("src/app.py", detail="its content is another than the run left"),
            _done("src/new.py", _file(sha256=ZEROS, size=11), None, kept=True),
        ),
    )  # fmt: skip
    yield Scenario(
        name="redo",
        says="a restore put back: no manifest, but the plan that it undoes",
        accepted=_record(_done(was=_file(), now=_file(size=2), kept=True), manifest_sha256=None, redo_of=PLAN),
    )
    yield Scenario(
        name="tool-call",
        says="a tool call that was undone: its delta, and no docket number",
        accepted=_record(_done(was=_file(), now=_file(size=2), kept=True), **CALL),
    )
    yield Scenario(
        name="tool-call-redo",
        says="what undid a tool call, put back",
        accepted=_record(_done(was=_file(), now=_file(size=2), kept=True), **CALL, redo_of=PLAN),
    )
    yield Scenario(name="nothing", says="nothing was selected", accepted=_record())
    yield Scenario(
        name="every-status",
        says="every status, and paths for which there was no step",
        accepted=_record(
            {"path": ".git/index", "verb": "keep", "status": None, "reason": "git-metadata"},
            *(_refused(f"p-{status}", status=status) for status in sorted(STATUSES[1:])),
            {"path": "q", "verb": "not-covered", "status": None, "reason": "too-large", "detail": "it is larger"},
        ),
    )
    yield Scenario(
        name="every-state",
        says="every kind of state, before and after",
        accepted=_record(
            _done("a", folder, _file()),
            _done("b", _file(), folder, kept=True),
            _done("c", {"kind": "symlink", "target": "a"}, {"kind": "symlink", "target_b64": "/w=="}),
            _done("d", None, folder),
            _named(_done("", _file(mode=0o4755), _file(mode=0o755)), {"path_b64": coded(b"\xff")}),
            root="/caf\\xe9", root_b64=coded(b"/caf\xe9"), forced=True,
        ),
    )  # fmt: skip


def _shapes() -> Iterator[Scenario]:
    good = _record(_refused())
    yield _twin("format-other: the format's number counts", 1,
                good, _record(_refused(), format="docket/restore/v2"), "unknown-format")  # fmt: skip
    yield _twin("member-unknown: no member stands that the page does not name", 1,
                good, _record(_refused(), by="me"), "unknown-member")  # fmt: skip
    yield _twin("member-unknown-of-a-path: nor of a path: no place to copy from", 1,
                good, _record(_refused(source="/etc/shadow")), "unknown-member")  # fmt: skip
    yield _twin("member-missing: a record names its plan", 1,
                good, spelt(_without(json.loads(good), "plan_sha256")), "missing-member")  # fmt: skip
    yield _twin("forced-a-number: forced is true or false", 1, _record(forced=True), _record(forced=1), "wrong-type")
    yield _twin("digest-short: a digest has 64 digits", 1, good, _record(_refused(), plan_sha256="11"), "not-a-digest")
    yield _twin("two-records: a file is one record", 1, good, good + good, "not-json")
    yield _twin("order: paths stand in tree order", 2,
                _record(_refused("src/app.py"), _refused("src-notes")),
                _record(_refused("src-notes"), _refused("src/app.py")), "not-canonical")  # fmt: skip
    yield _twin("twice: a path stands once", 2,
                _record(_refused("a"), _refused("b")), _record(_refused("a"), _refused("a")),
                "not-canonical")  # fmt: skip


def _heads() -> Iterator[Scenario]:
    good = _record()
    yield _twin("root-relative: the root is absolute", 3, good, _record(root="home/dev/tree"), "not-a-path")
    yield _twin("root-nul: the root has no NUL", 3, good, _record(root="/home\0"), "not-a-path")
    yield _twin("root-utf8-in-base64: a UTF-8 root stands as text alone", 3,
                _record(root="/a"), _record(root="/a", root_b64=coded(b"/a")), "not-canonical")  # fmt: skip
    raw = coded(b"/caf\xe9")
    yield _twin("root-shown-otherwise: what is shown is what the bytes say", 3,
                _record(root="/caf\\xe9", root_b64=raw), _record(root="/home/me", root_b64=raw),
                "not-canonical")  # fmt: skip
    yield _twin("identity-number: an inode is a text", 3,
                good, _record(root_identity={**ROOT, "inode": 42}), "wrong-type")  # fmt: skip
    yield _twin("identity-huge: an inode has 64 bits", 3,
                _record(root_identity={**ROOT, "inode": str(2**64 - 1)}),
                _record(root_identity={**ROOT, "inode": str(2**64)}))  # fmt: skip
    yield _twin("restored-at-zone: an instant ends in Z", 3,
                good, _record(restored_at="2026-10-02T08:00:00+02:00"), "not-an-instant")  # fmt: skip
    yield _twin("neither-manifest-nor-redo: what was put back came from somewhere", 3,
                good, _record(manifest_sha256=None))  # fmt: skip
    yield _twin("manifest-and-redo: and from one place", 3,
                _record(manifest_sha256=None, redo_of=PLAN), _record(redo_of=PLAN))  # fmt: skip
    call = _record(**CALL)
    yield _twin("manifest-and-tool-call: a tool call is undone from its delta", 3,
                call, _record(**CALL | {"manifest_sha256": MANIFEST}))  # fmt: skip
    yield _twin("tool-call-of-a-run: a tool call has no docket number", 3,
                call, _record(**CALL | {"docket_number": "DKT-20261001-00C0DE"}))  # fmt: skip
    yield _twin("tool-call-unnamed: and says which it is", 3,
                call, spelt(_without(json.loads(call), "tool_use_id")))  # fmt: skip
    yield _twin("delta-null: what is not of a tool call does not say so", 1,
                call, _record(**CALL | {"delta_sha256": None}), "not-a-digest")  # fmt: skip


def _paths() -> Iterator[Scenario]:
    good = _record(_refused())
    yield _twin("verb-no-word: a verb is a word", 4, good, _record(_refused(verb="rm -rf /")))
    yield _twin("verb-upper-case: a verb has small letters", 4, good, _record(_refused(verb="Write")))
    yield _twin("status-other: there are five statuses", 4, good, _record(_refused(status="done")))
    yield _twin("reason-null: what is not known does not stand", 4,
                good, _record(_refused(reason=None)), "not-canonical")  # fmt: skip
    yield _twin("detail-null: nor does a detail", 4,
                _record(_refused(detail="")), _record(_refused(detail=None)), "not-canonical")  # fmt: skip
    done = _record(_done(was=_file(), kept=True))
    yield _twin("states-of-what-was-not-done: states stand where something was done", 5,
                done, _record(_done(was=_file(), kept=True, status="refused")), "unknown-member")  # fmt: skip
    yield _twin("state-missing: what was done has a state before", 5,
                done, _record(_without(_done(was=_file(), kept=True), "was")), "missing-member")  # fmt: skip
    yield _twin("kept-missing: and says whether its content is kept", 5,
                done, _record(_without(_done(was=_file(), kept=True), "kept")), "missing-member")  # fmt: skip
    yield _twin("kept-of-nothing: nothing has no content to keep", 6,
                _record(_done(now=_file())), _record(_done(now=_file(), kept=True)))  # fmt: skip
    folder: Json = {"kind": "directory", "mode": 493}
    yield _twin("kept-of-a-directory: nor has a directory", 6,
                _record(_done(was=folder)), _record(_done(was=folder, kept=True)))  # fmt: skip


def _states() -> Iterator[Scenario]:
    def was(state: object) -> bytes:
        return _record(_done(was=state))

    good = was(_file())
    yield _twin("state-fifo: no special file was displaced", 5, good, was({"kind": "fifo", "mode": 420}))
    yield _twin("state-no-digest: a file has a digest", 5, good, was(_without(_file(), "sha256")), "missing-member")
    yield _twin("state-mode-large: a mode has twelve bits", 5, was(_file(mode=4095)), was(_file(mode=4096)))
    yield _twin("state-size-negative: a size is not below 0", 5, was(_file(size=0)), was(_file(size=-1)))
    yield _twin("state-size-huge: a number has 53 bits at most", 1,
                was(_file(size=2**53 - 1)), was(_file(size=2**53)), "integer-too-large")  # fmt: skip
    yield _twin("state-directory-size: a directory has a mode alone", 5,
                was({"kind": "directory", "mode": 493}), was({"kind": "directory", "mode": 493, "size": 1}),
                "unknown-member")  # fmt: skip
    link: Json = {"kind": "symlink", "target": "a"}
    yield _twin("state-link-mode: a link has a target alone", 5, was(link), was(link | {"mode": 511}), "unknown-member")
    yield _twin("state-link-empty: a link leads somewhere", 5, was(link), was(link | {"target": ""}))
    yield _twin("state-link-nul: a target has no NUL", 5, was(link), was(link | {"target": "a\0"}))
    yield _twin("state-link-utf8-in-base64: a UTF-8 target stands as text", 5,
                was(link), was({"kind": "symlink", "target_b64": coded(b"a")}), "not-canonical")  # fmt: skip
    yield _twin("state-list: a state is an object or null", 5, good, was([]), "wrong-type")
