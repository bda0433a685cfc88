# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The coupled contact solver against the laws it must obey, written out again in plain numpy."""

import numpy as np
import pytest

from robot_dynamics.kernels import dense
from robot_dynamics.kernels.contact import friction, impulse, solver, spring_damper
from robot_dynamics.kernels.lanes import whole


def problem(seed, model):
    """Random robot, contacts, and scalar rows: A as its two factors, b, points, bounds, timestep, count, rows."""
    rng = np.random.default_rng(seed)
    k, m = rng.integers(1, 8), rng.integers(0, 4)
    n, nv, h = 3 * k + m, 18, 1e-3
    J = rng.standard_normal((n, nv))
    root = rng.standard_normal((nv, nv))
    response = J @ np.linalg.inv(root @ root.T / nv + np.eye(nv))
    points = np.zeros((solver.CONTACT_ROWS, k))
    points[0] = rng.normal(0.0, 1e-3, k)
    points[1:3] = rng.normal(0.0, 1e-4, (k, 2)).T
    points[3:5] = [[5e5], [5e3]]
    points[5] = rng.uniform(0.0, 1.2, k)
    bounds = np.abs(rng.standard_normal((m, 1))) * [-1.0, 1.0]
    paths = np.array([J, h * response if model == solver.IMPLICIT else response])
    return paths, rng.standard_normal(n), points, bounds, h, int(k), n


def solve(model, given, sweeps=20, tolerance=1e-10, start=None, spoilt=False):
    paths, b, points, bounds, h, k, n = given
    A = paths[0] @ paths[1].T
    f = np.zeros(n) if start is None else start.copy()
    work = solver.scratch(whole(n), paths.shape[2])
    work.paths[:, :n, : paths.shape[2]] = np.nan if spoilt else paths
    wide_b = np.pad(b, (0, whole(n) - n), constant_values=np.nan)
    rows = np.pad(A, ((0, 0), (0, whole(n) - n)), constant_values=np.nan)  # what stands behind n is not looked at
    system = (model, h, rows, wide_b, f, points, bounds, tuple(work))
    iterations, missed = solver.solve_contacts(system, k, n, sweeps, tolerance)
    residual = solver.true_residual(system, k, n)
    return f, b + A @ f, (iterations, residual, missed)


@pytest.mark.parametrize("sweeps", [1, 20])
@pytest.mark.parametrize("seed", range(20))
def test_spring_damper_forces_obey_the_law_at_the_end_of_the_step(seed, sweeps):
    given = problem(seed, solver.IMPLICIT)
    _, _, points, _, h, k, _ = given
    f, u, (_, residual, missed) = solve(solver.IMPLICIT, given, sweeps)
    assert not missed
    assert residual < 1e-7
    for i in range(k):
        zeta, d, K, D, mu = points[0, i], points[1:3, i], *points[3:6, i]
        z = zeta - h * u[3 * i + 2]
        normal = np.sqrt(max(z, 0.0)) * (K * z - D * u[3 * i + 2]) if z > 0.0 else 0.0
        normal = max(normal, 0.0)
        trial = -np.sqrt(max(z, 0.0)) * (K * d + (D + h * K) * u[3 * i : 3 * i + 2])
        size = np.linalg.norm(trial)
        if normal == 0.0 or size > mu * normal:
            trial *= mu * normal / max(size, 1e-300)
        np.testing.assert_allclose(f[3 * i : 3 * i + 3], [*trial, normal], atol=1e-6 * (1.0 + normal))


@pytest.mark.parametrize("seed", range(20))
def test_forces_that_are_nearly_right_lead_to_the_same_ones_as_none(seed):
    given = problem(seed, solver.IMPLICIT)
    f, _, _ = solve(solver.IMPLICIT, given, sweeps=200, tolerance=1e-12)
    near = f * (1.0 + 1e-4 * np.random.default_rng(seed).standard_normal(len(f)))
    found, _, (_, residual, missed) = solve(solver.IMPLICIT, given, start=near)
    assert not missed
    assert residual < 1e-9
    np.testing.assert_allclose(found, f, atol=1e-8 * (1.0 + np.abs(f).max()))


