# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Signed distance to the terrain and the frame of the surface found (D1-D6: pen < 0 inside, R_c = [t1 t2 n]).

A terrain is `surfaces` (count, SURFACE_COLUMNS) and `heights`, the samples of all height fields one after the other.
"""

import math

from ..compiler import anywhere, inline, kernel, routine
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
TOUCHING = 1e-9
"""So near to the surface of a height field its normal is taken, not the direction to its nearest place [m]."""
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
def cell_samples(surfaces, heights, i, ix, iy):
    """Heights at the corners (0, 0), (0, 1), (1, 0) and (1, 1) of a cell of a height field."""
    ny = int(surfaces[i, SAMPLES + 1])
    o = int(surfaces[i, START]) + ix * ny + iy
    return heights[o], heights[o + 1], heights[o + ny], heights[o + ny + 1]


@inline
def bilinear(samples, spacing, a, b):
    """Height and its slopes along x and y at the place a, b (0 .. 1) of a cell (D5, D6)."""
    h00, h01, h10, h11 = samples
    h = (1.0 - a) * ((1.0 - b) * h00 + b * h01) + a * ((1.0 - b) * h10 + b * h11)
    slope_x = ((1.0 - b) * (h10 - h00) + b * (h11 - h01)) / spacing[0]
    slope_y = ((1.0 - a) * (h01 - h00) + a * (h11 - h10)) / spacing[1]
    return h, slope_x, slope_y


@inline
def nearest_in_cell(samples, spacing, cell, p):
    """From the nearest place of a cell to p: nearest to the tangent plane's foot, which is clamped to the cell (D8)."""
    a = clamped(p[0] / spacing[0] - cell[0])
    b = clamped(p[1] / spacing[1] - cell[1])
    h, slope_x, slope_y = bilinear(samples, spacing, a, b)
    x, y = (cell[0] + a) * spacing[0], (cell[1] + b) * spacing[1]
    off = (p[2] - h - slope_x * (p[0] - x) - slope_y * (p[1] - y)) / (1.0 + slope_x * slope_x + slope_y * slope_y)
    a = clamped((p[0] + off * slope_x) / spacing[0] - cell[0])
    b = clamped((p[1] + off * slope_y) / spacing[1] - cell[1])
    h, _, _ = bilinear(samples, spacing, a, b)
    return (p[0] - (cell[0] + a) * spacing[0], p[1] - (cell[1] + b) * spacing[1], p[2] - h)


@inline
def clamped(x):
    """Clamp to 0 .. 1."""
    return min(max(x, 0.0), 1.0)


@inline
def square_to_block(samples, spacing, cell, p):
    """Square of a lower bound of the distance of p to a cell: to the block below its highest corner, 0 in it."""
    h00, h01, h10, h11 = samples
    x = p[0] - min(max(p[0], cell[0] * spacing[0]), (cell[0] + 1.0) * spacing[0])
    y = p[1] - min(max(p[1], cell[1] * spacing[1]), (cell[1] + 1.0) * spacing[1])
    z = max(p[2] - max(h00, h01, h10, h11), 0.0)
    return x * x + y * y + z * z


@inline
def nearest_patch(surfaces, heights, i, p, own, reach):
    """From the nearest place of the top of a height field to p: the least of all cells within reach (D8).

    own: to that of the cell below p. Cells farther off than it, or than `reach`, are not looked at.
    """
    spacing = (surfaces[i, SIZE], surfaces[i, SIZE + 1])
    nx, ny = int(surfaces[i, SAMPLES]), int(surfaces[i, SAMPLES + 1])
    least = dot(own, own)
    within = min(math.sqrt(least), reach)
    first_x, last_x = cell_at(p[0] - within, spacing[0], nx), cell_at(p[0] + within, spacing[0], nx)
    first_y, last_y = cell_at(p[1] - within, spacing[1], ny), cell_at(p[1] + within, spacing[1], ny)
    ix = first_x
    while ix <= last_x:
        iy = first_y
        while iy <= last_y:
            samples = cell_samples(surfaces, heights, i, ix, iy)
            cell = (float(ix), float(iy))
            if square_to_block(samples, spacing, cell, p) < least:
                to = nearest_in_cell(samples, spacing, cell, p)
                if dot(to, to) < least:
                    least = dot(to, to)
                    own = to
            iy += 1
        ix += 1
    return own


@inline
def cell_at(x, spacing, count):
    """Number of the cell along one axis that holds the coordinate x, or is nearest to it."""
    return int(min(max(math.floor(x / spacing), 0.0), count - 2.0))


