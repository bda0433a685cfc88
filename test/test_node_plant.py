# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the plant node promises to whoever listens: clock, states, sensors, contacts, services."""

import json
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, PoseStamped, PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.qos import ReliabilityPolicy
from ros_nodes import URDF, Peer, Process, nanoseconds, peer, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, Header, UInt32
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

pytestmark = pytest.mark.ros
WEIGHT = 9.81 * 8.252
NAN = float("nan")
LEGS = ("FR", "FL", "HR", "HL")
PERIOD = 10_000_000
"""Of the plant's ticks [ns]."""


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    """The plant of the Mini Cheetah, holding, and a peer that hears everything it says.

    At 100 Hz the peer keeps up with eight topics on any machine, so that what it reads is never old.
    """
    plant = Process("plant", "-p", "update_rate:=100.0", "-p", "timestep:=0.002", "-p", "timeout_action:=zero")
    with running(plant), peer() as us:
        plant.await_line("ready")
        for kind, topic in (
            (JointState, "joint_states"),
            (Odometry, "odom"),
            (Imu, "imu/data"),
            (MultiDOFJointState, "contacts"),
            (Clock, "/clock"),
            (Float64MultiArray, "plant/energy"),
            (MarkerArray, "plant/markers"),
            (WrenchStamped, "contacts/FR_knee/wrench"),
        ):
            us.listen(kind, topic)
        for topic in us.heard:
            us.new(topic)
        yield us
        assert plant.end() == (0, [])


@pytest.fixture(scope="module")
def start(us: Peer) -> np.ndarray:
    return pose(us)


@pytest.fixture(autouse=True)
def at_home(us: Peer, start: np.ndarray) -> Iterator[None]:
    """Put the robot back after every test; the answer comes before the tick that does so."""
    yield
    us.call(SetBool, "plant/estop", data=False)
    us.call(SetBool, "plant/pause", data=False)
    us.call(Trigger, "plant/reset")
    us.until(lambda: np.abs(pose(us) - start).max() < 0.05, "the robot at its start")


def pose(us: Peer) -> np.ndarray:
    """[x y z] of the base and joint positions, as heard last."""
    place = us.heard["odom"][-1].pose.pose.position
    return np.array([place.x, place.y, place.z, *us.heard["joint_states"][-1].position])


def stamp(msg) -> int:
    return nanoseconds(msg.header.stamp)


def pause(us: Peer, on: bool) -> None:
    assert us.call(SetBool, "plant/pause", data=on).success
    if on:
        settled(us)


def settled(us: Peer) -> int:
    """Wait until the clock repeats itself; returns its value."""
    us.until(lambda: us.heard["/clock"][-1] == us.heard["/clock"][-3], "a standing clock")
    return nanoseconds(us.heard["/clock"][-1].clock)


def test_time_starts_above_zero_and_goes_on_by_the_period(us):
    times = [nanoseconds(m.clock) for m in us.new("/clock", 50)]
    assert min(times) > 1_000_000_000
    steps = np.diff(times)  # a busy machine may not hear them all
    assert (steps > 0).all()
    assert not (steps % PERIOD).any()


def test_it_holds_its_crouch_under_a_running_clock(us):
    states = us.new("joint_states", 100)
    first, last = (np.array(states[k].position) for k in (0, -1))
    assert np.abs(last - first).max() < 0.1
    us.until(lambda: us.status("plant").get("message") == "holding", "the diagnostic")


def test_the_states_name_the_joints_and_the_frames(us):
    state, odom = us.new("joint_states")[0], us.new("odom")[0]
    assert state.name == [f"{leg}_{joint}" for leg in LEGS for joint in ("abad", "hip", "knee")]
    assert (odom.header.frame_id, odom.child_frame_id, state.header.frame_id) == ("odom", "base", "base")
    assert len(state.position) == len(state.velocity) == len(state.effort) == 12


def test_the_imu_reads_gravity_upwards_and_the_feet_carry_the_weight(us):
    us.until(lambda: max(abs(m.twist.twist.linear.z) for m in us.new("odom", 100)) < 2e-3, "rest")
    force = np.mean([[w.force.z for w in m.wrench] for m in us.new("contacts", 100)], axis=0)
    assert force.sum() == pytest.approx(WEIGHT, rel=0.02)
    z = np.mean([m.linear_acceleration.z for m in us.new("imu/data", 100)])
    assert z == pytest.approx(9.81, abs=0.1)
    assert us.new("imu/data")[0].header.frame_id == "base"
    knee = np.mean([m.wrench.force.z for m in us.new("contacts/FR_knee/wrench", 100)])
    assert 0.1 * WEIGHT < knee < 0.5 * WEIGHT


