"""What goes wrong with tools of this kind, hazard by hazard: the test that shows what windows do about each.

The table names tests of other modules, and a test here holds it to them; what stood nowhere else is shown here, thinly.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import windows_lab
from docket.engines.windows.world import Said
from docket.errors import PartialEvidenceError
from docket.formats.windows.names import Hashes, PartialReason, Status
from docket.host.git_loose import LooseObjects
from docket.host.git_place import find_git_place
from windows_lab import WindowsLab, deadline, told, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
TESTS = Path(__file__).parent.parent
HERE = "hostile/test_window_hazards"
HOOKS, GIT = "unit/engines/windows/test_window_hooks", "unit/engines/windows/test_windows_of_git"
TIDY, TIME = "unit/engines/windows/test_windows_tidy", "unit/engines/windows/test_hooks_without_time"
SETTINGS, INNER = "hostile/test_window_git_settings", "unit/stores/windows/test_repositories_inside"
LIMITS, DEATHS = "unit/stores/windows/test_git_limits", "crash/test_window_deaths"
RECORDS = "unit/formats/windows/test_window_records"
COLD, SHAPES = "e2e/test_tool_hooks", "unit/rules/agents/test_hook_shapes"
CONTRACT, REASONS = "contracts/test_tree_store_contract", "unit/engines/windows/test_partial_reasons"

TABLE: dict[str, tuple[str, ...]] = {
    # locks
    "the lock takes the whole time, and work begins all the same":
        (f"{HOOKS}::test_a_lock_that_cannot_be_had_leaves_a_tombstone_and_the_later_post_tells_nothing_newer",),
    "a deadline that is over, and a lock that is free": (f"{HERE}::test_after_the_deadline_a_free_lock_is_not_taken",),
    "the lock file is removed while somebody holds it":
        (f"{HERE}::test_who_holds_a_lock_file_that_was_removed_overwrites_nothing",),
    "an end that lost its lock comes again later and looks at newer edits":
        (f"{HOOKS}::test_a_lock_that_cannot_be_had_leaves_a_tombstone_and_the_later_post_tells_nothing_newer",),
    "housekeeping holds the lock for long, or waits behind a look":
        (f"{TIDY}::test_nobody_clears_while_somebody_looks",
         f"{TIDY}::test_work_that_takes_longer_than_the_lock_may_be_held_goes_in_turns"),
    "looks of many tools at once behind one lock":
        (f"{HOOKS}::test_sixteen_tools_at_once_leave_no_tombstone_and_lose_no_line",
         f"{TIME}::test_of_those_who_begin_at_once_one_looks",
         f"{COLD}::test_sixteen_tools_with_hooks_of_their_own_are_all_told_of_however_little_time_there_is"),
    "a process known by its number alone":
        (f"{HOOKS}::test_after_another_boot_the_wall_clock_tells_how_old_a_group_is",),
    "a peer that takes a connection and never answers":
        ("e2e/test_boundary_hooks::test_what_takes_too_long_is_answered_all_the_same",),
    # deaths
    "a name that keeps a tree, and no window for it": (f"{TIDY}::test_names_of_groups_that_are_gone_go_after_a_day",),
    "a death between any two steps of finishing":
        (f"{DEATHS}::test_a_post_that_dies_at_any_step_gives_the_same_bytes_or_says_what_was_lost",
         f"{DEATHS}::test_a_post_in_a_git_worktree_may_die_at_any_step_too"),
    "a death between the look and the name that keeps it":
        (f"{HOOKS}::test_a_finisher_that_died_before_it_looked_leaves_a_partial_never_a_later_look",),
    "what a death left half written": (f"{DEATHS}::test_garbage_that_a_death_left_changes_nothing",
                                       f"{TIDY}::test_what_deaths_left_half_written_goes"),
    "a death while tidying": (f"{TIDY}::test_who_dies_while_tidying_loses_nothing_that_is_open_or_evidence",),
    "a corrupt registry": (f"{HOOKS}::test_a_corrupt_registry_stops_everything_and_is_left_as_it_is",),
    "a hook that is killed leaves no trace":
        (f"{COLD}::test_a_hook_without_time_leaves_word_and_the_tool_is_known_to_be_unknown",),
    # hooks twice, late, out of order, never
    "a beginning twice": (f"{HOOKS}::test_a_second_pre_does_not_move_the_beginning",
                          f"{HOOKS}::test_two_pres_of_one_tool_at_once_are_one_window"),
    "an end twice": (f"{HOOKS}::test_a_second_post_changes_nothing",),
    "an end before its beginning":
        (f"{HOOKS}::test_a_post_without_a_pre_is_partial_and_a_later_pre_opens_nothing",),
    "an end that never comes":
        (f"{COLD}::test_the_end_of_a_turn_closes_what_nothing_was_heard_of_and_costs_nothing_else",
         f"{REASONS}::test_a_reason_has_its_cause"),
    "a failed tool": (f"{COLD}::test_a_failed_tool_and_one_in_a_folder_below_are_of_the_same_tree",),
    "a writer that outlives its tool": (f"{HERE}::test_what_is_written_between_two_tools_is_neithers",),
    "tools that overlap, of several sessions": (f"{HOOKS}::test_overlapping_tools_are_one_group_without_an_author",),
    "a chain of tools that overlap for longer than an hour":
        (f"{HOOKS}::test_an_hour_seals_a_group_by_the_monotonic_clock_and_not_by_the_wall",
         f"{HOOKS}::test_a_sealed_group_is_reclaimed_with_a_partial_for_what_ended_and_a_tombstone_for_all"),
    "payloads that are not as they were": (f"{SHAPES}::test_what_is_not_as_it_is_known_to_be_is_told_and_never_dropped",
                                           f"{COLD}::test_doctored_payloads_open_a_window_or_leave_their_shape"),
    "a payload without an id": (f"{COLD}::test_an_agent_that_gives_its_tools_no_id_has_windows_all_the_same",),
    "an agent that changes its folder": (f"{COLD}::test_a_failed_tool_and_one_in_a_folder_below_are_of_the_same_tree",),
    "a write outside of the worktree": (f"{HERE}::test_a_write_outside_of_the_worktree_is_not_told",),
    "no payload, or fifty megabytes": (f"{COLD}::test_whatever_is_given_no_tool_fails_for_it",
                                       f"{COLD}::test_a_payload_of_fifty_megabytes_closes_its_window"),
    "a wall clock that steps": (f"{HOOKS}::test_an_hour_seals_a_group_by_the_monotonic_clock_and_not_by_the_wall",),
    # names
    "names of all kinds": (f"{GIT}::test_names_of_all_kinds", f"{LIMITS}::test_a_path_is_quoted_as_git_reads_it"),
    "a repository at a path of any kind": (f"{SETTINGS}::test_a_repository_at_a_path_with_a_line_end_and_quotes",),
    "ids that would be paths":
        (f"{RECORDS}::test_a_component_of_a_ref_is_harmless_and_nobody_elses",),
    "a text that is cut within a character": (f"{SHAPES}::test_texts_are_bounded_and_can_be_recorded",),
    # repositories inside, worktrees
    "a dirty submodule": (f"{INNER}::test_what_is_dirty_in_it_is_known_to_have_changed",
                          f"{INNER}::test_a_submodule_is_looked_into_and_one_that_is_not_checked_out_is_left"),
    "a repository inside, with and without a commit":
        (f"{INNER}::test_a_repository_that_a_tool_makes_is_told_by_its_commit",
         f"{INNER}::test_one_without_a_commit_voids_nothing"),
    "a file that a folder took the place of": (f"{GIT}::test_a_tool_changed_this_and_nothing_else",),
    "a linked worktree": (f"{GIT}::test_a_linked_worktree_is_a_tree_of_its_own",),
    "a worktree made anew under an old name": (f"{CONTRACT}::test_another_tree_in_the_same_place_has_another_name",),
    "a bare repository": (f"{HERE}::test_a_bare_repository_is_no_worktree",),
    # index and ignore rules
    "flags that keep git from looking": (f"{GIT}::test_what_git_was_told_not_to_look_at_is_looked_at",),
    "a sparse checkout": (f"{GIT}::test_a_sparse_checkout_deletes_nothing",
                          f"{HERE}::test_a_file_that_comes_outside_of_a_sparse_checkout_is_an_edit"),
    "a conflict": (f"{GIT}::test_a_conflict_is_told_by_what_stands_on_the_disk",),
    "an index of another kind": (f"{GIT}::test_an_index_of_another_kind_is_read_too",),
    "a rule that comes or goes": (f"{GIT}::test_a_rule_that_comes_or_goes_makes_no_phantom",),
    # size
    "more files than anybody keeps": (f"{GIT}::test_beyond_so_many_paths_contents_are_named_and_not_kept",
                                      f"{LIMITS}::test_more_names_than_a_look_takes"),
    "a file that grows while it is read": (f"{HERE}::test_a_file_that_is_not_what_was_seen_has_no_name",),
    "a file of eight gigabytes without blocks": (f"{HERE}::test_a_huge_file_is_not_read",),
    "many files deleted at once": (f"{HERE}::test_many_files_deleted_at_once_are_each_told",),
    "lines without end": ("unit/rules/windows/test_differ::test_the_lines_of_a_delta_have_an_end",
                          "unit/rules/windows/test_differ::test_beyond_the_depth_the_middle_is_one_hunk"),
    "a store that only grows": (f"{TIDY}::test_what_nobody_needs_goes_after_a_day_and_evidence_never",
                                f"{TIDY}::test_within_its_budget_a_store_stays_as_it_is_and_the_oldest_go_first"),
    # HEAD
    "HEAD moves within a tool": (f"{GIT}::test_the_head_before_and_after_are_facts_beside_the_files",
                                 f"{GIT}::test_a_tool_changed_this_and_nothing_else"),
    "HEAD moves within a look": (f"{REASONS}::test_a_reason_has_its_cause",),
    "a branch without a commit": (f"{GIT}::test_an_unborn_branch_has_windows_and_its_first_commit_too",),
    # borrowed objects
    "the repository loses objects": (f"{SETTINGS}::test_objects_that_the_repository_lost_are_said_to_be_missing",
                                     f"{SETTINGS}::test_what_was_dirty_survives_the_repositorys_own_housekeeping"),
    "the repository is packed during a look at its objects":
        (f"{HERE}::test_an_object_that_is_nowhere_for_an_instant_is_asked_for_again",),
    "a partial clone": (f"{SETTINGS}::test_no_program_that_a_repository_names_is_run",),
    "the repository is moved": (f"{HERE}::test_a_repository_that_was_moved_has_windows_at_its_new_place",),
    "a repository that borrows objects itself": (f"{HERE}::test_a_repository_that_borrows_objects_itself",),
    "the store is deleted while a tool runs": (f"{HERE}::test_a_store_that_is_deleted_costs_the_window_and_no_more",),
    # object formats
    "another object format": (f"{GIT}::test_objects_named_by_sha256",),
    "a comment that names an object format": (f"{HERE}::test_a_comment_in_the_configuration_names_no_object_format",),
    # filters, configuration, ownership
    "line ends": (f"{SETTINGS}::test_line_ends_that_git_converts_are_compared_as_they_stand",),
    "pointers of large files": (f"{SETTINGS}::test_a_large_files_pointer_is_not_its_content",),
    "encodings": (f"{SETTINGS}::test_an_encoding_of_the_working_tree_is_its_bytes",),
    "attributes that come with a tool": (f"{SETTINGS}::test_attributes_that_come_with_the_tool_change_nothing_else",),
    "programs that a repository names": (f"{SETTINGS}::test_no_program_that_a_repository_names_is_run",
                                         f"{INNER}::test_its_filters_are_not_run"),
    "settings that hide edits": (f"{SETTINGS}::test_no_setting_hides_an_edit",),
    "a repository of another user": (f"{HERE}::test_a_repository_of_another_user_has_windows",),
    "a store that somebody changed": (f"{SETTINGS}::test_a_store_that_is_not_as_docket_wrote_it_is_refused",
                                      f"{REASONS}::test_a_reason_has_its_cause"),
    "the person's git is at work": (f"{HERE}::test_a_lock_of_the_persons_git_is_in_nobodys_way",
                                    f"{GIT}::test_the_persons_git_is_as_it_was"),
    "variables of git": (f"{SETTINGS}::test_variables_of_git_in_the_hooks_environment_count_for_nothing",),
}  # fmt: skip


@cache
def named_in(module: str) -> frozenset[str]:
    tree = ast.parse((TESTS / f"{module}.py").read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("hazard", TABLE)
def test_a_hazard_is_shown_by_tests_that_there_are(hazard):
    for name in TABLE[hazard]:
        module, _, test = name.partition("::")
        assert test in named_in(module), name


def test_after_the_deadline_a_free_lock_is_not_taken(tmp_path):
    lab = windows_lab.folder_lab(tmp_path)
    with pytest.raises(PartialEvidenceError) as refused, lab.world.registry.held(-0.001):
        pytest.fail("it was taken")
    assert refused.value.reason == PartialReason.REGISTRY_LOCK_TIMEOUT


def test_who_holds_a_lock_file_that_was_removed_overwrites_nothing(tmp_path):
    lab = windows_lab.folder_lab(tmp_path)
    with lab.world.registry.held(1.0) as held:
        (lab.windows / "lock").unlink()
        assert lab.pre("u").said is Said.OPENED
        with pytest.raises(PartialEvidenceError) as refused:
            held.publish(replace(held.registry, epoch=5))
    assert refused.value.reason == PartialReason.REGISTRY_LOCK_TIMEOUT
    assert [window.key.tool_use_id for window in lab.world.registry.read().windows] == ["u"]


def test_what_is_written_between_two_tools_is_neithers(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.pre("u")
    writer = subprocess.Popen(["sh", "-c", "read x; echo late >> a"], cwd=lab.tree, stdin=subprocess.PIPE)
    assert told(lab.delta(lab.post("u"))) == {}
    writer.communicate(b"\n")
    assert told(lab.tool("v", "echo v >> a")) == {"a": ("edit", [], ["v"])}


def test_a_write_outside_of_the_worktree_is_not_told(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    assert told(lab.tool("u", "echo x > ../outside")) == {}


def test_a_bare_repository_is_no_worktree(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    assert find_git_place(tmp_path / "bare") is None


def test_a_file_that_comes_outside_of_a_sparse_checkout_is_an_edit(tmp_path):
    lab = windows_lab.git_lab(tmp_path, files={"in/a": "1\n", "out/b": "2\n"})
    lab.git("sparse-checkout", "set", "in")
    assert not (lab.tree / "out").exists()
    assert told(lab.tool("u", "mkdir out; echo 3 > out/b")) == {"out/b": ("edit", ["2"], ["3"])}


def test_a_file_that_is_not_what_was_seen_has_no_name(tmp_path):
    path = tmp_path / "f"
    (tmp_path / "objects").mkdir()
    for size in (10, 2 * 1024 * 1024):
        write(path, b"x" * size)
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            with path.open("ab") as writer:
                writer.write(b"y")
            objects = LooseObjects(tmp_path / "objects", Hashes.SHA1)
            assert objects.put_file(file.fileno(), seen, keep=True) is None


def test_a_huge_file_is_not_read(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    lab.pre("u")
    with (lab.tree / "huge").open("wb") as file:
        file.truncate(8 * 1024**3)
    delta = lab.delta(lab.post("u"))
    assert [(str(file.path), file.truncated) for file in delta.files] == [("huge", True)]
    assert delta.limits.bytes_read == 0


def test_many_files_deleted_at_once_are_each_told(tmp_path):
    lab = windows_lab.git_lab(tmp_path, files={f"d/{number}": f"{number}\n" for number in range(600)})
    delta = lab.tool("u", "rm -r d")
    assert told(delta) == {f"d/{number}": ("delete", [str(number)], []) for number in range(600)}


def test_an_object_that_is_nowhere_for_an_instant_is_asked_for_again(tmp_path, monkeypatch):
    lab = windows_lab.git_lab(tmp_path)
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    objects, away = lab.tree / ".git/objects", tmp_path / "away"
    contents, asked = lab.store.contents, []

    @contextmanager
    def packed_meanwhile():
        asked.append(1)
        if len(asked) == 1:
            objects.rename(away)
        try:
            with contents() as load:
                yield load
        finally:
            if len(asked) == 1:
                away.rename(objects)

    monkeypatch.setattr(lab.store, "contents", packed_meanwhile)
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}
    assert len(asked) == 2


def test_a_repository_that_was_moved_has_windows_at_its_new_place(tmp_path):
    lab = windows_lab.git_lab(tmp_path / "one")
    before = lab.store.repository
    assert told(lab.tool("u", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}
    (tmp_path / "one").rename(tmp_path / "two")
    moved = windows_lab.reopened(tmp_path / "two")
    assert moved.store.repository != before
    assert told(moved.tool("v", "echo 5 >> a; git commit -qam two")) == {"a": ("edit", [], ["5"])}


def test_a_repository_that_borrows_objects_itself(tmp_path):
    lab = windows_lab.git_lab(tmp_path / "one")
    (tmp_path / "two/home").mkdir(parents=True)
    shutil.copy(tmp_path / "one/home/.gitconfig", tmp_path / "two/home/.gitconfig")
    lab.git("clone", "-q", "--shared", str(lab.tree), str(tmp_path / "two/tree"))
    borrowing = windows_lab.reopened(tmp_path / "two")
    assert told(borrowing.tool("u", "echo 4 >> a; rm gone")) == {
        "a": ("edit", [], ["4"]), "gone": ("delete", ["g"], [])}  # fmt: skip


def test_a_store_that_is_deleted_costs_the_window_and_no_more(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    write(lab.tree / "mine", "not committed\n")
    lab.pre("u")
    shutil.rmtree(lab.windows / "git")
    lab = windows_lab.reopened(tmp_path)
    write(lab.tree / "a", "other\n")
    delta = lab.delta(lab.post("u"))
    assert (delta.status, delta.reason) == (Status.PARTIAL, PartialReason.ALTERNATE_OBJECT_MISSING)
    assert told(lab.tool("v", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}


def test_a_comment_in_the_configuration_names_no_object_format(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    with (lab.tree / ".git/config").open("a") as config:
        config.write("# objectformat = sha256\n; [extensions] objectFormat = sha256\n")
    assert told(windows_lab.reopened(tmp_path).tool("u", "echo 4 >> a")) == {"a": ("edit", [], ["4"])}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root to give a file away")
def test_a_repository_of_another_user_has_windows(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    for path in (lab.tree, *lab.tree.rglob("*")):
        os.chown(path, 12345, 12345)
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}


def test_a_lock_of_the_persons_git_is_in_nobodys_way(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    (lab.tree / ".git/index.lock").write_text("")
    assert lab.pre("u").said is Said.OPENED
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}
    assert (lab.tree / ".git/index.lock").read_text() == ""


def test_where_no_program_called_git_is_a_window_says_so(tmp_path, monkeypatch):
    lab: WindowsLab = windows_lab.git_lab(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(PartialEvidenceError) as refused:
        lab.store.look(deadline())
    assert refused.value.reason == PartialReason.SNAPSHOT_STORE_UNAVAILABLE
