"""What a person sees who keeps a tree's contents, undoes runs and looks after what is kept: whole stories, one a file.

Each is a shell and docket in a fresh tree. What differs from run to run (numbers, digests, places, times) stands under
a name that is the same wherever the same thing is meant.

`python tests/golden/test_stories.py` writes the files anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from run_lab import RunLab, build

FOLDER = Path(__file__).parent / "stories"
SEED = """
umask 022; mkdir src; printf 'one\\ntwo\\n' > src/app.py; echo note > notes.txt; printf '#!/bin/sh\\n' > run.sh
chmod 755 run.sh; ln -s src/app.py latest; mkdir empty; touch -d 2026-01-31T12:00:00Z src/app.py notes.txt run.sh
"""
AGENT = "printf 'one\\n2\\n' > src/app.py; rm notes.txt; chmod 700 run.sh; ln -sfn run.sh latest; echo new > src/new.py"
RUN = f'docket run --snapshot -- sh -c "{AGENT}"'
QUIET = f'docket run -q --snapshot -- sh -c "{AGENT}"'
ALTER = """python3 -c '
import glob, os
for path in glob.glob(os.environ["DOCKET_STATE_DIR"] + "/*/snapshots/contents/**", recursive=True):
    if os.path.isfile(path):
        data = open(path, "rb").read().replace(b"one", b"eno")
        os.chmod(path, 0o600); open(path, "wb").write(data)
'"""
STORIES: dict[str, tuple[str, ...]] = {
    "undo": (RUN, "docket restore --diff", "docket restore --apply", "docket restore"),
    "undo-json": (QUIET, "docket restore --json", "docket restore --apply --json"),
    "changed-since": (
        QUIET,
        "echo mine >> src/app.py; echo theirs > notes.txt",
        "docket restore",
        "docket restore --apply",
        "cat src/app.py notes.txt",
        "docket restore --apply --force",
        "cat src/app.py notes.txt",
        'docket restore --redo "$(ls -t "$DOCKET_STATE_DIR"/*/restores/*/record.json | head -n 1)"',
        'docket restore --redo "$(ls -t "$DOCKET_STATE_DIR"/*/restores/*/record.json | head -n 1)" --apply',
        "cat src/app.py notes.txt",
    ),
    "selected": (
        QUIET,
        "docket restore --path src",
        "docket restore --glob '*.sh' --apply",
        "docket restore --path nowhere",
        "docket restore --path ../tree",
        f"docket restore --apply --plan {'0' * 64}",
    ),
    "rolled-back": (
        f'docket run --rollback-on-breach --max-minutes 0.05 -- sh -c "{AGENT}; sleep 60"',
        "cat src/app.py",
    ),
    "not-kept": (
        'docket run -q -- sh -c "echo 1 > src/new.py"',
        "docket restore",
        "docket run --snapshot-max-bytes 10 -- true",
        "docket run -q --snapshot-max-file-bytes 7 -- sh -c 'rm notes.txt src/app.py'",
        "docket restore",
    ),
    "names": (
        "printf x > \"$(printf 'caf\\351')\"; printf x > \"$(printf 'a\\nb')\"; printf x > -d",
        "docket run -q --snapshot -- sh -c 'rm -- caf* a* -d'",
        "docket restore",
        "docket restore --apply",
    ),
    "snapshots": (
        "docket snapshots list",
        QUIET,
        "docket run -q --snapshot -- sh -c 'echo 3 >> src/app.py'",
        "docket snapshots list",
        "docket snapshots list --json",
        "docket snapshots verify",
        "docket snapshots verify --json",
        "docket snapshots prune --keep-last 1 --dry-run",
        "docket snapshots prune --keep-last 1 --json",
        "docket snapshots list",
        ALTER,
        "docket snapshots verify",
        "docket snapshots verify --json",
        "docket restore",
        "docket restore --diff",
        "docket restore --apply",
        "cat src/app.py",
        'rm -r "$DOCKET_STATE_DIR"/*/snapshots/contents',
        "docket restore",
        "docket restore --json",
        "docket snapshots verify",
        "docket snapshots prune --keep-last 0",
        "docket snapshots verify",
        "docket snapshots verify 0123456789ab",
    ),
}
PATTERNS = (
    ("NUMBER", re.compile(r"DKT-\d{8}-[0-9A-F]{6}")),
    ("DIGEST", re.compile(r"\b(?!0{64})[0-9a-f]{64}\b")),
    ("RESTORE", re.compile(r"(?<=/restores/)[^/\"\s*]+")),
    ("SESSION", re.compile(r"\b(?!0123456789ab)(?<!content )[0-9a-f]{12}\b")),
)
# What has no name of its own: times, identities, what a disk holds of which the manifest is a part, how long it took.
FIGURES = (
    ("TIME", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")),
    ("IDENTITY", re.compile(r'(?<="device": ")\d+|(?<="inode": ")\d+')),
    ("BYTES", re.compile(r"\d{1,3}(?:,\d{3})+(?= bytes)|(?<=bytes\": )\d{4,}")),
    ("SECONDS", re.compile(r"(?<=lasted )\d+")),
)


def told(command: str, lab: RunLab) -> str:
    """One command as it is typed, what it prints, and how it ends where that is not well."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=lab.tree, env=lab.environment(), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    said = "".join(f"! {line}\n" for line in done.stderr.splitlines())
    end = f"(exit {done.returncode})\n" if done.returncode else ""
    return f"$ {command.strip()}\n{done.stdout}{said}{end}\n"


def story(name: str) -> str:
    """A story from its beginning, with what differs from run to run under names."""
    with tempfile.TemporaryDirectory() as temporary:
        lab = build(Path(os.path.realpath(temporary)))
        programs = lab.root / "bin"
        programs.mkdir()
        (programs / "docket").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m docket "$@"\n')
        (programs / "docket").chmod(0o755)
        lab.variables["PATH"] = f"{programs}:{os.environ['PATH']}"
        told(SEED, lab)
        text = "".join(told(command, lab) for command in STORIES[name])
        for place in lab.state.glob("*"):
            text = text.replace(str(place), "STATE")
        return named(text.replace(str(lab.tree), "TREE"))


def named(text: str) -> str:
    """The text with each thing that has a name of this run's under one that is the same in every run."""
    for word, pattern in PATTERNS:
        for place, thing in enumerate(dict.fromkeys(pattern.findall(text)), start=1):
            text = text.replace(thing, f"{word}-{place}")
    for word, pattern in FIGURES:
        text = pattern.sub(word, text)
    return text


@pytest.mark.parametrize("name", sorted(STORIES))
def test_what_is_printed_is_the_one_on_file(name: str) -> None:
    assert story(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_story_is_left_over() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == sorted(STORIES)


if __name__ == "__main__":
    for title in STORIES:
        (FOLDER / f"{title}.txt").write_text(story(title), encoding="utf-8")
