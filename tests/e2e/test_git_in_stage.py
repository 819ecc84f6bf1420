"""An agent that uses git in its stage, a person and an editor that use it in the base; git itself is the judge."""

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from docket.engines.apply_recovery import Asked
from docket.engines.transaction import committing
from docket.engines.transaction.committing import CommitRefused, CommitRequest, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.recovering import recover_transaction
from docket.engines.transaction.world import OpenRequest
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.workspace.state import SurfaceRules
from docket.host.liveness import own_identity
from docket.rules.workspace.preflight import Refusal
from staged_git_lab import begin, check, commit, copy_of, git, log, make_repository, status, world_in


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("template") / "repository")


@pytest.fixture
def base(template, tmp_path):
    return copy_of(template, tmp_path / "base")


@pytest.fixture
def work(base, tmp_path):
    found = begin(base, tmp_path / "state")
    yield found
    found.opened.stage.close()


def touch_all(folder: Path) -> None:
    """Let git find times that it does not know, so that its next look writes the index."""
    for name in ("one", "two", "dir/deep"):
        os.utime(folder / name, ns=(10**18, 10**18))


def refused(outcome) -> CommitRefused:
    assert isinstance(outcome, CommitRefused), outcome
    return outcome


def test_a_look_in_the_stage_changes_nothing(work):
    before = (work.stage / ".git/index").read_bytes()
    assert git(work.stage, "status", "--short") == ""
    git(work.stage, "diff")
    assert (work.stage / ".git/index").read_bytes() != before
    assert work.changed() == []


def test_a_look_in_the_base_is_no_drift(work):
    commit(work.stage, "third", one="111\n", new="n\n")
    touch_all(work.base)
    before = (work.base / ".git/index").read_bytes()
    git(work.base, "status", "--short")
    assert (work.base / ".git/index").read_bytes() != before
    work.landed()
    assert status(work.base) == ""
    assert log(work.base) == ["third", "second", "first"]
    check(work.base)


def amend(stage):
    commit(stage, "third", one="3\n")
    git(stage, "commit", "--quiet", "--amend", "--message", "other")


def rebase(stage):
    git(stage, "checkout", "--quiet", "side")
    commit(stage, "aside", aside="a\n")
    git(stage, "rebase", "--quiet", "main")


def stash(stage):
    (stage / "two").write_text("stashed\n")
    git(stage, "stash")


def pop(stage):
    stash(stage)
    git(stage, "stash", "pop", "--quiet")


def tags(stage):
    git(stage, "tag", "light")
    git(stage, "tag", "--annotate", "--message", "m", "heavy")


def gc(stage):
    commit(stage, "third", one="3\n")
    git(stage, "gc", "--quiet", "--prune=now")


def pack_and_prune(stage):
    git(stage, "reflog", "expire", "--expire=now", "--all")
    git(stage, "reset", "--quiet", "--hard", "side")
    git(stage, "reflog", "expire", "--expire=now", "--all")
    git(stage, "gc", "--quiet", "--prune=now")


def merge(stage):
    git(stage, "checkout", "--quiet", "side")
    commit(stage, "aside", two="22\n")
    git(stage, "checkout", "--quiet", "main")
    git(stage, "merge", "--quiet", "--no-edit", "side")


def unfinished_merge(stage):
    git(stage, "checkout", "--quiet", "side")
    commit(stage, "aside", one="other\n")
    git(stage, "checkout", "--quiet", "main")
    git(stage, "merge", "--quiet", "side", check=False)


def detached(stage):
    git(stage, "checkout", "--quiet", "--detach", "side")


def own_repository(stage):
    make_repository(stage / "inner")


@pytest.mark.parametrize(
    "act",
    [amend, rebase, stash, pop, tags, gc, pack_and_prune, merge, unfinished_merge, detached, own_repository],
    ids=lambda act: act.__name__,
)
def test_what_an_agent_does_with_git_lands_whole(work, act):
    act(work.stage)
    expected = log(work.stage, "--all"), status(work.stage), git(work.stage, "show-ref"), git(work.stage, "reflog")
    work.landed()
    assert (
        log(work.base, "--all"),
        status(work.base),
        git(work.base, "show-ref"),
        git(work.base, "reflog"),
    ) == expected
    check(work.base)
    assert not (work.base / ".git/index.lock").exists()


