# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a bad or silent commander leads to comes within `command_timeout` and a tick, by the plant's own stamps."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from depth import every
from ros_nodes import COMMAND_FAULTS, Fault, Peer, Process, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
PERIOD, TIMEOUT = 0.005, 0.1
"""Of the plant's ticks and of `command_timeout` [s of simulated time]."""
SLOWLY = 0.1
"""Real-time factor at which a busy machine delivers each command in its time."""


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    """A plant that lets go of the joints when nobody commands them, and a peer that hears its states."""
    options = (f"update_rate:={1 / PERIOD}", f"timestep:={PERIOD}", f"command_timeout:={TIMEOUT}")
    options += ("timeout_action:=zero", f"real_time_factor:={SLOWLY}")
    plant = Process("plant", *(word for option in options for word in ("-p", option)))
    with running(plant), peer() as us:
        plant.await_line("ready")
        states = us.listen(JointState, "joint_states")
        us.new("joint_states")
        yield us
        assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in states)
        assert plant.end() == (0, [])


def seconds(msg: JointState) -> float:
    return convert.seconds_from_stamp(msg.header.stamp)


def send(us: Peer, at: Callable[[float], float] = lambda now: now, **changes) -> float:
    """Answer the next state with an effort for every joint, or with what `changes` make of it; returns its stamp."""
    state = us.new("joint_states")[-1]
    msg = JointState(name=state.name, effort=[0.5] * 12)
    convert.write_stamp(msg.header.stamp, round(1e9 * at(seconds(state))))
    for field, value in changes.items():
        setattr(msg, field, value)
    us.send("joint_commands", msg)
    return seconds(msg)


def obeyed(us: Peer) -> float:
    """Send good commands until they are obeyed; returns the stamp of the last one."""
    sent = [0.0]

    def driven() -> bool:
        sent.append(send(us))
        return np.allclose(us.heard["joint_states"][-1].effort, 0.5)

    us.until(driven, "the commanded effort")
    return sent[-1]


def let_go(us: Peer, since: float, meanwhile: Callable[[], object]) -> float:
    """Wait until the joints are free; returns when the first tick without effort began."""
    states = us.heard["joint_states"]
    us.until(lambda: (meanwhile(), not np.any(states[-1].effort))[-1], "the timeout action")
    return max(seconds(m) for m in states if np.any(m.effort) and seconds(m) > since)


@pytest.mark.parametrize("fault", every(5, [None, *COMMAND_FAULTS]), ids=lambda fault: str(fault or "silence"))
def test_a_commander_that_sends_nothing_good_loses_the_joints_in_time_and_gets_them_back(us: Peer, fault: Fault | None):
    last = obeyed(us)
    key = f"refused targets: {fault.cause}" if fault else ""
    before = int(us.status("plant").get(key, "0"))

    def meanwhile() -> None:
        us.new("joint_states") if fault is None else send(us, lambda now: fault.at(now, last), **fault.changes)

    acted = let_go(us, last, meanwhile)
    assert TIMEOUT - 1e-6 <= acted - last <= TIMEOUT + PERIOD + 1e-6

    def named() -> bool:
        status = us.status("plant")
        return status.get("message") == "timed out" and (fault is None or int(status.get(key, "0")) > before)

    us.until(named, "the diagnostic")
    obeyed(us)


@pytest.mark.parametrize(("cause", "data"), [("not finite", [float("nan")] * 12), ("wrong length", [0.0] * 11)])
def test_bad_efforts_are_refused_and_named(us: Peer, cause: str, data: list[float]):
    key = f"refused efforts: {cause}"
    before = int(us.status("plant").get(key, "0"))

    def noticed() -> bool:
        us.send("effort_controller/commands", Float64MultiArray(data=data))
        us.new("joint_states")
        return int(us.status("plant").get(key, "0")) > before

    us.until(noticed, key)


