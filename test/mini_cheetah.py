# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The Mini Cheetah of the reference data: model with and without rotors, its states in our conventions."""

import json
from pathlib import Path

import numpy as np

import robot_dynamics as rd

DATA = Path(__file__).parent / "data"
FIGURES = json.loads((DATA / "mini_cheetah_model.json").read_text())
URDF = DATA / "mini_cheetah_no_rotors.urdf"


def rotors() -> dict[str, rd.Rotor]:
    """The twelve geared rotors on the parents of their joints."""
    out = {}
    for body in FIGURES["bodies"]:
        if body["rotor"] is None:
            continue
        rotor = body["rotor"]
        E = np.array(rotor["Xrot_E_parent_to_rotor"])
        out["j_" + body["name"]] = rd.Rotor(
            ratio=body["gear_ratio"],
            spin_inertia=rotor["spin_inertia_about_axis"],
            axis=tuple(E.T @ body["joint_axis"]),
            mass=rotor["mass"],
            com=tuple(E.T @ rotor["com"] + rotor["Xrot_r_in_parent"]),
            inertia=E.T @ np.array(rotor["inertia_about_com"]) @ E,
        )
    return out


def model(variant: str) -> rd.Model:
    """`no_rotors` or `with_rotors`."""
    return rd.load_urdf(URDF, floating_base=True, rotors=rotors() if variant == "with_rotors" else None)


def configuration(quat: np.ndarray, position: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Reference quaternions are w x y z."""
    return np.concatenate([position, np.roll(quat, -1), joints])


def contact_points(robot: rd.Model, poses: tuple[np.ndarray, np.ndarray], positions: np.ndarray) -> rd.Points:
    """The 16 points (8 corners, then knee and foot of every leg) from their world positions at known body poses."""
    R, p = poses
    body = np.array([1] * 8 + [b for leg in range(4) for b in (3 + 3 * leg, 4 + 3 * leg)])
    local = np.array([R[b].T @ (x - p[b]) for b, x in zip(body, positions, strict=True)])
    return rd.Points(body, local, tuple(robot.body_names[b] for b in body), np.zeros(16))


FEET = [9, 11, 13, 15]
