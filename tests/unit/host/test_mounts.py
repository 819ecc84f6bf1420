from __future__ import annotations

import os
import subprocess

import pytest

from docket.host.mounts import mount_points, mounts_below

TABLE = rb"""22 28 0:21 / /sys rw,nosuid - sysfs sysfs rw
28 1 254:0 / / rw - ext4 /dev/vda rw
30 28 0:26 / /work rw - tmpfs tmpfs rw
31 30 0:27 / /home/dev/tree rw shared:1 - tmpfs tmpfs rw
32 31 254:0 /x /home/dev/tree/bound rw - ext4 /dev/vda rw
33 31 254:0 /y /home/dev/tree/a\040b\011c\134d\012e rw - ext4 /dev/vda rw
34 31 254:0 /z /home/dev/tree/deep/file.txt rw - ext4 /dev/vda rw
35 31 0:28 / /home/dev/tree2 rw - tmpfs tmpfs rw

short line
""".split(b"\n")


def test_mounts_below_a_root_are_relative_to_it():
    assert mount_points(TABLE, b"/home/dev/tree") == {b"bound", b"a b\tc\\d\ne", b"deep/file.txt"}
    assert mount_points(TABLE, b"/home/dev/tree/deep") == {b"file.txt"}
    assert mount_points(TABLE, b"/nowhere") == frozenset()


def test_everything_lies_below_the_root_of_all():
    assert b"sys" in mount_points(TABLE, b"/")
    assert b"" not in mount_points(TABLE, b"/")


def test_this_machine_has_none_below_a_new_folder(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        assert mounts_below(descriptor) == frozenset()
    finally:
        os.close(descriptor)
    assert mounts_below(descriptor) == frozenset(), "a descriptor that is not open has no mounts"


def test_the_kernel_and_this_module_agree():
    descriptor = os.open("/", os.O_RDONLY)
    try:
        found = mounts_below(descriptor)
    finally:
        os.close(descriptor)
    answer = subprocess.run(
        ["findmnt", "--raw", "--noheadings", "--output", "TARGET"], capture_output=True, check=False
    )
    if answer.returncode:
        pytest.skip("findmnt is not there")
    assert {b"/" + path for path in found} | {b"/"} == set(answer.stdout.split())
