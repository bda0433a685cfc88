# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Signed distance to the terrain and the frame of the surface found (D1-D6: pen < 0 inside, R_c = [t1 t2 n]).

A terrain is `surfaces` (count, SURFACE_COLUMNS) and `heights`, the samples of all height fields one after the other.
"""

import math

from ..compiler import inline, kernel
from .rows import row3, row9, set9
from .scalar import IDENTITY, cross, dot, matmul, scale, sub, tmul, turn_to

PLANE, BOX, BILINEAR, DIAGONAL = range(4)

TYPE, STIFFNESS, DAMPING, FRICTION = range(4)
"""Kind of surface; its own stiffness, damping and friction, negative where the point's values hold."""
R, P, SIZE, SAMPLES, START = 4, 13, 16, 18, 20
"""Axes (3, 3; those of a plane are its `surface_frame`) and origin (height field: corner); half size of a box, or grid
spacing of a height field; its number of samples; where they start in `heights`."""
SURFACE_COLUMNS = 21

FAR = 1e9
"""Distance to a surface that does not reach over the point [m]."""
ALIKE = 0.9
"""Surfaces whose normals have this cosine, or more, are one for a point: it does not touch both at once."""


@inline
def surface_frame(n):
    """[t1 t2 n]: tangents and unit normal (D2), continuous in n but at -z."""
    return turn_to(n)


@inline
def plane_distance(surfaces, i, x):
    """Distance of x to a plane (D3), and its frame."""
    frame = row9(surfaces, i, R)
    return dot((frame[2], frame[5], frame[8]), sub(x, row3(surfaces, i, P))), frame


@inline
def toward(value, half):
    """Outward sign and depth of a coordinate under its nearer face."""
    return (1.0, half - value) if value >= 0.0 else (-1.0, half + value)


@inline
def box_distance(surfaces, i, x):
    """Distance of x to an oriented box (D4): inside that of the nearest face, outside that of the nearest point."""
    axes = row9(surfaces, i, R)
    half = row3(surfaces, i, SIZE)
    local = tmul(axes, sub(x, row3(surfaces, i, P)))
    sx, dx = toward(local[0], half[0])
    sy, dy = toward(local[1], half[1])
    sz, dz = toward(local[2], half[2])
    if dx >= 0.0 and dy >= 0.0 and dz >= 0.0:
        pen = -min(dx, dy, dz)
        if dx <= dy and dx <= dz:
            n = (sx, 0.0, 0.0)
        elif dy <= dz:
            n = (0.0, sy, 0.0)
        else:
            n = (0.0, 0.0, sz)
    else:
        out = (-sx * min(dx, 0.0), -sy * min(dy, 0.0), -sz * min(dz, 0.0))
        pen = math.sqrt(dot(out, out))
        n = scale(1.0 / pen, out)
    return pen, matmul(axes, surface_frame(n))


