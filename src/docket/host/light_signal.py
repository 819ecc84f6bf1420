"""The signal module as a process that starts in milliseconds can afford it.

Owns one name, `signal`: for the type checker the public module, when running the C module behind it. The public
one builds enumerations at import, which costs the launcher a third of its start. Only what both offer may be used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["signal"]
