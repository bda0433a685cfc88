# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The Mini Cheetah is pushed aside and stands up again: a PD controller alone, and with an LQR beside it.

The LQR knows the robot by `Plant.linearize`: how its state, contacts and PD loop included, answers joint efforts within
a tick of 4 ms. Its cost is the momentum about the centre of mass (`centroidal_map`), the base's pose, and efforts as
the accelerations that they would give to the legs (`forward_dynamics_derivatives`). Both are pushed alike. Given a
file name, it draws both recoveries into that file.
"""

import sys

import numpy as np

import robot_dynamics as rd
from robot_dynamics.share import share_folder

STANCE, KP, KD = np.tile([0.0, -0.8, 1.6], 4), 60.0, 2.0
TICK, H = 4, 1e-3
PUSH, LASTS, WATCHED = 46.0, 0.15, 2.0
"""Force at the trunk, to the left [N]; for how long, and for how long both are watched [s]."""

model = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
nv, n = model.nv, len(model.joint_names)


def standing() -> rd.Plant:
    """The robot at rest on its feet under PD."""
    q = rd.neutral(model)
    q[2], q[7:] = 0.3, STANCE
    plant = rd.Plant(model, rd.PlantParams(timestep=H))
    plant.reset(q, np.zeros(nv))
    plant.track(STANCE, np.zeros(n), KP, KD)
    plant.advance(2.0)
    return plant


def lqr(plant: rd.Plant) -> np.ndarray:
    """Gain K (n, 2 nv) of du = -K dx, by the Riccati recursion over 4 s."""
    A, B = plant.linearize(steps=TICK)
    q, rest = plant.q, np.zeros(nv)
    momentum = rd.centroidal_map(model, q)
    by_effort = rd.forward_dynamics_derivatives(model, q, rest, rest)[2][6:, 6:]
    Q = np.zeros((2 * nv, 2 * nv))
    Q[:6, :6] = np.diag(6 * [200.0])
    Q[nv:, nv:] = momentum.T @ np.diag(3 * [50.0] + 3 * [5.0]) @ momentum
    R = 1e-6 * by_effort.T @ by_effort + 1e-3 * np.eye(n)
    P = Q.copy()
    for _ in range(1000):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        P = 0.5 * (P + P.T)
    return K


def pushed(K: np.ndarray | None) -> np.ndarray:
    """Time, how far the base is to the left [m], its tilt [rad], largest effort [N m] (ticks, 4) after the push."""
    plant = standing()
    q0 = plant.q
    plant.push(model.link_names[0], [0.0, 0.0, 0.0, 0.0, PUSH, 0.0], LASTS)
    start, log = plant.time, []
    for _ in range(round(WATCHED / (TICK * H))):
        x = np.r_[rd.difference(model, q0, plant.q), plant.qd]
        effort = np.zeros(n) if K is None else -K @ x
        plant.track(STANCE, np.zeros(n), KP, KD, effort)
        plant.advance(TICK * H)
        tilt = 2.0 * np.arcsin(min(1.0, np.hypot(*plant.q[3:5])))
        log.append((plant.time - start, plant.q[1] - q0[1], tilt, np.abs(plant.tau).max()))
    return np.array(log)


def recovery(log: np.ndarray) -> float:
    """Time [s] from which on the tilt stays below one degree."""
    late = np.flatnonzero(log[:, 2] > np.deg2rad(1.0))
    return float(log[late[-1], 0]) if len(late) else 0.0


def draw(runs: dict[str, np.ndarray], path: str) -> None:
    """Draw both recoveries."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    for name, log in runs.items():
        upper.plot(log[:, 0], 1e3 * log[:, 1], label=name)
        lower.plot(log[:, 0], np.rad2deg(log[:, 2]))
    for axes in (upper, lower):
        axes.axvspan(0.0, LASTS, color="0.9", label="push" if axes is upper else None)
    upper.set(ylabel="base to the left [mm]")
    lower.set(ylabel="tilt [deg]", xlabel="time since the push began [s]")
    upper.legend(frameon=False)
    figure.savefig(path, dpi=120)


runs = {"PD": pushed(None), "PD and LQR": pushed(lqr(standing()))}
print(f"push of {PUSH:.0f} N for {LASTS:.2f} s    tilt, largest    upright after    moved, most    effort, largest")
for name, log in runs.items():
    tilt, moved, effort = np.rad2deg(log[:, 2].max()), 1e3 * np.abs(log[:, 1]).max(), log[:, 3].max()
    print(f"{name:22}    {tilt:8.1f} deg     {recovery(log):8.2f} s     {moved:8.0f} mm    {effort:10.1f} N m")
if len(sys.argv) > 1:
    draw(runs, sys.argv[1])
