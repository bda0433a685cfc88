# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plants by the tile: a SIMD lane each, many tiles in one call.

The arrays of `memory.Plant` have the tiles in front and the lanes behind; those of the coupled solve, and those of the
robot that follow from its state, serve one tile after the other, and what is the same for all has neither. `out` (rows,
tiles): what a row of `run.write_log` with forces holds, then base_rate, the ledger and the count of steps: a row holds
one figure of all plants side by side.
`live` (tiles,): 1 in lanes that stand for a plant, 0 in those that go along.
"""

from ...compiler import LANES, Lanes, inline, lean, routine, spread
from .. import turns
from ..robot import Robot, update_poses
from ..rows import set3
from ..turns import begin_turn, next_turn
from . import memory as at
from .commands import take_commands
from .ledger import FINE, start_ledger
from .run import clear, locate_point, take, write_log

MORE = 6 + at.LEDGER + 1
"""Rows of `out` behind those of a log."""
ENDED, TAKEN = range(2)
"""Columns of `status`."""
POINT, SPEED, BELOW, SHEAR, TOUCH = 0, 3, 6, 7, 9
"""Columns of a point in `locate_tiles`: position, velocity, depth, deflection; how many there are."""


@inline
def tile_of(plant, t):
    """The bundle `memory.Plant` of tile t; commands of one tile are for all."""
    r, j, g, s, c = plant.robot, plant.joints, plant.ground, plant.state, plant.command
    now = c.now[min(t, c.now.shape[0] - 1)]
    return at.Plant(
        Robot(
            r.levels,
            r.topology,
            r.parameters[t],
            r.limbed[t],
            r.memory,
            r.seen,
            r.w,
            r.factor,
            r.f_ext,
            r.free,
            r.carrier,
            r.depth,
            r.last,
            r.coupled,
        ),
        at.Joints(j.number, j.place, j.data[t], j.dofs[t], j.configurations[t]),
        at.Ground(g.row, g.points[t], g.clusters, g.gaps[t], g.surfaces[t], g.heights[t], g.twins),
        at.State(s.q[t], s.qd[t], s.qdd[t], s.base_rate[t], s.ledger[t], s.last_ledger[t], s.counters[t]),
        plant.settings,
        at.Command(now, c.queue[t], c.acting[t], c.pushes[t]),
        plant.problem,
    )


@inline
def write_results(plant, live, out, t):
    """What plants of tile t did and where they are."""
    state = plant.state
    end = out.shape[0] - MORE
    if live[t] > 0:
        write_log(plant.joints, plant.ground, state, out[:end, t])
        for k in range(6):
            out[end + k, t] = state.base_rate[k]
        for k in range(at.LEDGER):
            out[end + 6 + k, t] = state.ledger[k]
        out[out.shape[0] - 1, t] = float(state.counters[at.STEPS])


@routine
def take_each(plant, t, first, steps, log, status, live, out):
    """`take` of the robots of tile t; status (tiles, 2): why each one stopped, and after how many steps.

    log: as in `run_tiles`.
    """
    plant = tile_of(plant, t)
    before = plant.state.counters[at.STEPS]
    update_poses(plant.robot, plant.state.q, plant.state.qd)
    status[t, ENDED] = take(plant, steps, log[min((t - first) * LANES, log.shape[0] - 1)])
    status[t, TAKEN] = plant.state.counters[at.STEPS] - before
    write_results(plant, live, out, t)


@routine
def begin_each(plant, t, wanted, out):
    """`run.begin` of the robots of tile t that are `wanted`."""
    plant = tile_of(plant, t)
    if wanted[t] > 0:
        clear(plant.joints, plant.ground, plant.state, plant.command)
        start_ledger(plant.robot, plant.ground, plant.state, plant.settings)
    write_results(plant, wanted, out, t)


@routine
def locate_each(plant, t, live, touch):
    """Where and how the contact points of tile t touch, into `touch` (k, TOUCH, tiles)."""
    plant = tile_of(plant, t)
    robot, ground = plant.robot, plant.ground
    half = ground.twins.shape[0]
    if live[t] > 0:
        update_poses(robot, plant.state.q, plant.state.qd)
        for c in range(touch.shape[0]):
            x, v = locate_point(robot, ground, c)
            set3(touch[:, POINT : POINT + 3, t], c, 0, x)
            set3(touch[:, SPEED : SPEED + 3, t], c, 0, v)
            depth = ground.points[c, at.DEPTH]
            touch[c, BELOW, t] = max(depth, ground.points[c + half, at.DEPTH]) if half > 0 else depth
            for k in range(2):
                touch[c, SHEAR + k, t] = ground.points[c, at.DEFLECTION + k]


take_lanes, begin_lanes, locate_lanes = spread(take_each), spread(begin_each), spread(locate_each)


@inline
def any_live(live, t):
    """Whether a lane of tile t stands for a plant."""
    count = 0
    for o in range(LANES):
        count += live[t, o]
    return count > 0


@inline
def any_stopped(status, t):
    """Whether a lane of tile t stopped."""
    worst = FINE
    for o in range(LANES):
        worst = max(worst, status[t, ENDED, o])
    return worst != FINE


@lean
def run_tiles(plant, first, end, steps, commands, results, log, member):
    """`run.run` of tiles from `first` to the one before `end`; arrays that are not the same for all come as `Lanes`.

    Ends with the step in which a plant stops: returns its tile, which has not been to the end, else `end`. commands:
    what tiles take before their steps. results: status (tiles, 2, LANES): FINE or why each one stopped, and after how
    many steps; live (tiles, LANES), out (rows, tiles, LANES). log: `Apart`, for each lane the rows (T, width) of its
    plant of tile `first` and those of the plants after that one, LANES of them to a tile; none where nothing is logged.
    member: this thread in a team, as in `turns`; others than the caller take turns, of as many steps as those have,
    until none has begun for a while.
    """
    status, live, out = results
    turn = member.turn
    if member.number == turns.CALLER:
        begin_turn(member, steps)
    while True:
        if member.number != turns.CALLER:
            now = next_turn(member, turn)
            if now in (turn, turns.OVER):
                return end
            turn, steps = now, member.begun[turns.STEPS]
        for t in range(first, end):
            if any_live(live, t):
                take_commands(plant.command.now, t, commands)
                take_lanes(plant, t, first, steps, log, Lanes(status), Lanes(live), Lanes(out))
                if any_stopped(status, t):
                    return t
        if not member.stays:
            return end


@lean
def begin_tiles(plant, wanted, out):
    """`run.begin` of the plants that are wanted (tiles, LANES)."""
    for t in range(wanted.shape[0]):
        if any_live(wanted, t):
            begin_lanes(plant, t, Lanes(wanted), Lanes(out))


@lean
def locate_tiles(plant, live, touch):
    """Where and how all contact points touch, into touch (k, TOUCH, tiles, LANES)."""
    for t in range(live.shape[0]):
        if any_live(live, t):
            locate_lanes(plant, t, Lanes(live), Lanes(touch))