def test_a_person_s_commit_is_drift_and_nothing_is_lost(work):
    commit(work.stage, "the agent's", one="agent\n")
    commit(work.base, "the person's", two="person\n")
    before = git(work.base, "rev-parse", "HEAD"), (work.base / ".git/index").read_bytes()
    outcome = refused(work.land())
    assert outcome.reason is Reason.BASE_DRIFT
    assert ".git/logs/HEAD" in [str(item.path) for item in outcome.paths]
    assert (git(work.base, "rev-parse", "HEAD"), (work.base / ".git/index").read_bytes()) == before
    assert log(work.base)[0] == "the person's"
    assert log(work.stage)[0] == "the agent's"
    check(work.base)
    assert not (work.base / ".git/index.lock").exists()


def test_what_a_person_put_into_the_index_is_drift(work):
    commit(work.stage, "the agent's", one="agent\n")
    (work.base / "two").write_text("person\n")
    git(work.base, "add", "two")
    outcome = refused(work.land())
    assert [str(item.path) for item in outcome.paths] == [".git/index"]
    assert git(work.base, "diff", "--cached", "--name-only") == "two\n"


def test_a_person_s_edit_of_another_file_stays(work):
    commit(work.stage, "the agent's", one="agent\n")
    (work.base / "two").write_text("person\n")
    git(work.base, "status", "--short")
    work.landed()
    assert git(work.base, "status", "--short") == " M two\n"
    assert (work.base / "two").read_text() == "person\n"
    check(work.base)


def test_an_edit_of_the_same_size_within_the_clock_s_tick_is_seen(work):
    """The staged index lands with the times of the stage's files; none of them may pass for another file's."""
    commit(work.stage, "the agent's", one="aa\n")
    (work.stage / "one").write_text("bb\n")
    work.landed()
    assert git(work.base, "status", "--short") == " M one\n"
    os.utime(work.base / "one", ns=(1, 1))
    assert git(work.base, "diff", "--shortstat").strip() == "1 file changed, 1 insertion(+), 1 deletion(-)"


def test_an_editor_that_looks_all_the_time(base, tmp_path):
    ends = threading.Event()

    def looks():
        while not ends.is_set():
            os.utime(base / "two")
            git(base, "status", "--short", check=False)
            ends.wait(0.03)

    editor = threading.Thread(target=looks)
    editor.start()
    try:
        for number in range(3):
            work = begin(base, tmp_path / f"state-{number}")
            commit(work.stage, f"number {number}", one=f"{number}\n")
            work.landed()
            work.opened.stage.close()
    finally:
        ends.set()
        editor.join()
    assert log(base)[:3] == ["number 2", "number 1", "number 0"]
    assert status(base) == ""
    check(base)


def test_a_lock_that_git_holds_is_waited_for_and_then_refuses(work, monkeypatch):
    monkeypatch.setattr("docket.engines.transaction.git_locks.PATIENCE_SECONDS", 0.05)
    commit(work.stage, "the agent's", one="agent\n")
    lock = work.base / ".git/index.lock"
    lock.touch()
    outcome = refused(work.land())
    assert (outcome.reason, ".git/index.lock" in outcome.detail) == (Reason.LOCKED, True)
    assert lock.read_bytes() == b""
    assert log(work.base)[0] == "second"


def test_a_lock_that_goes_is_waited_for(work):
    commit(work.stage, "the agent's", one="agent\n")
    lock = work.base / ".git/index.lock"
    lock.touch()
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()
    work.landed()
    timer.join()
    assert log(work.base)[0] == "the agent's"


DEAD = ("1", "00000000-0000-0000-0000-000000000000")  # of a boot that never was


def mark(process: tuple[str, str], pid: int = 1) -> str:
    """The text of docket's lock as a commit of that process writes it."""
    said = f"transaction 0123456789ab, process {pid} {' '.join(process)}"
    return f"docket holds this while it changes the repository ({said}); once no docket runs, …\n"


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_lock_of_a_commit_that_lives_is_not_taken(work, monkeypatch, is_whole):
    """A base below this one has another lock, so its commit may be under way with this base's locked."""
    monkeypatch.setattr("docket.engines.transaction.git_locks.PATIENCE_SECONDS", 0.05)
    commit(work.stage, "the agent's", one="agent\n")
    lock = work.base / ".git/index.lock"
    me = own_identity()
    text = mark((me.started, me.boot_id), me.pid)
    lock.write_text(text if is_whole else text[:60])
    outcome = refused(work.land())
    assert (outcome.reason, ".git/index.lock" in outcome.detail) == (Reason.LOCKED, True)
    assert lock.read_text() == (text if is_whole else text[:60])


