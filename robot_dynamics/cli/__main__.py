"""`python -m robot_dynamics.cli`."""

import sys

from robot_dynamics.cli import main

sys.exit(main())
