# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Model: an immutable robot. Frames, names and figures for people; packed rows (`kernels.rows`) for the kernels.

Body 0 is the world, `parent[i] < i`; links on fixed joints are merged into the body that carries them. A body's frame
is the frame of its first link. Joints stand in the order of the URDF tree walk (depth first, document order).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.checks import checked, shaped
from ..errors import ModelError, UnknownNameError
from ..kernels import rows, scalar
from ..kernels.bodies import center_of_mass
from ..kernels.dense import pivots
from ..kernels.star import layout as star
from ..kernels.tree import composites, forward_dynamics, mass_matrix
from .description import (
    Inertial,
    Joint,
    Link,
    Robot,
    Rotor,
    Shape,
)

IntArray = NDArray[np.int64]

GRAVITY = (0.0, 0.0, -9.81)
ONE_DOF = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True, slots=True)
class Report:
    """What a user should know about the model: totals, odd inertias, ignored tags, joints that carry no inertia."""

    mass: float
    com: Array
    """Centre of mass (3,) at the neutral configuration, root axes [m]."""
    nonphysical: tuple[str, ...]
    """One sentence per link whose inertia no rigid body can have; the model uses it as it is."""
    singular: tuple[str, ...]
    """Joints with no inertia about their axis: inverse dynamics works, forward dynamics does not."""
    mimic: Mapping[str, str]
    """Mimic joint -> the law it follows."""
    dropped: Mapping[str, int]
    """Tags of the URDF that dynamics does not use."""


@dataclass(frozen=True, slots=True)
class Limbs:
    """Equal serial limbs of revolute joints on the base, the whole rest of the robot (`kernels.star`)."""

    count: int
    levels: star.Levels
    """What the recursions of `kernels.star` walk along, one entry per joint of a limb."""
    robot: Array
    """The whole robot, the limbs' rows arranged for one SIMD lane per limb."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A robot. Build it with `load_urdf`; every array is read-only.

    The figures from `gravity` to `armature` can be replaced, `dataclasses.replace(model, gravity=(0, 0, -1.62))`, and
    `limbs=None` chooses the driver for any tree. All other fields follow from the description: `replace` refuses them,
    and `with_links` makes the same robot with other inertias.
    """

    tree: "Tree" = field(repr=False)
    gravity: Array
    """(3,) world axes [m/s^2]."""
    effort_limit: Array
    """(joints,) [N m or N]; inf where unknown."""
    velocity_limit: Array
    """(joints,) [rad/s or m/s]; inf where unknown."""
    lower: Array
    upper: Array
    """(joints,) stops [rad or m]; infinite where there is none."""
    damping: Array
    friction: Array
    """(joints,) viscous [N m s/rad or N s/m] and Coulomb [N m or N]; those of mimic joints are projected."""
    armature: Array
    """(joints,) reflected rotor inertia [kg m^2 or kg]; what mimic joints carry themselves comes on top."""
    limbs: Limbs | None = field(repr=False)
    """Set for robots that are a base and equal limbs; all others go to the driver for any tree."""
    name: str = field(init=False)
    nb: int = field(init=False)
    nq: int = field(init=False)
    nv: int = field(init=False)
    parent: IntArray = field(init=False)
    """(nb,) parent body; -1 for the world."""
    joint_names: tuple[str, ...] = field(init=False)
    """Moving joints in the order of q, without the floating base and without mimic joints."""
    body_names: tuple[str, ...] = field(init=False)
    link_names: tuple[str, ...] = field(init=False)
    mass: float = field(init=False)
    report: Report = field(init=False)
    floating_base: bool = field(init=False)
    q_index: IntArray = field(init=False)
    v_index: IntArray = field(init=False)
    """(joints,) first index of each joint in q and in qd."""
    joint_kinds: tuple[str, ...] = field(init=False)
    has_mimic: bool = field(init=False)
    link_bodies: IntArray = field(init=False)
    """(links,) body of each link, in the order of `link_names`."""
    link_R: Array = field(init=False)
    link_p: Array = field(init=False)
    """(links, 3, 3), (links, 3) pose of each link in its body's frame."""
    shapes: tuple[tuple[Shape, ...], ...] = field(init=False)
    """Collision shapes per link, in link frames."""
    robot: Robot = field(init=False)
    topology: IntArray = field(init=False, repr=False)
    parameters: Array = field(init=False, repr=False)
    """Packed rows, see `kernels.rows`."""
    row_body: IntArray = field(init=False, repr=False)
    """(nb,) kernel row of each body."""

    def __post_init__(self) -> None:
        """Derive every other field from the tree and the figures.

        Raises
        ------
        ModelError
            A figure that no robot has, or limbs of another robot.
        """
        values = _figures(self)
        packed = self.tree.packed.with_figures(values["gravity"], values["armature"])
        values |= {"limbs": None if self.limbs is None else _same_limbs(self.limbs, _limbs(self.tree, packed))}
        for name, value in (values | _derived(self.tree, packed)).items():
            object.__setattr__(self, name, value)

    def with_links(self, links: Sequence[Link]) -> "Model":
        """Build the same robot, all its figures kept, with other inertias or shapes of its links."""
        tree = Tree(replace(self.robot, links=tuple(links)), self.tree.options)
        return replace(self, tree=tree, limbs=None if self.limbs is None else _limbs(tree, tree.packed))

    @property
    def lanes(self) -> tuple[star.Levels, Array]:
        """Levels and packed rows of `limbs` for kernels that serve both drivers; for any other tree () and nothing."""
        return (self.limbs.levels, self.limbs.robot) if self.limbs is not None else ((), np.empty(0))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle, or copy, by fields."""
        return _revived, tuple(getattr(self, member.name) for member in fields(self))

    def joint_index(self, name: str) -> int:
        """Position of joint `name` in `joint_names`. Raises UnknownNameError."""
        if name not in self.joint_names:
            raise UnknownNameError("joint", name, self.joint_names)
        return self.joint_names.index(name)

    def link_index(self, name: str) -> int:
        """Position of link `name` in `link_names`. Raises UnknownNameError."""
        if name not in self.link_names:
            raise UnknownNameError("link", name, self.link_names)
        return self.link_names.index(name)


@dataclass(slots=True)
class _Body:
    """One kernel row while the model is being built; R, p: its frame in the parent row's frame at q = 0."""

    name: str
    parent: int
    kind: int
    R: Array
    p: Array
    axis: Array
    joint: Joint | None = None
    massless: bool = False
    mass: float = 0.0
    moment: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def add(self, inertial: Inertial, R: Array, p: Array) -> None:
        """Add a rigid part whose link frame stands at R, p in this body's frame (S14)."""
        c = R @ inertial.com + p
        self.mass += inertial.mass
        self.moment += inertial.mass * c
        self.inertia += R @ inertial.inertia @ R.T + inertial.mass * (c @ c * np.eye(3) - np.outer(c, c))


