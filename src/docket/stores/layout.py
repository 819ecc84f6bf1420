"""Where docket keeps things: a state folder per project outside the tree, and `.docket/` in the tree.

Rules (spec/ledger.md, Where it stands):
1. While a run lives its ledger stands in the state folder, out of reach of `git clean` and of an agent that tidies
   up; `.docket/` receives copies at the end. `--docket-dir DIR` puts both into DIR.
2. The project's folder is named by the digest of the tree's real path, so two trees never share one and a link to
   a tree finds the same one.
3. A docket folder that is a symbolic link is refused; folders are 0700; `.docket/` ignores itself in git.
4. A folder of the person's choice is docket's alone: the root, a home, the tree and a folder that holds other things
   are refused before anything is written into them.

It resolves and prepares folders. What is written into them is `stores.ledger` and `stores.receipts`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.canonical import encode_document
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import text_members
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import TEMPORARY_SUFFIX, publish

DOCKET_DIR = ".docket"
STATE_DIR_VARIABLE = "DOCKET_STATE_DIR"
RUNS, RECEIPTS, RESPONSES, SNAPSHOTS, RESTORES = "runs", "receipts", "responses", "snapshots", "restores"
LEDGER_SUFFIX, RECEIPT_SUFFIX = ".jsonl", ".receipt.json"

PROJECT_FILE = "project.json"
_KEY_DIGITS = 32
_GITIGNORE = b"*\n"
# What a folder may hold and still be nobody's: what is made for a new one, here or by others.
_BEGINNINGS = frozenset((".gitignore", ".gitkeep", "lost+found", RUNS, RECEIPTS, RESPONSES, SNAPSHOTS, RESTORES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The folders of one project; none of them need exist yet.

    `state` is the project's own folder for live evidence, `docket_dir` the folder a person looks into; with
    `--docket-dir` they are one. `evidence` are the paths inside the tree that hold docket's own files.
    """

    tree_root: Path
    state: Path
    docket_dir: Path
    evidence: tuple[RelPath, ...]

    @property
    def is_split(self) -> bool:
        """Whether live evidence stands apart from the folder a person looks into."""
        return self.state != self.docket_dir

    def ledger_path(self, session_id: str) -> Path:
        """Where the ledger of a live run stands."""
        return self.state / RUNS / ledger_name(session_id)


def ledger_name(session_id: str) -> str:
    """The file name of a session's ledger."""
    return f"{session_id}{LEDGER_SUFFIX}"


def response_name(sha256: str) -> str:
    """The file name of a kept response: the digest of what is in it."""
    return f"{sha256}.bin"


def receipt_name(docket_number: str) -> str:
    """The file name of a receipt."""
    return f"{docket_number}{RECEIPT_SUFFIX}"


def resolve_layout(tree_root: Path, *, docket_dir: Path | None, environment: Mapping[str, str]) -> Layout:
    """Return the folders for the project at `tree_root`.

    UnavailableError (IS_A_SYMLINK, NOT_A_DIRECTORY) where the docket folder is something else; UsageError where
    DOCKET_STATE_DIR is not an absolute path or `docket_dir` is the tree itself, the root or the person's home.
    """
    root = Path(os.path.realpath(tree_root))
    if docket_dir is not None:
        chosen = _real_parent(docket_dir)
        _refuse_link(chosen)
        if chosen == root:
            raise _not_to_itself(f"{docket_dir} is the project's own folder")
        _refuse_shared(chosen, environment.get("HOME"))
        return Layout(tree_root=root, state=chosen, docket_dir=chosen, evidence=_inside(root, chosen))
    home, visible = state_home(environment), root / DOCKET_DIR
    state = home / project_key(root)
    for folder in (home, state, visible):
        _refuse_link(folder)
    return Layout(tree_root=root, state=state, docket_dir=visible, evidence=_inside(root, visible, home))


