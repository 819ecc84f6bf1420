"""Forged documents that agree with each other: a real restore refuses them by name, and nothing anywhere moves."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.tree.manifest import decode_manifest
from git_lab import Standing, standing
from restore_forgery import Document, Forgery, told
from run_lab import Done, RunLab, build

AGENT = "echo agent > a; rm -r d; ln -sfn a l; chmod 700 m; mkdir n; echo agent > n/f; rm two"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> RunLab:
    """One run that changed something of every kind; every test puts its documents back."""
    made = build(tmp_path_factory.mktemp("forged"))
    (made.root / "outside").mkdir()
    for name in ("tree/a", "tree/m", "tree/one", "outside/secret", "outside/a"):
        (made.root / name).write_text(f"{name}\n")
    os.link(made.tree / "one", made.tree / "two")
    (made.tree / "d").mkdir()
    (made.tree / "d/x").write_text("x\n")
    (made.tree / "l").symlink_to("m")
    done = made.run("--snapshot", "-q", "--", "sh", "-ec", AGENT)
    assert done.exit_code == 0, done.said
    return made


@pytest.fixture
def forged(lab: RunLab) -> Iterator[Forgery]:
    found = Forgery(lab)
    yield found
    found.restore()


def everything(lab: RunLab) -> dict[str, Standing]:
    """The tree and what stands beside it, but what docket writes for itself."""
    places = (lab.tree, lab.root / "outside")
    found = {place / path: item for place in places for path, item in standing(place).items()}
    return {str(path): item for path, item in found.items() if ".docket" not in path.parts}


def refused(lab: RunLab, *arguments: str, codes: tuple[int, ...] = (1,)) -> Done:
    """Restore by force; it ends in words, with the right code, and has touched nothing at all."""
    before = everything(lab)
    done = lab.docket("restore", "--apply", "--force", *arguments)
    assert done.exit_code in codes, done.said
    assert "internal error" not in done.stderr, done.said
    assert done.stderr.startswith("docket: error: "), done.said
    assert everything(lab) == before
    return done


def set_in(*way: Any) -> Callable[[Document], None]:
    """Set a member of the manifest: the keys that lead to it, and the value."""

    def edit(manifest: Document) -> None:
        inner: Any = manifest
        for key in way[:-2]:
            inner = inner[key]
        inner[way[-2]] = way[-1]

    return edit


def each(*way: Any, values: tuple[Any, ...]) -> list[Callable[[Document], None]]:
    return [set_in(*way, value) for value in values]


def again(kind: str, other: str) -> Callable[[Document], None]:
    """Let a path of one list stand in another too."""

    def edit(manifest: Document) -> None:
        path = manifest[kind][0]["path"]
        twice = {**manifest[other][0], "path": path}
        manifest[other] = sorted([*manifest[other], twice], key=lambda item: item["path"])

    return edit


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


WAYS_OUT = ("/etc/passwd", "../outside/a", "d/../../outside/a", "d//x", "./a", "a/", "", ".", "..", "a\0b")
PATHS = (*WAYS_OUT, "x" * 20000, 5, None)
NO_ATTRIBUTES = (
    [],
    [{"name": b64(b"security.capability"), "value": ""}],
    [{"name": "!", "value": ""}],
    {},
)
EDITS = {
    "paths": each("entries", 0, "path", values=PATHS),
    "paths in base64": [
        lambda manifest, raw=raw: (manifest["entries"][0].pop("path"), manifest["entries"][0].update(path_b64=raw))
        for raw in (b64(b"\xff/../a"), b64(b"/\xff"), b64(b"a"), b64(b"\xff\0"), b64(b"\xff/"), "!", "", 5)
    ],
    "both spellings": [set_in("entries", 0, "path_b64", b64(b"\xff"))],
    "blobs": each("entries", 0, "blob", values=("../../outside/secret", "/etc/passwd", "aa/bb/cc", "", "a" * 64, None)),
    "digests": each("entries", 0, "sha256", values=("0" * 64, "A" * 64, "0" * 63, "../" * 20, 0, None)),
    "sizes": each("entries", 0, "size", values=(2**63, 2**64, 2**53 + 1, -1, 10**30, 1.5, "2", True, None)),
    "modes": each("entries", 0, "mode", values=(0o7777777, 0o10000, -1, 2**63, "420", 420.0, None)),
    "times": each(
        "entries", 0, "mtime_ns", values=("9" * 30, str(2**63), str(-(2**63) - 1), "-0", "01", "+1", "1.5", "", 5, None)
    ),
    "groups": each("entries", 0, "link_group", values=(0, -1, 2**63, "1", None)),
    "holes": each("entries", 0, "sparse", values=(False, 1, None)),
    "attributes": each("entries", 0, "xattrs", values=NO_ATTRIBUTES),
    "targets": each("symlinks", 0, "target", values=("", "a\0b", 5, None)),
    "roots": each("root", values=("tree", "", "/a\0b", 5, None)),
    "identities": each("root_identity", "device", values=("-1", str(2**64), "9" * 40, 5, "", None)),
    "sessions": each("session_id", values=(5, None)),
    "evidence": each("surface", "evidence", values=([{"path": "../x"}], [{}], {}, 5)),
    "limits": each("limits", "max_bytes", values=(-1, 2**63, "1", 1.5)),
    "lists": each("entries", values=({}, None, [None], [[]], ["a"], 5)),
    "formats": each("format", values=("docket/snapshot/v2", "", None)),
    "members": [set_in("more", 1), lambda manifest: manifest.pop("not_covered")],
    "a path twice": [
        lambda manifest: manifest["entries"].insert(0, manifest["entries"][0]),
        lambda manifest: manifest["entries"].reverse(),
        again("entries", "directories"),
        again("directories", "entries"),
        again("symlinks", "entries"),
    ],
    "below a file": [lambda manifest: manifest["entries"].insert(1, {**manifest["entries"][0], "path": "a/b"})],
}


@pytest.mark.parametrize("what", EDITS)
def test_a_manifest_that_says_what_none_can(forged: Forgery, lab: RunLab, what: str) -> None:
    """Every edit is held against the decoder, and the last of each kind against a real process too."""
    for edit in EDITS[what]:
        forged.restore()
        edit(forged.manifest)
        with pytest.raises(InvalidDocumentError):
            decode_manifest(told(forged.manifest))
    forged.publish()
    done = refused(lab)
    assert str(forged.manifest_path) in done.stderr, done.said
    assert len(done.stderr.splitlines()) > 1, "what to do next"


RAW = {
    "nothing": b"",
    "a line end": b"\n",
    "an array": b"[]\n",
    "depth": b'{"entries":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "numbers": b'{"entries":[1e999,-1e999,NaN]}\n',
    "digits": b'{"entries":' + b"9" * 100_000 + b"}\n",
    "keys": b'{"entries":[],"entries":[]}\n',
    "bytes": b'{"entries":"\xff"}\n',
    "surrogates": b'{"entries":"\\ud800"}\n',
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("what", RAW)
def test_a_manifest_that_is_no_document(forged: Forgery, lab: RunLab, what: str) -> None:
    forged.publish(RAW[what])
    assert str(forged.manifest_path) in refused(lab).stderr


@pytest.mark.parametrize("what", ["fifo", "link", "folder", "device", "huge", "missing", "shut"])
def test_a_manifest_that_is_no_file(forged: Forgery, lab: RunLab, what: str) -> None:
    path, data = forged.manifest_path, forged.manifest_path.read_bytes()
    path.unlink()
    elsewhere = path.parent / "elsewhere"
    try:
        if what == "fifo":
            os.mkfifo(path)
        elif what == "link":
            elsewhere.write_bytes(data)
            path.symlink_to(elsewhere)
        elif what == "device":
            path.symlink_to("/dev/zero")
        elif what == "folder":
            path.mkdir()
        elif what == "huge":
            with open(path, "wb") as out:
                out.truncate(2**42)
        elif what == "shut":
            if os.geteuid() == 0:
                pytest.skip("root reads it all the same")
            path.write_bytes(data)
            path.chmod(0)
        done = refused(lab, codes=(1, 75))
        assert str(path) in done.stderr, done.said
    finally:
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        elsewhere.unlink(missing_ok=True)


LEDGERS = {
    "a way out": ("path", ("/etc/passwd", "../outside/a", "a//b", "", ".", "a\0b", 5, None)),
    "a change": ("change", ("moved", "", 5, None)),
    "a mode": ("after.mode", (-1, 0o7777777, 2**63, "420", None)),
    "a size": ("after.size", (-1, 2**63, 1.5, "1")),
    "a digest": ("after.sha256", ("../x", "A" * 64, 5)),
    "a kind": ("after.kind", ("", "whiteout", 5, None)),
}


@pytest.mark.parametrize("what", LEDGERS)
def test_a_ledger_that_tells_what_cannot_be(forged: Forgery, lab: RunLab, what: str) -> None:
    """Each is refused whole, or its path is; what else the run changed may be put back, so nothing is applied here."""
    name, values = LEDGERS[what]
    for value in values:
        forged.restore()
        change = forged.change("a")
        inner = change if "." not in name else change[name.split(".")[0]]
        inner[name.rpartition(".")[2]] = value
        try:
            forged.publish()
        except Exception:  # no ledger of docket's could be written so: the line is put in as it is
            line = json.dumps({"data": change, "type": "fs.change"}).encode() + b"\n"
            for path in forged.ledgers:
                path.write_bytes(forged.kept[path] + line)
        before = everything(lab)
        done = lab.docket("restore")
        assert done.exit_code == 1, (value, done.said)
        assert "internal error" not in done.stderr, (value, done.said)
        assert everything(lab) == before
        if done.stdout:
            assert "refused      a  (" in done.stdout, (value, done.said)


@pytest.mark.parametrize("session", ["../../x", "ffffffffffff", ""])
def test_a_manifest_of_another_run(forged: Forgery, lab: RunLab, session: str) -> None:
    forged.manifest["session_id"] = session
    forged.publish()
    done = refused(lab)
    assert f"the manifest is of session {session}" in done.stderr, done.said


def test_receipts_that_tell_what_cannot_be(forged: Forgery, lab: RunLab) -> None:
    for edit in (
        lambda document: document["session"].update(id="../../x"),
        lambda document: document["session"].update(id="ffffffffffff"),
        lambda document: document["session"].update(cwd="/etc"),
        lambda document: document["session"].update(cwd="a\0b"),
        lambda document: document["session"].update(cwd=5),
        lambda document: document.update(session=[]),
        lambda document: document.pop("session"),
        lambda document: document["ops"]["snapshot"].update(store="/etc", manifest_sha256="0" * 64),
    ):
        forged.restore()
        forged.publish(doctored=edit)
        refused(lab, codes=(1, 75))


def test_documents_that_agree_about_a_tree_that_is_not_theirs(forged: Forgery, lab: RunLab) -> None:
    outside = lab.root / "outside"
    (outside / "d").mkdir(exist_ok=True)
    for root in (outside, lab.root, Path("/etc"), Path("/")):
        forged.restore()
        forged.moved_to(root)
        forged.publish()
        for arguments in ((), (str(forged.receipts[0]),), ("--snapshot", str(forged.manifest_path.parent))):
            done = refused(lab, *arguments, codes=(1, 43))
            assert str(root) in done.stderr
            assert "--root" in done.stderr
        assert lab.docket("restore").exit_code in (1, 43), "nor is it shown as something that could be done"


def test_documents_that_agree_about_more_power_than_is_given_back(forged: Forgery, lab: RunLab, tmp_path: Path) -> None:
    """Setuid, setgid and sticky bits are forged coherently; they are not given to anything."""
    for path in ("a", "d/x"):
        forged.entry(path)["mode"] = 0o7777
        forged.change(path)["before"]["mode"] = 0o7777
    forged.entry("d", "directories")["mode"] = 0o7777
    forged.change("d")["before"]["mode"] = 0o7777
    forged.publish()
    other = build(tmp_path)
    _copy(lab, other)
    done = other.docket("restore", *_elsewhere(forged, other), "--apply")
    assert done.exit_code == 0, done.said
    modes = {path: stat.S_IMODE((other.tree / path).stat().st_mode) for path in ("a", "d/x", "d")}
    assert modes == {"a": 0o777, "d/x": 0o777, "d": 0o3777}
    assert "such powers are never given back" in done.stdout


def test_a_link_in_a_parent_leads_nowhere(forged: Forgery, lab: RunLab, tmp_path: Path) -> None:
    """The tree's own `d` became a link out of it since: nothing below it is written, whoever forces it."""
    other = build(tmp_path)
    _copy(lab, other)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("theirs\n")
    (other.tree / "d").symlink_to(outside)
    before = standing(outside)
    done = other.docket("restore", *_elsewhere(forged, other), "--apply", "--path", "d/x")
    assert done.exit_code == 1, done.said
    assert standing(outside) == before
    forced = other.docket("restore", *_elsewhere(forged, other), "--apply", "--force", "--path", "d")
    assert standing(outside) == before, forced.said


