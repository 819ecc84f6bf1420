"""What holds for every test: none is judged by how long it takes, for the machine may be busy with others.

Whoever starts the tests in the background of a script has them ignore Ctrl-C, and every program they start would ignore
it too; the tests that send one would wait in vain. A signal that is caught here is a program's default again.
"""

import signal
import threading

from hypothesis import settings

import unsynced

settings.register_profile("docket", deadline=None)
settings.load_profile("docket")

unsynced.begin()

if threading.current_thread() is threading.main_thread():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            # Hanging up is nothing to pytest itself, if it was told so.
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