AXIS_Z = np.array([0.0, 0.0, 1.0])


def turn_to(axis: Array) -> Array:
    """Smallest rotation (3, 3) that carries z to the unit vector `axis` (`kernels.scalar.turn_to`)."""
    return np.reshape(scalar.turn_to(tuple(axis.tolist())), (3, 3))


class _Walk:
    """Depth-first walk of the URDF tree: links -> bodies (kernel rows) with merged inertias."""

    def __init__(self, robot: Robot, root: str, floating_base: bool, keep_links: Iterable[str]):
        self.links = {link.name: link for link in robot.links}
        self.keep = frozenset(keep_links)
        for name in self.keep:
            if name not in self.links:
                raise UnknownNameError("link", name, self.links)
        children: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in robot.joints:
            children[joint.parent].append(joint)
        kind = rows.FREE if floating_base else rows.FIXED
        self.bodies = [_Body("world", -1, rows.FIXED, np.eye(3), np.zeros(3), AXIS_Z)]
        if floating_base:
            self.bodies.append(_Body(root, 0, kind, np.eye(3), np.zeros(3), AXIS_Z))
        self.placed: dict[str, tuple[int, Array, Array]] = {}
        self._place_link(root, len(self.bodies) - 1, np.eye(3), np.zeros(3))
        stack = list(reversed(children[root]))
        while stack:
            joint = stack.pop()
            self._place_joint(joint)
            stack.extend(reversed(children[joint.child]))

    def _place_joint(self, joint: Joint) -> None:
        row, R_link, p_link = self.placed[joint.parent]
        R = R_link @ joint.R
        p = R_link @ joint.p + p_link
        if joint.kind == "fixed" and joint.child not in self.keep:
            self._place_link(joint.child, row, R, p)
            return
        for kind, axis, massless in _elementary(joint):
            self.bodies.append(_Body(joint.child, row, kind, R, p, axis, joint, massless))
            row, R, p = len(self.bodies) - 1, np.eye(3), np.zeros(3)
        self._place_link(joint.child, row, R, p)

    def _place_link(self, name: str, row: int, R: Array, p: Array) -> None:
        self.placed[name] = (row, R, p)
        inertial = self.links[name].inertial
        if inertial is not None:
            self.bodies[row].add(inertial, R, p)