def _copy(lab: RunLab, other: RunLab) -> None:
    """A copy of the tree as the run left it, without the evidence."""
    shutil.copytree(lab.tree, other.tree, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".docket"))


def _elsewhere(forged: Forgery, other: RunLab) -> tuple[str, ...]:
    """Arguments that restore another tree from the documents."""
    named = (str(forged.receipts[0]), "--ledger", str(forged.ledgers[0]))
    return (*named, "--snapshot", str(forged.manifest_path.parent), "--root", str(other.tree))


def test_a_record_of_a_restore_that_is_forged(forged: Forgery, lab: RunLab, tmp_path: Path) -> None:
    other = build(tmp_path)
    (other.tree / "a").write_text("before\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_text("a\n")
    assert other.run("--snapshot", "-q", "--", "sh", "-c", "echo agent > a").exit_code == 0
    done = other.docket("restore", "--apply", "--json")
    path = Path(json.loads(done.stdout)["record"])
    kept = json.loads(path.read_bytes())
    status = (tmp_path / "outside").stat()
    identity = {"device": str(status.st_dev), "inode": str(status.st_ino)}
    (one,) = kept["paths"]
    for edit in (
        {"root": str(tmp_path / "outside"), "root_identity": identity},
        {"root": "/"},
        {"root": "a"},
        {"root_identity": {"device": "0", "inode": "0"}},
        {"paths": [{**one, "path": "../outside/a"}]},
        {"paths": [{**one, "path": "/etc/passwd"}]},
        {"paths": [one, one]},
        {"paths": [{**one, "was": {**one["was"], "size": 2**63}}]},
        {"paths": [{**one, "was": {**one["was"], "mode": 0o7777777}}]},
        {"paths": [{**one, "was": {**one["was"], "sha256": "../" * 20}}]},
        {"paths": [{**one, "status": "done"}]},
        {"paths": 5},
        {"format": "docket/restore/v2"},
        {"more": 1},
    ):
        path.write_bytes(told({**kept, **edit}))
        before = everything(other)
        done = other.docket("restore", "--redo", str(path), "--apply", "--force")
        assert done.exit_code in (1, 43), (edit, done.said)
        assert "internal error" not in done.stderr, done.said
        assert everything(other) == before
    path.unlink()
    os.mkfifo(path)
    assert other.docket("restore", "--redo", str(path), "--apply").exit_code == 75