@pytest.mark.parametrize("sweeps", [1, 20])
@pytest.mark.parametrize("seed", range(20))
def test_impulses_are_complementary_and_friction_opposes_slip(seed, sweeps):
    given = problem(seed, solver.IMPULSE)
    p, u, (_, residual, missed) = solve(solver.IMPULSE, given, sweeps)
    assert not missed
    assert residual < 1e-7
    for i in range(given[5]):
        mu, tangential, slip = given[2][5, i], p[3 * i : 3 * i + 2], u[3 * i : 3 * i + 2]
        normal, speed = p[3 * i + 2], u[3 * i + 2]
        assert normal >= 0.0
        assert speed > -1e-7
        assert abs(normal * speed) < 1e-7
        assert np.linalg.norm(tangential) <= mu * normal + 1e-12
        if np.linalg.norm(tangential) < mu * normal * (1.0 - 1e-6):
            assert np.linalg.norm(slip) < 1e-7
        elif normal > 1e-9:
            opposed = tangential @ slip + np.linalg.norm(tangential) * np.linalg.norm(slip)
            assert abs(opposed) < 1e-7


@pytest.mark.parametrize("model", [solver.IMPLICIT, solver.IMPULSE], ids=["soft", "hard"])
@pytest.mark.parametrize("seed", range(4))
def test_a_tolerance_that_rounding_does_not_meet_is_reported_and_does_no_harm(seed, model):
    """Sweeps, Newton and sweeps again come to their ends; what they leave is as good as at a tolerance within reach."""
    given = problem(seed, model)
    f, u, (iterations, residual, missed) = solve(model, given, sweeps=2, tolerance=1e-300)
    reached, motion, _ = solve(model, given, sweeps=200, tolerance=1e-12)
    assert iterations > 100 or not missed
    assert residual < 1e-7
    np.testing.assert_allclose(u, motion, atol=1e-7)
    np.testing.assert_allclose(f, reached, atol=1e-6 * (1.0 + np.abs(reached).max()))


@pytest.mark.parametrize("model", [solver.IMPLICIT, solver.IMPULSE])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_forces_stay_numbers_where_newton_finds_none(seed, model):
    """Its equations, by the joints as rows are more, are made of NaN: sweeps go on from where it began."""
    paths, *given = problem(seed, model)
    assert given[-1] > paths.shape[2]
    f, u, _ = solve(model, (paths, *given), sweeps=2, tolerance=1e-12, spoilt=True)
    reached, motion, _ = solve(model, (paths, *given), sweeps=200, tolerance=1e-12)
    np.testing.assert_allclose(u, motion, atol=1e-7)
    np.testing.assert_allclose(f, reached, atol=1e-6 * (1.0 + np.abs(reached).max()))


@pytest.mark.parametrize("seed", range(20))
def test_scalar_rows_hold_still_inside_their_bounds(seed):
    given = problem(seed, solver.IMPULSE)
    p, u, _ = solve(solver.IMPULSE, given)
    for force, speed, (low, high) in zip(p[3 * given[5] :], u[3 * given[5] :], given[3], strict=True):
        assert low <= force <= high
        if low < force < high:
            assert abs(speed) < 1e-7
        else:
            assert speed * force <= 1e-9


def sliding(seed, model):
    """Random contact that slides, not just so: block of A, free velocity, depth, deflection, step, law, and force."""
    rng = np.random.default_rng(seed)
    d, h = rng.normal(0.0, 1e-4, 2), 1e-3
    law = (5e5, 5e3, rng.uniform(0.1, 0.8))
    while True:
        root = rng.standard_normal((3, 3))
        w = (root @ root.T + 0.1 * np.eye(3)) * (h if model == solver.IMPLICIT else 1.0)
        block = tuple(w[np.triu_indices(3)])
        a, zeta = np.r_[rng.normal(0.0, 2.0, 2), rng.normal(-1.0, 0.5)], abs(rng.normal(0.0, 1e-3))
        if model == solver.IMPULSE:
            f = np.array(impulse.impulse_point(block, tuple(a), law[2]))
        else:
            f = np.array(spring_damper.implicit_point(block, tuple(a), zeta, tuple(d), h, law, 0.0))
        if f[2] > 0.0 and friction.slides(f, law[2]) and np.hypot(*(a + w @ f)[:2]) > 0.2:
            return w, block, a, zeta, tuple(d), h, law, f