def _elementary(joint: Joint) -> list[tuple[int, Array, bool]]:
    """One-dof or free joints that make up `joint`: kind, axis, whether the row is only a massless body."""
    if joint.kind == "planar":
        plane = turn_to(joint.axis)
        return [
            (rows.PRISMATIC, plane[:, 0], True),
            (rows.PRISMATIC, plane[:, 1], True),
            (rows.REVOLUTE, joint.axis, False),
        ]
    kinds = {"revolute": rows.REVOLUTE, "continuous": rows.REVOLUTE, "prismatic": rows.PRISMATIC}
    kinds |= {"floating": rows.FREE, "fixed": rows.FIXED}
    if joint.kind not in kinds:
        valid = ", ".join([*kinds, "planar"])
        raise ModelError(f"joint '{joint.name}' is of the unknown kind '{joint.kind}'; valid kinds: {valid}")
    axis = joint.axis if joint.kind in ONE_DOF else AXIS_Z
    return [(kinds[joint.kind], axis, False)]


def mimic_law(joint: Joint, joints: Mapping[str, Joint]) -> tuple[str, float, float]:
    """Independent joint that `joint` follows in the end, and q = ratio q[it] + offset, through any chain of mimics."""
    follower, ratio, offset = joint.name, 1.0, 0.0
    while joint.mimic is not None:
        offset += ratio * joint.mimic.offset
        ratio *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    if max(abs(ratio), abs(offset)) > 1e15:
        raise ModelError(f"joint '{follower}' mimics '{joint.name}' too far: ratio {ratio:.3g}, offset {offset:.3g}")
    return joint.name, ratio, offset


def _find_root(robot: Robot, root: str | None) -> str:
    names = [link.name for link in robot.links]
    if root is not None:
        if root not in names:
            raise UnknownNameError("link", root, names)
        return root
    held = {joint.child for joint in robot.joints}
    return next(name for name in names if name not in held)


def nonphysical_inertia(link: Link) -> str | None:
    """Say why no rigid body has this link's inertia, or None: principal moments must be >= 0 and obey the triangle."""
    if link.inertial is None:
        return None
    a, b, c = np.linalg.eigvalsh(link.inertial.inertia)
    margin = 1e-9 * max(abs(a), abs(c)) + 1e-15
    if link.inertial.mass == 0.0 and c > margin:
        return f"link '{link.name}' has inertia (principal moments {a:.3g}, {b:.3g}, {c:.3g}) but no mass"
    if a < -margin:
        return f"link '{link.name}' has a negative principal moment of inertia ({a:.3g} kg m^2)"
    if a + b < c - margin:
        return f"link '{link.name}' breaks the triangle inequality of inertia ({a:.3g} + {b:.3g} < {c:.3g} kg m^2)"
    return None


