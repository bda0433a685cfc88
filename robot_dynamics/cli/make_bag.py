# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics make-bag`: a simulated run with its truth, for who tests estimators; no ROS, no waiting."""

import argparse
from pathlib import Path

from ..bags.make import NOISE, TOPICS, Plan, make_bag
from ..errors import ParameterError
from ..ros.parameters import MINI_CHEETAH, PlantParameters, checked
from ..ros.robot_params import model_of
from ..share import share_folder
from .output import compiling_shown
from .replay import bar, parameters

HELP = "write a simulated run with its ground truth to a bag, at full speed and without ROS"
LONGEST = 3600.0
GAITS = ("trot", "stand", "hold")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("output", type=Path, help="folder of the bag, which must not exist yet")
    parser.add_argument("--duration", type=float, default=10.0, help="simulated seconds (default: %(default)g)")
    parser.add_argument("--urdf", type=Path, help="robot (default: the Mini Cheetah of this package)")
    parser.add_argument("--gait", choices=GAITS, default="trot", help="hold: nobody commands (default: %(default)s)")
    parser.add_argument("--world", default="", help="file of the ground, or one of stairs.yaml, rough.yaml")
    parser.add_argument(
        "--noise", type=float, default=0.0, help="noise of the sensors, 1: as a quadruped's (default: %(default)g)"
    )
    parser.add_argument("--pushes", type=int, default=0, help="pushes of any direction (default: none)")
    parser.add_argument("--seed", type=int, default=0, help="of noise and pushes (default: %(default)d)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME:=VALUE", help="parameter of the plant, before all these"
    )


@compiling_shown()
def run(args: argparse.Namespace) -> int:
    """Make the bag: 0."""
    if not 0.0 < args.duration <= LONGEST:
        raise ParameterError(f"--duration must lie in 0 .. {LONGEST:g} s, got {args.duration:g}")
    if args.noise < 0.0 or args.pushes < 0 or args.seed < 0:
        raise ParameterError("--noise, --pushes and --seed must be 0 or more")
    urdf = args.urdf or share_folder() / "urdf" / "mini_cheetah.urdf"
    if not urdf.is_file():
        raise ParameterError(f"--urdf: there is no file '{urdf}'")
    values = plant_parameters(args, urdf)
    plan = Plan(args.duration, args.gait, args.pushes, args.seed)
    with bar() as show:
        model = model_of(str(urdf), values)
        ticks = make_bag(args.output, model, urdf.read_text(), values, plan, lambda done: show("simulating", done))
    print(f"{args.output}: {model.name}, {ticks} ticks of {args.gait}, seed {args.seed}; {len(TOPICS)} topics")
    return 0


def plant_parameters(args: argparse.Namespace, urdf: Path) -> PlantParameters:
    """Parameters of the plant: those given, and what the options stand for."""
    known = {"armature": MINI_CHEETAH} if urdf.stem == "mini_cheetah" else {}
    noise = {name: args.noise * value for name, value in NOISE.items()} if args.noise else {}
    world = {"world": world_file(args.world)} if args.world else {}
    given = {**known, **noise, **world, "seed": args.seed, **parameters(args.param)}
    return checked(PlantParameters, given)


def world_file(name: str) -> str:
    """Return the path of the ground's file, one of our own where there is no such file."""
    own = share_folder() / "worlds" / name
    return str(own if own.is_file() and not Path(name).is_file() else Path(name))
