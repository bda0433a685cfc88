# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The monitor's ledger closes on a simulated robot, and its delay margin is where a delayed loop turns unstable."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import open_loop_trot
import pytest
import quadrupeds
from depth import every

import robot_dynamics as rd
from robot_dynamics.contact.impulse import Impulse
from robot_dynamics.contact.spring_damper import SpringDamper
from robot_dynamics.control.contacts import ContactForces
from robot_dynamics.control.monitor import Companions, Ledger, Residual, delay_margin, explained
from robot_dynamics.simulation.plant import Plant, PlantParams


@pytest.fixture(scope="module")
def model() -> rd.Model:
    return quadrupeds.model("mini_cheetah")


def state(plant: Plant, forces: ContactForces):
    """What a monitor hears of a plant."""
    c = plant.contacts
    forces.set_forces(c.link, c.position, c.force_world)
    return plant.time, plant.q, plant.qd, plant.tau, forces.at(plant.q)


def watched(model: rd.Model, height: float, seconds: float, timestep: float, swing: float = 0.0, push: bool = False):
    """Drop a robot that holds or swings its legs; returns the last account and the largest kinetic energy."""
    plant = Plant(model, PlantParams(timestep=timestep, joint_friction=False, stops=False))
    q = rd.neutral(model)
    q[2], q[7:] = height, np.tile([0.0, -0.8, 1.6], 4)
    plant.reset(q, np.zeros(model.nv))
    ledger, forces, most = Ledger(model), ContactForces(model), 0.0
    for step in range(round(seconds / timestep)):
        if swing:
            plant.command(swing * np.sin(20.0 * step * timestep + np.arange(12)))
        else:
            plant.track(q[7:], np.zeros(12), 60.0, 2.0)
        if push and step == 10:
            plant.push("base", [0.0, 0.0, 0.0, 0.0, 50.0, 0.0], 0.05)
        ledger.update(*state(plant, forces))
        most = max(most, ledger.account().kinetic)
        plant.step()
    return ledger.account(), most


def test_a_flight_is_explained_by_efforts_weight_and_damping(model):
    (coarse, _), (fine, most) = (watched(model, 2.0, 0.3, h, swing=2.0) for h in (1e-3, 2.5e-4))
    assert abs(fine.balance_error) < 1e-4 * most
    assert abs(fine.balance_error) < 0.3 * abs(coarse.balance_error)
    assert fine.momentum_error < 1e-4 * model.mass * 9.81 * 0.3
    assert fine.angular_momentum_error < 1e-6
    assert fine.kinetic + fine.potential == pytest.approx(
        fine.initial + fine.work_in - fine.dissipated_joint + fine.work_contact + fine.balance_error
    )


def test_a_landing_is_explained_by_the_contacts(model):
    account, most = watched(model, 0.4, 0.6, 2.5e-4)
    assert account.work_contact < -1.0
    assert abs(account.balance_error) < 2e-3 * most
    assert account.momentum_error < 1e-3 * model.mass * 9.81 * 0.6


def test_a_hand_that_pushes_is_not_explained(model):
    account, _ = watched(model, 2.0, 0.3, 1e-3, push=True)
    assert account.momentum_error == pytest.approx(50.0 * 0.05, rel=0.05)


def test_the_ledger_begins_anew_after_a_gap_and_a_jump_back(model):
    ledger, q, zero = Ledger(model), rd.neutral(model), np.zeros(model.nv)
    fast = np.ones(model.nv)
    assert ledger.account() is None
    ledger.update(1.0, q, zero, np.zeros(12))
    for stamp in (2.0, 0.5):
        ledger.update(stamp, q, fast, np.zeros(12))
        account = ledger.account()
        assert account.balance_error == pytest.approx(0.0)
        assert account.momentum_error == pytest.approx(0.0)


def test_a_fixed_base_has_no_momentum_to_explain():
    fixed = rd.load_urdf(quadrupeds.MINI_CHEETAH)
    ledger = Ledger(fixed)
    ledger.update(1.0, np.zeros(12), np.ones(12), np.zeros(12))
    account = ledger.account()
    assert np.isnan([account.momentum_error, account.angular_momentum_error]).all()
    assert account.kinetic > 0.0


def test_errors_of_long_ago_are_told_apart_from_recent_ones(model):
    """A hand pushes a floating robot once; ten seconds later only the total remembers."""
    ledger, q, qd = Ledger(model), rd.neutral(model), np.zeros(model.nv)
    for step in range(1200):
        if step == 100:
            qd[3] = 0.2
        time = 0.01 * step
        q[2], qd[5] = -0.5 * 9.81 * time**2, -9.81 * time
        ledger.update(time, q, qd, np.zeros(12))
        if step == 500:
            assert ledger.account().recent_momentum_error == pytest.approx(0.2 * model.mass)
    account = ledger.account()
    assert account.momentum_error == pytest.approx(0.2 * model.mass)
    assert account.balance_error == pytest.approx(0.02 * model.mass)
    assert (account.recent_momentum_error, account.recent_balance_error) == pytest.approx((0.0, 0.0), abs=1e-6)


LAWS = {"spring_damper": SpringDamper(), "impulse": Impulse()}


def trot(law: str, seconds: float, robot: rd.Model | None = None, lost: int = 0):
    """Ledger and residual of a monitor that hears every state of a trot, or all but each `lost`-th; and the plant.

    The plant may be of another `robot` than the monitor knows.
    """
    known = open_loop_trot.model(True)
    plant, act, steps = open_loop_trot.walker(PlantParams(contact=LAWS[law]), True, seconds, robot=robot)
    ledger, residual, forces = Ledger(known), Residual(known, 500, 0.01), ContactForces(known)
    for step in range(steps):
        if not lost or step % lost != lost - 1:
            now = state(plant, forces)
            ledger.update(*now)
            residual.update(*now)
        act(step)
        plant.step()
    now = state(plant, forces)
    ledger.update(*now)
    residual.update(*now)
    return ledger.account(), residual, plant


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_a_perfect_plant_is_not_accused(law):
    """What the ledger does not explain of 20 s of trot is what the plant's own does not; no friction is suggested."""
    account, residual, plant = trot(law, 20.0)
    assert account.lost == 0.0
    assert account.balance_error == pytest.approx(plant.energy.balance_error, abs=0.02)
    assert account.momentum_error < 0.02
    assert account.angular_momentum_error < 0.02
    assert account.recent_momentum_error < 0.02
    assert residual.rms().max() < 0.02
    assert not residual.suggestion().any()


@pytest.mark.slow
@pytest.mark.parametrize("law", every(2, LAWS))
def test_lost_states_are_left_out_of_the_account(law):
    """Each 97th state is lost, touchdowns among them."""
    account, residual, plant = trot(law, 20.0, lost=97)
    assert account.lost == pytest.approx(2e-3 * (20000 // 97))
    assert account.balance_error == pytest.approx(plant.energy.balance_error, abs=0.02)
    assert account.momentum_error < 0.02
    assert not residual.suggestion().any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "figure", "more"), [(0, "armature", 0.02), (1, "damping", 0.3), (2, "friction", 0.5)]
)
@pytest.mark.parametrize("law", every(2, LAWS))
def test_what_a_joint_has_more_than_the_model_knows_is_found(law, column, figure, more):
    """And nothing else; a plant that damps by the velocity at a step's end acts as if it had armature h d / 2."""
    known = open_loop_trot.model(True)
    for joint in ("j_FL_hip", "j_FL_knee"):
        figures = getattr(known, figure).copy()
        figures[known.joint_index(joint)] += more
        _, residual, _ = trot(law, 8.0, replace(known, **{figure: figures}))
        found = residual.suggestion()
        expected = np.zeros((12, 3))
        expected[known.joint_index(joint), column] = more
        assert (np.abs(found - expected) <= 0.2 * expected + [1e-3, 0.01, 0.02]).all()


def test_no_negative_inertia_or_friction_is_suggested():
    """A residual that falls with acceleration and speed has no explanation; its Coulomb part has one."""
    rng = np.random.default_rng(2)
    A = np.column_stack([*rng.standard_normal((2, 400)), np.sign(rng.standard_normal(400))])
    assert not explained(A, A @ [-1.0, -0.5, 0.1], 0.0).any()
    np.testing.assert_allclose(explained(A, A @ [-0.1, 0.0, 1.0] + 7.0, 0.0), [0.0, 0.0, 1.0], atol=0.02)
    assert not explained(A, A @ [0.0, 0.0, 1.0], 1.1).any()


class Message(NamedTuple):
    stamp: float


def test_what_comes_beside_the_joint_states_is_taken_with_its_stamp_or_missed():
    beside = Companions[Message]()
    for stamp in (1.0, 1.1, 1.2, 1.4, 1.5):
        beside.put(Message(stamp))
    due = {}
    for stamp in (1.0, 1.1, 1.2, 1.3, 1.4):
        due[stamp] = [message.stamp for message in beside.due(stamp, 1.5)], beside.missing(stamp)
    assert due == {1.0: ([1.0], False), 1.1: ([1.1], False), 1.2: ([1.2], False), 1.3: ([], True), 1.4: ([1.4], False)}
    assert [message.stamp for message in beside.due(1.5, 1.5)] == [1.5]
    assert [beside.missing(stamp) for stamp in (1.5, 1.55, 2.0)] == [False, True, False]
    beside.put(Message(9.0))
    assert [message.stamp for message in beside.due(2.0, 2.0)] == [9.0]


GAINS = [(0.05, 100.0, 2.0), (0.01, 20.0, 0.5), (1.0, 0.0, 3.0), (0.2, 50.0, 10.0)]


@pytest.mark.parametrize(("inertia", "kp", "kd"), GAINS)
def test_a_delayed_loop_settles_within_the_margin_and_not_beyond(inertia, kp, kd):
    margin, h = float(delay_margin(inertia, kp, kd)), 1e-5

    def size(delay: float) -> float:
        """Amplitude after a long time over that after a short one."""
        late = round(delay / h)
        periods = round(40.0 * margin / h)
        q, qd = np.zeros(late + periods), np.zeros(late + periods)
        qd[: late + 1] = 1.0
        for k in range(late, late + periods - 1):
            qd[k + 1] = qd[k] - h / inertia * (kp * q[k - late] + kd * qd[k - late])
            q[k + 1] = q[k] + h * qd[k + 1]
        return np.abs(qd[-periods // 8 :]).max() / np.abs(qd[late : late + periods // 2]).max()

    assert size(0.9 * margin) < 0.9
    assert size(1.1 * margin) > 1.1


def test_without_damping_there_is_no_margin_and_without_gains_no_end_to_it():
    assert delay_margin([0.1, 0.1], [100.0, 0.0], [0.0, 0.0]).tolist() == [0.0, np.inf]