def test_a_contact_message_holds_every_point(us):
    msg = us.new("contacts")[0]
    assert len(msg.joint_names) == len(msg.transforms) == len(msg.twist) == len(msg.wrench) == 16
    assert sum(name == "base" for name in msg.joint_names) == 8


def test_the_pause_stops_time_which_is_still_told(us):
    pause(us, True)
    now = settled(us)
    assert {nanoseconds(m.clock) for m in us.new("/clock", 3)} == {now}
    pause(us, False)
    us.until(lambda: nanoseconds(us.heard["/clock"][-1].clock) > now, "a running clock")


def test_steps_go_on_by_exactly_so_many_ticks(us):
    pause(us, True)
    before = settled(us)
    us.send("plant/step", UInt32(data=5))
    us.until(lambda: nanoseconds(us.heard["/clock"][-1].clock) > before, "a step")
    assert settled(us) - before == 5 * PERIOD


def test_a_reset_puts_the_robot_back_while_time_goes_on(us):
    home = np.array(us.new("joint_states")[0].position)
    us.send("effort_controller/commands", Float64MultiArray(data=[5.0] * 12))
    us.until(lambda: np.abs(np.array(us.heard["joint_states"][-1].position) - home).max() > 0.2, "a motion")
    before = stamp(us.heard["joint_states"][-1])
    us.call(Trigger, "plant/reset")
    us.until(lambda: np.abs(np.array(us.heard["joint_states"][-1].position) - home).max() < 0.05, "the home pose")
    assert stamp(us.heard["joint_states"][-1]) > before


def test_the_applied_effort_is_the_commanded_one(us):
    tau = np.linspace(-1.0, 1.0, 12)

    def applied() -> bool:
        us.send("effort_controller/commands", Float64MultiArray(data=tau.tolist()))
        us.new("joint_states")
        return np.allclose(us.heard["joint_states"][-1].effort, tau)

    us.until(applied, "the commanded efforts")


def test_targets_reach_the_joint_they_name(us):
    """Each joint is told to stay where it is and one to bend; a robot that has fallen lies elsewhere at each try."""

    def driven() -> bool:
        state = us.new("joint_states")[-1]
        knee, other = state.name.index("FR_knee"), state.name.index("HL_knee")
        wanted = dict(zip(state.name, state.position, strict=True))
        wanted["FR_knee"] -= 0.2
        us.send("joint_commands", JointState(name=state.name[::-1], position=[wanted[n] for n in state.name[::-1]]))
        return any(m.effort[knee] < m.effort[other] - 5.0 for m in us.new("joint_states", 5))

    us.until(driven, "an effort on the knee that was named")


def test_the_commander_may_send_its_own_gains(us):
    names = list(us.heard["joint_states"][-1].name)
    target = JointState(name=names, position=[0.0] * 12, velocity=[0.0] * 12)

    def efforts(kp: float, kd: float) -> np.ndarray:
        us.send("joint_gains", JointState(name=names, position=[kp] * 12, velocity=[kd] * 12))
        us.send("joint_commands", target)
        us.new("joint_states")
        return np.abs(us.heard["joint_states"][-1].effort)

    us.until(lambda: efforts(50.0, 1.0).max() > 1.0, "efforts towards the target")
    us.until(lambda: not efforts(0.0, 0.0).any(), "no effort without gains")
    us.send("joint_gains", JointState(name=names, position=[-1.0] * 12))
    us.until(lambda: us.status("plant").get("refused gains: negative gain") == "1", "the refusal")


def test_a_push_moves_the_base(us):
    y = us.new("odom")[0].twist.twist.linear.y
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.y = "base", 60.0
    us.send("plant/push", push)
    us.until(lambda: abs(us.heard["odom"][-1].twist.twist.linear.y - y) > 0.02, "a motion sideways")


