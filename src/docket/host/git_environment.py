"""The environment of every git that docket runs: nothing of it is the person's but the PATH.

Rules:
1. GIT_DIR is a folder of docket's own, and the only configuration that is read: neither the machine's nor the
   person's, no attributes of the machine, no replacement of objects.
2. No optional lock is taken; nothing is fetched, asked or translated; a path is a path and never a pattern.
"""

from __future__ import annotations

import os
from pathlib import Path


def fixed_environment(git_dir: Path) -> dict[str, str]:
    """Return the whole environment of a git that is to read no configuration but that of the repository given."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(git_dir),
        "GIT_DIR": str(git_dir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }
