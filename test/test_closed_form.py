# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Closed-form equations against Pinocchio, against collocation and CRBA, and against the counts (L13) and (L15)."""

import ctypes
import itertools
import math
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from mini_cheetah import URDF as MINI_CHEETAH
from mini_cheetah import model as mini_cheetah
from random_robots import inertial, rotation
from robot_files import FILES

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.errors import ModelError, ParameterError, ShapeError, UnknownNameError
from robot_dynamics.kernels import projections
from robot_dynamics.model.description import (
    Inertial,
    Joint,
    Link,
    Mimic,
    Robot,
)
from robot_dynamics.model.model import Model, build_model
from robot_dynamics.symbolic.closed_form import (
    ORDERS,
    ClosedForm,
    closed_form,
    closed_form_tree,
    cross_check,
    short_limbs,
    unreduced_matrices,
)

ROBOTS = {
    "go2-leg": ("go2", "base", "FL_foot"),
    "ur5": ("ur5_robot", "base_link", "ee_link"),
    "panda-1-to-6": ("panda", "panda_link0", "panda_link6"),
    "tiago-torso-and-5": ("tiago", "base_footprint", "arm_5_link"),
}


def slow(*cases):
    """Cases of six joints, or of an order whose work grows faster: half a million steps un-jitted."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def chain(kinds: str, seed: int) -> Robot:
    """Serial robot with skew axes on a tilted mount: R revolute, C continuous, P prismatic."""
    rng = np.random.default_rng(seed)
    names = {"R": "revolute", "C": "continuous", "P": "prismatic"}
    links = [Link("root", inertial(rng)), Link("mount", inertial(rng))]
    joints = [Joint("bolts", "fixed", "root", "mount", rotation(rng), rng.standard_normal(3), np.array([0.0, 0, 1]))]
    for i, kind in enumerate(kinds):
        axis = rng.standard_normal(3)
        parent = links[-1].name
        links.append(Link(f"link{i + 1}", inertial(rng)))
        axis /= np.linalg.norm(axis)
        R, p = rotation(rng), 0.3 * rng.standard_normal(3)
        joints.append(Joint(f"joint{i + 1}", names[kind], parent, links[-1].name, R, p, axis))
    return Robot(f"{kinds}-{seed}", tuple(links), tuple(joints))


def chain_form(kinds: str, seed: int, order: str = "reduced", armature: float = 0.0) -> tuple[Model, ClosedForm]:
    robot = chain(kinds, seed)
    model = build_model(robot, armature={joint.name: armature for joint in robot.joints[1:]} if armature else None)
    return model, closed_form(model, "mount", robot.links[-1].name, order)


def state(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd, qdd = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, n))
    return q, qd, qdd


class Oracle:
    """Pinocchio's equations of a serial path, joints in path order."""

    def __init__(self, pin, model):
        self.pin, self.model, self.data = pin, model, model.createData()

    def q(self, q):
        out = self.pin.neutral(self.model)
        for joint, angle in zip(list(self.model.joints)[1:], q, strict=True):
            out[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [math.cos(angle), math.sin(angle)]
        return out

    def rnea(self, q, qd, qdd):
        return self.pin.rnea(self.model, self.data, self.q(q), qd, qdd).copy()

    def mass_matrix(self, q):
        H = self.pin.crba(self.model, self.data, self.q(q))
        return np.triu(H) + np.triu(H, 1).T

    def mass_matrix_derivative(self, q):
        """d(H e_k)/dq = d RNEA(q, 0, e_k)/dq - d RNEA(q, 0, 0)/dq."""
        n = self.model.nv
        derivative = [
            self.pin.computeRNEADerivatives(self.model, self.data, self.q(q), np.zeros(n), unit)[0].copy()
            for unit in np.vstack([np.zeros(n), np.eye(n)])
        ]
        return np.stack([d - derivative[0] for d in derivative[1:]], axis=1)


def file_of(name):
    path = next((path for path in FILES if path.stem == name), None)
    if path is None:
        pytest.skip("needs example-robot-data (extra `test`)")
    return path


def robot_case(name):
    """Closed form and oracle of a path of a real robot; the oracle locks all other joints at 0."""
    pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")
    stem, base, tip = ROBOTS[name]
    path = file_of(stem)
    form = closed_form(rd.load_urdf(path), base, tip)
    full = pin.buildModelFromUrdf(str(path))
    locked = [i for i, joint in enumerate(full.names) if i > 0 and joint not in form.joint_names]
    return form, Oracle(pin, pin.buildReducedModel(full, locked, pin.neutral(full)))


def chain_case(kinds, seed):
    """Closed form and oracle of a random chain, built joint by joint."""
    pin = pytest.importorskip("pinocchio", reason="needs the `pin` wheel (extra `test`)")
    robot = chain(kinds, seed)
    _, form = chain_form(kinds, seed)
    model = pin.Model()
    body, mount = 0, pin.SE3(robot.joints[0].R, robot.joints[0].p)
    for joint, link in zip(robot.joints[1:], robot.links[2:], strict=True):
        sliding = joint.kind == "prismatic"
        kind = pin.JointModelPrismaticUnaligned if sliding else pin.JointModelRevoluteUnaligned
        body = model.addJoint(body, kind(*joint.axis), mount * pin.SE3(joint.R, joint.p), joint.name)
        part = link.inertial
        model.appendBodyToJoint(body, pin.Inertia(part.mass, part.com, part.inertia), pin.SE3.Identity())
        mount = pin.SE3.Identity()
    return form, Oracle(pin, model)


def check_against(form, oracle, seed):
    q, qd, qdd = state(len(form.joint_names), seed)
    zero = np.zeros_like(q)
    gravity = oracle.rnea(q, zero, zero)
    close = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(form.mass_matrix(q), oracle.mass_matrix(q), **close)
    np.testing.assert_allclose(form.gravity(q), gravity, **close)
    np.testing.assert_allclose(form.coriolis(q, qd) @ qd, oracle.rnea(q, qd, zero) - gravity, **close)
    np.testing.assert_allclose(form.mass_matrix_derivative(q), oracle.mass_matrix_derivative(q), **close)
    np.testing.assert_allclose(form.regressor(q, qd, qdd) @ form.parameters, oracle.rnea(q, qd, qdd), **close)


@pytest.mark.parametrize("name", ["go2-leg", *slow("ur5", "panda-1-to-6", "tiago-torso-and-5")])
def test_robots_against_pinocchio(name):
    form, oracle = robot_case(name)
    assert form.joint_names == tuple(list(oracle.model.names)[1:])
    for seed in range(20):
        check_against(form, oracle, seed)


@pytest.mark.parametrize("seed", [3, 4], ids="seed{}".format)
@pytest.mark.parametrize("kinds", [*slow("RRPRRR"), "P", "CPR", "PPRC"])
def test_skew_chains_against_pinocchio(kinds, seed):
    form, oracle = chain_case(kinds, seed)
    check_against(form, oracle, seed)


@pytest.mark.parametrize("name", ["go2-leg", *slow("ur5")])
def test_regressor_columns_are_pinocchios(name):
    form, oracle = robot_case(name)
    q, qd, qdd = state(len(form.joint_names), 5)
    theirs = oracle.pin.computeJointTorqueRegressor(oracle.model, oracle.data, oracle.q(q), qd, qdd)
    np.testing.assert_allclose(form.regressor(q, qd, qdd), theirs, rtol=0, atol=1e-9)


def check_orders(kinds, seed, orders):
    reduced = chain_form(kinds, seed)[1]
    for order in orders:
        form = chain_form(kinds, seed, order)[1]
        close = {"rtol": 0, "atol": 1e-12 * np.abs(reduced.inertia).max()}
        np.testing.assert_allclose(form.inertia, reduced.inertia, **close)
        np.testing.assert_allclose(form.potential_energy, reduced.potential_energy, **close)


@pytest.mark.parametrize("seed", [0, 1], ids="seed{}".format)
@pytest.mark.parametrize("kinds", ["RRR", "RPR", "PPP", *slow("CRPR", "RRRR")])
def test_orders_agree(kinds, seed):
    check_orders(kinds, seed, ORDERS)


@pytest.mark.parametrize(("kinds", "orders"), slow(("RRPRRR", ORDERS), ("RRRRRR", ("direct", "chainwise"))))
def test_orders_agree_for_six_joints(kinds, orders):
    check_orders(kinds, 7, orders)


@pytest.mark.parametrize("n", [1, 2, 3, *slow(4, 5)])
def test_counters(n):
    """(L13) and (L15), all revolute."""
    links = range(1, n + 1)
    steps = {
        "direct": sum(5**i * (i * (i + 1) // 2 + i + 1) for i in links),
        "chainwise": sum(5**i * i**2 * (i + 1) // 2 for i in links),
        "literal": sum(5**i * (2**i - 1) * i * (i + 1) // 2 for i in links),
        "reduced": sum(5**d * (d + 2) for j in range(1, n) for d in range(1, n - j + 1)),
    }
    forms = {order: chain_form("R" * n, n, order)[1] for order in ORDERS}
    assert {order: form.steps for order, form in forms.items()} == steps
    assert forms["direct"].matrices == n * (n + 1) * (n + 2) // 6 + n * (n + 1) // 2 + 2 * n + 2


@pytest.mark.slow
def test_counts_of_a_leg_and_an_arm():
    assert (chain_form("RRR", 0)[1].steps, chain_form("RRRRRR", 0)[1].steps) == (130, 31725)
    direct = [chain_form("R" * n, 0, "direct")[1] for n in (3, 6)]
    assert [form.steps for form in direct] == [1415, 513915]
    assert [form.matrices for form in direct] == [24, 91]
    assert [len(chain_form("R" * n, 0)[1].terms()) for n in (2, 3, 4, 5, 6)] == [9, 58, 330, 1771, 9219]


@pytest.mark.parametrize(
    ("kinds", "order"),
    [(k, o) for k in ("RRR", "RPRR") for o in ("direct", "reduced")] + [("RRR", "literal"), *slow(("RPRR", "literal"))],
)
def test_storage_is_used_up_and_not_exceeded(kinds, order):
    _, form = chain_form(kinds, 1, order)
    path, n = form.mechanism, len(kinds)
    guarded = np.full((form.matrices + 5, 4, 4), np.nan)
    H, V = np.zeros((n * (n + 1) // 2, form.inertia[0].size)), np.zeros(form.potential_energy.size)
    common = (path.revolute, path.J)
    store = guarded[: form.matrices]
    B = path.A @ path.D[:, None]
    if order == "direct":
        projections.direct(path.A, B, *common, path.gravity, H, V, store)
    elif order == "reduced":
        projections.reduced(path.A, path.D, *common, H, store)
    else:
        projections.literal(path.A, B, *common, H, store)
    assert np.isfinite(store).all()
    assert np.isnan(guarded[form.matrices :]).all()
    np.testing.assert_array_equal(H.reshape(form.inertia.shape), form.inertia)


@pytest.mark.parametrize("kinds", ["RRRR", "RPR", "PRC"])
def test_collocation_gives_the_same_coefficients(kinds):
    """H of CRBA on a grid of 5 angles or 3 lengths per joint determines all coefficients."""
    model, form = chain_form(kinds, 11)
    grids = [np.arange(1.0, 6.0) if kind in "RC" else np.arange(3.0) for kind in kinds]
    n = len(kinds)
    samples = np.array([rd.mass_matrix(model, q) for q in itertools.product(*grids)])
    samples = samples.reshape(*map(len, grids), n, n)
    for axis, (kind, grid) in enumerate(zip(kinds, grids, strict=True)):
        c, s = np.cos(grid), np.sin(grid)
        columns = [grid**0, c, s, c * c, c * s] if kind in "RC" else [grid**0, grid, grid**2]
        inverse = np.linalg.inv(np.column_stack(columns))
        samples = np.moveaxis(np.tensordot(inverse, samples, (1, axis)), 0, axis)
    k, j = np.tril_indices(n)
    np.testing.assert_allclose(np.moveaxis(samples[..., j, k], -1, 0), form.inertia, rtol=0, atol=1e-12)


def planar_arm(l1, r1, r2, m1, m2, I1, I2):
    """Textbook 2R: gravity along -y of the plane of motion, the joints turn about z of the plane."""
    plane = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    z = np.array([0.0, 0, 1])
    inertials = (Inertial(m1, np.array([r1, 0, 0]), I1 * np.diag([0.5, 0.5, 1])),
                 Inertial(m2, np.array([r2, 0, 0]), I2 * np.diag([0.5, 0.5, 1])))  # fmt: skip
    return build_model(
        Robot(
            "2R",
            (Link("base"), Link("upper", inertials[0]), Link("fore", inertials[1])),
            (
                Joint("shoulder", "revolute", "base", "upper", plane, np.zeros(3), z),
                Joint("elbow", "revolute", "upper", "fore", np.eye(3), np.array([l1, 0, 0]), z),
            ),
        )
    )


def test_planar_arm_has_the_textbook_coefficients():
    l1, r1, r2, m1, m2, I1, I2, g = 0.5, 0.25, 0.125, 2.0, 1.0, 0.0625, 0.03125, 9.81
    form = closed_form(planar_arm(l1, r1, r2, m1, m2, I1, I2), "base", "fore")
    found = {(t.row, t.column, t.factors): t.coefficient for t in form.terms()}
    assert found == pytest.approx(
        {
            (0, 0, ("1", "1")): I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2),
            (0, 0, ("1", "c")): 2 * m2 * l1 * r2,
            (0, 1, ("1", "1")): I2 + m2 * r2**2,
            (0, 1, ("1", "c")): m2 * l1 * r2,
            (1, 1, ("1", "1")): I2 + m2 * r2**2,
        },
        rel=1e-14,
    )
    q = np.array([0.3, -0.8])
    far = m2 * g * r2 * math.cos(q.sum())
    near = (m1 * r1 + m2 * l1) * g * math.cos(q[0])
    np.testing.assert_allclose(form.gravity(q), [near + far, far], rtol=1e-13)
    lifted = (m1 * r1 + m2 * l1) * math.sin(q[0]) + m2 * r2 * math.sin(q.sum())
    assert form.potential(q) == pytest.approx(g * lifted, rel=1e-13)


@pytest.mark.parametrize("seed", [0, 1, 2], ids="seed{}".format)
def test_laws(seed):
    """H' - 2 C is skew, H' = sum dH/dq_m qd_m, gravity is the slope of the potential."""
    _, form = chain_form("RPRC", seed, armature=0.1)
    q, qd, _ = state(4, seed)
    dH = form.mass_matrix_derivative(q)
    skew = dH @ qd - 2.0 * form.coriolis(q, qd)
    np.testing.assert_allclose(skew, -skew.T, rtol=0, atol=1e-12)
    for m, step in enumerate(1e-6 * np.eye(4)):
        slope = (form.mass_matrix(q + step) - form.mass_matrix(q - step)) / 2e-6
        np.testing.assert_allclose(dH[:, :, m], slope, rtol=0, atol=1e-7)
        rise = (form.potential(q + step) - form.potential(q - step)) / 2e-6
        assert form.gravity(q)[m] == pytest.approx(rise, abs=1e-6)
    assert np.linalg.eigvalsh(form.mass_matrix(q))[0] > 0.0


@pytest.mark.parametrize("seed", [0, 1], ids="seed{}".format)
def test_regressor_with_armature_is_inverse_dynamics(seed):
    model, form = chain_form("RRPR", seed, armature=0.2)
    q, qd, qdd = state(4, seed)
    tau = form.regressor(q, qd, qdd) @ form.parameters + 0.2 * qdd
    np.testing.assert_allclose(tau, rd.inverse_dynamics(model, q, qd, qdd), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("kinds", "seed"), [("RRR", 0), ("RPR", 1), *slow(("CRRR", 2)), ("PP", 3)])
def test_identifiable_rank_is_that_of_many_samples(kinds, seed):
    _, form = chain_form(kinds, seed)
    samples = np.vstack([form.regressor(*state(len(kinds), s)) for s in range(60)])
    assert form.identifiable_rank() == np.linalg.matrix_rank(samples)


def test_planar_arm_shows_five_parameters():
    """Known result: two inertias, one moment m r of the forearm, and the gravity moments about both joints."""
    form = closed_form(planar_arm(0.5, 0.25, 0.125, 2.0, 1.0, 0.0625, 0.03125), "base", "fore")
    assert form.identifiable_rank() == 6


def test_other_joints_rest_and_ride_along():
    """The path's matrix is the block of CRBA with every other joint at 0, armature included."""
    model = build_model(chain("RRPR", 5), armature={"joint2": 0.3, "joint4": 0.7})
    form = closed_form(model, "link1", "link3")
    assert form.joint_names == ("joint2", "joint3")
    q = np.array([0.0, 0.4, -0.3, 0.0])
    np.testing.assert_allclose(form.mass_matrix(q[1:3]), rd.mass_matrix(model, q)[1:3, 1:3], rtol=0, atol=1e-13)
    np.testing.assert_allclose(form.gravity(q[1:3]), rd.gravity_forces(model, q)[1:3], rtol=0, atol=1e-12)


def test_mimic_off_the_path_rests_at_its_offset():
    z = np.array([0.0, 0, 1])
    rng = np.random.default_rng(0)
    joints = [
        Joint("arm", "revolute", "base", "hand", np.eye(3), np.zeros(3), np.array([0.0, 1, 0])),
        Joint("left", "prismatic", "hand", "finger", rotation(rng), np.zeros(3), z),
        Joint("right", "revolute", "hand", "thumb", rotation(rng), np.zeros(3), z, mimic=Mimic("left", 1.0, 0.7)),
    ]
    links = tuple(Link(name, inertial(rng)) for name in ("base", "hand", "finger", "thumb"))
    model = build_model(Robot("gripper", links, tuple(joints)))
    form = closed_form(model, "base", "hand")
    q = np.array([0.5])
    np.testing.assert_allclose(form.mass_matrix(q)[0, 0], rd.mass_matrix(model, [0.5, 0.0])[0, 0], rtol=1e-13)
    for base, tip, name in (("hand", "thumb", "'right' is a mimic joint"), ("hand", "finger", "'right' follows")):
        with pytest.raises(ModelError, match=name):
            closed_form(model, base, tip)


@pytest.mark.parametrize("floating", [True, False], ids=["floating", "fixed"])
def test_quadruped_equals_crba(floating):
    model = rd.load_urdf(MINI_CHEETAH, floating_base=floating)
    model = rd.load_urdf(MINI_CHEETAH, floating_base=floating, armature=dict.fromkeys(model.joint_names, 0.01))
    form = closed_form_tree(model)
    for seed in range(20):
        q = rd.random_configuration(model, np.random.default_rng(seed))
        np.testing.assert_allclose(form.mass_matrix(q), rd.mass_matrix(model, q), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["go2", *slow("anymal", "solo12", "a1")])
def test_example_quadrupeds_equal_crba(name):
    model = rd.load_urdf(file_of(name), floating_base=True)
    form = closed_form_tree(model)
    for seed in range(5):
        q = rd.random_configuration(model, np.random.default_rng(seed))
        np.testing.assert_allclose(form.mass_matrix(q), rd.mass_matrix(model, q), rtol=0, atol=1e-12)


def test_cross_check_of_short_limbs():
    model = rd.load_urdf(MINI_CHEETAH, floating_base=True)
    limbs = short_limbs(model)
    assert [len(limb.joint_names) for limb in limbs] == [3, 3, 3, 3]
    assert short_limbs(model, longest=2) == ()
    q = rd.random_configuration(model, np.random.default_rng(0))
    H = rd.mass_matrix(model, q)
    assert max(cross_check(model, limb, q, H) for limb in limbs) < 1e-12
    H[6, 6] *= 1.01
    assert cross_check(model, limbs[0], q, H) > 1e-3
    assert short_limbs(mini_cheetah("with_rotors")) == ()


def numbers(text: str, q: np.ndarray) -> dict[str, float]:
    """Evaluate every formula of `to_text`."""
    names = {f"q{i + 1}": angle for i, angle in enumerate(q)} | {"cos": math.cos, "sin": math.sin}
    values = {}
    for block in text.split("\n\n")[1:]:
        left, right = " ".join(block.split()).split(" = ")
        values[left] = eval(re.sub(r"(?<=[\w)]) (?=[a-z])", " * ", right).replace("^", "**"), names)
    return values


@pytest.mark.parametrize(("kinds", "seed"), [("RRR", 0), ("RPR", 1), ("PPR", 2)])
def test_text_says_the_numbers(kinds, seed):
    _, form = chain_form(kinds, seed)
    q = state(3, seed)[0]
    values = numbers(form.to_text(), q)
    H, gravity = form.mass_matrix(q), form.gravity(q)
    for j, k in zip(*np.triu_indices(3), strict=True):
        assert values[f"H(joint{j + 1}, joint{k + 1})"] == pytest.approx(H[j, k], rel=1e-4, abs=1e-5)
    assert values["V"] == pytest.approx(form.potential(q), rel=1e-4, abs=1e-4)
    assert [values[f"G(joint{j + 1})"] for j in range(3)] == pytest.approx(gravity, rel=1e-4, abs=1e-4)


def test_text_folds_sums_of_angles_and_drops_noise():
    """A planar leg: only the sum q1 + q2 belongs into the moment of the shank."""
    text = closed_form(planar_arm(0.5, 0.25, 0.125, 2.0, 1.0, 0.0625, 0.03125), "base", "fore").to_text()
    assert text == (
        "q1 = shoulder [rad]\n"
        "q2 = elbow [rad]\n"
        "\n"
        "H(shoulder, shoulder) = 0.484375 + 0.125 cos(q2)\n"
        "\n"
        "H(shoulder, elbow) = 0.046875 + 0.0625 cos(q2)\n"
        "\n"
        "H(elbow, elbow) = 0.046875\n"
        "\n"
        "V = 9.81 sin(q1) + 1.22625 sin(q1 + q2)\n"
        "\n"
        "G(shoulder) = 9.81 cos(q1) + 1.22625 cos(q1 + q2)\n"
        "\n"
        "G(elbow) = 1.22625 cos(q1 + q2)\n"
    )


def test_latex_is_an_align_environment():
    _, form = chain_form("RPR", 0)
    latex = form.to_text(latex=True)
    assert latex.startswith("\\begin{align*}\n& q_{1} = \\mathtt{joint1}")
    assert latex.endswith("\\end{align*}\n")
    assert latex.count("{") == latex.count("}")
    assert all(line.endswith(r"\\") for line in latex.splitlines()[1:-1])
    assert "H_{\\mathtt{joint1}, \\mathtt{joint2}} ={}&" in latex


@pytest.mark.parametrize(("kinds", "seed"), [("RRR", 0), ("PRPR", 1)])
def test_python_source_is_the_mass_matrix(kinds, seed):
    _, form = chain_form(kinds, seed)
    module: dict = {}
    exec(form.to_source(), module)
    q = state(len(kinds), seed)[0]
    filled = np.empty((len(kinds), len(kinds)))
    for H in (module["mass_matrix"](q), module["mass_matrix"](q, filled)):
        np.testing.assert_allclose(H, form.mass_matrix(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(filled, form.mass_matrix(q), rtol=0, atol=1e-12)


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform == "win32", reason="needs a C compiler")
@pytest.mark.parametrize(("kinds", "seed"), [("RRR", 0), ("PRPR", 1), ("RRRRR", 2)])
def test_c_source_is_the_mass_matrix(kinds, seed, tmp_path):
    n = len(kinds)
    _, form = chain_form(kinds, seed)
    (tmp_path / "leg.c").write_text(form.to_source("c"))
    options = ["-std=c99", "-O2", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "leg.c", "-o", "leg.so", "-lm"], cwd=tmp_path, check=True)
    q, H = state(n, seed)[0], np.empty((n, n))
    pointer = ctypes.POINTER(ctypes.c_double)
    ctypes.CDLL(str(tmp_path / "leg.so")).mass_matrix(q.ctypes.data_as(pointer), H.ctypes.data_as(pointer))
    np.testing.assert_allclose(H, form.mass_matrix(q), rtol=0, atol=1e-12)


def with_kind(kind: str) -> Model:
    robot = chain("RR", 0)
    joint = robot.joints[2]
    odd = Joint(joint.name, kind, joint.parent, joint.child, joint.R, joint.p, joint.axis)
    return build_model(Robot("odd", robot.links, (*robot.joints[:2], odd)))


def test_paths_that_have_no_closed_form():
    model = build_model(chain("RR", 0))
    with pytest.raises(UnknownNameError, match=r"no link 'elbow'; valid names: link1, link2, mount, root"):
        closed_form(model, "root", "elbow")
    with pytest.raises(UnknownNameError, match="no link 'floor'"):
        closed_form(model, "floor", "link1")
    with pytest.raises(ModelError, match="'link1' does not hang on link 'link2'; name the inner link first"):
        closed_form(model, "link2", "link1")
    with pytest.raises(ModelError, match="no joint moves between link 'root' and link 'mount'"):
        closed_form(model, "root", "mount")
    for kind in ("planar", "floating"):
        with pytest.raises(ModelError, match=f"'joint2' is a {kind} joint"):
            closed_form(with_kind(kind), "root", "link2")
    with pytest.raises(ModelError, match="no rotors"):
        closed_form(mini_cheetah("with_rotors"), "base", "FL_knee")


def test_sizes_and_names_that_are_refused():
    long = build_model(chain("R" * 9, 0))
    with pytest.raises(ModelError, match=r"9 joints .* coefficients, more than 3e"):
        closed_form(long, "root", "link9")
    with pytest.raises(ModelError, match="limbs of up to 7 joints, not 9: joint1"):
        closed_form_tree(long)
    with pytest.raises(ParameterError, match="up to 6 joints; this one has 7"):
        closed_form(build_model(chain("R" * 7, 0)), "root", "link7", "literal")
    model = build_model(chain("RR", 0))
    with pytest.raises(ParameterError, match="one of reduced, direct, chainwise, literal; got 'sideways'"):
        closed_form(model, "root", "link2", "sideways")
    form = closed_form(model, "root", "link2")
    with pytest.raises(ParameterError, match="one of python, c; got 'fortran'"):
        form.to_source("fortran")
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        form.mass_matrix([0.0])
    with pytest.raises(ShapeError, match=r"qd\[1\] is nan"):
        form.coriolis([0.0, 0.0], [0.0, math.nan])


@pytest.mark.parametrize("kinds", ["R", "P", "RP", "RRP", "PRRR"])
def test_the_unreduced_matrices_make_up_the_mass_matrix(kinds):
    _, form = chain_form(kinds, 5)
    found = np.zeros_like(form.inertia)
    for (i, j, k), U in unreduced_matrices(form).items():
        H = np.einsum("ab,...ab->...", form.mechanism.J[i + 1], U)
        found[k * (k + 1) // 2 + j][(slice(None),) * (i + 1) + (0,) * (len(kinds) - i - 1)] += H
    np.testing.assert_allclose(found, form.inertia, rtol=1e-10, atol=1e-12 * np.abs(form.inertia).max())


def test_the_matrices_go_into_a_file_and_a_path_that_is_too_long_is_refused(capsys, tmp_path):
    command = ["closed-form", str(MINI_CHEETAH), "--base", "base", "--tip", "FL_knee", "--order", "chainwise"]
    assert main([*command, "--matrices", str(tmp_path / "u.npz")]) == 0
    assert "order 'chainwise'" in capsys.readouterr().out
    with np.load(tmp_path / "u.npz") as matrices:
        assert {name: U.shape for name, U in matrices.items()}["U_3_1_2"] == (5, 5, 5, 4, 4)
        assert len(matrices.files) == 10
    assert main([*command, "--matrices", "/proc/nowhere/u.npz"]) == 2
    assert "--matrices: '/proc/nowhere/u.npz' cannot be written" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="paths of up to 6 joints; this one has 7"):
        unreduced_matrices(chain_form("R" * 7, 0)[1])


def test_tree_with_a_branching_limb_is_refused():
    robot = chain("RRR", 0)
    extra = Joint("thumb", "revolute", "link2", "nail", np.eye(3), np.zeros(3), np.array([0.0, 0, 1]))
    branched = Robot("hand", (*robot.links, Link("nail", inertial(np.random.default_rng(0)))), (*robot.joints, extra))
    model = build_model(branched)
    with pytest.raises(ModelError, match=r"a limb branches.*joint1, joint2, joint3, thumb"):
        closed_form_tree(model)
    assert short_limbs(model) == ()


def test_command(capsys):
    command = ["closed-form", str(MINI_CHEETAH), "--base", "base", "--tip", "FL_knee"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "q3 = j_FL_knee [rad]" in out
    assert "cost: 130 coefficient steps with 9 stored 4x4 matrices" in out
    assert "memory: 1.12 KiB for these matrices, 104 KiB if every U_ijk were kept, 464 B for the coefficients" in out
    assert main([*command, "--source", "c"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("/* Mass matrix of the joints j_FL_abad")
    assert "cost: 130" in err
    assert main([*command[:-1], "knee"]) == 2
    assert "there is no link 'knee'; valid names: FL_abad" in capsys.readouterr().err