def test_a_push_beyond_all_measure_pauses_with_the_reason_until_the_reset(us):
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.y = "base", 1e300
    us.send("plant/push", push)
    us.until(lambda: "the plant stopped" in us.status("plant").get("message", ""), "the diagnostic")
    assert us.status("plant")["level"] == "2"
    assert "the floating base accelerates most" in us.status("plant")["message"]
    assert len(json.loads(us.status("plant")["last good q"])) == 19
    assert np.isfinite(us.heard["joint_states"][-1].position).all()
    us.call(Trigger, "plant/reset")
    us.call(SetBool, "plant/pause", data=False)
    us.until(lambda: us.status("plant").get("message") == "holding", "the hold")


@pytest.mark.thorough
def test_a_push_that_cannot_be_is_counted_and_a_warning_for_some_seconds(us):
    us.until(lambda: us.status("plant").get("level") == "0", "the end of what was before")
    us.send("plant/push", WrenchStamped(header=Header(frame_id="tail")))
    us.until(lambda: us.status("plant").get("refused ~/push") == "1", "the count")
    assert (us.status("plant")["level"], us.status("plant")["refused of late"]) == ("1", "refused ~/push")
    us.until(lambda: us.status("plant")["level"] == "0", "the end of the warning")
    assert us.status("plant")["refused ~/push"] == "1"


def test_the_pose_that_rviz_gives_moves_the_robot_at_its_height(us):
    height = us.new("odom")[-1].pose.pose.position.z
    pose = PoseWithCovarianceStamped()
    pose.pose.pose.position.x, pose.pose.pose.orientation.w = 2.0, 1.0
    us.send("initialpose", pose)
    us.until(lambda: us.heard["odom"][-1].pose.pose.position.x > 1.9, "the place")
    assert us.heard["odom"][-1].pose.pose.position.z == pytest.approx(height, abs=0.05)


def test_the_robot_can_be_put_somewhere_and_falls_from_there(us):
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.z = 1.0, 1.0
    us.send("plant/set_pose", pose)
    us.until(lambda: us.heard["odom"][-1].pose.pose.position.x > 0.9, "the place")
    us.until(lambda: abs(us.heard["imu/data"][-1].linear_acceleration.z) < 2.0, "free fall")
    us.until(lambda: us.heard["odom"][-1].twist.twist.linear.z < -0.5, "the fall")
    us.call(Trigger, "plant/reset")
    us.until(lambda: abs(us.heard["odom"][-1].pose.pose.position.x) < 0.1, "home")


def test_joints_can_be_put_somewhere_by_name_and_are_held_there(us):
    state = us.new("joint_states")[-1]
    knee, other = state.name.index("HL_knee"), state.name.index("FR_abad")
    wanted = state.position[knee] - 0.3
    us.send("plant/set_joint_state", JointState(name=["HL_knee"], position=[wanted]))
    us.until(lambda: abs(us.heard["joint_states"][-1].position[knee] - wanted) < 0.1, "the place")
    after = us.new("joint_states", 20)[-1].position
    assert abs(after[knee] - wanted) < 0.1
    assert abs(after[other] - state.position[other]) < 0.1
    key = "refused joint state: unknown joint"
    before = int(us.status("plant").get(key, 0))
    us.send("plant/set_joint_state", JointState(name=["elbow"], position=[0.0]))
    us.until(lambda: int(us.status("plant").get(key, 0)) == before + 1, "the refusal")


def test_a_payload_weighs_on_the_feet_until_it_is_taken_away(us):
    def carried() -> float:
        return float(np.mean([sum(w.force.z for w in m.wrench) for m in us.new("contacts", 50)]))

    payload = InertiaStamped()
    payload.header.frame_id, payload.inertia.m = "base", 2.0
    us.send("plant/payload", payload)
    us.until(lambda: float(us.status("plant").get("mass [kg]", 0.0)) > 10.2, "the mass")
    us.until(lambda: carried() == pytest.approx(WEIGHT + 2.0 * 9.81, rel=0.02), "the weight")
    payload.inertia.m = NAN
    us.send("plant/payload", payload)
    us.until(lambda: us.status("plant").get("refused payload") == "1", "the refusal")
    payload.inertia.m = 0.0
    us.send("plant/payload", payload)
    us.until(lambda: carried() == pytest.approx(WEIGHT, rel=0.02), "the bare weight")