@inline
def height_field_distance(surfaces, heights, i, x):
    """Distance of x to a height field and the frame of its surface.

    BILINEAR: of a block whose top is the bilinear surface through the four samples around x (distance to the tangent
    plane), with upright sides (D8). DIAGONAL: as [Cheetah-Software] has it, the plane through the middle of the cell
    that is parallel to the cell's diagonals; its distance is measured along u2 x u1 of the unit diagonals, which is
    shorter than 1 where both slope (the frame returned is a proper one); FAR beside the field.
    """
    corner = row3(surfaces, i, P)
    gx = surfaces[i, SIZE]
    gy = surfaces[i, SIZE + 1]
    nx = int(surfaces[i, SAMPLES])
    ny = int(surfaces[i, SAMPLES + 1])
    p = sub(x, corner)
    length, width = (nx - 1) * gx, (ny - 1) * gy
    over = (min(max(p[0], 0.0), length), min(max(p[1], 0.0), width))
    beside = (p[0] - over[0], p[1] - over[1])
    a = over[0] / gx
    b = over[1] / gy
    out = math.sqrt(beside[0] * beside[0] + beside[1] * beside[1])
    if out > 0.0 and int(surfaces[i, TYPE]) == DIAGONAL:
        return FAR, IDENTITY
    ix = min(math.floor(a), nx - 2)
    iy = min(math.floor(b), ny - 2)
    o = int(surfaces[i, START]) + ix * ny + iy
    h00 = heights[o]
    h01 = heights[o + 1]
    h10 = heights[o + ny]
    h11 = heights[o + ny + 1]
    if int(surfaces[i, TYPE]) == DIAGONAL:
        u1 = unit((gx, gy, h11 - h00))
        u2 = unit((gx, -gy, h10 - h01))
        raw = cross(u2, u1)
        centre = ((ix + 0.5) * gx, (iy + 0.5) * gy, 0.25 * (h00 + h01 + h10 + h11))
        n = unit(raw)
        t = cross(n, u2)
        return dot(raw, sub(p, centre)), (u2[0], t[0], n[0], u2[1], t[1], n[1], u2[2], t[2], n[2])
    a -= ix
    b -= iy
    h = (1.0 - a) * ((1.0 - b) * h00 + b * h01) + a * ((1.0 - b) * h10 + b * h11)
    slope_x = ((1.0 - b) * (h10 - h00) + b * (h11 - h01)) / gx
    slope_y = ((1.0 - a) * (h01 - h00) + a * (h11 - h10)) / gy
    n = unit((-slope_x, -slope_y, 1.0))
    above = p[2] - h
    if out > 0.0:
        to = (beside[0], beside[1], max(above, 0.0))
        size = math.sqrt(dot(to, to))
        return size, surface_frame(scale(1.0 / size, to))
    side, outward = nearest_side(p[0], p[1], length, width)
    if above * n[2] < -side:
        return -side, surface_frame(outward)
    return above * n[2], surface_frame(n)


@inline
def nearest_side(x, y, length, width):
    """Depth of a place in a rectangle under its nearest side, and that side's outward normal."""
    sx, dx = toward(x - 0.5 * length, 0.5 * length)
    sy, dy = toward(y - 0.5 * width, 0.5 * width)
    if dx <= dy:
        return dx, (sx, 0.0, 0.0)
    return dy, (0.0, sy, 0.0)


@inline
def unit(x):
    """Unit vector along x."""
    return scale(1.0 / math.sqrt(dot(x, x)), x)


@inline
def surface_distance(surfaces, heights, i, x):
    """Signed distance of x to surface i, and its frame."""
    kind = int(surfaces[i, TYPE])
    if kind == PLANE:
        d, axes = plane_distance(surfaces, i, x)
    elif kind == BOX:
        d, axes = box_distance(surfaces, i, x)
    else:
        d, axes = height_field_distance(surfaces, heights, i, x)
    return d, axes


@inline
def normal_of(frame):
    """Normal of a surface frame."""
    return (frame[2], frame[5], frame[8])


@inline
def other_surface(surfaces, heights, x, first, normal):
    """As `nearest_surface`, of surfaces other than number `first` that do not face as `normal` does."""
    pen = FAR
    frame = IDENTITY
    found = -1
    for i in range(surfaces.shape[0]):
        d, axes = surface_distance(surfaces, heights, i, x)
        if d < pen and i != first and dot(normal_of(axes), normal) < ALIKE:
            pen = d
            frame = axes
            found = i
    return pen, frame, found


@inline
def nearest_surface(surfaces, heights, x):
    """Signed distance of x to the terrain, frame and number of the surface that x is deepest in (-1: nothing below)."""
    pen = FAR
    frame = IDENTITY
    found = -1
    for i in range(surfaces.shape[0]):
        d, axes = surface_distance(surfaces, heights, i, x)
        if d < pen:
            pen = d
            frame = axes
            found = i
    return pen, frame, found


@inline
def even(surfaces):
    """Whether the distance never grows by more than the way does: that to a height field may jump."""
    uneven = 0
    for i in range(surfaces.shape[0]):
        uneven += surfaces[i, TYPE] > BOX
    return uneven == 0


@kernel
def query(surfaces, heights, x, pen, frames, found):
    """`nearest_surface` of each point x (k, 3)."""
    for i in range(x.shape[0]):
        pen[i], frame, found[i] = nearest_surface(surfaces, heights, row3(x, i, 0))
        set9(frames, i, 0, frame)