def state_home(environment: Mapping[str, str]) -> Path:
    """Return the folder that holds every project's state."""
    chosen = environment.get(STATE_DIR_VARIABLE)
    if not chosen:
        import platformdirs  # noqa: PLC0415 - most commands and every hook start without it

        try:
            chosen = platformdirs.user_state_dir("docket", appauthor=False)
        except RuntimeError as error:  # neither HOME nor an account of this user's
            detail = f"no state folder is known: {error}"
            raise UnavailableError(Reason.NOT_FOUND, detail, hint=f"set {STATE_DIR_VARIABLE}") from error
    path = Path(chosen)
    if not path.is_absolute():
        raise UsageError(
            Reason.USAGE, f"the state folder {chosen!r} is not an absolute path", hint=f"set {STATE_DIR_VARIABLE}"
        )
    return _real_parent(path)


def project_key(tree_root: Path) -> str:
    """Return the name of a project's folder: half of the SHA-256 of the tree's real path."""
    return hashlib.sha256(os.fsencode(tree_root)).hexdigest()[:_KEY_DIGITS]


def prepare_state(layout: Layout, *, disk: Disk = SYSTEM_DISK) -> None:
    """Make the state folder ready for a run.

    UnavailableError (NOT_OURS, IS_A_SYMLINK, NO_SPACE, …) if it cannot be; UsageError if it holds other things.
    """
    with disk.folder(layout.state, create=True) as state:
        if layout.is_split:
            state.make_private()
            if state.identity(PROJECT_FILE) is None:
                members = text_members("path", os.fsencode(layout.tree_root))
                publish(state, PROJECT_FILE, encode_document(members))
        else:
            _claim(state)
        for name in (RUNS, RECEIPTS):
            with state.folder(name, create=True) as folder:
                folder.make_private()


def open_docket_dir(layout: Layout, disk: Disk) -> Folder:
    """Open the folder a person looks into, made and ignored in git where it is new."""
    if not layout.is_split:
        return disk.folder(layout.docket_dir, create=True)
    # Through the tree's root, so that a tree that has gone is not made anew.
    with disk.folder(layout.tree_root) as root:
        folder = root.folder(layout.docket_dir.name, create=True)
    try:
        _ignore_in_git(folder)
    except DocketError:
        folder.close()
        raise
    return folder


def _ignore_in_git(folder: Folder) -> None:
    if folder.identity(".gitignore") is None:
        publish(folder, ".gitignore", _GITIGNORE)


def _claim(folder: Folder) -> None:
    names = set(folder.names())
    foreign = {name for name in names - _BEGINNINGS if not name.endswith(TEMPORARY_SUFFIX)}
    if foreign and not {RUNS, RECEIPTS} <= names:
        raise _not_to_itself(f"{folder.path} holds other things than docket's, {min(foreign)} among them")
    if not names:
        publish(folder, ".gitignore", _GITIGNORE)


def _not_to_itself(what: str) -> UsageError:
    hint = "name a folder that is new or empty, or one that docket has used before"
    return UsageError(Reason.USAGE, f"{what}; evidence needs a folder to itself", hint=hint)


def _real_parent(path: Path) -> Path:
    """Resolve the links above a folder, which are the person's own, and leave its last name to be judged."""
    if path.name in ("", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


def _refuse_shared(path: Path, home: str | None) -> None:
    if path.parent == path:
        raise _not_to_itself(f"{path} is everybody's folder")
    if home and path == Path(os.path.realpath(home)):
        raise _not_to_itself(f"{path} is a home")


def _refuse_link(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # what cannot be looked at is told when it is made
    if stat.S_ISLNK(mode):
        raise UnavailableError(
            Reason.IS_A_SYMLINK, f"{path} is a symbolic link; docket keeps evidence in a folder of its own"
        )
    if not stat.S_ISDIR(mode):
        raise UnavailableError(Reason.NOT_A_DIRECTORY, f"{path} is not a folder")


def _inside(root: Path, *folders: Path) -> tuple[RelPath, ...]:
    return tuple(
        RelPath.parse(os.fsencode(folder.relative_to(root)))
        for folder in folders
        if folder != root and folder.is_relative_to(root)
    )
