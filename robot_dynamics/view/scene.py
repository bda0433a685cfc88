# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot, forces and the ground in a scene of viser, live or on film."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..dynamics.kinematics import body_pose
from ..model.model import Model
from ..spatial import quaternion_from_rotation
from .forces import Drawing
from .looks import Look
from .surfaces import PLANE_SIZE, STONE, Cuboid

REAL, WANTED, CONE, POLYGON, MIDDLE = (230, 77, 26), (40, 120, 230), (225, 175, 30), (20, 130, 230), (245, 245, 245)
"""Colours of forces, of those wanted, of friction cones, support polygon and centre of mass."""
FRAME_MOVES, FRAME_TURNS = 1e-6, 1e-6
"""A frame that has moved [m] and turned by less since it was drawn is not drawn again."""
LINE_MOVES = 5e-4
"""Lines and arrows that have moved by less, over the robot's size, are not drawn again."""


def wxyz(R: Array) -> Array:
    """Quaternions (.., 4) as viser has them, w first, of rotations (.., 3, 3)."""
    turned: Array = quaternion_from_rotation(R)[..., [3, 0, 1, 2]]
    return turned


def put(node: Any, what: str, value: Array) -> None:
    """Set `wxyz` or `position` of a node that has changed.

    viser's own setters compare it with the last one by `np.allclose`, at ten times the price of the message: where this
    version of viser has what they send by, that is called.
    """
    import viser

    message = {"wxyz": "SetOrientationMessage", "position": "SetPositionMessage"}[what]
    impl: Any = getattr(node, "_impl", None)
    queue, kind = getattr(getattr(impl, "api", None), "_queue_scene_message", None), getattr(viser._messages, message)
    numbers = tuple(value.tolist())
    if queue is None:
        setattr(node, what, numbers)
        return
    getattr(impl, what)[:] = value
    queue(kind(impl.name, numbers))


class RobotFigure:
    """A frame for every body, nested as the tree is, with the looks of its links on it."""

    def __init__(self, scene: Any, model: Model, looks: Sequence[Look], root: str = "/robot"):
        """Put the robot into the scene, in its neutral pose, under the node `root`."""
        self.scene, self.model, self.root = scene, model, root
        names = [root]
        for i in range(1, model.nb):
            names.append(f"{names[model.parent[i]]}/{_node(model.body_names[i])}")
        self.frames = [scene.add_frame(name, show_axes=False) for name in names]
        self.meshes = [self._mesh(f"{names[look.body]}/{_node(look.link)} {i}", look) for i, look in enumerate(looks)]
        self.links = [look.link for look in looks]
        self._parent = np.maximum(model.parent, 0)
        self._position, self._turn = np.full((model.nb, 3), np.inf), np.full((model.nb, 4), np.inf)

    def _mesh(self, name: str, look: Look) -> Any:
        return self.scene.add_glb(
            name, glb_data=look.glb, scale=look.scale, wxyz=wxyz(look.R), position=tuple(look.p.tolist())
        )

    def pose(self, q: Array) -> None:
        """Show the robot at q (nq,); frames that stay where they are in their parents cost nothing to whoever looks."""
        R, p = body_pose(self.model, q)
        up = np.swapaxes(R[self._parent], 1, 2)
        turn, place = up @ R, np.einsum("nij,nj->ni", up, p - p[self._parent])
        quaternion = wxyz(turn)
        turned = np.abs(quaternion - self._turn).max(axis=1) > FRAME_TURNS
        moved = np.abs(place - self._position).max(axis=1) > FRAME_MOVES
        turned[0] = moved[0] = False  # the world
        for i in np.flatnonzero(turned).tolist():
            put(self.frames[i], "wxyz", quaternion[i])
        for i in np.flatnonzero(moved).tolist():
            put(self.frames[i], "position", place[i])
        self._turn[turned], self._position[moved] = quaternion[turned], place[moved]

    def remove(self) -> None:
        """Take the robot out of the scene."""
        self.frames[0].remove()


