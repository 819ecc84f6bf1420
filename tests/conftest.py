"""What holds for every test: none is judged by how long it takes, for the machine may be busy with others.

Whoever starts the tests in the background of a script has them ignore Ctrl-C, and every program they start would ignore
it too; the tests that send one would wait in vain. A signal that is caught here is a program's default again.

Where coverage is asked for, the tests that sweep, draw at random or run programs are left out of it. Measuring trebles
what they take, and they answer for no line: what covers one is a test that says what that line does.
"""

import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

import unsynced

settings.register_profile("docket", deadline=None)
settings.load_profile("docket")

unsynced.begin()

TESTS = Path(__file__).parent
UNMEASURED = (
    *("compat", "crash", "verify_js", "contracts/test_stage_backends.py"),
    *(f"e2e/test_{name}.py" for name in ("hostile_agents", "hostile_upstreams", "wire_faults")),
    *(f"hostile/test_{name}.py" for name in ("doctored_receipts", "provider_bytes")),
    *(
        f"properties/test_{name}.py"
        for name in ("bedrock_chunks", "priced_calls_verify", "provider_chunks", "wire_fuzz")
    ),
    *(f"properties/test_{name}_properties.py" for name in ("admission", "endpoint", "formats", "receipt", "tree")),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of the coverage what is UNMEASURED."""
    is_unmeasured = {
        path: any(path.is_relative_to(TESTS / name) for name in UNMEASURED) for path in {item.path for item in items}
    }
    for item in items:
        if is_unmeasured[item.path]:
            item.add_marker(pytest.mark.no_cover)


if threading.current_thread() is threading.main_thread():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            # Hanging up is nothing to pytest itself, if it was told so.
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