@pytest.mark.thorough
def test_sensor_noise_is_what_the_parameters_say():
    options = ("noise_position:=0.01", "noise_accelerometer:=0.5", "noise_gyro:=0.05", "update_rate:=200.0")
    plant = Process("plant", "-r", "__ns:=/noisy", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        us.listen(JointState, "noisy/joint_states")
        us.listen(Imu, "noisy/imu/data")
        us.new("noisy/imu/data", 400)
        step = np.diff([m.position for m in us.new("noisy/joint_states", 400)], axis=0)
        turning = np.diff([m.angular_velocity.x for m in us.heard["noisy/imu/data"][-400:]])
        assert step.std(axis=0) == pytest.approx(np.full(12, 0.01 * np.sqrt(2.0)), rel=0.2)
        assert turning.std() == pytest.approx(0.05 * np.sqrt(2.0), rel=0.2)
        assert plant.end() == (0, [])


def test_motors_follow_their_commands_with_the_lag_that_the_parameters_say():
    law = ("contact_model:=impulse", "recovery:=0.0", "iterations:=30", "tolerance:=1e-7", "integrator:=rk4")
    motors = ("actuator_lag:=0.5", "command_delay:=10", "no_load_speed:=1e3")
    options = (*law, *motors, "command_timeout:=0.0", "update_rate:=100.0", "timestep:=0.002")
    plant = Process("plant", "-r", "__ns:=/lagging", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        states, tau = us.listen(JointState, "lagging/joint_states"), np.linspace(-1.0, 1.0, 12)
        us.new("lagging/joint_states")
        us.send("lagging/effort_controller/commands", Float64MultiArray(data=tau.tolist()))

        def missing() -> np.ndarray:
            return tau - states[-1].effort

        us.until(lambda: np.abs(missing()).max() < 0.9, "motors that come near what is asked")
        begin, first = stamp(states[-1]), missing()
        us.until(lambda: stamp(states[-1]) > begin + 400_000_000, "a time of the order of the lag")
        share = np.exp(-1e-9 * (stamp(states[-1]) - begin) / 0.5)
        np.testing.assert_allclose(missing(), share * first, rtol=0.01)
        assert plant.end() == (0, [])


def test_the_emergency_stop_ignores_commands_and_damps(us):
    us.call(SetBool, "plant/estop", data=True)
    us.until(lambda: us.status("plant").get("message") == "stopped", "the diagnostic")
    assert us.status("plant")["level"] == "2"

    def limp() -> bool:
        us.send("effort_controller/commands", Float64MultiArray(data=[3.0] * 12))
        return np.abs(us.new("joint_states", 5)[-1].effort).max() < 0.5

    us.until(limp, "joints that have come to rest without effort")


def test_the_energy_is_balanced(us):
    energy = us.new("plant/energy")[0]
    labels = energy.layout.dim[0].label
    assert labels.startswith("kinetic, potential, elastic")
    kinetic, potential, elastic, initial, work, joint, contact, error = energy.data
    assert kinetic + potential + elastic == pytest.approx(initial + work - joint - contact + error)


def test_the_markers_show_the_forces_of_the_contacts_of_their_time(us):
    def on_four_feet() -> tuple[np.ndarray, dict[str, Marker]] | None:
        """Places (4, 3) and forces (4, 3) of the loaded points and the markers of the same state."""
        loaded = {stamp(m): forces(m) for m in us.heard["contacts"][-100:]}
        shown = ((loaded.get(stamp(m.markers[0]), ()), m.markers) for m in us.heard["plant/markers"][-20:])
        return next(((feet, {m.ns: m for m in markers}) for feet, markers in shown if len(feet) == 4), None)

    feet, markers = us.until(on_four_feet, "markers of a robot on four feet")
    arrows = np.array([[p.x, p.y, p.z] for p in markers["forces"].points]).reshape(4, 2, 3)
    assert arrows[:, 0] == pytest.approx(feet[:, :3])
    assert arrows[:, 1] - arrows[:, 0] == pytest.approx(0.3 / WEIGHT * feet[:, 3:], rel=1e-3)
    assert len(markers["friction cones"].points) == 64
    assert len(markers["support polygon"].points) == 5
    assert len(markers["centre of mass"].points) == 2


def test_a_plant_that_was_held_up_leaves_no_tick_out_and_counts_the_late_one():
    plant = Process("plant", "-r", "__ns:=/held", "-p", "update_rate:=100.0", "-p", "timestep:=0.002")
    with running(plant), peer() as us:
        states = us.listen(JointState, "held/joint_states")
        us.new("held/joint_states")
        plant.popen.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        plant.popen.send_signal(signal.SIGCONT)
        us.until(lambda: int(us.status("held/plant").get("late ticks", "0")), "the late tick")
        us.new("held/joint_states", 2)  # on a slow machine hardly one has come before
        assert set(np.diff([stamp(m) for m in states])) == {PERIOD}
        assert plant.end() == (0, [])


@pytest.mark.thorough
def test_a_plant_that_was_too_slow_says_how_slow_once_in_its_log_and_for_some_seconds():
    options = ("update_rate:=500.0", "timestep:=0.002", "real_time_factor:=0.5")
    plant = Process(
        "plant", "-r", "__ns:=/starved", "-r", "/clock:=clock", *(word for option in options for word in ("-p", option))
    )
    with running(plant), peer() as us:
        us.until(lambda: us.status("starved/plant").get("level") == "0", "a plant that keeps up")
        heard = us.history["starved/plant"]
        before = len(heard)
        plant.popen.send_signal(signal.SIGSTOP)
        time.sleep(3.0)
        plant.popen.send_signal(signal.SIGCONT)

        def said() -> set[bytes]:
            """Levels of all diagnostics that tell the factor: it is over when a peer on a busy machine looks again."""
            return {s.level for s in heard[before:] if s.message.startswith("real-time factor 0.")}

        assert us.until(said, "the factor") == {DiagnosticStatus.WARN}
        us.until(lambda: heard[-1].level == DiagnosticStatus.OK, "the end of the warning")
        assert heard[-1].message == "holding"
        plant.await_line("this computer does not keep up")
        assert len([line for line in plant.lines if "this computer does not keep up" in line]) == 1
        assert plant.end() == (0, [])


def test_sensors_may_be_slower_than_commands():
    options = ("update_rate:=200.0", "timestep:=0.005", "sensor_rate:=50.0", "noise_position:=0.01")
    plant = Process("plant", "-r", "__ns:=/slow", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        heard = [us.listen(kind, f"slow/{topic}") for kind, topic in ((JointState, "joint_states"), (Imu, "imu/data"))]
        us.new("slow/joint_states", 30)
        for messages in heard:
            assert set(np.diff([stamp(m) for m in messages])) == {2 * PERIOD}
            assert all(stamp(m) % (2 * PERIOD) == 0 for m in messages)
        assert plant.end() == (0, [])


def test_friction_that_holds_the_joints_is_named_and_can_be_replaced(tmp_path):
    urdf = tmp_path / "stuck.urdf"
    urdf.write_text(URDF.read_text().replace("<limit", '<dynamics damping="0" friction="10000"/><limit'))
    quickly = ("-r", "/clock:=clock", "-p", "update_rate:=100.0", "-p", "timestep:=0.002")
    for friction, level in ((), "1"), (("-p", "joint_friction:=[0.1]"), "0"):
        plant = Process("plant", "-r", "__ns:=/stuck", *quickly, *friction, urdf=urdf)
        with running(plant), peer() as us:
            us.until(lambda us=us: us.status("stuck/plant").get("message", "").endswith("holding"), "the diagnostic")
            us.until(lambda us=us, level=level: us.status("stuck/plant")["level"] == level, "the level")
            named = "joint 'FR_abad' has a friction of 10000 and an effort limit of"
            assert any(named in line for line in plant.lines) == (level == "1")
            if level == "1":
                expected = "12 joints with friction above their effort limit: holding"
                us.until(lambda us=us, m=expected: us.status("stuck/plant")["message"] == m, "the sentence")
            assert plant.end() == (0, [])


def forces(msg: MultiDOFJointState) -> np.ndarray:
    """[place, force] (k, 6) of the points that carry something."""
    rows = ((t.translation, w.force) for t, w in zip(msg.transforms, msg.wrench, strict=True))
    return np.array([[t.x, t.y, t.z, f.x, f.y, f.z] for t, f in rows if f.z > 1e-6])


def test_the_qos_of_a_topic_can_be_overridden():
    overrides = ("joint_states.publisher.reliability:=best_effort", "odom.publisher.depth:=3")
    options = (word for o in overrides for word in ("-p", f"qos_overrides./other/{o}"))
    plant = Process("plant", "-r", "__ns:=/other", *options)
    with running(plant), peer() as us:
        plant.await_line("ready")

        def reliability(topic: str) -> ReliabilityPolicy | None:
            found = us.node.get_publishers_info_by_topic(f"/other/{topic}")
            return found[0].qos_profile.reliability if found else None

        us.until(lambda: reliability("joint_states") == ReliabilityPolicy.BEST_EFFORT, "the reliability asked for")
        us.until(lambda: reliability("odom") == ReliabilityPolicy.RELIABLE, "the reliability by default")
        assert plant.end() == (0, [])


def set_parameter(us: Peer, name: str, value: ParameterValue):
    return us.call(SetParameters, "plant/set_parameters", parameters=[Parameter(name=name, value=value)]).results[0]


def test_both_gains_change_together_or_not_at_all(us):
    double = ParameterType.PARAMETER_DOUBLE_ARRAY

    def together(kp: list[float], kd: list[float]) -> SetParametersResult:
        given = {"kp": kp, "kd": kd}.items()
        pair = [Parameter(name=k, value=ParameterValue(type=double, double_array_value=v)) for k, v in given]
        return us.call(SetParametersAtomically, "plant/set_parameters_atomically", parameters=pair).result

    refused = together([80.0], [1.0, 2.0])
    assert not refused.successful
    assert "'kd' must have 1 or 12 values, got 2" in refused.reason
    values = us.call(GetParameters, "plant/get_parameters", names=["kp", "kd"]).values
    assert [list(value.double_array_value) for value in values] == [[0.0], [0.0]]
    state = us.new("joint_states")[-1]
    wanted = np.add(state.position, [0.3] * 12)
    assert together([10.0], [0.1]).successful

    def soft() -> bool:
        """Whether the efforts are those of the new gains, a tenth of the old ones."""
        us.send("joint_commands", JointState(name=state.name, position=wanted.tolist()))
        m = us.new("joint_states", 2)[-1]
        expected = 10.0 * (wanted - m.position) - 0.1 * np.array(m.velocity)
        return np.allclose(m.effort, expected, atol=0.5) and np.abs(m.effort).max() > 1.0

    us.until(soft, "the efforts of both gains")
    assert together([0.0], [0.0]).successful


def test_parameters_change_at_run_time_or_are_refused_with_the_reason(us):
    double = ParameterType.PARAMETER_DOUBLE
    assert set_parameter(us, "command_timeout", ParameterValue(type=double, double_value=0.3)).successful
    refused = set_parameter(us, "real_time_factor", ParameterValue(type=double, double_value=-1.0))
    assert not refused.successful
    assert "real_time_factor" in refused.reason
    refused = set_parameter(us, "timestep", ParameterValue(type=double, double_value=0.001))
    assert not refused.successful
    assert "read-only" in refused.reason
    text = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="run")
    refused = set_parameter(us, "timeout_action", text)
    assert not refused.successful
    assert "hold, zero, damp, pause" in refused.reason


def test_a_trajectory_is_followed_without_a_commander_and_a_bad_one_refused():
    options = ("update_rate:=100.0", "timestep:=0.002", "floating_base:=false", "ground_height:=-2.0")
    plant = Process(
        "plant", "-r", "__ns:=/arm", "-r", "/clock:=clock", *(word for option in options for word in ("-p", option))
    )
    with running(plant), peer() as us:
        plant.await_line("ready")
        states = us.listen(JointState, "arm/joint_states")
        us.until(lambda: states and us.status("arm/plant"), "the plant")
        rest, half = [0.0, 0.0], Duration(nanosec=500_000_000)
        goal = JointTrajectoryPoint(positions=[0.3, -0.6], velocities=rest, time_from_start=half)
        us.send("arm/plant/joint_trajectory", JointTrajectory(joint_names=["FR_hip", "FR_knee"], points=[goal]))

        def there() -> bool:
            now = dict(zip(states[-1].name, states[-1].position, strict=True))
            return abs(now["FR_hip"] - 0.3) < 0.02 and abs(now["FR_knee"] + 0.6) < 0.02

        us.until(there, "the goal")
        us.until(lambda: us.status("arm/plant")["message"].endswith("following"), "the diagnostics")
        us.send("arm/plant/joint_trajectory", JointTrajectory(joint_names=["FR_hip", "elbow"], points=[goal]))
        us.until(lambda: us.status("arm/plant").get("refused ~/joint_trajectory") == "1", "the refusal")
        us.until(there, "the same goal")
        us.send("arm/plant/joint_trajectory", JointTrajectory())
        us.until(lambda: us.status("arm/plant")["message"].endswith("timed out"), "the end of the motion")