class _Packed:
    """Rows for the kernels and the indices of q and qd."""

    def __init__(self, bodies: list[_Body], joints: Mapping[str, Joint]):
        count = len(bodies)
        self.topology = np.zeros((count, 6), np.int64)
        self.parameters = np.zeros((count, rows.PARAMETERS))
        self.index: dict[str, tuple[int, int]] = {}
        self.rows: dict[str, int] = {}
        self.nq = self.nv = 0
        self.row_body: list[int] = []
        for i, body in enumerate(bodies):
            self._pack(i, body, bodies)
            if body.massless:
                self.topology[i, rows.BODY] = -1
            else:
                self.topology[i, rows.BODY] = len(self.row_body)
                self.row_body.append(i)
        for i, body in enumerate(bodies):
            if body.joint is not None and body.joint.mimic is not None:
                self._follow(i, body.joint, joints)

    def _pack(self, i: int, body: _Body, bodies: list[_Body]) -> None:
        C = turn_to(body.axis)
        C_parent = turn_to(bodies[body.parent].axis) if i else np.eye(3)
        row = self.parameters[i]
        row[rows.R0 : rows.R0 + 9] = (C_parent.T @ body.R @ C).ravel()
        row[rows.P0 : rows.P0 + 3] = C_parent.T @ body.p
        row[rows.MASS] = body.mass
        row[rows.MOMENT : rows.MOMENT + 3] = C.T @ body.moment
        row[rows.INERTIA : rows.INERTIA + 6] = (C.T @ body.inertia @ C)[np.triu_indices(3)]
        row[rows.RATIO] = 1.0
        row[rows.TURN : rows.TURN + 9] = C.ravel()
        self.topology[i] = (body.parent, body.kind, self.nq, self.nv, 0, 0)
        if body.joint is None or body.joint.mimic is None:
            if body.joint is not None and body.kind != rows.FIXED:
                self.index.setdefault(body.joint.name, (self.nq, self.nv))
                self.rows[body.joint.name] = i
            self.nq += {rows.FREE: 7, rows.FIXED: 0}.get(body.kind, 1)
            self.nv += {rows.FREE: 6, rows.FIXED: 0}.get(body.kind, 1)

    def with_figures(self, gravity: Array, armature: Array) -> "_Packed":
        """These rows, read-only, with gravity (3,) and the armature of each independent joint."""
        other = copy(self)
        parameters = self.parameters.copy()
        parameters[0, rows.GRAVITY : rows.GRAVITY + 3] = gravity
        parameters[list(self.rows.values()), rows.ARMATURE] = armature
        other.topology, other.parameters = _frozen(self.topology, np.int64), _frozen(parameters)
        return other

    def _follow(self, i: int, joint: Joint, joints: Mapping[str, Joint]) -> None:
        name, ratio, offset = mimic_law(joint, joints)
        if name not in self.index:
            raise ModelError(f"joint '{joint.name}' mimics '{name}', which is outside the chosen root's subtree")
        self.topology[i, rows.IQ], self.topology[i, rows.IV] = self.index[name]
        self.topology[i, rows.FOLLOWS] = 1
        self.parameters[i, rows.RATIO] = ratio
        self.parameters[i, rows.OFFSET] = offset


def _add_rotors(walk: _Walk, rotors: Mapping[str, Rotor], joints: Mapping[str, Joint]) -> dict[str, Array]:
    """Join the rotors' masses to their parents; return momentum per joint rate, ratio I_s b, in parent link axes."""
    momentum = {}
    for name, rotor in rotors.items():
        joint = _one_dof(name, joints, "rotor")
        axis = joint.R @ joint.axis if rotor.axis is None else np.array(rotor.axis, float)
        length = float(np.linalg.norm(axis))
        if not (length > 0.0 and math.isfinite(rotor.ratio) and rotor.spin_inertia >= 0.0):
            raise ModelError(f"the rotor of joint '{name}' needs a non-zero axis, a finite ratio and spin_inertia >= 0")
        momentum[name] = rotor.ratio * rotor.spin_inertia * axis / length
        row, R, p = walk.placed[joint.parent]
        inertia = np.zeros((3, 3)) if rotor.inertia is None else np.array(rotor.inertia, float)
        walk.bodies[row].add(Inertial(rotor.mass, np.array(rotor.com, float), inertia), R, p)
    return momentum


def _one_dof(name: str, joints: Mapping[str, Joint], what: str) -> Joint:
    moving = [n for n, j in joints.items() if j.kind in ONE_DOF]
    if name not in moving:
        raise UnknownNameError(f"one-dof joint for {what}", name, moving)
    return joints[name]


def _armatures(
    armature: Mapping[str, float], rotors: Mapping[str, Rotor], joints: Mapping[str, Joint]
) -> dict[str, float]:
    """Reflected inertia per joint, from plain numbers and from rotors (ratio^2 I_s), never both for one joint."""
    values = {}
    for name, value in armature.items():
        _one_dof(name, joints, "armature")
        if name in rotors:
            raise ModelError(f"joint '{name}' has both an armature and a rotor: its inertia would count twice")
        if not (math.isfinite(value) and value >= 0.0):
            raise ModelError(f"the armature of joint '{name}' must be finite and >= 0, got {value}")
        values[name] = float(value)
    for name, rotor in rotors.items():
        values[name] = rotor.ratio**2 * rotor.spin_inertia
    return values


