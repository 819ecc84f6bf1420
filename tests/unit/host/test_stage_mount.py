"""Mounts in namespaces that docket holds: real ones, as whoever runs the tests and as somebody who may not mount."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.workspace.mount import BindMount, MountPlan, OverlayMount
from docket.host import fresh_program, mount_maker
from docket.host.process import AgentExit, SpawnRequest, spawn
from docket.host.stage_mount import MountRefused, StageMount, hold_folder, make_mounts

ODD = "a,b:c\\d e=f"
# Runs a program as root without the right to mount, which is what an ordinary user is to the kernel.
UNPRIVILEGED = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]


@pytest.fixture(params=["as we are", "without the right to mount"])
def who(request, monkeypatch):
    """Have the mounts made by a program that may mount, or that needs a user namespace for it."""
    if request.param != "as we are":
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            pytest.skip("whoever runs the tests has no right to take away")
        command = fresh_program.command
        monkeypatch.setattr(fresh_program, "command", lambda *given: [*UNPRIVILEGED, *command(*given)])
    return request.param


def raw(path: Path) -> bytes:
    return os.fsencode(path)


def bound(source: Path, target: Path) -> StageMount:
    made = make_mounts(MountPlan(mounts=(BindMount(source=raw(source), target=raw(target)),)), raw(target))
    if isinstance(made, MountRefused):
        pytest.skip(made.detail)
    return made


def run(mount: StageMount | None, cwd: Path, script: str) -> AgentExit:
    with spawn(SpawnRequest(argv=("sh", "-c", script), cwd=cwd, env=dict(os.environ), mount=mount)) as agent:
        ended = agent.wait(60)
    assert ended is not None
    return ended


@pytest.fixture
def folders(tmp_path):
    base, stage = tmp_path / ODD, tmp_path / "stage"
    base.mkdir()
    stage.mkdir()
    (base / "theirs").write_text("base")
    (stage / "ours").write_text("stage")
    return base, stage


def test_agent_sees_the_stage_at_the_base_s_path_and_nobody_else_does(who, folders):
    base, stage = folders
    mount = bound(stage, base)
    try:
        assert run(mount, base, 'test "$(cat ours)" = stage && test ! -e theirs && echo new > new').exit_code == 0
        assert run(mount, base, f'test "$(pwd)" = "{base}" && cat "$PWD/new"').exit_code == 0
        assert sorted(os.listdir(base)) == ["theirs"]
        assert sorted(os.listdir(mount.path)) == sorted(os.listdir(stage)) == ["new", "ours"]
        assert (mount.users is None) == (who == "as we are" and os.geteuid() == 0)
    finally:
        mount.close()
        mount.close()


def test_agent_is_the_same_user(who, folders):
    base, stage = folders
    mount = bound(stage, base)
    try:
        owner = f"{os.geteuid()} {os.getegid()}"
        assert run(mount, base, f'test "$(id -u) $(id -g)" = "{owner}"; touch mine').exit_code == 0
        assert (stage / "mine").stat().st_uid == os.geteuid()
    finally:
        mount.close()


def test_agent_cannot_take_the_stage_away(who, folders):
    base, stage = folders
    mount = bound(stage, base)
    try:
        script = (
            'umount "$PWD" 2>/dev/null && exit 9; umount -l "$PWD" 2>/dev/null && exit 9; '
            "unshare -r -m sh -c 'umount \"$PWD\"' 2>/dev/null && exit 9; "
            "mount --bind / /mnt 2>/dev/null && exit 9; cat ours"
        )
        assert run(mount, base, script).exit_code == 0
    finally:
        mount.close()


def test_agent_inherits_no_descriptor_of_the_namespaces(who, folders):
    base, stage = folders
    mount = bound(stage, base)
    try:
        assert run(mount, base, "ls -l /proc/$$/fd > held").exit_code == 0
        held = (stage / "held").read_text()
        assert "/dev/" in held or "pipe:[" in held
        assert "mnt:[" not in held
        assert "user:[" not in held
    finally:
        mount.close()


def test_agent_dies_with_its_launcher_in_the_namespace_too(who, folders):
    base, stage = folders
    mount = bound(stage, base)
    try:
        request = SpawnRequest(argv=("sleep", "1000"), cwd=base, env=dict(os.environ), mount=mount)
        with spawn(request) as agent:
            descriptor = os.pidfd_open(agent.pid)
            os.kill(agent._reports.launcher[0], signal.SIGKILL)
            ended = agent.wait(60)
            os.close(descriptor)
        assert ended is not None
        assert (ended.signal, ended.failure) == (9, Reason.LAUNCHER_LOST)
    finally:
        mount.close()


def test_source_that_lies_below_what_is_covered_is_still_seen(who, folders):
    base, stage = folders
    (base / "shared").mkdir()
    (base / "shared/in").write_text("shared")
    (stage / "shared").mkdir()
    plan = MountPlan(
        mounts=(
            BindMount(source=raw(stage), target=raw(base)),
            BindMount(source=raw(base / "shared"), target=raw(base / "shared")),
        )
    )
    mount = make_mounts(plan, raw(base))
    assert isinstance(mount, StageMount)
    try:
        assert run(mount, base, "cat ours && cat shared/in && echo w > shared/out").exit_code == 0
        assert (base / "shared/out").read_text() == "w\n"
    finally:
        mount.close()


def test_what_cannot_be_mounted_is_told(who, folders):
    base, stage = folders
    bound(stage, base).close()
    absent = BindMount(source=raw(stage / "absent"), target=raw(base))
    refused = make_mounts(MountPlan(mounts=(absent,)), raw(base))
    assert isinstance(refused, MountRefused)
    assert (refused.reason, refused.step) == (Reason.MOUNT_FAILED, mount_maker.STEP_SOURCE)
    refused = make_mounts(MountPlan(mounts=(BindMount(source=raw(stage), target=raw(base / "no")),)), raw(base))
    assert isinstance(refused, MountRefused)
    assert refused.step == mount_maker.STEP_BIND
    overlay = OverlayMount(target=raw(base), lower=raw(base), upper=raw(stage), work=raw(stage), options=(b"nonsense",))
    refused = make_mounts(MountPlan(mounts=(overlay,)), raw(base))
    assert isinstance(refused, MountRefused)
    assert (refused.reason, refused.step) == (Reason.OVERLAY_REFUSED, mount_maker.STEP_OVERLAY)
    assert "overlay cannot be mounted here: Invalid argument (" in refused.detail
    refused = make_mounts(MountPlan(mounts=()), raw(base / "absent"))
    assert isinstance(refused, MountRefused)
    assert refused.step == mount_maker.STEP_TARGET


ASK = """
import os, sys
from docket.formats.workspace.mount import MountPlan
from docket.host.stage_mount import make_mounts
print(getattr(make_mounts(MountPlan(mounts=()), b"/"), "detail", "made"))
"""


def test_a_system_without_namespaces_is_named_with_what_forbids_them():
    """In a user namespace of its own the limits can be set to nothing, as an administrator does for the system."""
    limits = "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_mnt_namespaces"
    asked = [sys.executable, "-c", ASK]
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f'{limits} && exec "$@"', "sh", *asked],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "user.max_" not in done.stdout:
        pytest.skip(f"no user namespace to try it in: {done.stderr.strip()[-200:]}")
    assert done.stdout.startswith("this system gives docket no namespace of its own: ")
    assert done.stdout.endswith("(user.max_user_namespaces is 0)\n")


def test_program_that_ends_before_it_answers(monkeypatch, folders):
    base, _ = folders
    monkeypatch.setattr(fresh_program, "command", lambda *_: ["true"])
    with pytest.raises(UnavailableError) as lost:
        make_mounts(MountPlan(mounts=()), raw(base))
    assert lost.value.reason == Reason.LAUNCHER_LOST
    monkeypatch.setattr(fresh_program, "command", lambda *_: ["/no/such/program"])
    with pytest.raises(UnavailableError) as lost:
        make_mounts(MountPlan(mounts=()), raw(base))
    assert lost.value.reason == Reason.LAUNCHER_LOST


def test_a_changed_root_directory_is_refused():
    """Entering the namespace would lead out of it, to a tree that the agent was not to see."""
    if os.geteuid() != 0:
        pytest.skip("only root changes its root directory")
    script = (
        "import os, tempfile\n"
        "from docket.host import mount_maker, namespaces\n"
        "namespaces.unshare(namespaces.MOUNTS)\n"
        "namespaces.mount(None, b'/', None, namespaces.MS_REC | namespaces.MS_SLAVE)\n"
        "root = tempfile.mkdtemp().encode()\n"
        "namespaces.mount(b'none', root, b'tmpfs', 0)\n"
        "os.mkdir(root + b'/proc'); namespaces.mount(b'proc', root + b'/proc', b'proc', 0)\n"
        "os.chroot(root); os.chdir('/')\n"
        "try: mount_maker._make(b'/', [])\n"
        "except mount_maker.StepFailedError as failed: print(failed.step, failed.error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    step, error = done.stdout.split()
    assert step == mount_maker.STEP_ROOT
    assert int(error) in (18, 22)  # EXDEV, or EINVAL where the changed root is no mount point


def test_one_holder_of_a_folder_at_a_time(tmp_path):
    held = hold_folder(tmp_path)
    with pytest.raises(UnavailableError) as refused:
        hold_folder(tmp_path)
    assert refused.value.reason == Reason.IN_USE
    os.close(held)
    os.close(hold_folder(tmp_path))
