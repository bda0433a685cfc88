# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the command `robot_dynamics` begins: outside of the package, whose import takes most of a second.

The interpreter would answer a Ctrl-C in that time with a traceback.
"""

import os
import signal
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in `robot_dynamics.cli`."""


def main() -> int:
    """Import the command and run it; no traceback answers a Ctrl-C meanwhile, or while the interpreter ends."""
    answered = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # no: ignored, as behind nohup
    if answered:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from robot_dynamics.cli import main as command

    if answered:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return command()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
