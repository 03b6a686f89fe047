"""Makes SIGINT interrupt the tests and the programs that they start.

A shell that runs a command in the background ignores SIGINT for it, and programs inherit that.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
