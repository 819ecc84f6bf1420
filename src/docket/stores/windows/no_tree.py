"""A tree whose store cannot be used: its windows are opened and closed all the same, and say why they tell nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn

from docket.errors import PartialEvidenceError
from docket.formats.windows.names import Hashes

if TYPE_CHECKING:
    from collections.abc import Callable

    from docket.formats.windows.changes import TreeChange
    from docket.formats.windows.registry import Baseline
    from docket.host.git_program import Deadline
    from docket.stores.windows.looked import Looked


class NoTree:
    """The tree called `repository`; whatever is asked of it ends with `error`."""

    hashes = Hashes.SHA1

    def __init__(self, repository: str, error: PartialEvidenceError) -> None:
        self.repository, self._error = repository, error

    def look(self, deadline: Deadline, before: Baseline | None = None) -> Looked:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def moves(self, before: Baseline) -> int:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def keep(self, ref: str, tree: str) -> None:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def kept(self, ref: str) -> str | None:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def release(self, ref: str, tree: str) -> None:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def refs(self) -> dict[str, str]:
        """Say why not."""
        self._refuse()

    def changes(self, before: str, after: str, deadline: Deadline) -> tuple[TreeChange, ...]:  # noqa: ARG002 - the port's
        """Say why not."""
        self._refuse()

    def contents(self) -> AbstractContextManager[Callable[[str, int], bytes | None]]:
        """Say why not."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PartialEvidenceError(self._error.reason, self._error.detail)
