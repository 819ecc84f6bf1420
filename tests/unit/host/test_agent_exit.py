"""What follows from a launcher's reports."""

import errno
import os
import signal

import pytest

from docket.formats.reason import Reason
from docket.host.agent_exit import AgentExit, Ended, ExitStatus, Reports, StopReport


def reports_of(*lines: str) -> Reports:
    reports = Reports()
    for line in lines:
        reports.take(line.split())
    return reports


STARTED = "started 500 9000 400 8000"


def test_nothing_is_settled_before_the_first_report():
    reports = reports_of()
    assert (reports.settled, reports.ended, reports.never_ran, reports.agent_identity) == (False, False, False, None)


def test_ordinary_run():
    reports = reports_of(STARTED)
    assert reports.settled
    assert not reports.ended
    assert reports.stop_report().survivors == 1
    assert (reports.pid, reports.agent_identity, reports.launcher) == (500, (500, 9000), (400, 8000))
    for line in ("exited 3", "ended 0 1 2 3 0"):
        reports.take(line.split())
    assert reports.ended
    assert not reports.agent_was_killed
    assert reports.agent_exit("a", "/") == AgentExit(exit_code=3, signal=None, failure=None, leftover_processes=3)
    assert reports.stop_report() == StopReport(
        ended=(Ended(signal=signal.SIGTERM, processes=1), Ended(signal=signal.SIGKILL, processes=2)),
        leftover_processes=3,
        survivors=0,
    )


def test_report_of_a_later_version_is_passed_over():
    assert reports_of(STARTED, "weather fine", "killed 9", "ended 0 0 0 0 4").stop_report().survivors == 4


def test_guard_tells_what_the_launcher_could_not():
    reports = reports_of(STARTED, "lost", "reaped 501 exited 0", "reaped 500 killed 9", "ended 0 0 1 1 0")
    told = reports.agent_exit("a", "/")
    assert (told.exit_code, told.signal, told.failure) == (None, 9, Reason.LAUNCHER_LOST)
    assert "launcher" in told.detail
    assert reports.agent_was_killed


def test_exit_that_was_told_before_the_launcher_was_lost_stays():
    told = reports_of(STARTED, "exited 0", "lost", "reaped 500 exited 0", "ended 0 0 0 0 0").agent_exit("a", "/")
    assert (told.exit_code, told.signal, told.failure) == (0, None, Reason.LAUNCHER_LOST)


def test_nobody_saw_the_end():
    reports = reports_of(STARTED)
    reports.give_up({}, 0, 0)
    told = reports.agent_exit("a", "/")
    assert (told.exit_code, told.signal, told.failure) == (None, None, Reason.LAUNCHER_LOST)


def test_docket_itself_saw_the_end():
    reports = reports_of(STARTED)
    reports.give_up({500: ExitStatus(signal=9)}, 2, 1)
    assert reports.agent_exit("a", "/").signal == 9
    assert reports.stop_report() == StopReport(
        ended=(Ended(signal=signal.SIGKILL, processes=2),), leftover_processes=2, survivors=1
    )


def test_launcher_lost_before_the_start():
    assert reports_of("lost", "ended 0 0 0 0 0").never_ran
    assert not reports_of("failed program 2", "ended 0 0 0 0 0").never_ran


@pytest.mark.parametrize(
    ("stage", "error", "code", "reason"),
    [
        ("program", errno.ENOENT, 127, Reason.PROGRAM_MISSING),
        ("program", errno.ENOTDIR, 127, Reason.PROGRAM_MISSING),
        ("program", errno.EACCES, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("program", errno.ENOEXEC, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("program", errno.ETXTBSY, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("program", errno.E2BIG, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("interpreter", errno.ENOENT, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("cwd", errno.ENOENT, 126, Reason.PROGRAM_NOT_RUNNABLE),
        ("fork", errno.EAGAIN, 126, Reason.PROGRAM_NOT_RUNNABLE),
    ],
)
def test_why_it_never_ran(stage, error, code, reason):
    told = reports_of(f"failed {stage} {error}", "ended 0 0 0 0 0").agent_exit("prog", "/folder")
    assert (told.exit_code, told.signal, told.failure, told.leftover_processes) == (code, None, reason, 0)
    assert ("/folder" if stage == "cwd" else "'prog'") in told.detail


def wait_status(script: str) -> int:
    """Return the wait status of a shell that runs the script."""
    pid = os.spawnvp(os.P_NOWAIT, "sh", ["sh", "-c", script])  # noqa: S606 - subprocess does not show the raw status
    return os.waitpid(pid, 0)[1]


@pytest.mark.parametrize("code", [0, 1, 255])
def test_wait_status_of_an_exit(code):
    assert ExitStatus.from_wait(wait_status(f"exit {code}")) == ExitStatus(code=code)


def test_wait_status_of_a_signal():
    assert ExitStatus.from_wait(wait_status("kill -9 $$")) == ExitStatus(signal=9)


FORKED = "forked 500 9000 400 8000"


def test_agent_that_killed_its_launcher_before_its_start_was_told_has_run():
    reports = reports_of(FORKED)
    assert not reports.settled
    assert (reports.pid, reports.agent_identity, reports.launcher) == (None, (500, 9000), (400, 8000))
    for line in ("lost", "reaped 500 killed 9", "ended 0 0 1 1 0"):
        reports.take(line.split())
    assert (reports.pid, reports.settled, reports.never_ran) == (500, True, False)
    told = reports.agent_exit("a", "/")
    assert (told.exit_code, told.signal, told.failure) == (None, 9, Reason.LAUNCHER_LOST)


def test_docket_itself_saw_the_end_of_an_agent_whose_start_was_never_told():
    reports = reports_of(FORKED)
    reports.give_up({500: ExitStatus(code=3)}, 1, 0)
    assert not reports.never_ran
    assert reports.agent_exit("a", "/").exit_code == 3


def test_process_whose_program_was_refused_never_ran():
    reports = reports_of(FORKED, "failed program 2", "lost", "ended 0 0 0 0 0")
    assert reports.pid is None
    assert reports.agent_exit("a", "/").exit_code == 127


def test_launcher_that_forked_nothing_never_ran_an_agent():
    assert reports_of("lost", "ended 0 0 0 0 0").never_ran