class Tree:
    """A description, walked: kernel rows without the figures of a `Model`, and where every link is."""

    def __init__(self, robot: Robot, options: Mapping[str, Any]):
        """Walk `robot`; `options` are those of `build_model` that say what moves and what hangs on it."""
        self.robot, self.options = robot, options
        rotors, root = options["rotors"], _find_root(robot, options["root"])
        walk = _Walk(robot, root, options["floating_base"], options["keep_links"])
        self.joints = {b.joint.name: b.joint for b in walk.bodies if b.joint is not None}
        momentum = _add_rotors(walk, rotors, self.joints)
        self.armatures = _armatures(options["armature"], rotors, self.joints)
        self.bodies, self.placed = walk.bodies, walk.placed
        self.packed = _Packed(walk.bodies, {joint.name: joint for joint in robot.joints})
        parameters = self.packed.parameters
        for i, body in enumerate(walk.bodies):
            if body.joint is None or body.massless or body.joint.kind not in ONE_DOF:
                continue
            parameters[i, rows.ARMATURE] = self.armatures.get(body.joint.name, 0.0)
            if body.joint.name in momentum:
                R_parent = walk.placed[body.joint.parent][1]
                C_parent = parameters[body.parent, rows.TURN : rows.TURN + 9].reshape(3, 3)
                parameters[i, rows.ROTOR : rows.ROTOR + 3] = C_parent.T @ R_parent @ momentum[body.joint.name]


def build_model(
    robot: Robot,
    *,
    floating_base: bool = False,
    keep_links: Iterable[str] = (),
    root: str | None = None,
    armature: Mapping[str, float] | None = None,
    rotors: Mapping[str, Rotor] | None = None,
    gravity: ArrayLike = GRAVITY,
) -> Model:
    """Turn a checked description into a Model; arguments as in `load_urdf`.

    Raises
    ------
    ModelError, UnknownNameError, ShapeError
        A rotor or armature for a joint that is not there or has no single axis, an unknown root or kept link; gravity
        that is not three finite numbers.
    """
    options: dict[str, Any] = {
        "floating_base": floating_base,
        "keep_links": tuple(keep_links),
        "root": root,
        "armature": dict(armature or {}),
        "rotors": dict(rotors or {}),
    }
    tree = Tree(robot, options)
    own = [tree.joints[name] for name in tree.packed.index]
    damping, friction, _ = _losses(tuple(tree.packed.index), tree.joints)
    return Model(
        tree,
        gravity=checked("gravity", gravity, (3,)),
        effort_limit=_frozen([joint.effort for joint in own]),
        velocity_limit=_frozen([joint.velocity for joint in own]),
        lower=_frozen([joint.lower for joint in own]),
        upper=_frozen([joint.upper for joint in own]),
        damping=_frozen(damping),
        friction=_frozen(friction),
        armature=_frozen([tree.armatures.get(name, 0.0) for name in tree.packed.index]),
        limbs=_limbs(tree, tree.packed),
    )


def _figures(model: Model) -> dict[str, Any]:
    """Read-only copies of the figures of `model`, checked."""
    kinds = [model.tree.joints[name].kind for name in model.tree.packed.index]
    values = {"gravity": _frozen(checked("gravity", model.gravity, (3,)))}
    for name in ("effort_limit", "velocity_limit", "lower", "upper"):
        values[name] = _frozen(shaped(name, getattr(model, name), (len(kinds),)))
        if np.isnan(values[name]).any():
            raise ModelError(f"{name} must not be NaN")
    for name in ("damping", "friction", "armature"):
        values[name] = _frozen(checked(name, getattr(model, name), (len(kinds),)))
    for name in ("effort_limit", "velocity_limit", "damping", "friction", "armature"):
        if (values[name] < 0.0).any():
            raise ModelError(f"{name} must be 0 or more, got {values[name].min():g}")
    if (values["lower"] > values["upper"]).any():
        raise ModelError("lower must not be above upper")
    if any(x and kind not in ONE_DOF for x, kind in zip(values["armature"].tolist(), kinds, strict=True)):
        raise ModelError("planar and floating joints have no armature")
    return values


def _same_limbs(given: Limbs, own: Limbs | None) -> Limbs:
    """The robot's own limbs, with its figures; raises ModelError if `given` are of another form."""
    if own is None or (given.count, given.levels) != (own.count, own.levels):
        raise ModelError("limbs must be None or those of this robot, got those of another")
    return own