@routine
def height_field_distance(surfaces, heights, i, x, reach):
    """Distance of x to a height field and the frame of its surface.

    BILINEAR: of a block whose top is the bilinear surface through the samples, with upright sides (D8): to the nearest
    place within `reach`. DIAGONAL: as `diagonal_distance`.
    """
    spacing = (surfaces[i, SIZE], surfaces[i, SIZE + 1])
    nx, ny = int(surfaces[i, SAMPLES]), int(surfaces[i, SAMPLES + 1])
    p = sub(x, row3(surfaces, i, P))
    length, width = (nx - 1) * spacing[0], (ny - 1) * spacing[1]
    over = (min(max(p[0], 0.0), length), min(max(p[1], 0.0), width))
    beside = (p[0] - over[0], p[1] - over[1])
    out = math.sqrt(beside[0] * beside[0] + beside[1] * beside[1])
    if out > 0.0 and int(surfaces[i, TYPE]) == DIAGONAL:
        return FAR, IDENTITY
    ix, iy = cell_at(over[0], spacing[0], nx), cell_at(over[1], spacing[1], ny)
    samples = cell_samples(surfaces, heights, i, ix, iy)
    if int(surfaces[i, TYPE]) == DIAGONAL:
        return diagonal_distance(samples, spacing, (float(ix), float(iy)), p)
    h, slope_x, slope_y = bilinear(samples, spacing, over[0] / spacing[0] - ix, over[1] / spacing[1] - iy)
    n = unit((-slope_x, -slope_y, 1.0))
    above = p[2] - h
    if out > 0.0:
        to = (beside[0], beside[1], max(above, 0.0))
        size = math.sqrt(dot(to, to))
        return size, surface_frame(scale(1.0 / size, to))
    own = nearest_in_cell(samples, spacing, (float(ix), float(iy)), p)
    to = nearest_patch(surfaces, heights, i, p, own, reach)
    outside = 1.0 if above > 0.0 else -1.0
    size = math.sqrt(dot(to, to))
    side, outward = nearest_side(p[0], p[1], length, width)
    if above <= 0.0 and size > side:
        return -side, surface_frame(outward)
    return outside * size, surface_frame(scale(outside / size, to) if size > TOUCHING else n)


@inline
def diagonal_distance(samples, spacing, cell, p):
    """Distance to a cell as [Cheetah-Software] has it, and the frame of its plane.

    The plane goes through the middle of the cell and is parallel to its diagonals; the distance is measured along
    u2 x u1 of the unit diagonals, which is shorter than 1 where both slope (the frame returned is a proper one).
    """
    h00, h01, h10, h11 = samples
    gx, gy = spacing
    u1 = unit((gx, gy, h11 - h00))
    u2 = unit((gx, -gy, h10 - h01))
    raw = cross(u2, u1)
    centre = ((cell[0] + 0.5) * gx, (cell[1] + 0.5) * gy, 0.25 * (h00 + h01 + h10 + h11))
    n = unit(raw)
    t = cross(n, u2)
    return dot(raw, sub(p, centre)), (u2[0], t[0], n[0], u2[1], t[1], n[1], u2[2], t[2], n[2])


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
def distance_of(kind, surfaces, heights, i, x, reach):
    """`surface_distance` of a surface of any kind."""
    if kind == PLANE:
        d, axes = plane_distance(surfaces, i, x)
    elif kind == BOX:
        d, axes = box_distance(surfaces, i, x)
    else:
        d, axes = height_field_distance(surfaces, heights, i, x, reach)
    return d, axes


@inline
def surface_distance(surfaces, heights, i, x, reach):
    """Signed distance of x to surface i, and its frame; beyond `reach` [m] it may be too large."""
    kind = surfaces[i, TYPE]
    if anywhere(kind != PLANE):
        d, axes = distance_of(kind, surfaces, heights, i, x, reach)
    else:  # lanes have nothing to choose
        d, axes = plane_distance(surfaces, i, x)
    return d, axes


@inline
def normal_of(frame):
    """Normal of a surface frame."""
    return (frame[2], frame[5], frame[8])


@inline
def other_surface(surfaces, heights, x, reach, first, normal):
    """As `nearest_surface`, of surfaces other than number `first` that do not face as `normal` does."""
    pen = FAR
    frame = IDENTITY
    found = -1
    for i in range(surfaces.shape[0]):
        d, axes = surface_distance(surfaces, heights, i, x, reach)
        if d < pen and i != first and dot(normal_of(axes), normal) < ALIKE:
            pen = d
            frame = axes
            found = i
    return pen, frame, found


@inline
def nearest_surface(surfaces, heights, x, reach):
    """Signed distance of x to the terrain, frame and number of the surface that x is deepest in (-1: nothing below)."""
    pen = FAR
    frame = IDENTITY
    found = -1
    if surfaces.shape[0] > 0:  # often the only one: nothing is compared
        pen, frame = surface_distance(surfaces, heights, 0, x, reach)
        found = 0 if pen < FAR else -1
    for i in range(1, surfaces.shape[0]):
        d, axes = surface_distance(surfaces, heights, i, x, reach)
        if d < pen:
            pen = d
            frame = axes
            found = i
    return pen, frame, found


@kernel
def query(surfaces, heights, x, pen, frames, found):
    """`nearest_surface` of each point x (k, 3), right up to 1 m from a height field."""
    for i in range(x.shape[0]):
        pen[i], frame, found[i] = nearest_surface(surfaces, heights, row3(x, i, 0), 1.0)
        set9(frames, i, 0, frame)
