# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The open-loop trot in place of the reference (its README, section 7)."""

import mini_cheetah
import numpy as np

import robot_dynamics as rd
from robot_dynamics.simulation.comparison import record
from robot_dynamics.simulation.plant import Plant

L1, L2, HEIGHT, LIFT, CYCLE, STAND = 0.209, 0.195, 0.29, 0.05, 0.4, 0.5
PAIRS = np.array([0, 1, 1, 0])
"""Phase of FR, FL, HR, HL: diagonal pairs half a cycle apart."""
ARMATURE = {"abad": 2.268e-3, "hip": 2.268e-3, "knee": 5.484e-3}


def model(armature):
    """Mini Cheetah without rotors, with reflected inertias or none."""
    names = [f"j_{leg}_{part}" for leg in ("FR", "FL", "HR", "HL") for part in ARMATURE]
    values = {name: ARMATURE[name.split("_")[-1]] for name in names} if armature else None
    return rd.load_urdf(mini_cheetah.URDF, floating_base=True, armature=values)


def feet(robot):
    """Points on the four feet in body axes."""
    index = mini_cheetah.FEET
    figures = [mini_cheetah.FIGURES["ground_contact_points"][i] for i in index]
    body = np.array([1 + f["body"] for f in figures])
    position = np.array([f["position_in_body"] for f in figures])
    return rd.Points(body, position, tuple(robot.body_names[b] for b in body), np.zeros(4))


def leg_joints(height):
    """abad, hip, knee (.., 3) of legs whose feet are `height` straight below their hips."""
    bend = np.arccos((height**2 - L1**2 - L2**2) / (2.0 * L1 * L2))
    return np.stack([np.zeros_like(bend), -np.arctan2(L2 * np.sin(bend), L1 + L2 * np.cos(bend)), bend], axis=-1)


def targets(t, duty):
    """Joint positions (T, 12), velocities (T, 12) and which feet stand (T, 4) at times (T,); all stand before STAND."""

    def swinging(time):
        phase = ((time[:, None] - STAND) / CYCLE + 0.5 * PAIRS) % 1.0
        swing = (time[:, None] > STAND) & (phase >= duty)
        return swing, leg_joints(
            HEIGHT - np.where(swing, LIFT * np.sin(np.pi * (phase - duty) / (1.0 - duty)) ** 2, 0.0)
        )

    swing, q = swinging(t)
    qd = (swinging(t + 1e-5)[1] - swinging(t - 1e-5)[1]) / 2e-5
    return q.reshape(-1, 12), qd.reshape(-1, 12), ~swing


def walker(params, armature, duration=5.0, trot=True, robot=None):
    """Plant at the start of a run, and what commands it before each of its steps; `robot` in place of `model`."""
    robot = robot or model(armature)
    points = feet(robot)
    plant = Plant(robot, params, points)
    duty, kd = (0.5, 2.0) if armature else (0.6, 0.6)
    q = rd.neutral(robot)
    q[2], q[7:] = 0.2917, np.tile(leg_joints(np.array(HEIGHT)), 4)
    plant.reset(q, np.zeros(robot.nv))
    steps = round(duration / params.timestep)
    wanted, rate, stance = targets(params.timestep * np.arange(steps) * trot, duty)

    def act(k):
        J = rd.point_jacobian(robot, points, plant.q)
        effort = -J[stance[k], 2, 6:].sum(axis=0) * robot.mass * 9.81 / stance[k].sum()
        plant.track(wanted[k], rate[k], 100.0, kd, effort)

    return plant, act, steps


def run(params, armature, duration=5.0, trot=True):
    """Plant and log of a run; figures from 1 s on."""
    plant, act, steps = walker(params, armature, duration, trot)
    return plant, record(plant, act, steps, 1.0)
