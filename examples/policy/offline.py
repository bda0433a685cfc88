# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Walks a policy on a plant of its own, as fast as the computer can, and says how far it came.

python offline.py walk.yaml my_robot.urdf --command 0.4 0 0 --seconds 20 --world stairs.yaml --law impulse
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import robot_dynamics as rd
from robot_dynamics.control.home import planar
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.policy import PlantPolicy, load_policy
from robot_dynamics.control.posture import Posture
from robot_dynamics.control.simulation import above_ground, home_pose
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.parameters import MINI_CHEETAH
from robot_dynamics.share import share_folder

HERE = Path(__file__).resolve().parent
LAWS = {"spring_damper": rd.SpringDamper, "impulse": rd.Impulse}


def along_x(command, pose):
    """The command with what somebody adds who steers the robot back to the x axis."""
    _, y, heading = planar(pose)
    back = np.clip([0.0, -0.5 * y, -1.5 * heading], -0.3, 0.3)
    return np.asarray(command, dtype=float) + back


def walk(policy, model, command, seconds, terrain=(), law="spring_damper", straight=False):
    """Path of the base (steps, 3) until the end or a fall, and whether it stood to the end."""
    spec, legs = policy.spec, find_legs(model)
    ground = {"terrain": tuple(terrain)} if terrain else {}
    plant = rd.Plant(model, rd.PlantParams(timestep=0.002, contact=LAWS[law](friction=0.6), **ground), legs.feet)
    home = home_pose(model, "stance", {}, legs.feet, 0.0)
    plant.reset(above_ground(model, home, legs.feet, plant.params.terrain, 0.0), np.zeros(model.nv))
    answers, posture, path = PlantPolicy(policy, model), Posture(), []
    for step in range(round(seconds * spec.rate)):
        if posture.see(plant.q[3:7].tolist()):
            return np.array(path), False
        asked = along_x(command, plant.q[:7]) if straight else np.asarray(command, dtype=float)
        plant.track(*answers.command(plant, asked, step / spec.rate))
        plant.advance(1.0 / spec.rate)
        path.append(plant.q[:3].copy())
    return np.array(path), True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("policy", nargs="?", type=Path, default=HERE / "walk.yaml")
    parser.add_argument("urdf", nargs="?", type=Path, default=share_folder() / "urdf" / "mini_cheetah.urdf")
    parser.add_argument("--command", nargs=3, type=float, default=(0.4, 0.0, 0.0), metavar=("VX", "VY", "WZ"))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--world", type=Path, help="file of the ground")
    parser.add_argument("--straight", action="store_true", help="steer back to the x axis")
    parser.add_argument("--law", choices=LAWS, default="spring_damper")
    args = parser.parse_args()
    try:
        armature = MINI_CHEETAH if args.urdf.stem == "mini_cheetah" else None
        model = rd.load_urdf(args.urdf, floating_base=True, armature=armature)
        terrain = rd.load_world(args.world) if args.world else ()
        policy = load_policy(args.policy)
        path, stood = walk(policy, model, args.command, args.seconds, terrain, args.law, args.straight)
    except RobotDynamicsError as problem:
        print(problem, file=sys.stderr)
        return 2
    x, y, z = path[-1]
    end = "still on its feet" if stood else "fallen"
    print(f"after {len(path) / policy.spec.rate:.1f} s at ({x:.2f}, {y:.2f}), base at {z:.2f} m: {end}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
