import signal

from programs import hosts

__all__ = ["hosts"]  # a fixture of all tests

# Jobs that a shell starts in the background ignore SIGINT, and what they start inherits that; the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