def _derived(tree: Tree, packed: "_Packed") -> dict[str, Any]:
    """Fields of a Model that follow from its tree and its rows."""
    names = tuple(packed.index)
    body_of_row = {row: body for body, row in enumerate(packed.row_body)}
    bodies = [tree.bodies[row] for row in packed.row_body]
    links = [link for link in tree.robot.links if link.name in tree.placed]
    placed = [tree.placed[link.name] for link in links]
    _, _, mimic = _losses(names, tree.joints)
    mass, com = _mass_and_com(tree.bodies[0], packed)
    return {
        "name": tree.robot.name,
        "nb": len(bodies),
        "nq": packed.nq,
        "nv": packed.nv,
        "parent": _frozen([body_of_row[_carrying(tree.bodies, b)] if b.parent >= 0 else -1 for b in bodies], np.int64),
        "joint_names": names,
        "body_names": tuple(body.name for body in bodies),
        "link_names": tuple(link.name for link in links),
        "mass": mass,
        "report": Report(
            mass=mass + tree.bodies[0].mass,
            com=com,
            nonphysical=tuple(sentence for link in links if (sentence := nonphysical_inertia(link))),
            singular=_singular_joints(packed, [b.joint.name if b.joint is not None else b.name for b in tree.bodies]),
            mimic=mimic,
            dropped=dict(tree.robot.dropped),
        ),
        "floating_base": tree.options["floating_base"],
        "q_index": _frozen([packed.index[name][0] for name in names], np.int64),
        "v_index": _frozen([packed.index[name][1] for name in names], np.int64),
        "joint_kinds": tuple(tree.joints[name].kind for name in names),
        "has_mimic": bool(mimic),
        "link_bodies": _frozen([body_of_row[row] for row, _, _ in placed], np.int64),
        "link_R": _frozen([R for _, R, _ in placed]),
        "link_p": _frozen([p for _, _, p in placed]),
        "shapes": tuple(link.shapes for link in links),
        "robot": tree.robot,
        "topology": packed.topology,
        "parameters": packed.parameters,
        "row_body": _frozen(packed.row_body, np.int64),
    }


def _limbs(tree: Tree, packed: _Packed) -> Limbs | None:
    shape = star.shape(packed.topology, packed.parameters, tree.options["floating_base"])
    if shape is None:
        return None
    count, depth = shape
    levels = star.levels_of(count, depth, tree.options["floating_base"])
    return Limbs(count, levels, star.pack(packed.parameters, count, depth))


def _revived(*values: Any) -> Model:
    """Model of these fields; copied arrays have lost that they are read-only, and kernels would be compiled anew."""
    model = object.__new__(Model)
    for member, value in zip(fields(Model), values, strict=True):
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(model, member.name, value)
    return model


def _frozen(values: ArrayLike, kind: type = np.float64) -> NDArray:
    array: NDArray = np.array(values, kind, order="C")
    array.setflags(write=False)
    return array


def _losses(names: tuple[str, ...], joints: Mapping[str, Joint]) -> tuple[list[float], list[float], dict[str, str]]:
    """Viscous and Coulomb friction per independent joint, mimic joints projected (ratio^2, |ratio|); the mimic laws."""
    damping = {name: joints[name].damping for name in names}
    friction = {name: joints[name].friction for name in names}
    mimic = {}
    for joint in joints.values():
        if joint.mimic is not None:
            name, ratio, offset = mimic_law(joint, joints)
            damping[name] += ratio**2 * joint.damping
            friction[name] += abs(ratio) * joint.friction
            mimic[joint.name] = f"{ratio:g} {name}" + (f" {offset:+g}" if offset else "")
    return list(damping.values()), list(friction.values()), mimic


def _carrying(bodies: list[_Body], body: _Body) -> int:
    """Row of the nearest ancestor that is not a massless body."""
    row = body.parent
    while bodies[row].massless:
        row = bodies[row].parent
    return row


def _neutral(packed: _Packed) -> Array:
    q = np.zeros(packed.nq)
    free = packed.topology[:, rows.KIND] == rows.FREE
    q[packed.topology[free, rows.IQ] + 6] = 1.0
    return q


