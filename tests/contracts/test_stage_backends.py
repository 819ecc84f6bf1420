"""The contract of the backends (engines.transaction.backends.interface), held against every one of them.

What an agent does on a stage is done on a plain copy too, by the same program; stage and copy must then be alike, the
base as it was in every respect, and what the backend names must cover every difference between base and stage.
"""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from docket.engines.transaction.backends.interface import View
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.surface import Surface
from docket.rules.selectors import compile_patterns
from stage_lab import (
    BACKENDS,
    OLD_NS,
    bench_of,
    census,
    formatted,
    is_covered,
    lives,
    make_model,
    mounts_mentioning,
    rel,
    run_on_model,
    same_content,
    unmounted,
)

# backend, file system it is tried on ("" for the one that holds temporary files).
PLACES = [
    pytest.param((name, kind), id="-".join(part for part in (name, kind) if part), marks=marks)
    for name, kind, marks in (
        ("copy", "", ()),
        ("overlay", "", ()),
        ("reflink", "btrfs", ()),
        ("reflink", "xfs", pytest.mark.slow),
        ("overlay", "btrfs", pytest.mark.slow),
        ("overlay", "xfs", pytest.mark.slow),
    )
]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Mount each kind of file system once."""
    found: dict[str, Path] = {}

    def place(kind: str) -> Path:
        if kind and kind not in found:
            found[kind] = formatted(tmp_path_factory.mktemp("disks"), kind)
        return found[kind] if kind else tmp_path_factory.mktemp("stage")

    yield place
    for mounted in found.values():
        unmounted(mounted)


@pytest.fixture(params=PLACES)
def bench(request, places):
    name, kind = request.param
    folder = places(kind) / request.node.name.translate({ord(c): "_" for c in "[]/ "})
    folder.mkdir(exist_ok=True)
    made = bench_of(BACKENDS[name](), folder)
    yield made
    subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, capture_output=True)
    subprocess.run(["rm", "-rf", folder], check=True)


SCRIPTS = {
    "nothing": "",
    "append": "write('a.txt', 'more', 'a')",
    "rewrite": "write('a.txt', 'new')",
    "rewrite deep": "write('dir/sub/deeper/d', 'new')",
    "truncate": "os.truncate('dir/sub/deeper/d', 10)",
    "create": "write('new', 'n'); os.makedirs('x/y/z'); write('x/y/z/f', 'f'); os.mkdir('hollow')",
    "unlink": "os.unlink('a.txt'); os.unlink('dir/sub/c')",
    "rmtree": "shutil.rmtree('dir')",
    "rmdir": "os.rmdir('empty')",
    "rename file": "os.rename('a.txt', 'dir/moved')",
    "rename over": "os.rename('a.txt', 'dir/a')",
    "atomic save": "write('.tmp', 'saved'); os.replace('.tmp', 'a.txt')",
    "rename directory": "shutil.move('dir', 'moved')",
    "rename directory and back": "shutil.move('dir', 'moved'); shutil.move('moved', 'dir')",
    "rename new directory": "os.mkdir('n'); write('n/f', 'f'); os.rename('n', 'm'); os.rename('m', 'dir/m')",
    "directory to file": "shutil.rmtree('dir'); write('dir', 'file')",
    "directory to file and back": (
        "shutil.rmtree('dir'); write('dir', 'f'); os.unlink('dir'); os.mkdir('dir'); write('dir/b', 'b')"
    ),
    "directory made again": "shutil.rmtree('dir'); os.makedirs('dir/sub'); write('dir/sub/c', 'c\\n')",
    "file to directory": "os.unlink('a.txt'); os.mkdir('a.txt'); write('a.txt/in', 'i')",
    "file to link": "os.unlink('a.txt'); os.symlink('ro.txt', 'a.txt')",
    "link to directory": "os.unlink('into'); os.mkdir('into'); write('into/f', 'f')",
    "directory to link": "shutil.rmtree('dir'); os.symlink('rodir', 'dir')",
    "chmod file": "os.chmod('a.txt', 0o640); os.chmod('run.sh', 0o644)",
    "chmod directory": "os.chmod('dir/sub', 0o700); os.chmod('private', 0o755)",
    "chmod there and back": (
        "os.chmod('a.txt', 0o600); os.chmod('a.txt', 0o644); os.chmod('dir', 0o700); "
        "os.chmod('dir', 0o755)"
    ),
    "touch": "os.utime('a.txt'); os.utime('dir')",
    "same again": "os.unlink('dir/a'); write('dir/a', 'a\\n'); write('ro.new', 'x'); os.unlink('ro.new')",
    "break a hard link": "write('.t', 'alone'); os.replace('.t', 'h1')",
    "unlink a hard link": "os.unlink('h1')",
    "new hard link": "os.link('a.txt', 'a2'); os.link('dir/b', 'dir/sub/b2')",
    "symlinks": (
        "os.unlink('link'); os.symlink('dir', 'link'); os.symlink('/etc', 'new-outside'); "
        "os.symlink('loop', 'loop')"
    ),
    "through links": "write('link', 'through', 'a'); write('into/c', 'through', 'a')",
    "through an absolute link": "write('absolute', 'through', 'a')",
    "by the base's own path": (
        "write(os.environ['BASE'] + '/dir/a', 'by path'); write(os.environ['BASE'] + '/fresh', 'f')"
    ),
    "fifo": "os.mkfifo('pipe'); os.unlink('a.txt'); os.mkfifo('a.txt')",
    "sparse": (
        "f = open('holes', 'wb'); f.truncate(1 << 22); f.close(); f = open('sparse', 'r+b'); f.seek(9); "
        "f.write(b'x'); f.close()"
    ),
    "odd names": (
        "os.unlink(b'bytes\\xff\\xfe\\n'); write(b'\\xe9t\\xe9', 'e'); write('a\\nb', 'n'); "
        "write('-dash *?', 'g'); write('m' * 255, 'm')"
    ),
    "read-only file": "os.chmod('ro.txt', 0o644); write('ro.txt', 'w'); os.chmod('ro.txt', 0o444)",
    "read-only directory": (
        "os.chmod('rodir', 0o755); os.unlink('rodir/kept'); write('rodir/n', 'n'); "
        "os.chmod('rodir', 0o555)"
    ),
    "closed directory": "os.mkdir('shut'); write('shut/in', 'in'); os.chmod('shut', 0o700)",
    "opened before, written after": (
        "f = open('a.txt', 'a'); os.rename('a.txt', 'z.txt'); f.write('late'); f.close()"
    ),
    "opened before, unlinked": "f = open('a.txt', 'a'); os.unlink('a.txt'); f.write('late'); f.close()",
    "read and written apart": "r = open('a.txt'); write('a.txt', 'x', 'a'); r.close()",
    "mapped": (
        "import mmap\nf = open('dir/sub/deeper/d', 'r+b'); m = mmap.mmap(f.fileno(), 0); "
        "m[0:4] = b'MMAP'; m.flush(); m.close(); f.close()"
    ),
    "many": (
        "os.mkdir('many')\nfor i in range(300): write(f'many/{i}', str(i))\n"
        "for i in range(0, 300, 2): os.unlink(f'many/{i}')"
    ),
    "deep": "os.makedirs('/'.join(['d'] * 120)); write('/'.join(['d'] * 120) + '/f', 'f')",
    "everything gone": (
        "for n in os.listdir('.'): shutil.rmtree(n) if os.path.isdir(n) and not os.path.islink(n) else os.unlink(n)"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """What each script makes of a copy of the base where no stage is: made once, for it is the same for all."""
    found = {}

    def model(bench, name):
        if name not in found:
            folder = tmp_path_factory.mktemp("model") / "tree"
            make_model(bench.base, folder)
            run_on_model(folder, SCRIPTS[name])
            found[name] = census(folder)
            subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, capture_output=True)
            subprocess.run(["rm", "-rf", folder], check=True)
        return found[name]

    return model


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_an_agent_does_on_a_stage_is_what_it_would_do_elsewhere(bench, models, name):
    before, lived = census(bench.base), lives(bench.base)
    model = models(bench, name)
    stage = bench.stage()
    try:
        _compare_with_model(bench, stage, name, (before, model))
    finally:
        bench.backend.discard(stage)
    assert census(bench.base) == before
    assert lives(bench.base) == lived
    assert os.listdir(bench.state) == []
    assert mounts_mentioning(bench.state) == []


def _compare_with_model(bench, stage, name, known):
    before, model = known
    bench.script(stage, SCRIPTS[name])
    after = census(stage.root)
    if b"absolute" in after:
        assert after[b"absolute"].body == os.fsencode(bench.base / "a.txt")
    _same_but_for_absolute(after, model)
    named = bench.backend.changes(stage)
    if named is None:
        return
    changed = {path for path in before.keys() | after.keys() if not same_content(before.get(path), after.get(path))}
    raw = [path.raw for path in named]
    assert [path for path in changed if not is_covered(path, raw)] == []
    if name in ("append", "create", "rename file", "chmod file", "rmtree", "nothing"):
        # Nothing beside what changed is looked at.
        assert [path for path in raw if path not in changed] == []


def _same_but_for_absolute(after, model):
    paths = (after.keys() | model.keys()) - {b"absolute"}
    assert [path for path in sorted(paths) if not same_content(after.get(path), model.get(path))] == []
    assert (b"absolute" in after) == (b"absolute" in model)
    untouched = [path for path, seen in model.items() if seen.mtime_ns == OLD_NS and seen.kind != "directory"]
    assert [path for path in untouched if after[path].mtime_ns != OLD_NS] == []


def test_stage_is_the_base_before_anybody_wrote(bench):
    before = census(bench.base)
    stage = bench.stage()
    try:
        assert census(stage.root) == before
        assert os.getxattr(stage.root / "run.sh", "user.note") == b"kept"
        assert (stage.root / "sparse").stat().st_blocks * 512 < 1 << 20
        assert stat.S_IMODE(stage.root.stat().st_mode) == stat.S_IMODE(bench.base.stat().st_mode)
        assert list(bench.backend.changes(stage) or []) == []
    finally:
        bench.backend.discard(stage)


def test_no_file_of_a_stage_leads_a_write_to_the_base(bench):
    """A write through every name of every file of the stage reaches none of the base's."""
    before = census(bench.base)
    stage = bench.stage()
    try:
        bench.script(
            stage,
            "for folder, _, names in os.walk(b'.'):\n"
            "    for name in names:\n"
            "        path = os.path.join(folder, name)\n"
            "        if not os.path.islink(path): os.chmod(path, 0o644); write(path, 'over', 'a')\n",
        )
        assert census(bench.base) == before
    finally:
        bench.backend.discard(stage)


