"""A boundary in a process of its own, so that what it holds can be measured: PROVIDER UPSTREAM FOLDER.

Prints its port; at the end of its standard input stops, and prints its peak of resident memory in KiB.
"""

from __future__ import annotations

import pathlib
import re
import sys

from boundary_rig.rig import boundary, caps
from docket.formats.amount import Usd


def main() -> None:
    provider, upstream, folder = sys.argv[1:]
    policy = caps(max_usd=Usd.parse("1000000"))
    with boundary(pathlib.Path(folder), upstream, name=provider, policy=policy) as rig:
        print(rig.port, flush=True)
        sys.stdin.read()
        # A high mark of its own: the one that getrusage tells is inherited from whoever started the process.
        status = pathlib.Path("/proc/self/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        print(found[1] if found else "", flush=True)


if __name__ == "__main__":
    main()
