# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draw guides/studies.png from the results of examples/study/push.yaml: pass their folder."""

import sys
from pathlib import Path

from robot_dynamics.cli.study import load, plot_falls
from robot_dynamics.study.reading import read_study
from robot_dynamics.study.results import read_table

DOCS = Path(__file__).parent


def main():
    """Draw the share of falls over each parameter."""
    study = read_study(DOCS.parent / "examples" / "study" / "push.yaml", load)
    figure = plot_falls(study, read_table(Path(sys.argv[1])))
    figure.savefig(DOCS / "guides" / "studies.png", dpi=100)


if __name__ == "__main__":
    main()
