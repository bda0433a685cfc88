"""`python -m robot_dynamics`: the command `robot_dynamics`."""

import sys

from robot_dynamics.cli import main

sys.exit(main())