class ForceFigure:
    """Arrows, cones, polygon and centre of mass, each a node below `root` that can be hidden."""

    def __init__(self, scene: Any, root: str, size: float):
        """Put nothing into the scene yet; `size` [m] is about that of the robot."""
        self.scene, self.root, self.size = scene, root, size
        self.hidden: set[str] = set()
        self._nodes: dict[str, Any] = {}

    def show(self, drawing: Drawing) -> None:
        """Draw forces of the ground, the polygon and the centre of mass."""
        cones, thin = drawing.cones.reshape(-1, 2, 3), 0.006 * self.size
        polygon = np.stack([drawing.polygon[:-1], drawing.polygon[1:]], axis=1)
        self.arrows("forces", drawing.arrows, REAL)
        self._lines("cones", cones, CONE, 0.5 * thin)
        self._lines("polygon", polygon, POLYGON, 2.0 * thin)
        self._lines("com", drawing.com[None], MIDDLE, thin)

    def arrows(self, kind: str, points: Array, colour: tuple[int, int, int]) -> None:
        """Draw arrows (n, 2, 3)."""
        thick = 0.01 * self.size
        figure = {"shaft_radius": thick, "head_radius": 2.5 * thick, "head_length": 6.0 * thick}
        self._put(kind, points, lambda name: self.scene.add_arrows(name, points, colour, **figure))

    def _lines(self, kind: str, points: Array, colour: tuple[int, int, int], thick: float) -> None:
        self._put(kind, points, lambda name: self.scene.add_line_segments(name, points, colour, thickness=thick))

    def _put(self, kind: str, points: Array, add: Any) -> None:
        """Make a node for points (n, 2, 3) the first time there are some; hide it where there are none."""
        node, seen = self._nodes.get(kind), len(points) > 0 and kind not in self.hidden
        if node is not None:
            node.visible = seen
        if not seen:
            return
        if node is None:
            self._nodes[kind] = add(f"{self.root}/{kind}")
        elif np.shape(node.points) != points.shape or np.abs(node.points - points).max() > LINE_MOVES * self.size:
            node.points = points.astype(np.float32)

    def remove(self) -> None:
        """Take everything out of the scene."""
        for node in self._nodes.values():
            node.remove()
        self._nodes.clear()


class Ground:
    """What the robot stands on."""

    def __init__(self, scene: Any):
        """Show nothing yet."""
        self.scene = scene
        self._nodes: list[Any] = []

    def show(self, shapes: Sequence[Cuboid | Array]) -> None:
        """Draw cuboids, and triangles given by their corners (3 k, 3), in place of what was drawn before."""
        self.clear()
        for i, shape in enumerate(shapes):
            name = f"/ground/{i}"
            if isinstance(shape, Cuboid):
                self._nodes += self._cuboid(name, shape)
            elif len(shape):
                faces = np.arange(len(shape), dtype=np.uint32).reshape(-1, 3)
                colour = tuple(round(255 * c) for c in STONE)
                figure = {"color": colour, "flat_shading": True, "side": "double"}
                self._nodes.append(self.scene.add_mesh_simple(name, shape.astype(np.float32), faces, **figure))

    def _cuboid(self, name: str, shape: Cuboid) -> list[Any]:
        x, y, z, w = shape.orientation.tolist()
        pose = {"wxyz": (w, x, y, z), "position": tuple(shape.position.tolist())}
        colour = tuple(round(255 * c) for c in STONE)
        made = [self.scene.add_box(name, color=colour, dimensions=tuple(shape.size.tolist()), **pose)]
        if shape.size[0] >= PLANE_SIZE:  # of a plane the lines tell how fast one moves
            lines = {"plane": "xy", "cell_size": 0.1, "section_size": 0.5, "cell_thickness": 0.5}
            height = {"position": (0.0, 0.0, 0.5 * shape.size[2] + 1e-3)}
            extent = {"width": shape.size[0], "height": shape.size[1]}
            made.append(self.scene.add_grid(f"{name}/lines", shadow_opacity=0.0, **lines, **extent, **height))
        return made

    def clear(self) -> None:
        """Take it out of the scene."""
        for node in reversed(self._nodes):  # what lies on a node before the node
            node.remove()
        self._nodes.clear()


def size_of(model: Model, q: Array) -> float:
    """Diagonal of the box around the origins of all bodies at q [m], 0.1 m at least: by it figures are scaled."""
    _, p = body_pose(model, q)
    own = p[1:] if model.nb > 1 else p
    return max(0.1, float(np.linalg.norm(own.max(axis=0) - own.min(axis=0))))


def _node(name: str) -> str:
    """A name in the scene's tree, in which / parts levels."""
    return name.replace("/", "_")