def test_a_lock_that_a_dead_commit_left_is_taken_over(work):
    commit(work.stage, "the agent's", one="agent\n")
    lock = work.base / ".git/index.lock"
    lock.write_text(mark(DEAD))
    work.landed()
    assert not lock.exists()


def test_a_lock_that_git_left_in_the_stage_does_not_land(work):
    commit(work.stage, "the agent's", one="agent\n")
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):
        (work.stage / ".git" / name).touch()
    closed = work.close()
    assert [str(path) for path in closed.found.excluded_writes] == [
        ".git/HEAD.lock", ".git/index.lock", ".git/refs/heads/main.lock",
    ]  # fmt: skip
    work.landed()
    assert list((work.base / ".git").rglob("*.lock")) == []


def test_objects_that_both_made_are_no_drift(work):
    commit(work.stage, "the agent's", one="same\n")
    git(work.base, "hash-object", "-w", "--stdin", "--path=one")
    written = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=work.base, input=b"same\n", capture_output=True, check=True
    ).stdout.decode().strip()  # fmt: skip
    assert (work.stage / ".git/objects" / written[:2] / written[2:]).exists()
    # Another program may deflate an object into other bytes; its name says what it holds all the same.
    git(work.base, "-c", "core.looseCompression=0", "hash-object", "-w", "two")
    work.landed()
    check(work.base)


def test_objects_with_other_bytes_and_one_name_are_no_drift(work):
    commit(work.stage, "the agent's", one="same\n")
    done = subprocess.run(
        ["git", "-c", "core.compression=0", "hash-object", "-w", "--stdin"],
        cwd=work.base, input=b"same\n", capture_output=True, check=True,
    )  # fmt: skip
    name = done.stdout.decode().strip()
    place = Path(".git/objects") / name[:2] / name[2:]
    assert (work.base / place).read_bytes() != (work.stage / place).read_bytes()
    work.landed()
    assert status(work.base) == ""
    check(work.base)


def test_a_gc_in_the_base_is_no_drift_for_the_agent_s_commit(work):
    commit(work.stage, "the agent's", one="agent\n")
    git(work.base, "gc", "--quiet", "--prune=now")
    assert not (work.base / ".git/refs/heads/main").exists()
    for folder in (work.stage / ".git/objects").glob("??"):  # and then made some of its folders again
        (work.base / ".git/objects" / folder.name).mkdir(exist_ok=True)
    work.landed()
    assert log(work.base)[0] == "the agent's"
    assert status(work.base) == ""
    check(work.base)


def test_what_the_agent_s_commit_hangs_on_is_there_after_a_gc(base, tmp_path):
    """An object that nothing named when the stage was made: git does not write it again, and the base's gc drops it."""
    (base / "lost").write_text("lost and found\n")
    name = git(base, "hash-object", "-w", "lost").strip()
    (base / "lost").unlink()
    work = begin(base, tmp_path / "state")
    commit(work.stage, "the agent's", found="lost and found\n")
    git(base, "gc", "--quiet", "--prune=now")
    assert "fatal" in git(base, "cat-file", "-e", name, check=False) + "fatal"
    work.landed()
    assert git(base, "show", "HEAD:found") == "lost and found\n"
    check(base)


def test_a_gc_in_the_stage_takes_nothing_from_what_a_person_did(work):
    """The person's new commit is refused by its own drift; what only adds objects and says nothing is not."""
    gc(work.stage)
    (work.base / "mine").write_text("mine\n")
    name = git(work.base, "hash-object", "-w", "mine").strip()
    work.landed()
    assert git(work.base, "cat-file", "blob", name) == "mine\n"
    assert status(work.base) == "? mine\n"
    check(work.base)


def test_a_gc_in_the_stage_removes_nothing_that_a_person_hangs_on(base, tmp_path):
    """The agent's gc drops an object that nothing named; meanwhile a person's index names it."""
    (base / "lost").write_text("lost\n")
    git(base, "hash-object", "-w", "lost")
    (base / "lost").unlink()
    work = begin(base, tmp_path / "state")
    git(work.stage, "gc", "--quiet", "--prune=now")
    (base / "lost").write_text("lost\n")
    git(base, "add", "lost")
    git(base, "branch", "kept")
    work.landed()
    assert git(base, "diff", "--cached", "--name-only") == "lost\n"
    check(base)


