# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The feed-forward in front of motors: silent until enabled, harmless when its input is not to be trusted."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import InertiaStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from robot_files import FILES, robot_file
from ros_nodes import BEST_EFFORT, STATE_FAULTS, Peer, Process, peer, running, stamp
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

import robot_dynamics as rd
from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros


def state(us: Peer, **changes) -> JointState:
    """A joint state of now as the hardware would send it."""
    n = 12
    names = [f"{leg}_{joint}" for leg in ("FR", "FL", "HR", "HL") for joint in ("abad", "hip", "knee")]
    msg = JointState(name=names, position=[0.1] * n, velocity=[0.0] * n, effort=[0.0] * n)
    msg.header.stamp = us.node.get_clock().now().to_msg()
    for field, value in changes.items():
        setattr(msg, field, value)
    return msg


@contextmanager
def started(*more: str) -> Iterator[tuple[Peer, Process]]:
    """The feed-forward on a fixed robot as on hardware: dry, with a short timeout."""
    options = ("floating_base:=false", "mode:=gravity", "ramp_time:=0.1", "state_timeout:=0.3", *more)
    node = Process("feedforward", *(word for option in options for word in ("-p", option)))
    with running(node), peer() as us:
        node.await_line("ready")
        us.listen(Float64MultiArray, "effort_controller/commands", 1000)  # reliable, as effort controllers listen
        us.listen(JointState, "feedforward/torque/total")
        yield us, node
        assert node.popen.returncode == 0 or node.end() == (0, [])
        assert all(np.isfinite(m.data).all() for m in us.heard["effort_controller/commands"])


@pytest.fixture
def hardware() -> Iterator[tuple[Peer, Process]]:
    """A node that has just been started."""
    with started() as (us, node):
        yield us, node


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    """Who talks to a node that one test after the other may use."""
    with started() as (us, _):
        yield us


def test_hardware_gets_nothing_until_enabled_and_zero_when_the_state_falls_silent(hardware):
    us, node = hardware
    commands = us.heard["effort_controller/commands"]
    node.await_line("dry: call ~/enable")

    def total() -> bool:
        us.send("joint_states", state(us), BEST_EFFORT)
        return us.heard["feedforward/torque/total"]

    us.until(total, "the dry torque")
    assert not commands
    assert us.call(SetBool, "feedforward/enable", data=True).success
    node.await_line("enabled, up within 0.1 s")

    def ramped() -> bool:
        us.send("joint_states", state(us), BEST_EFFORT)
        us.spin(0.01)
        return len(commands) > 2 and np.allclose(commands[-1].data, us.heard["feedforward/torque/total"][-1].effort)

    us.until(ramped, "the full torque")
    sizes = [np.abs(m.data).max() for m in commands]
    assert sizes[0] < sizes[-1]
    us.until(lambda: not np.any(commands[-1].data), "the timeout action")
    us.until(lambda: us.status("feedforward").get("message") == "no joint_states", "the diagnostic")
    us.until(ramped, "recovery")


def test_a_feedforward_that_only_watches_cannot_be_enabled():
    with started("watch_only:=true", "dry_run:=false") as (us, node):
        node.await_line("dry: another node carries the weight")
        answer = us.call(SetBool, "feedforward/enable", data=True)
        assert not answer.success
        assert "it would be carried twice" in answer.message

        def watched() -> bool:
            us.send("joint_states", state(us), BEST_EFFORT)
            return us.heard["feedforward/torque/total"] and us.status("feedforward").get("message") == "dry run"

        us.until(watched, "the dry torque")
        assert us.call(SetBool, "feedforward/enable", data=False).success
        assert not np.any([m.data for m in us.heard["effort_controller/commands"]])


@pytest.mark.parametrize("how", ["signal", "lifecycle"])
def test_an_end_in_order_leaves_zeros_behind_and_a_new_start_ramps_up(hardware, how):
    us, node = hardware
    commands = us.heard["effort_controller/commands"]
    assert us.call(SetBool, "feedforward/enable", data=True).success

    def driven() -> bool:
        us.send("joint_states", state(us), BEST_EFFORT)
        us.spin(0.01)
        return bool(commands) and np.any(commands[-1].data)

    us.until(driven, "an effort")
    if how == "signal":
        assert node.end() == (0, [])
        us.until(lambda: not np.any(commands[-1].data), "the zeros")
        return
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE):
        us.call(ChangeState, "feedforward/change_state", transition=Transition(id=transition))
        us.until(lambda: not np.any(commands[-1].data), "the zeros")
    commands.clear()
    us.until(lambda: driven() and us.heard["feedforward/torque/total"], "an effort and the wanted one")
    assert np.abs(commands[0].data).max() < np.abs(us.heard["feedforward/torque/total"][-1].effort).max()


