"""The numbers docket ends with, which stand in a shell and in the record alike (docs/reference/exit-codes.md).

Which of them a run ends with is `engines.supervise.ending`; which an error of a command ends with is
`surfaces.cli.exits`.
"""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
CAP = 42
REFUSED = 43
COMMIT_REFUSED = 44
INTERNAL = 70
UNAVAILABLE = 75
NOT_RUNNABLE = 126
NOT_FOUND = 127
SIGNAL_BASE = 128
