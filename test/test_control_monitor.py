"""The monitor's ledger closes on a simulated robot, and its delay margin is where a delayed loop turns unstable."""

import numpy as np
import pytest
import quadrupeds

import robot_dynamics as rd
from robot_dynamics.control.contacts import ContactForces
from robot_dynamics.control.monitor import Ledger, delay_margin
from robot_dynamics.plant import Plant, PlantParams


@pytest.fixture(scope="module")
def model() -> rd.Model:
    return quadrupeds.model("mini_cheetah")


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
        c = plant.contacts
        forces.set_forces(c.link, c.position, c.force_world)
        account = ledger.update(step * timestep, plant.q, plant.qd, plant.tau, forces.generalised(plant.q))
        most = max(most, account.kinetic)
        plant.step()
    return account, most


def test_a_flight_is_explained_by_efforts_weight_and_damping(model):
    """Efforts are those of the step before the state, so the balance is of first order in the period."""
    (coarse, _), (fine, most) = (watched(model, 2.0, 0.3, h, swing=2.0) for h in (1e-3, 2.5e-4))
    assert abs(fine.balance_error) < 0.01 * most
    assert abs(fine.balance_error) < 0.3 * abs(coarse.balance_error)
    assert fine.momentum_error < 0.01 * model.mass * 9.81 * 0.3
    assert fine.angular_momentum_error < 1e-6
    assert fine.kinetic + fine.potential == pytest.approx(
        fine.initial + fine.work_in - fine.dissipated_joint + fine.work_contact + fine.balance_error
    )


def test_a_landing_is_explained_by_the_contacts(model):
    account, most = watched(model, 0.4, 0.6, 2.5e-4)
    assert account.work_contact < -1.0
    assert abs(account.balance_error) < 0.1 * most
    assert account.momentum_error < 0.05 * model.mass * 9.81 * 0.6


def test_a_hand_that_pushes_is_not_explained(model):
    account, _ = watched(model, 2.0, 0.3, 1e-3, push=True)
    assert account.momentum_error == pytest.approx(50.0 * 0.05, rel=0.05)


def test_the_ledger_begins_anew_after_a_gap_and_a_jump_back(model):
    ledger, q, zero = Ledger(model), rd.neutral(model), np.zeros(model.nv)
    fast = np.ones(model.nv)
    ledger.update(1.0, q, zero, np.zeros(12), zero)
    for stamp in (2.0, 0.5):
        account = ledger.update(stamp, q, fast, np.zeros(12), zero)
        assert account.balance_error == pytest.approx(0.0)
        assert account.momentum_error == pytest.approx(0.0)


def test_a_fixed_base_has_no_momentum_to_explain():
    fixed = rd.load_urdf(quadrupeds.MINI_CHEETAH)
    account = Ledger(fixed).update(1.0, np.zeros(12), np.ones(12), np.zeros(12), np.zeros(12))
    assert np.isnan([account.momentum_error, account.angular_momentum_error]).all()
    assert account.kinetic > 0.0


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
