"""A path on the command line, as a person wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.errors import UsageError
from docket.formats.reason import Reason

if TYPE_CHECKING:
    import os


class AnyPath(click.Path):
    """Any path but an empty text, which as a path would be the folder that one stands in."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the path; UsageError where there is none."""
        if value == "" and not (ctx is not None and ctx.resilient_parsing):
            raise UsageError(Reason.NOT_FOUND, f"{_unnamed(param)}: a variable that is empty?")
        return super().convert(value, param, ctx)


def _unnamed(param: click.Parameter | None) -> str:
    if isinstance(param, click.Option):
        return f"{param.opts[0]} names no file"
    return f"no {'receipt' if param is not None and param.name == 'receipt' else 'file'} is named"


ANY_PATH = AnyPath(path_type=Path, readable=False)
"""Whatever stands there is told by who reads it, in docket's words, and not by click beforehand."""