@pytest.mark.parametrize("model", [solver.IMPLICIT, solver.IMPULSE])
@pytest.mark.parametrize("seed", range(30))
def test_a_newton_step_of_a_sliding_contact_leaves_the_square_of_its_error(seed, model):
    """(N14) and (J13), judged by the root of the whole law."""
    w, block, a, zeta, d, h, law, f = sliding(seed, model)
    left = []
    for error in (1e-2, 1e-3):
        c, s = np.cos(error), np.sin(error)
        old = (1.0 + error) * np.array([c * f[0] - s * f[1], s * f[0] + c * f[1], f[2]])
        u = tuple(a + w @ old)
        if model == solver.IMPULSE:
            new, *_, goes_on = impulse.sliding_impulse(tuple(old), block, law[2], u)
        else:
            new, *_, goes_on = spring_damper.sliding_step(tuple(old), zeta, d, h, block, law, u)
        assert goes_on
        assert np.hypot(new[0], new[1]) == pytest.approx(law[2] * new[2], rel=1e-12)
        left.append(np.abs(new - f).max())
    assert left[0] < 0.2 * 1e-2 * np.abs(f).max()
    assert left[1] < 0.02 * left[0] + 1e-11 * np.abs(f).max()


@pytest.mark.parametrize("seed", range(5))
def test_eliminate_solves_and_keeps_the_zeros_of_a_tree(seed):
    """Two limbs, 3 and 4, on a base, 0 to 2: what they have in common is the base alone."""
    rng = np.random.default_rng(seed)
    Z, x = rng.standard_normal((20, 5)), rng.standard_normal(5)
    Z[::2, 3] = 0.0
    Z[1::2, 4] = 0.0
    M = np.eye(5) + (Z * rng.uniform(0.1, 10.0, 5)).T @ Z
    b = M @ x
    dense.eliminate(M)
    dense.substitute(M, b)
    np.testing.assert_allclose(b, x, rtol=1e-10)
    assert M[3, 4] == 0.0
    assert M[4, 3] == 0.0


@pytest.mark.parametrize("h", [1e-4, 1e-3, 3e-3])
@pytest.mark.parametrize("restitution", [0.3, 1.0])
def test_restitution_target_lies_on_the_parabola_of_the_rebound(h, restitution):
    """(J4): speed c at the height pen + h c is what e sqrt(V2) at the surface leaves there."""
    u0, gap = -2.0, 0.5 * h
    target, lands = impulse.predicted_target(gap, u0, u0 - 9.81 * h, h, restitution)
    surface = u0 * u0 + 2.0 * 9.81 * gap
    assert not lands
    assert target**2 == pytest.approx(restitution**2 * surface - 2.0 * 9.81 * (gap + h * target), rel=1e-12)


def test_a_point_that_does_not_arrive_may_come_down_to_the_surface():
    """(J2), without restitution although it falls."""
    assert impulse.predicted_target(1e-3, -0.5, -0.5, 1e-3, 0.8)[0] == pytest.approx(-1.0)


def test_recovery_is_bounded_and_soft_landing_ends_at_rest():
    """(J3) and (J5)."""
    assert impulse.predicted_target(-5e-3, 0.0, -0.01, 1e-3, 0.0) == (0.0, False)
    assert impulse.predicted_target(1e-4, -0.5, -0.51, 1e-3, 0.0) == (0.0, True)


def test_below_target_keeps_the_speed_of_a_departing_point():
    assert impulse.below_target(-1e-3, 0.7, 0.3, 200.0) == pytest.approx(0.7)
    assert impulse.below_target(-1e-3, -0.7, 0.3, 200.0) == pytest.approx(0.41)