def test_an_arm_with_a_gripper_gets_its_gravity_from_states_that_name_the_mimic_finger():
    if not FILES:
        pytest.skip("example-robot-data is not installed")
    model = rd.load_urdf(robot_file("panda"))
    options = ("floating_base:=false", "mode:=gravity", "dry_run:=false", "ramp_time:=0.0", "output:=joint_commands")
    node = Process("feedforward", *(word for option in options for word in ("-p", option)), urdf=robot_file("panda"))
    with running(node), peer() as us:
        node.await_line("ready")
        answers = us.listen(JointState, "joint_commands")
        names = [*model.joint_names, "panda_finger_joint2"]
        q = [0.1, -0.7, 0.2, -2.1, 0.3, 1.5, 0.4, 0.02]
        measured = {"name": names, "position": [*q, 0.02], "velocity": [0.0] * 9, "effort": [0.0] * 9}

        def answered() -> bool:
            us.send("joint_states", state(us, **measured), BEST_EFFORT)
            us.spin(0.02)
            return bool(answers) and np.any(answers[-1].effort)

        us.until(answered, "the efforts")
        assert tuple(answers[-1].name) == model.joint_names
        assert answers[-1].effort == pytest.approx(rd.gravity_forces(model, q))
        assert node.end() == (0, [])


def test_a_payload_changes_the_torque_at_run_time_and_a_bad_one_does_not(us):
    totals = us.heard["feedforward/torque/total"]

    def total(payload: InertiaStamped | None = None) -> np.ndarray:
        if payload is not None:
            us.send("feedforward/payload", payload)
            us.until(lambda: float(us.status("feedforward").get("mass [kg]", 0.0)) == pytest.approx(mass), "the mass")
        count = len(totals)

        def answered() -> bool:
            us.send("joint_states", state(us), BEST_EFFORT)
            us.spin(0.02)
            return len(totals) > count

        us.until(answered, "a torque")
        return np.array(totals[-1].effort)

    us.until(lambda: "mass [kg]" in us.status("feedforward"), "the diagnostic")
    mass = bare_mass = float(us.status("feedforward")["mass [kg]"])
    bare = total()
    payload = InertiaStamped()
    payload.header.frame_id, payload.inertia.m = "FR_knee", 1.0
    payload.inertia.com.z = -0.2
    mass = bare_mass + 1.0
    change = np.abs(total(payload) - bare)
    assert change[:3].max() > 0.1
    assert not change[3:].any()
    payload.header.frame_id = "elbow"
    us.send("feedforward/payload", payload)
    us.until(lambda: us.status("feedforward").get("refused payload") == "1", "the refusal")
    payload.header.frame_id, payload.inertia.m, mass = "FR_knee", 0.0, bare_mass
    assert total(payload) == pytest.approx(bare)


def test_the_emergency_stop_of_the_feedforward_latches(us):
    us.send("joint_states", state(us), BEST_EFFORT)
    us.call(SetBool, "feedforward/enable", data=True)
    us.call(SetBool, "feedforward/estop", data=True)
    us.until(lambda: us.status("feedforward").get("message") == "emergency stop", "the diagnostic")
    assert not us.call(SetBool, "feedforward/enable", data=True).success
    us.call(SetBool, "feedforward/estop", data=False)
    assert us.call(SetBool, "feedforward/enable", data=True).success


@pytest.mark.parametrize("fault", STATE_FAULTS, ids=str)
def test_a_bad_state_is_refused_and_named_and_leads_to_zeros_until_a_good_one_comes(us, fault):
    commands, key = us.heard["effort_controller/commands"], f"refused joint_states: {fault.cause}"
    assert us.call(SetBool, "feedforward/enable", data=True).success
    before, good = int(us.status("feedforward").get(key, "0")), []

    def driven() -> bool:
        good.append(state(us))
        us.send("joint_states", good[-1], BEST_EFFORT)
        us.spin(0.02)
        return commands and np.any(commands[-1].data)

    def send_bad() -> None:
        msg, last = state(us, **fault.changes), convert.seconds_from_stamp(good[-1].header.stamp)
        msg.header.stamp = stamp(fault.at(convert.seconds_from_stamp(msg.header.stamp), last))
        us.send("joint_states", msg, BEST_EFFORT)
        us.spin(0.02)

    def named() -> bool:
        send_bad()
        status = us.status("feedforward")
        return int(status.get(key, "0")) > before and status["message"] == "no joint_states"

    us.until(driven, "an effort")
    us.until(lambda: (send_bad(), not np.any(commands[-1].data))[-1], "the timeout action")
    us.until(named, fault.cause)
    us.until(driven, "recovery")
