"""A path on the command line, as a person wrote it."""

from __future__ import annotations

from pathlib import Path

import click

ANY_PATH = click.Path(path_type=Path, readable=False)
"""Whatever stands there is told by who reads it, in docket's words, and not by click beforehand."""
