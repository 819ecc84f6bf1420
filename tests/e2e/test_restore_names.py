"""Names that trip tools, each changed, removed and made by a run and put back; judged by find and sha256sum."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from docket.formats.relpath import RelPath
from git_lab import standing
from run_lab import RunLab, build

pytestmark = pytest.mark.skipif(shutil.which("find") is None, reason="needs findutils")
NFC, NFD = "é.txt".encode(), "e\u0301.txt".encode()
NAMES = [
    b"new\nline",
    b"\n",
    b" lead",
    b"trail ",
    b" ",
    b"tab\t",
    b"quote\"'`$(touch executed)",
    b"-d",
    b"--",
    b"-rf",
    b":c",
    b":(glob)x",
    b":!x",
    b"[ab].t",
    b"a.t",
    b"*",
    b"?",
    b"~",
    b"#",
    b"!x",
    b"back\\slash",
    b"\\",
    b"c:x",
    b"CON",
    b"...",
    b"..x",
    b"%s%n",
    b"\x01\x1b[31m\x7f",
    b"\xff",
    b"\xff\xfe",
    b"caf\xe9",
    b"\xed\xa0\x80",
    b"\xc3",
    "\u202egnp.exe".encode(),
    "\u2028".encode(),
    "漢字.txt".encode(),
    NFC,
    NFD,
    b"Case",
    b"case",
    b"n" * 255,
    "é".encode() * 127,
    b".n" * 127,
    b".docket-apply-0123456789abcdef",
    b".docket-apply-ffffffffffffffff.1",
    b".x.0123456789abcdef.tmp",
    b"0.aside",
    b"manifest.json",
    b"record.json",
    b".partial",
]
# What the agent does to every name it finds in a folder, by the folder's own name.
CHANGE = """
import os, sys
for folder in sys.argv[1:]:
    for name in os.listdir(os.fsencode(folder)):
        path = os.path.join(os.fsencode(folder), name)
        if folder == "written":
            with open(path, "wb") as out:
                out.write(b"agent")
        else:
            os.unlink(path)
"""
MAKE = """
for name in NAMES:
    open(b"more-" + name[:240], "xb").close()
    open(b"made/" + name + b"/" + name, "xb").close()
"""
REWRITE = "with open(os.open(parts[-1], os.O_WRONLY | os.O_TRUNC, dir_fd=here), 'wb') as out: out.write(b'agent')"
REMOVE = "os.unlink(parts[-1], dir_fd=here)"
REMOVE_ALL = """
os.unlink(parts[-1], dir_fd=here)
for name in reversed(parts[:-1]):
    here = os.open("..", os.O_RDONLY, dir_fd=here)
    os.rmdir(name, dir_fd=here)
"""


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    return build(tmp_path)


def fill(folder: Path, names: list[bytes] = NAMES) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        with open(os.fsencode(folder) + b"/" + name, "xb") as out:
            out.write(b"of " + name[:20])


def work(lab: RunLab) -> dict[str, tuple[str, ...]]:
    return {path: told.kept for path, told in standing(lab.tree).items() if path.split("/")[0] != ".docket"}


def ran(lab: RunLab, program: str, *arguments: str) -> None:
    done = lab.run("--snapshot", "-q", "--", sys.executable, "-c", program, *arguments)
    assert done.exit_code == 0, done.said


def test_every_name_comes_back_written_removed_and_made(lab: RunLab) -> None:
    for folder in ("written", "removed"):
        fill(lab.tree / folder)
    (lab.tree / "made").mkdir()
    for name in NAMES:
        os.mkdir(os.fsencode(lab.tree / "made") + b"/" + name)
    before = work(lab)
    ran(lab, f"{CHANGE}\nNAMES = {NAMES!r}\n{MAKE}", "written", "removed")
    assert work(lab) != before
    shown = lab.docket("restore", "--json")
    assert shown.exit_code == 0, shown.said
    paths = json.loads(shown.stdout)["paths"]
    assert {RelPath.from_members(item).raw for item in paths if item["verb"] == "write"} == {
        b"written/" + name for name in NAMES
    }
    text = lab.docket("restore", "--diff")
    assert text.exit_code == 0, text.said
    assert "\x1b" not in text.stdout
    assert "\u202e" not in text.stdout
    assert len(text.stdout.split("\nplan ")[0].splitlines()) >= 4 * len(NAMES)
    done = lab.docket("restore", "--apply", "--json")
    assert done.exit_code == 0, done.said
    assert work(lab) == before
    record = json.loads(done.stdout)["record"]
    again = lab.docket("restore", "--redo", record, "--apply")
    assert again.exit_code == 0, again.said
    assert (lab.tree / "written/-d").read_bytes() == b"agent"
    assert not (lab.tree / "executed").exists()


def test_every_name_is_selected_literally(lab: RunLab) -> None:
    fill(lab.tree / "written")
    before = work(lab)
    ran(lab, CHANGE, "written")
    after = work(lab)
    chosen = [
        b":(glob)x",
        b"[ab].t",
        b"*",
        b"-d",
        b"--",
        b"\xff",
        b" ",
        b"\n",
        NFD,
        b"back\\slash",
        b"n" * 255,
        b"Case",
    ]
    arguments = [part for name in chosen for part in (b"--path", b"written/" + name)]
    done = lab.docket("restore", "--apply", *arguments)
    assert done.exit_code == 0, done.said
    names = {"written/" + name.decode(errors="surrogateescape") for name in chosen}
    assert work(lab) == {path: before[path] if path in names else after[path] for path in before}


@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_rename_of_case_or_form_alone(lab: RunLab, how: str) -> None:
    for name in ("name", "Caf\u00e9"):
        place = lab.tree / name
        if how == "folder":
            place.mkdir()
            place /= "x"
        place.write_text(name)
    before = work(lab)
    ran(lab, "import os; os.rename('name', 'NAME'); os.rename('Caf\u00e9', 'Cafe\u0301')")
    assert {"NAME", "Cafe\u0301"} <= set(os.listdir(lab.tree))
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert work(lab) == before


def test_folders_named_as_dockets_own_are_a_persons_deeper_down(lab: RunLab) -> None:
    for place in ("sub/.docket/receipts", "sub/.docket-apply-0123456789abcdef", "snapshots/0123456789ab/contents"):
        (lab.tree / place).mkdir(parents=True)
        (lab.tree / place / "mine").write_text("mine\n")
    before = work(lab)
    ran(lab, "import shutil; [shutil.rmtree(name) for name in ('sub', 'snapshots')]")
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert work(lab) == before
    # A person's folder at the top that looks like a leftover is neither read as one nor removed.
    mine = lab.tree / ".docket-apply-fedcba9876543210"
    mine.mkdir()
    (mine / "mine").write_text("mine\n")
    assert lab.docket("restore", "--apply").exit_code == 0
    assert (mine / "mine").read_text() == "mine\n"
    (lab.tree / ".docket-apply-0000000000000000").symlink_to("sub")
    assert lab.docket("restore", "--apply").exit_code == 0
    assert {".docket", "mine"} <= {path.name for path in [*(lab.tree / "sub").iterdir(), *mine.iterdir()]}


def test_names_and_paths_as_long_as_they_may_be(lab: RunLab) -> None:
    """No temporary name may be made of the file's own, and no call of the whole path."""
    top = os.open(lab.tree, os.O_RDONLY)
    here, path = top, b""
    while len(path) + 256 < 4000:
        name = b"%c" % (97 + len(path) // 256) * 255
        os.mkdir(name, dir_fd=here)
        here = os.open(name, os.O_RDONLY, dir_fd=here)
        path += name + b"/"
    leaf = b"z" * (4000 - len(path))
    with open(os.open(leaf, os.O_CREAT | os.O_WRONLY, 0o640, dir_fd=here), "wb") as out:
        out.write(b"deep")
    program = """
import os, sys
here = os.open(".", os.O_RDONLY)
parts = [name for name in sys.argv[1].split("/")]
for name in parts[:-1]:
    here = os.open(name, os.O_RDONLY, dir_fd=here)
{}
"""
    whole = (path + leaf).decode()
    for change in (REWRITE, REMOVE, REMOVE_ALL):
        ran(lab, program.format(change), whole)
        done = lab.docket("restore", "--apply", "--path", whole)
        assert done.exit_code == 0, done.said
        stands = ["find", ".", "-type", "f", "-size", "4c", "-printf", "%m %P\\n"]
        found = subprocess.run(stands, cwd=lab.tree, capture_output=True, text=True, check=True)
        assert f"640 {whole}\n" in found.stdout


@pytest.fixture
def roomy() -> Iterator[RunLab]:
    """A lab in memory where there is some: what is measured is not how long a disk takes to sync."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 1024**3
    with tempfile.TemporaryDirectory(dir=memory if has_room else None) as place:
        yield replace(build(Path(place)), seconds=280)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_thirty_thousand_changed_files_of_one_run(roomy: RunLab) -> None:
    lab, count, folders = roomy, 30_000, 300
    for number in range(folders):
        (lab.tree / f"{number}").mkdir()
        for item in range(count // folders):
            (lab.tree / f"{number}/{item}").write_bytes(b"%d.%d" % (number, item))
    before = work(lab)
    ran(
        lab,
        f"import os\nfor number in range({folders}):\n"
        f"    for item in range({count // folders}):\n"
        "        with open(f'{number}/{item}', 'ab') as out: out.write(b'agent')\n"
        "        if item % 3 == 1: os.unlink(f'{number}/{item}')\n"
        "        if item % 3 == 2: os.rename(f'{number}/{item}', f'{number}/{item}.moved')\n",
    )
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert f"{count + count // folders // 3 * folders:,} restored".replace(",", "") in done.stdout.replace(",", "")
    assert work(lab) == before
