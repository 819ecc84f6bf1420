"""Selectors, asked the same questions as `git check-ignore`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.rules.selectors import compile_patterns

# Names that trip a matcher that decodes, splits lines or trims; a slash at the end makes a directory.
TREE = [
    b"a/",
    b"a/b/",
    b"a/b/a/",
    b"a/b/a/x.py",
    b"a/b/x.log",
    b"a/keep.log",
    b"build/",
    b"build/out/",
    b"build/out/x.log",
    b"x.log",
    b"x.log\n",
    b"\nx.log",
    b"X.LOG",
    b"keep.log",
    b"\xff.log",
    b"\xc3\xa0",
    b"\xc3",
    b"\xc3\x85/",
    b"\xc3\x85/in",
    b"caf\xc3\xa9",
    b"-rf",
    b" lead",
    b"trail ",
    b"trail",
    b"tab\t",
    b"#hash",
    b"!bang",
    b"[b]",
    b"b",
    b"q?",
    b"q*",
    b"back\\slash",
    b"dollar$",
    b"pipe|",
    b"Docs/",
    b"Docs/deep/",
    b"Docs/deep/er/",
    b"Docs/deep/er/b",
    b"doc",
    b"a b",
    b"2+2",
]

LISTS = [
    [b"*.log"],
    [b"*.log", b"!keep.log"],
    [b"!keep.log", b"*.log"],
    [b"build"],
    [b"build/"],
    [b"build/", b"!build/out/x.log"],
    [b"build/*", b"!build/out"],
    [b"/a"],
    [b"/b"],
    [b"b"],
    [b"b/"],
    [b"a/b"],
    [b"a/**"],
    [b"**/a"],
    [b"**/b/"],
    [b"a/**/a"],
    [b"a/**/"],
    [b"Docs/**/b"],
    [b"Docs/*/b"],
    [b"*"],
    [b"*", b"!*/", b"!*.log"],
    [b"*/"],
    [b"*/", b"!a/"],
    [b"**"],
    [b"**/"],
    [b"/*"],
    [b"/*", b"!/a"],
    [b"*/*"],
    [b"**/*"],
    [b"?"],
    [b"??"],
    [b"\xc3?"],
    ["à".encode()],
    ["Å/".encode()],
    [b"caf?"],
    [b"caf??"],
    [b"caf[\xc3][\xa9]"],
    [b"[\xff].log"],
    [b"?.log"],
    [b"?x.log"],
    [b"x.log?"],
    [b"[[:space:]]*"],
    [b"*[[:space:]]"],
    [b"*[![:alnum:]]"],
    [b"[Dd]oc*"],
    [b"[!a-w]*"],
    [b"[^a-w]*"],
    [b"a[!x]b"],
    [b"a[+-9]b"],
    [b"[]b]"],
    [b"[[]b]"],
    [b"\\[b]"],
    [b"[b]"],
    [b"q[*?]"],
    [b"q\\*"],
    [b"q\\?"],
    [b"back\\\\slash"],
    [b"back[\\\\]slash"],
    [b"\\#hash"],
    [b"\\!bang"],
    [b"*$"],
    [b"*|"],
    [b"-rf"],
    [b" lead"],
    [b"trail "],
    [b"trail\\ "],
    [b"trail\\  "],
    [b"tab\t"],
    [b"tab\\\t"],
    [b"a b"],
    [b"2+2"],
    [b"X.*"],
    [b"***"],
    [b"*x.log*"],
    [b"a/b/a/x.py", b"!a"],
    [b"a/*/a"],
    [b"*x*l*g"],
    [b"*x*g*l"],
    [b"?*.*o*"],
    [b"**/a/**/x*y"],
    [b"**/b/**/a/**/*.*"],
    [b"*o*s/**/d*p/**/b"],
    [b"*a*/**/*a*/*"],
    [b"**/a/*/a/"],
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = os.fsencode(tmp_path_factory.mktemp("patterns"))
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "init", "--quiet", root], check=True, env=environment)
    for path in TREE:
        full = root + b"/" + path
        if path.endswith(b"/"):
            os.mkdir(full)
        else:
            with open(full, "wb"):
                pass
    return root, environment


@pytest.mark.parametrize("patterns", LISTS, ids=lambda patterns: repr(b" ".join(patterns))[2:-1])
def test_a_list_of_patterns_means_what_git_says(repository, patterns):
    root, environment = repository
    Path(os.fsdecode(root), ".git/info/exclude").write_bytes(b"\n".join(patterns) + b"\n")
    names = [path.rstrip(b"/") for path in TREE]
    answer = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=root,
        input=b"".join(name + b"\0" for name in names),
        capture_output=True,
        env=environment,
        check=False,
    )
    assert answer.returncode in (0, 1), answer.stderr
    selector = compile_patterns([pattern.decode("utf-8", "surrogateescape") for pattern in patterns])
    meant = {
        path.rstrip(b"/")
        for path in TREE
        if selector.matches(RelPath.parse(path.rstrip(b"/")), is_directory=path.endswith(b"/"))
    }
    assert meant == set(answer.stdout.split(b"\0")) - {b""}


def test_no_patterns_mean_nothing():
    selector = compile_patterns([])
    assert not selector.matches(RelPath(b"a"), is_directory=False)
    assert selector.patterns == ()


def test_the_path_itself_can_be_asked_about_alone():
    selector = compile_patterns(["build/", "!build/keep"])
    assert selector.matches(RelPath(b"build/keep"), is_directory=False), "a directory above is meant"
    assert not selector.matches_own(b"build/keep", is_directory=False)
    assert selector.matches_own(b"build", is_directory=True)
    assert not selector.matches_own(b"build", is_directory=False)
    assert selector.patterns == ("build/", "!build/keep")


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "   ",
        "# a comment",
        "/",
        "//",
        "!",
        "!/",
        "a//b",
        "a[",
        "a[]",
        "a[!",
        "a[b-",
        "a[\\",
        "[[:alpha:",
        "[[:alphabet:]]",
        "[[::]]",
        "a[b/c]",
        "a\\",
        "a\0b",
        "a\nb",
    ],
)
def test_a_pattern_that_can_match_nothing_is_refused_by_name(pattern):
    with pytest.raises(InvalidDocumentError) as caught:
        compile_patterns(["*.log", pattern])
    assert caught.value.reason == Reason.POLICY_INVALID
    assert repr(pattern) in caught.value.detail


@pytest.mark.parametrize(
    ("pattern", "part", "count"),
    [
        ("*a" * 60 + "b", b"a" * 254, 1),
        ("**/a/" * 60 + "b", b"a/", 1000),
        ("**/*a*a*a*a/" * 20 + "b", b"aaaaaaaaa/", 100),
    ],
    ids=["stars", "double stars", "both"],
)
def test_a_pattern_that_could_be_tried_in_countless_ways_is_answered(pattern, part, count):
    selector = compile_patterns([pattern])
    assert not selector.matches_own(part * count + b"a", is_directory=False)
    assert selector.matches_own(part * count + b"b", is_directory=False)
