"""Listings, differences and selectors against models that know nothing of docket's code."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.errors import InvalidDocumentError
from docket.formats.ledger.tree_events import Change
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import state_of
from docket.formats.tree.listing import DirectoryEntry, FileEntry, SymlinkEntry, decode_listing, listing_of
from docket.rules.selectors import compile_patterns
from docket.rules.tree.diff import diff
from docket.stores.statcache import StatCache

NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"a-", b"a.b", b"\xff", b"\n", "é".encode(), b'"', b"\\", b"0"]),
    st.binary(min_size=1, max_size=4).filter(lambda name: name not in (b".", b"..") and not set(name) & {0, 0x2F}),
)
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o4711, 0o1777, 0])
# A leaf is ("f", mode, content) or ("l", target); a directory is ("d", mode, {name: node}).
LEAVES = st.one_of(
    st.tuples(st.just("f"), MODES, st.binary(max_size=5)),
    st.tuples(st.just("l"), st.binary(min_size=1, max_size=5)),
)
NODES = st.recursive(
    LEAVES, lambda inner: st.tuples(st.just("d"), MODES, st.dictionaries(NAMES, inner, max_size=4)), max_leaves=12
)
TREES = st.dictionaries(NAMES, NODES, max_size=5)


def flat(tree, prefix=b""):
    """{path: what stands there} of a model tree, a directory as ("d", mode)."""
    found = {}
    for name, node in tree.items():
        path = prefix + name
        if node[0] == "d":
            found[path] = node[:2]
            found |= flat(node[2], path + b"/")
        else:
            found[path] = node
    return found


def record(path, node):
    at = RelPath.parse(path)
    match node:
        case ("f", mode, content):
            digest = hashlib.sha256(content).hexdigest()
            return FileEntry(path=at, size=len(content), mode=mode, mtime_ns=len(path), sha256=digest)
        case ("d", mode):
            return DirectoryEntry(path=at, mode=mode)
        case (_, target):
            return SymlinkEntry(path=at, target=target)


def listing(tree):
    return listing_of(record(path, node) for path, node in flat(tree).items())


def named(member, raw):
    try:
        return {member: raw.decode()}
    except UnicodeDecodeError:
        return {member + "_b64": base64.b64encode(raw).decode()}


def expected_document(tree):
    lines = [{"format": "docket/tree/v1"}]
    for path, node in sorted(flat(tree).items(), key=lambda item: item[0].split(b"/")):
        match node:
            case ("f", mode, content):
                digest = hashlib.sha256(content).hexdigest()
                line = {"kind": "file", "mode": mode, "sha256": digest, "size": len(content)}
            case ("d", mode):
                line = {"kind": "directory", "mode": mode}
            case (_, target):
                line = {"kind": "symlink", **named("target", target)}
        lines.append(line | named("path", path))
    dumped = (json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for line in lines)
    return "".join(f"{line}\n" for line in dumped).encode()


@given(TREES)
def test_the_bytes_of_a_listing_are_those_any_json_writer_gives(tree):
    made = listing(tree)
    assert made.document == expected_document(tree)
    assert made.tree_sha256 == hashlib.sha256(expected_document(tree)).hexdigest()


@given(TREES)
def test_a_listing_is_read_back_as_it_was_written(tree):
    made = listing(tree)
    back = decode_listing(made.document)
    assert back == made
    assert back.counts == made.counts
    assert [item.path for item in back.records] == [item.path for item in made.records]


@given(TREES, st.data())
def test_a_changed_byte_is_never_read_as_the_same_listing(tree, data):
    document = listing(tree).document
    at = data.draw(st.integers(0, len(document) - 1))
    changed = document[:at] + bytes([document[at] ^ data.draw(st.integers(1, 255))]) + document[at + 1 :]
    try:
        back = decode_listing(changed)
    except InvalidDocumentError:
        return
    assert back.document == changed != document


@given(TREES)
def test_a_tree_does_not_differ_from_itself(tree):
    assert diff(listing(tree), listing(tree)) == ()


@given(TREES, TREES)
def test_differences_are_what_two_tables_say(before, after):
    old, new = flat(before), flat(after)
    expected = {}
    for path in old.keys() | new.keys():
        if path not in old:
            expected[path] = Change.ADDED
        elif path not in new:
            expected[path] = Change.REMOVED
        elif old[path][0] != new[path][0]:
            expected[path] = Change.RETYPED
        elif old[path] != new[path]:
            expected[path] = Change.MODIFIED
    found = diff(listing(before), listing(after))
    assert {item.path.raw: item.change for item in found} == expected
    assert [item.path.raw for item in found] == sorted(expected, key=lambda path: path.split(b"/"))


@given(TREES, TREES)
def test_differences_applied_to_the_one_give_the_other(before, after):
    def states(tree):
        return {item.path: state_of(item) for item in listing(tree).records}

    there, back = states(before), states(after)
    for item in diff(listing(before), listing(after)):
        assert there.get(item.path) == item.before
        there[item.path] = item.after
    assert {path: state for path, state in there.items() if state is not None} == states(after)
    for item in diff(listing(after), listing(before)):
        assert back.get(item.path) == item.before
        back[item.path] = item.after
    assert {path: state for path, state in back.items() if state is not None} == states(before)


def make(root, tree):
    for name, node in tree.items():
        path = root + b"/" + name
        match node:
            case ("d", mode, inner):
                os.mkdir(path)
                make(path, inner)
                os.chmod(path, mode)
            case ("f", mode, content):
                with open(path, "wb") as out:
                    out.write(content)
                os.chmod(path, mode)
            case (_, target):
                os.symlink(target, path)


@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot read back every mode")
@settings(max_examples=40, deadline=None)
@given(tree=TREES.filter(lambda tree: not any(0 in node[-1] for node in flat(tree).values() if node[0] == "l")))
def test_a_pass_over_a_real_tree_gives_the_model_however_it_is_cut(tree):
    root = tempfile.mkdtemp(prefix="docket-model-").encode()
    try:
        make(root, tree)
        cache = StatCache()
        for copies, share_after_files in ((0, 10**9), (1, 0), (0, 10**9)):
            world = ObserveWorld(cache=cache, copies=copies, share_after_files=share_after_files)
            assert observe_tree(ObserveRequest(root=root), world).document == expected_document(tree)
    finally:
        shutil.rmtree(root)


PIECES = st.sampled_from([b"a", b"b", b"ab", b"*", b"?", b"[ab]", b"[!a]", b"\\a", b".", b"\xff", b"-", b" ", b"[a-c]"])
SEGMENTS = st.one_of(st.just(b"**"), st.lists(PIECES, min_size=1, max_size=3).map(b"".join))
PATTERNS = st.tuples(
    st.sampled_from([b"", b"", b"!"]),
    st.sampled_from([b"", b"", b"/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3).map(b"/".join),
    st.sampled_from([b"", b"", b"/"]),
).map(b"".join)
PATHS = st.dictionaries(
    st.sampled_from([b"a", b"b", b"ab", b"c", b"\xff", b"a-", b".", b" a"]).filter(lambda name: name != b"."),
    st.recursive(
        st.none(),
        lambda inner: st.dictionaries(st.sampled_from([b"a", b"b", b"ab", b"\xff", b"a\n"]), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=5,
)


def paths_of(tree, prefix=b""):
    found = {}
    for name, inner in tree.items():
        found[prefix + name] = inner is not None
        found |= paths_of(inner or {}, prefix + name + b"/")
    return found


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=PATHS, patterns=st.lists(PATTERNS, min_size=1, max_size=3))
def test_patterns_mean_what_git_says(tree, patterns):
    # git takes a literal beginning off a pattern before it looks for `**/`, so that `a**/b` means what `a*/b` does not.
    assume(
        not any(b"**" in part and part != b"**" for pattern in patterns for part in pattern.lstrip(b"!").split(b"/"))
    )
    try:
        selector = compile_patterns([pattern.decode("utf-8", "surrogateescape") for pattern in patterns])
    except InvalidDocumentError:
        assume(False)
    root = tempfile.mkdtemp(prefix="docket-patterns-").encode()
    try:
        os.makedirs(root + b"/.git/objects")
        os.makedirs(root + b"/.git/refs")
        os.makedirs(root + b"/.git/info")
        for name, content in ((b"HEAD", b"ref: refs/heads/x\n"), (b"info/exclude", b"\n".join(patterns) + b"\n")):
            with open(root + b"/.git/" + name, "wb") as out:
                out.write(content)
        paths = paths_of(tree)
        for path, is_directory in paths.items():
            if is_directory:
                os.mkdir(root + b"/" + path)
            else:
                with open(root + b"/" + path, "wb"):
                    pass
        answer = subprocess.run(
            ["git", "check-ignore", "--no-index", "--stdin", "-z"],
            cwd=root,
            input=b"".join(path + b"\0" for path in paths),
            capture_output=True,
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
            check=False,
        )
        assert answer.returncode in (0, 1), answer.stderr
        meant = {path for path, is_dir in paths.items() if selector.matches(RelPath(path), is_directory=is_dir)}
        assert meant == set(answer.stdout.split(b"\0")) - {b""}
    finally:
        shutil.rmtree(root)
