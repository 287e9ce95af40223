"""A user who presses Ctrl-C."""

import _thread
import contextlib
import signal
import threading


@contextlib.contextmanager
def interrupted(after=0.2):
    """Interrupt what runs inside, some seconds after it began."""
    # A shell that starts the tests in the background has them ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, _thread.interrupt_main)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