def test_joints_are_taken_by_name(us: Peer):
    names, efforts = us.new("joint_states")[-1].name, np.linspace(-1.0, 1.0, 12)
    order = np.random.default_rng(0).permutation(12)

    def obeyed() -> bool:
        send(us, name=[names[i] for i in order], effort=efforts[order].tolist())
        return np.allclose(us.heard["joint_states"][-1].effort, efforts)

    us.until(obeyed, "the efforts in the plant's order")


@pytest.mark.thorough
def test_a_controller_that_is_killed_loses_the_joints_in_time_and_the_next_one_gets_them_back(us):
    """It answers every fourth state and dies between two answers: amid one it may tell the plant and not us."""
    states, commands = us.heard["joint_states"], us.listen(JointState, "joint_commands", 10)
    for _ in range(2):
        obeyed(us)
        us.until(lambda: not np.any(us.new("joint_states")[-1].effort), "the end of what was before")
        controller = Process("controller", "-p", "use_sim_time:=true", "-p", f"rate:={0.25 / PERIOD}")
        commands.clear()
        with running(controller):
            us.until(lambda: commands and np.any(states[-1].effort), "obedience")
            us.until(lambda: 1.5 * PERIOD < seconds(states[-1]) - seconds(commands[-1]) < 2.5 * PERIOD, "half way")
            controller.popen.kill()
        last = seconds(commands[-1])
        acted = let_go(us, last, lambda: us.new("joint_states"))
        assert TIMEOUT - 1e-6 <= acted - last <= TIMEOUT + PERIOD + 1e-6
        us.until(lambda: us.status("plant").get("message") == "timed out", "the diagnostic")


@pytest.mark.thorough
def test_efforts_that_fall_silent_lose_the_joints_in_time(us):
    """Each message holds another effort: the first state that shows the last one tells the tick that took it."""
    us.call(Trigger, "plant/reset")
    states, efforts = us.heard["joint_states"], 0.6 + 0.001 * np.arange(20)

    def taken_over() -> bool:
        us.send("effort_controller/commands", Float64MultiArray(data=[0.5] * 12))
        us.new("joint_states")
        return np.allclose(states[-1].effort, 0.5)

    us.until(taken_over, "the end of the hold")
    for effort in efforts:
        us.new("joint_states")
        us.send("effort_controller/commands", Float64MultiArray(data=[effort] * 12))
    us.until(lambda: np.allclose(states[-1].effort, efforts[-1]), "the last effort")
    us.until(lambda: not np.any(states[-1].effort), "the timeout")
    last = [seconds(m) for m in states if np.allclose(m.effort, efforts[-1])]
    assert TIMEOUT - 1e-6 <= last[-1] - last[0] + PERIOD <= TIMEOUT + PERIOD + 1e-6
    us.until(lambda: us.status("plant").get("message") == "timed out", "the diagnostic")


@pytest.mark.thorough
def test_of_ten_commands_per_tick_all_are_taken_and_the_last_counts(us):
    """Each holds another effort, so that a state shows which one its tick had."""
    obeyed(us)
    states, before, efforts = us.heard["joint_states"], commands_taken(us), 0.01 * np.arange(1, 201).reshape(20, 10)
    states.clear()
    for ten in efforts:
        state = us.new("joint_states")[-1]
        for effort in ten:
            us.send("joint_commands", JointState(header=state.header, name=state.name, effort=[effort] * 12))
        us.until(lambda last=ten[-1]: states[-1].effort[0] == last, "the last of ten")
    shown = [m.effort[0] for m in states if m.effort[0] in efforts]
    assert shown == sorted(shown), "an older one counted after a newer one"
    assert len(set(shown)) < efforts.size / 2, "they wait for a tick each"
    assert commands_taken(us) == before + efforts.size


def commands_taken(us: Peer) -> int:
    """How many commands the plant took, once they are too old and it says so."""
    us.until(lambda: not np.any(us.new("joint_states")[-1].effort), "the timeout action")
    us.statuses.clear()
    return int(us.until(lambda: us.status("plant"), "a diagnostic")["commands"])
