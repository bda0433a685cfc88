"""The open-loop trot in place of the reference (its README, section 7) and the figures it is judged by."""

from itertools import pairwise

import mini_cheetah
import numpy as np

import robot_dynamics as rd
from robot_dynamics.plant import Plant

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
    """abad, hip, knee of a leg whose foot is `height` straight below its hip."""
    bend = np.arccos((height**2 - L1**2 - L2**2) / (2.0 * L1 * L2))
    return np.array([0.0, -np.arctan2(L2 * np.sin(bend), L1 + L2 * np.cos(bend)), bend])


def targets(t, duty):
    """Joint positions (12,), velocities (12,) and which feet stand (4,)."""
    q, qd, stance = np.empty((4, 3)), np.zeros((4, 3)), np.ones(4, dtype=bool)
    for leg in range(4):
        heights = []
        for time in (t - 1e-5, t, t + 1e-5):
            phase = ((time - STAND) / CYCLE + 0.5 * PAIRS[leg]) % 1.0
            swing = time > STAND and phase >= duty
            heights.append(HEIGHT - (LIFT * np.sin(np.pi * (phase - duty) / (1.0 - duty)) ** 2 if swing else 0.0))
            if time == t:
                stance[leg] = not swing
        q[leg] = leg_joints(heights[1])
        qd[leg] = (leg_joints(heights[2]) - leg_joints(heights[0])) / 2e-5
    return q.ravel(), qd.ravel(), stance


def run(params, armature, duration=5.0, trot=True):
    """Log of a run: time, foot positions (T, 4, 3), foot forces (T, 4, 3), base height, angular velocity, depth."""
    robot = model(armature)
    points = feet(robot)
    plant = Plant(robot, params, points)
    duty, kd = (0.5, 2.0) if armature else (0.6, 0.6)
    q = rd.neutral(robot)
    q[2], q[7:] = 0.2917, np.tile(leg_joints(HEIGHT), 4)
    plant.reset(q, np.zeros(robot.nv))
    weight = robot.mass * 9.81
    steps = round(duration / params.timestep)
    log = {"position": np.empty((steps, 4, 3)), "force": np.empty((steps, 4, 3)), "height": np.empty(steps)}
    log |= {"spin": np.empty((steps, 3)), "depth": np.empty((steps, 4)), "iterations": np.empty(steps)}
    for k in range(steps):
        wanted, rate, stance = targets(plant.time if trot else 0.0, duty)
        J = rd.point_jacobian(robot, points, plant.q)
        effort = -sum(J[leg, 2, 6:] for leg in range(4) if stance[leg]) * weight / stance.sum()
        plant.track(wanted, rate, 100.0, kd, effort)
        plant.step()
        contacts = plant.contacts
        log["position"][k], log["force"][k], log["depth"][k] = contacts.position, contacts.force_world, contacts.depth
        log["height"][k], log["spin"][k], log["iterations"][k] = plant.q[2], plant.qd[:3], plant.solver.iterations
    log["time"] = params.timestep * np.arange(1, steps + 1)
    log["plant"] = plant
    return log


def stances(log, start=1.0):
    """(foot, slice) of every stance that begins and ends after `start`."""
    found = []
    for foot in range(4):
        loaded = (log["force"][:, foot, 2] > 0.0) & (log["time"] > start)
        edges = np.flatnonzero(np.diff(loaded.astype(int)))
        for a, b in pairwise(edges):
            if loaded[a + 1] and b - a > 20e-3 / (log["time"][1] - log["time"][0]):
                found.append((foot, slice(a + 1, b + 1)))
    return found


def slip(log):
    """Mean path of a foot over the ground per stance [m]."""
    paths = [
        np.linalg.norm(np.diff(log["position"][part, foot, :2], axis=0), axis=1).sum() for foot, part in stances(log)
    ]
    return float(np.mean(paths))


def scatter(log):
    """Deviation (rms) of a foot's force from its mean direction [deg]."""
    late = log["time"] > 1.0
    angles = []
    for foot in range(4):
        force = log["force"][late, foot]
        force = force[force[:, 2] > 1.0]
        direction = force / np.linalg.norm(force, axis=1)[:, None]
        mean = direction.mean(axis=0)
        angles.append(np.arccos(np.clip(direction @ (mean / np.linalg.norm(mean)), -1.0, 1.0)))
    return float(np.degrees(np.sqrt(np.mean(np.concatenate(angles) ** 2))))
