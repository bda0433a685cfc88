# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Write docs/derivations/integration.png: what the axes of a step do to speed, and to angular momentum."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot

from robot_dynamics.spatial import rotation_from_vector

INERTIA = np.array([1.0, 2.0, 3.0])
SPIN = np.array([2.0, 4.0, 1.0])
DURATION = 2.0


def speeds(h, omega=20.0):
    """Speed of a body that slides and turns about the vertical with nothing acting on it, by (T4) and by (T1-T2)."""
    w, v = np.array([0.0, 0.0, omega]), np.array([1.0, 0.0, 0.0])
    body, start = [v], [v]
    for _ in range(round(DURATION / h)):
        body.append(body[-1] - h * np.cross(w, body[-1]))
        start.append(rotation_from_vector(-h * w) @ start[-1])
    return np.linalg.norm(body, axis=1), np.linalg.norm(start, axis=1)


def momentum_error(h, corrected):
    """Relative error of the angular momentum of a body that tumbles, by (T1-T2), with (T8) or without."""
    R, w = np.eye(3), SPIN
    wanted = INERTIA * SPIN
    errors = [0.0]
    for _ in range(round(DURATION / h)):
        w = w - h * np.cross(w, INERTIA * w) / INERTIA
        R = R @ rotation_from_vector(h * w)
        if corrected:
            w = w + (R.T @ wanted - INERTIA * w) / INERTIA
        errors.append(np.linalg.norm(R @ (INERTIA * w) - wanted) / np.linalg.norm(wanted))
    return np.array(errors)


def main():
    """Draw both."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")
    h = 1e-3
    body, start = speeds(h)
    time = h * np.arange(len(body))
    left.plot(time, body, color="tab:red", label="explicit in body components (T4)")
    left.plot(time, start, color="k", label="axes of the start (T1, T2)")
    left.set(xlabel="time [s]", ylabel="speed [m/s]", title="Slides freely, turning at 20 rad/s, step 1 ms")
    for h, style in ((2e-3, "-"), (1e-3, "--")):
        error = momentum_error(h, corrected=False)
        label = f"axes of the start, {1e3 * h:g} ms"
        right.plot(h * np.arange(len(error)), error, style, color="tab:blue", label=label)
    error = momentum_error(h, corrected=True)
    right.plot(h * np.arange(len(error)), error, color="k", label="with the correction (T8)")
    right.set(xlabel="time [s]", ylabel="error of angular momentum, relative", title="Tumbles, moments 1, 2, 3 kg m²")
    for plot in (left, right):
        plot.legend(frameon=False)
        plot.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("integration.png"), dpi=110)


if __name__ == "__main__":
    main()
