# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plants that differ, for tests of many at once."""

from dataclasses import replace

import numpy as np

import robot_dynamics as rd
from robot_dynamics.simulation.plant import Plant

HOPPER = rd.load_urdf(
    '<robot name="hopper"><link name="body"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    '<link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="0.5"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.05"/></geometry></collision></link>'
    '<joint name="swing" type="revolute"><parent link="body"/><child link="arm"/><axis xyz="0 1 0"/>'
    '<limit lower="-9" upper="9" effort="10" velocity="0"/></joint></robot>',
    floating_base=True,
)
"""A ball with an arm that swings: one joint, two points."""

LAWS = {"spring_damper": rd.SpringDamper, "impulse": rd.Impulse}
COUNT, STEPS, H = 5, 40, 2e-3


def plants(law="spring_damper"):
    """Robots that differ in friction, slope, lag, delay and state."""
    rng = np.random.default_rng(7)
    out = []
    for i in range(COUNT):
        contact = LAWS[law](friction=rng.uniform(0.3, 1.0))
        terrain = (rd.Plane(normal=(0.1 * i, 0.0, 1.0)),)
        params = rd.PlantParams(H, contact, terrain, actuator_lag=0.003 * i, command_delay=i)
        plant = Plant(HOPPER, params)
        q = rd.neutral(HOPPER)
        q[2], q[7] = rng.uniform(0.1, 0.12), rng.uniform(0.5, 2.0)
        plant.reset(q, rng.standard_normal(7))
        out.append(plant)
    return out


def arm_robot(mimic=False):
    """A fixed base, two joints with limits and friction, one of them perhaps mimicking, and a prismatic one."""
    joint = (
        '<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}"/><origin xyz="0 0 0.2"/>'
        '<axis xyz="{axis}"/><limit lower="-0.4" upper="0.6" effort="6" velocity="4"/>'
        '<dynamics damping="0.1" friction="0.2"/>{more}</joint><link name="{name}"><inertial>'
        '<origin xyz="0.05 0 0.1"/><mass value="1"/><inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
        '</inertial><collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.05"/></geometry></collision></link>'
    )
    more = '<mimic joint="a" multiplier="-0.5"/>' if mimic else ""
    return rd.load_urdf(
        '<robot name="arm"><link name="base"/>'
        + joint.format(name="a", kind="revolute", parent="base", axis="0 1 0", more="")
        + joint.format(name="b", kind="revolute", parent="a", axis="1 0 0", more=more)
        + joint.format(name="c", kind="prismatic", parent="b", axis="0 0 1", more="")
        + "</robot>"
    )


BUMPS = rd.HeightField(np.random.default_rng(1).uniform(-0.02, 0.02, (9, 9)), 0.1, (-0.4, -0.4, 0.0))
GROUNDS = {
    "plane": (rd.Plane(),),
    "box": (rd.Plane(), rd.Box((0.6, 0.6, 0.02), (0.1, 0.0, 0.0))),
    "bumps": (BUMPS,),
}
SIMILAR = {
    "spring_damper": rd.PlantParams(H, rd.SpringDamper()),
    "on_a_box": rd.PlantParams(H, rd.SpringDamper(), GROUNDS["box"]),
    "on_bumps": rd.PlantParams(H, rd.Impulse(), GROUNDS["bumps"]),
    "explicit": rd.PlantParams(5e-4, rd.SpringDamper(2e3, 2e2, scheme="explicit")),
    "impulse_bouncing": rd.PlantParams(H, rd.Impulse(restitution=0.4)),
    "delayed_and_slow": rd.PlantParams(H, rd.SpringDamper(), actuator_lag=0.004, command_delay=2),
    "runge_kutta": rd.PlantParams(H, rd.SpringDamper(), integrator="rk4"),
}


def scaled(link, share):
    """The link with its mass and inertia times `share`."""
    own = link.inertial
    return replace(link, inertial=own and replace(own, mass=share * own.mass, inertia=share * own.inertia))


def similar(model, params, count=11):
    """Plants of one form that differ in payload, friction, state and a push."""
    rng = np.random.default_rng(5)
    for i in range(count):
        law = replace(params.contact, friction=rng.uniform(0.2, 1.0))
        link = model.link_names[-1]
        share = rng.uniform(0.9, 1.1)
        heavier = model.with_links([scaled(link, share) for link in model.robot.links])
        plant = Plant(heavier, replace(params, contact=law))
        q = rd.integrate(model, rd.neutral(model), 0.2 * rng.standard_normal(model.nv), 1.0)
        if model.floating_base:
            q[2] = rng.uniform(0.09, 0.13)
        plant.reset(q, rng.standard_normal(model.nv))
        if i % 3 == 1:
            plant.push(link, rng.standard_normal(6), 0.01, ramp=0.002)
        yield plant