def test_notes_of_git_s_are_the_base_s_where_both_wrote_them(work):
    (work.base / ".git/FETCH_HEAD").write_text("the person's\n")
    (work.stage / ".git/FETCH_HEAD").write_text("the agent's\n")
    commit(work.stage, "the agent's", one="agent\n")
    work.landed()
    assert (work.base / ".git/FETCH_HEAD").read_text() == "the person's\n"
    assert (work.base / ".git/COMMIT_EDITMSG").read_text() == "the agent's\n"


def test_a_repository_that_goes_goes_whole(work):
    subprocess.run(["rm", "-rf", work.stage / ".git"], check=True)
    work.landed()
    assert not (work.base / ".git").exists()


def test_a_repository_that_the_agent_makes_lands(tmp_path):
    (tmp_path / "base").mkdir()
    work = begin(tmp_path / "base", tmp_path / "state")
    git(work.stage, "init", "--quiet", "--initial-branch=main")
    commit(work.stage, "first", one="1\n")
    work.landed()
    assert (log(work.base), status(work.base)) == (["first"], "")
    check(work.base)


def test_an_index_that_is_not_understood_counts_by_its_bytes(base, tmp_path):
    git(base, "update-index", "--split-index")
    work = begin(base, tmp_path / "state")
    touch_all(work.stage)
    git(work.stage, "status", "--short")
    assert ".git/index" in work.changed()
    work.landed()
    assert status(base) == ""


def test_programs_that_a_repository_names_are_not_executed(base, tmp_path):
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {ran}\n')
    program.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "gpg.program", "filter.x.clean"):
        git(base, "config", key, str(program))
    (base / ".git/info/attributes").write_text("* filter=x\n")
    hooks = base / ".git/hooks"
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-commit", "fsmonitor-watchman"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    work = begin(base, tmp_path / "state")
    git(work.stage, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "filter.x.clean=cat",
        "commit", "--quiet", "--allow-empty", "--message", "third")  # fmt: skip
    ran.unlink(missing_ok=True)
    work.landed()
    assert not ran.exists()


def test_the_rest_of_a_part_knows_the_index_too(work):
    touch_all(work.stage)
    git(work.stage, "status", "--short")
    (work.stage / "one").write_text("x\n")
    assert work.changed() == ["one"]


def test_a_tree_is_not_staged_while_git_writes_in_it(base, tmp_path, monkeypatch):
    monkeypatch.setattr("docket.engines.transaction.git_locks.PATIENCE_SECONDS", 0.05)
    (base / ".git/refs/heads/main.lock").touch()
    found = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world_in(tmp_path / "state"))
    assert isinstance(found, Refusal), found
    assert (found.reason, ".git/refs/heads/main.lock" in found.detail) == (Reason.LOCKED, True)


def test_a_tree_is_staged_once_git_has_ended(base, tmp_path):
    lock = base / ".git/index.lock"
    lock.touch()
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()
    work = begin(base, tmp_path / "state")
    timer.join()
    assert not (work.stage / ".git/index.lock").exists()


def test_a_lock_that_a_dead_commit_left_is_not_staged(base, tmp_path):
    (base / ".git/index.lock").write_text(mark(DEAD))
    work = begin(base, tmp_path / "state")
    assert not (work.stage / ".git/index.lock").exists()
    assert not (base / ".git/index.lock").exists()


@pytest.mark.parametrize("is_applied", [False, True])
def test_git_s_lock_goes_with_the_recovery_of_a_commit_that_was_killed(work, is_applied):
    commit(work.stage, "the agent's", one="agent\n")
    closed = work.close()
    child = os.fork()
    if not child:
        real = committing.apply

        def dies(*given):
            if is_applied:
                real(*given)
            os._exit(9)

        committing.apply = dies
        commit_transaction(CommitRequest(closed=closed), work.world)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    lock = work.base / ".git/index.lock"
    assert lock.read_text().startswith("docket holds this")
    assert "index.lock" in git(work.base, "commit", "--allow-empty", "--message", "x", check=False)
    gone = replace(
        work.world.transactions.load(closed.state.id), owner=ProcessIdentity(pid=child, started="1", boot_id="x")
    )
    work.world.transactions.save(gone)
    recovered = recover_transaction(closed.state.id, Asked(), work.world)
    assert recovered.is_over
    assert not lock.exists()
    assert log(work.base)[0] == ("the agent's" if is_applied else "second")
    assert status(work.base) == ""
    check(work.base)
