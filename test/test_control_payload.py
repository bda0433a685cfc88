# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A robot with a payload is the robot whose URDF has that payload."""

import numpy as np
import pytest
import quadrupeds
from urdf_text import joint_text, link_text, robot_text

import robot_dynamics as rd
from robot_dynamics.contact.points import contact_points
from robot_dynamics.control.actuation import Actuation
from robot_dynamics.control.payload import Payloads
from robot_dynamics.control.simulation import Simulation, home_pose
from robot_dynamics.errors import ParameterError, UnknownNameError
from robot_dynamics.model.description import Rotor
from robot_dynamics.simulation.plant import Plant

COM = np.array([0.1, -0.05, 0.08])
INERTIA = np.diag([0.02, 0.03, 0.04])


@pytest.fixture
def model() -> rd.Model:
    return quadrupeds.model("mini_cheetah")


@pytest.fixture
def payloads(model) -> Payloads:
    return Payloads(model)


@pytest.mark.parametrize("link", ["base", "FR_knee"])
@pytest.mark.parametrize("seed", range(3))
def test_the_effort_grows_by_that_of_the_payload_alone(model, payloads, link, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = rd.random_configuration(model, rng), *rng.normal(size=(2, model.nv))
    loaded = payloads.put(link, 3.0, COM, np.zeros((3, 3)))
    corner = rd.points(model, {link: [COM]})
    J = rd.point_jacobian(model, corner, q)[0]
    acceleration = J @ qdd + rd.point_bias(model, corner, q, qd)[0] - model.gravity
    more = rd.inverse_dynamics(loaded, q, qd, qdd) - rd.inverse_dynamics(model, q, qd, qdd)
    assert more == pytest.approx(J.T @ (3.0 * acceleration), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_turning_payload_has_the_energy_of_its_inertia(model, payloads, seed):
    rng = np.random.default_rng(seed)
    q, qd = rd.random_configuration(model, rng), rng.normal(size=model.nv)
    loaded = payloads.put("base", 3.0, COM, INERTIA)
    velocity = rd.point_velocity(model, rd.points(model, {"base": [COM]}), q, qd)[0]
    energy = 1.5 * velocity @ velocity + 0.5 * qd[:3] @ INERTIA @ qd[:3]
    assert rd.kinetic_energy(loaded, q, qd) - rd.kinetic_energy(model, q, qd) == pytest.approx(energy)


def test_payloads_add_up_replace_each_other_and_go_with_mass_zero(model, payloads):
    payloads.put("base", 3.0, COM, INERTIA)
    assert payloads.put("FR_knee", 0.5, COM, INERTIA).mass == pytest.approx(model.mass + 3.5)
    assert payloads.put("base", 1.0, COM, INERTIA).mass == pytest.approx(model.mass + 1.5)
    payloads.put("FR_knee", 0.0, np.zeros(3), np.zeros((3, 3)))
    bare = payloads.put("base", 0.0, np.zeros(3), np.zeros((3, 3)))
    q = rd.random_configuration(model, np.random.default_rng(0))
    assert rd.mass_matrix(bare, q).tolist() == rd.mass_matrix(model, q).tolist()


@pytest.mark.parametrize("floating_base", [True, False])
def test_a_robot_keeps_its_rotors_its_links_and_its_root(floating_base):
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    tail = joint_text("b", "c", '<origin xyz="0 0 1"/>', kind="fixed")
    text = robot_text(*(link_text(n, body) for n in "zabc"), joint_text("z", "a"), joint_text("a", "b"), tail)
    rotors = {"ab": Rotor(6.0, 0.01, axis=(1.0, 0.0, 0.0))}
    heavy = text.replace("</robot>", link_text("load", body) + joint_text("b", "load", kind="fixed") + "</robot>")
    options = {"floating_base": floating_base, "keep_links": ("c",), "root": "a", "rotors": rotors}
    robot = rd.load_urdf(text, **options)
    loaded = Payloads(robot).put("b", 1.0, np.zeros(3), np.eye(3))
    q, qd, qdd = rd.random_configuration(robot, np.random.default_rng(0)), *np.ones((2, robot.nv))
    assert loaded.body_names == robot.body_names
    expected = rd.inverse_dynamics(rd.load_urdf(heavy, **options), q, qd, qdd)
    assert rd.inverse_dynamics(loaded, q, qd, qdd) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("link", "mass", "com", "inertia", "error", "sentence"),
    [
        ("nose", 1.0, COM, INERTIA, UnknownNameError, "no link 'nose'"),
        ("base", -1.0, COM, INERTIA, ParameterError, "0 or more"),
        ("base", float("nan"), COM, INERTIA, ParameterError, "finite"),
        ("base", 1.0, COM * np.inf, INERTIA, ParameterError, "finite"),
        ("base", 1.0, COM, -INERTIA, ParameterError, "no rigid body"),
        ("base", 1.0, COM, np.diag([1.0, 1.0, 3.0]), ParameterError, "no rigid body"),
    ],
)
def test_what_cannot_be_is_refused_counted_and_leaves_the_rest(
    model, payloads, link, mass, com, inertia, error, sentence
):
    payloads.put("base", 1.0, COM, INERTIA)
    with pytest.raises(error, match=sentence):
        payloads.put(link, mass, com, inertia)
    assert payloads.refused == 1
    assert payloads.put("FR_knee", 1.0, COM, INERTIA).mass == pytest.approx(model.mass + 2.0)


def test_the_simulation_goes_on_where_it_was_and_the_ground_carries_more(model, payloads):
    feet = contact_points(model)
    home = home_pose(model, "stance", {}, feet, 0.0)
    actuation = Actuation(model.joint_names, 100.0, 2.0, timeout=0.1, action="hold")
    simulation = Simulation(Plant(model), actuation, home, 1e-3)
    for _ in range(1500):
        simulation.tick()
    time, q = simulation.time, simulation.plant.q
    simulation.carry(Plant(payloads.put("base", 2.0, [0.0, 0.0, 0.0], INERTIA), points=feet))
    assert simulation.time == time
    np.testing.assert_allclose(simulation.plant.q, q, rtol=0, atol=1e-15)  # its quaternion has norm 1 again
    for _ in range(1500):
        simulation.tick()
    assert simulation.time == pytest.approx(time + 1.5)
    carried = simulation.plant.contacts.force_world[:, 2].sum()
    assert carried == pytest.approx(9.81 * (model.mass + 2.0), rel=0.01)