def test_a_file_with_several_names_written_in_place(bench):
    """A copy keeps the names together; an overlay parts the one that is written, and names it."""
    stage = bench.stage()
    try:
        bench.script(stage, "write('h1', 'in place', 'a')")
        texts = {name: (stage.root / name).read_text() for name in ("h1", "h2", "dir/h3")}
        changes = bench.backend.changes(stage)
        if changes is None:
            assert set(texts.values()) == {"h\nin place"}
        else:
            assert texts == {"h1": "h\nin place", "h2": "h\n", "dir/h3": "h\n"}
            assert [path.raw for path in changes] == [b"h1"]
    finally:
        bench.backend.discard(stage)


def test_names_of_one_file_are_names_of_one_file_in_the_stage(bench):
    stage = bench.stage()
    try:
        assert {(stage.root / name).stat().st_ino for name in ("h1", "h2", "dir/h3")} == {
            (stage.root / "h1").stat().st_ino
        }
        assert (stage.root / "h1").stat().st_nlink == 3
    finally:
        bench.backend.discard(stage)


def test_attributes_of_a_directory_are_a_change(bench):
    stage = bench.stage()
    try:
        bench.script(stage, "os.setxattr('dir', 'user.new', b'v'); os.setxattr('a.txt', 'user.new', b'v')")
        assert os.getxattr(stage.root / "dir", "user.new") == b"v"
        named = bench.backend.changes(stage)
        assert named is None or {path.raw for path in named} == {b"dir", b"a.txt"}
        assert os.listxattr(bench.base / "dir") == []
    finally:
        bench.backend.discard(stage)


