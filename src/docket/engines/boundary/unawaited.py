"""What may block for long off the loop, a look-up of a name above all: a thread each, and nobody waits for its end.

Rules:
1. Work begins at once: what a slow name server holds up is that name alone, not the next call's.
2. Neither the end of the loop nor that of the process waits for work that still runs. How much of it runs at once is
   bounded by whoever asks for it.

The library's own executor has a handful of threads for all, and its shutdown waits for each of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Unawaited(ThreadPoolExecutor):
    """An executor for a loop."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a piece of work."""
        future: Future[T] = Future()
        work = threading.Thread(target=_work, args=(future, fn, args, kwargs), name="docket-unawaited", daemon=True)
        work.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001,FBT002 - the base's form
        """Wait for nothing."""


def _work(future: Future[Any], fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = fn(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - whoever waits must hear of any fault
        future.set_exception(error)
    else:
        future.set_result(result)
