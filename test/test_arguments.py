# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arrays of any make and copies of the robot: the answer is the same, and no kernel is compiled for them."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numba.core import event

import robot_dynamics as rd
from robot_dynamics.share import share_folder

ROBOT = rd.load_urdf(share_folder() / "urdf" / "mini_cheetah.urdf", floating_base=True)
MODEL = pickle.loads(pickle.dumps(ROBOT))
RNG = np.random.default_rng(7)
Q = np.array([rd.random_configuration(ROBOT, RNG) for _ in range(9)])
V, A = RNG.normal(size=(2, 9, ROBOT.nv))
FEET = rd.points(ROBOT, {f"{leg}_knee": [(0.0, 0.0, -0.18)] for leg in ("FR", "HL")})


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x: np.ndarray) -> np.ndarray:
    buffer = np.empty(x.nbytes + 1, dtype=np.uint8)[1:]
    out = buffer.view(np.float64).reshape(x.shape)
    out[:] = x
    return out


def strided(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 2, axis=-1)[..., ::2]


def parts(answer):
    return answer if isinstance(answer, tuple) else (answer,)


MAKES = (read_only, unaligned, strided, np.asfortranarray, np.ndarray.tolist)
ANSWERS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    **{f: (getattr(rd, f), (Q[0], V[0], A[0])) for f in ("inverse_dynamics", "forward_dynamics")},
    **{f: (getattr(rd, f), (Q, V, A)) for f in ("inverse_dynamics_batch", "forward_dynamics_batch")},
    **{f: (getattr(rd, f), (Q[0],)) for f in ("mass_matrix", "gravity_forces", "potential_energy", "center_of_mass")},
    **{f: (getattr(rd, f), (Q[0], V[0])) for f in ("bias_forces", "coriolis_matrix", "kinetic_energy")},
    "centroidal_momentum": (rd.centroidal_momentum, (Q[0], V[0])),
    "body_pose": (rd.body_pose, (Q[0],)),
    "difference": (rd.difference, (Q[0], Q[1])),
    "integrate": (lambda model, q, qd: rd.integrate(model, q, qd, 0.1), (Q[0], V[0])),
    **{
        f: (lambda model, *x, f=f: getattr(rd, f)(model, FEET, *x), (Q[0],))
        for f in ("point_position", "point_jacobian", "contact_space", "contact_inertia_inverse", "test_force_response")
    },
    **{
        f: (lambda model, *x, f=f: getattr(rd, f)(model, FEET, *x), (Q[0], V[0]))
        for f in ("point_velocity", "point_bias")
    },
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_make_of_an_array_changes_neither_the_answer_nor_the_machine_code(name):
    answer, arrays = ANSWERS[name]
    expected = answer(ROBOT, *arrays)
    with event.install_recorder("numba:compile") as compiled:
        for make in (np.copy, *MAKES):
            got = answer(MODEL, *map(make, arrays))
            assert all(map(np.array_equal, parts(expected), parts(got))), make.__name__
    assert compiled.buffer == []
