# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Write docs/demo.png: base height and foot forces of the demo, from a run slow enough for any machine."""

from pathlib import Path

from robot_dynamics.cli.demo import axes, record
from robot_dynamics.share import share_folder

SHOWN = 7.0
"""Where the picture ends [s]: some cycles of the trot."""


def main() -> None:
    """Run the loop and draw it."""
    r, _ = record(share_folder() / "urdf" / "mini_cheetah.urdf", duration=10.0, real_time_factor=0.25)
    figure, plots = axes(3, 5.0, r)
    plots[0].plot(r.base_time - r.begin, r.base[:, 2], color="k")
    plots[0].set_ylabel("base height [m]")
    plots[0].set_ylim(0.0, 0.35)
    time = r.contact_time - r.begin
    for foot, force in zip(r.feet, r.foot_force.T, strict=True):
        plots[1].plot(time, force, linewidth=1.0, label=foot.split("_")[0])
    plots[1].set_ylabel("each foot [N]")
    plots[1].legend(loc="upper left", ncols=len(r.feet))
    plots[2].plot(time, r.foot_force.sum(axis=1), linewidth=1.0, color="k")
    plots[2].axhline(r.weight, linestyle="--", color="tab:red", label=f"weight {r.weight:.0f} N")
    plots[2].set_ylabel("all feet [N]")
    plots[2].set_ylim(0.0, 2.5 * r.weight)
    plots[2].legend(loc="upper left")
    plots[0].set_xlim(0.0, SHOWN)
    plots[0].set_title("Mini Cheetah: stands up, stands, trots in place")
    figure.savefig(Path(__file__).with_name("demo.png"), dpi=110)


if __name__ == "__main__":
    main()
