# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""URDF text for the tests: small robots by hand, and any Robot written out."""

import numpy as np

from robot_dynamics.model.description import Joint, Link, Robot
from robot_dynamics.spatial import quaternion_from_rotation


def robot_text(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def link_text(name: str, *inside: str) -> str:
    return f'<link name="{name}">{"".join(inside)}</link>'


def joint_text(parent: str, child: str, *inside: str, name: str = "", kind: str = "continuous") -> str:
    """Joint named like its two links, 'ab' from a to b."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name or parent + child}" type="{kind}">{ends}{"".join(inside)}</joint>'


def chain_text(names: str, *more: str) -> str:
    """Links named by letters, on hinges, each on the one before."""
    return robot_text(*map(link_text, names), *map(joint_text, names[:-1], names[1:]), *more)


def written(robot: Robot) -> str:
    """URDF of a Robot, without its shapes: the inverse of `read_urdf`."""
    parts = [*map(_link, robot.links), *map(_joint, robot.joints)]
    return f'<robot name="{robot.name}">{"".join(parts)}</robot>'


def numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def _link(link: Link) -> str:
    if link.inertial is None:
        return link_text(link.name)
    moments = link.inertial.inertia[np.triu_indices(3)].tolist()
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    inertia = " ".join(f'{name}="{moment!r}"' for name, moment in zip(names, moments, strict=True))
    com, mass = numbers(*link.inertial.com), link.inertial.mass
    return link_text(
        link.name, f'<inertial><origin xyz="{com}"/><mass value="{mass!r}"/><inertia {inertia}/></inertial>'
    )


def _joint(joint: Joint) -> str:
    limit = f'lower="{joint.lower!r}" upper="{joint.upper!r}" effort="{joint.effort!r}" velocity="{joint.velocity!r}"'
    mimic = joint.mimic
    law = mimic and f'<mimic joint="{mimic.joint}" multiplier="{mimic.multiplier!r}" offset="{mimic.offset!r}"/>'
    return joint_text(
        joint.parent,
        joint.child,
        f'<origin xyz="{numbers(*joint.p)}" quat_xyzw="{numbers(*quaternion_from_rotation(joint.R))}"/>',
        f'<axis xyz="{numbers(*joint.axis)}"/>',
        f"<limit {limit}/>",
        f'<dynamics damping="{joint.damping!r}" friction="{joint.friction!r}"/>',
        law or "",
        name=joint.name,
        kind=joint.kind,
    )