def _mass_and_com(world: _Body, packed: _Packed) -> tuple[float, Array]:
    """Mass of the moving bodies; centre of mass (3,) of all links at the neutral configuration."""
    com = np.zeros(3)
    mass = float(center_of_mass(packed.topology, packed.parameters, _neutral(packed), com))
    total = mass + world.mass
    return mass, _frozen((mass * com + world.moment) / total if total > 0.0 else com)


def _singular_joints(packed: _Packed, names: Sequence[str]) -> tuple[str, ...]:
    """Joints whose pivot D_i (A5) vanishes at the neutral or at one of three random configurations.

    `names`: joint of every row, the root link for a free base. Rows found are locked and the rest is asked again. A
    mimic joint without inertia of its own is no fault when the joints it moves with have some: there H is asked.
    """
    rng = np.random.default_rng(0)
    rows_found: set[int] = set()
    for spread in (0.0, 0.3, 0.3, 0.3):
        q = _neutral(packed) + spread * rng.standard_normal(packed.nq)
        rows_found |= _rows_without_inertia(packed, q)
        if rows_found and packed.topology[:, rows.FOLLOWS].any():
            H = np.empty((packed.nv, packed.nv))
            mass_matrix(packed.topology, packed.parameters, q, np.empty((len(packed.topology), rows.WORKSPACE)), H)
            D = H.diagonal().copy()
            pivots(H, D)
            rows_found = {i for i in rows_found if not D[packed.topology[i, rows.IV]] > 0.0}
    own = [i for i in sorted(rows_found) if not packed.topology[i, rows.FOLLOWS]]
    return tuple(dict.fromkeys(names[i] for i in own or sorted(rows_found)))


def _rows_without_inertia(packed: _Packed, q: Array) -> set[int]:
    """Rows whose D (A5), a free joint's smallest pivot, is nothing beside the composite inertia along their joint.

    A row found is locked and the rest asked again.
    """
    topology, parameters = packed.topology, packed.parameters
    w = np.zeros((len(topology), rows.WORKSPACE))
    composites(topology, parameters, q, w)
    kind = topology[:, rows.KIND]
    single = (kind == rows.REVOLUTE) | (kind == rows.PRISMATIC)
    along = np.where(kind == rows.REVOLUTE, w[:, rows.N + 5], w[:, rows.M]) + parameters[:, rows.ARMATURE]
    diagonal = np.where(single, along, 1.0)
    floor = np.maximum(1e-10 * diagonal, 1e-14)
    found: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        zero = np.zeros(packed.nv)
        forward_dynamics(topology, parameters, q, zero, zero, np.empty(0), w, np.empty(packed.nv))
        inverse = np.where(single, w[:, rows.DI], 1.0)
        own = (inverse > 0.0) & (inverse * floor < 1.0)
        for free in np.flatnonzero(kind == rows.FREE):
            own[free] = _least_pivot(*np.split(w[free, rows.M : rows.N + 6], (6, 15))) > 1e-10
        own[0] = True
        empty = [i for i in np.flatnonzero(~own).tolist() if i not in found]
        if not empty:
            break
        # the last row is furthest from the root: what it lacks may have spoilt the rows before it
        blamed = [i for i in empty if not diagonal[i] > 1e-14] or [empty[-1]]
        found.update(blamed)
        locked = single & np.isin(topology[:, rows.IV], topology[blamed, rows.IV])
        parameters = parameters.copy()
        parameters[locked, rows.ARMATURE] = _LOCKED
        parameters.setflags(write=False)
    return found


def _least_pivot(M: Array, H: Array, N: Array) -> float:
    """Smallest pivot of [M H; H^T N], symmetric blocks as upper triangles, relative to its diagonal entry."""
    S = np.zeros((6, 6))
    upper = np.triu_indices(3)
    S[:3, :3][upper], S[3:, 3:][upper], S[:3, 3:] = M, N, H.reshape(3, 3)
    S += np.triu(S, 1).T
    start = S.diagonal().copy()
    least = 1.0
    for k in range(6):
        if not (S[k, k] > 0.0 and start[k] > 0.0):
            return 0.0
        least = min(least, S[k, k] / start[k])
        S[k + 1 :, k + 1 :] -= np.outer(S[k + 1 :, k], S[k, k + 1 :]) / S[k, k]
    return float(least)


_MOST_ROUNDS = 16
_LOCKED = 1e30