def test_masked_paths_are_absent_and_what_appears_there_stays_on_the_stage(bench):
    surface = Surface(ignored=compile_patterns(("dir/sub", "secret")))
    stage = bench.stage(surface=surface, masked=(rel(b"dir/sub"), rel(b"secret")))
    try:
        assert not (stage.root / "dir/sub").exists()
        assert not (stage.root / "secret").exists()
        assert (stage.root / "dir/a").read_text() == "a\n"
        assert (stage.root / "dir").stat().st_mtime_ns == OLD_NS
        bench.script(stage, "os.makedirs('dir/sub/made'); write('dir/sub/made/f', 'f'); write('secret', 'mine')")
        assert (stage.root / "dir/sub/made/f").read_text() == "f"
        assert not (stage.root / "dir/sub/c").exists()
        assert (bench.base / "secret").read_text() == "s\n"
        assert sorted(os.listdir(bench.base / "dir/sub")) == ["c", "deeper"]
        named = bench.backend.changes(stage)
        assert named is None or {path.raw for path in named} == {b"dir/sub", b"secret"}
    finally:
        bench.backend.discard(stage)


def test_shared_paths_are_the_base_s_own(bench):
    surface = Surface(ignored=compile_patterns(("dir/sub", "secret")))
    stage = bench.stage(surface=surface, shared=(rel(b"dir/sub"), rel(b"secret")))
    try:
        bench.script(
            stage,
            "assert open('dir/sub/c').read() == 'c\\n'; write('dir/sub/built', 'b'); write('secret', 't\\n', 'a'); "
            "write('dir/a', 'staged')",
        )
        assert (bench.base / "dir/sub/built").read_text() == "b"
        assert (bench.base / "secret").read_text() == "s\nt\n"
        assert (bench.base / "dir/a").read_text() == "a\n"
        named = bench.backend.changes(stage)
        assert named is None or [path.raw for path in named] == [b"dir/a"]
    finally:
        bench.backend.discard(stage)
    assert (bench.base / "dir/sub/built").read_text() == "b"


