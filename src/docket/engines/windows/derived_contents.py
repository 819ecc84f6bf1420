"""Contents that are not kept, made of those that are by the hunks of deltas: before from after, after from before.

Rules:
1. Each step is one file of one delta, and its result counts only under the name that the delta gives it.
2. The fewest steps are taken, at most MAX_STEPS; deltas are read only once a content is missing, at most MAX_DELTAS.
3. What has no lines is not made: a binary content that is gone is gone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from docket.formats.dataclass import dataclass
from docket.formats.windows.delta import Delta, FileDelta
from docket.formats.windows.names import ABSENT_MODE, Hashes
from docket.rules.windows.naming import content_name
from docket.rules.windows.undo_hunks import after_of, before_of

MAX_STEPS = 1000
MAX_DELTAS = 5000
_NOTHING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """From the content `source` to the content `name`, by a file's hunks."""

    source: str
    name: str
    file: FileDelta
    is_backward: bool

    def made(self, content: bytes) -> bytes | None:
        return before_of(content, self.file) if self.is_backward else after_of(content, self.file)


class DerivedContents:
    """Contents by name; `stored` are those that are kept, `deltas` gives the deltas, the newest first."""

    def __init__(
        self, deltas: Callable[[], Iterable[Delta]], hashes: Hashes, stored: Callable[[str], bytes | None]
    ) -> None:
        self._deltas, self._hashes, self._stored = deltas, hashes, stored
        self._steps: Mapping[str, tuple[_Step, ...]] | None = None

    def get(self, name: str, known: Mapping[str, bytes]) -> bytes | None:
        """Return the content of a name, None where nothing leads to it; `known` are contents beside the kept ones."""
        if self._steps is None:
            self._steps = self._read()
        ways: dict[str, _Step | None] = {name: None}
        waiting = deque([name])
        while waiting and len(ways) <= MAX_STEPS:
            at = waiting.popleft()
            content = b"" if at == _NOTHING else known[at] if at in known else self._stored(at)
            if content is not None:
                return self._walked(content, at, ways)
            for step in self._steps.get(at, ()):
                if step.source not in ways:
                    ways[step.source] = step
                    waiting.append(step.source)
        return None

    def _walked(self, content: bytes, at: str, ways: Mapping[str, _Step | None]) -> bytes | None:
        while (step := ways[at]) is not None:
            made = step.made(content)
            if made is None or content_name(made, self._hashes) != step.name:
                return None
            content, at = made, step.name
        return content

    def _read(self) -> Mapping[str, tuple[_Step, ...]]:
        found: defaultdict[str, list[_Step]] = defaultdict(list)
        for delta in islice(self._deltas(), MAX_DELTAS):
            for file in delta.files if delta.hashes is self._hashes else ():
                if file.binary or file.truncated:
                    continue
                before = _NOTHING if file.before_mode == ABSENT_MODE else file.before_hash
                after = _NOTHING if file.after_mode == ABSENT_MODE else file.after_hash
                found[before].append(_Step(source=after, name=before, file=file, is_backward=True))
                found[after].append(_Step(source=before, name=after, file=file, is_backward=False))
        return {name: tuple(steps) for name, steps in found.items()}