def test_attach_finds_the_stage_again(bench):
    request = bench.request()
    stage = bench.backend.materialise(request)
    bench.script(stage, "write('a.txt', 'later'); shutil.rmtree('dir'); os.mkdir('dir')")
    stage.close()
    again = bench.backend.attach(request)
    try:
        assert (again.root / "a.txt").read_text() == "later"
        assert os.listdir(again.root / "dir") == []
        assert (again.root / "ro.txt").read_text() == "read only\n"
        named = bench.backend.changes(again)
        assert named is None or {path.raw for path in named} == {b"a.txt", b"dir"}
    finally:
        bench.backend.discard(again)
    with pytest.raises(UnavailableError) as gone:
        bench.backend.attach(request)
    assert gone.value.reason == Reason.NOT_FOUND


def test_discard_removes_what_nobody_may_enter(bench):
    stage = bench.stage()
    bench.script(
        stage,
        "os.makedirs('shut/in'); write('shut/in/f', 'f'); os.chmod('shut/in', 0); os.chmod('shut', 0); "
        "os.chmod('dir/sub', 0o111); os.makedirs('/'.join(['deep'] * 400)); os.chmod('deep', 0o500); "
        "os.symlink(os.environ['BASE'], 'back')",
    )
    before = census(bench.base)
    bench.backend.discard(stage)
    bench.backend.discard(stage)
    assert os.listdir(bench.state) == []
    assert census(bench.base) == before


def test_descriptors_are_given_back(bench):
    before = sorted(os.listdir("/proc/self/fd"))
    stage = bench.stage()
    bench.script(stage, "write('a.txt', 'x')")
    list(bench.backend.changes(stage) or [])
    bench.backend.discard(stage)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_base_that_is_another_directory_now_is_not_staged(bench):
    request = bench.request()
    bench.base.rename(bench.base.with_name("moved"))
    bench.base.mkdir()
    with pytest.raises(UnavailableError):
        bench.backend.materialise(request)
    assert os.listdir(bench.state) == []
    assert os.listdir(bench.base) == []
    bench.base.rmdir()
    bench.base.with_name("moved").rename(bench.base)


def test_agent_stands_at_the_base_s_own_path_where_the_view_says_so(bench):
    stage = bench.stage()
    try:
        bench.script(stage, "write('where', os.getcwd())")
        where = (stage.root / "where").read_text()
        assert where == str(bench.base if stage.view is View.BASE_PATH else stage.root)
        assert not (bench.base / "where").exists()
    finally:
        bench.backend.discard(stage)
