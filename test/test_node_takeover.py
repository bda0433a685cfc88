# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reset, emergency stop and set_pose under commanders at work: nobody throws the robot, and who lies is named."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from depth import every
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics import load_urdf
from robot_dynamics.control.limbs import find_legs, find_stance
from robot_dynamics.ros import convert
from robot_dynamics.share import parameter_files, share_folder

pytestmark = pytest.mark.ros
URDF = share_folder() / "urdf" / "mini_cheetah.urdf"
SIMULATED = ("-p", "use_sim_time:=true")
SLOWLY = ("-p", "update_rate:=250.0", "-p", "timestep:=0.002", "-p", "real_time_factor:=0.5")
"""On a busy machine each command still comes in its time."""


class Robot:
    """The base as odom tells it."""

    def __init__(self, us: Peer):
        self.us, self.odom = us, us.listen(Odometry, "odom")
        self.stance = find_stance(find_legs(load_urdf(URDF, floating_base=True)))

    @property
    def height(self) -> float:
        return self.odom[-1].pose.pose.position.z

    def says(self, node: str, message: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait for a diagnostic with a part that begins so, also for one that another has followed by the time we look.

        Doubts stand in front: `time waits for commands, 3% of it: following, from the hold`.
        """
        said = self.us.history.setdefault(node, [])
        before = len(said)

        def heard() -> bool:
            meanwhile()
            return any(part.startswith(message) for status in said[before:] for part in status.message.split(": "))

        self.us.until(heard, f"{node}: {message}")

    def stands(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait until it stands at rest."""

        def at_rest() -> bool:
            meanwhile()
            speed = self.odom[-1].twist.twist.linear
            return abs(self.height / self.stance.height - 1.0) < 0.06 and abs(speed.z) < 0.05

        self.us.until(at_rest, "the stand")

    def put(self, height: float, x: float, w: float) -> None:
        """Set its pose, a metre ahead."""
        pose = PoseStamped()
        pose.pose.position.x = self.odom[-1].pose.pose.position.x + 1.0
        pose.pose.position.z, pose.pose.orientation.x, pose.pose.orientation.w = height, x, w
        self.us.send("plant/set_pose", pose)

    def not_thrown(self, since: int) -> None:
        """Check the heights from a message on."""
        assert max(m.pose.pose.position.z for m in self.odom[since:]) < 1.3 * self.stance.height


def options(name: str) -> list[str]:
    """Parameters of a node of the launch file for quadrupeds."""
    files = [word for path in parameter_files(name, URDF, loop=True) for word in ("--params-file", str(path))]
    return [*files, "-p", f"urdf_file:={URDF}"]


class Parrot:
    """A controller that knows one target and repeats it, with the stamp of the last state or none."""

    def __init__(self, robot: Robot, stamped: bool):
        self.robot, self.stamped = robot, stamped
        self.states = robot.us.listen(JointState, "joint_states")
        robot.us.until(lambda: self.states, "a state")
        names = load_urdf(URDF, floating_base=True).joint_names
        self.target = JointState(name=list(names), position=robot.stance.joints.tolist())

    def speak(self) -> None:
        """Answer the newest state."""
        if self.stamped:
            self.target.header.stamp = self.states[-1].header.stamp
        self.robot.us.send("joint_commands", self.target)


@pytest.mark.thorough
@pytest.mark.parametrize("stamped", [True, False], ids=["stamps", "no stamps"])
def test_a_controller_that_repeats_its_target_is_met_with_a_bounded_approach(stamped: bool):
    plant = Process("plant", *options("plant"), *SLOWLY)
    with running(plant), peer() as us:
        plant.await_line("ready")
        robot = Robot(us)
        parrot = Parrot(robot, stamped)
        us.until(lambda: robot.odom and us.status("plant"), "the plant")
        us.call(Trigger, "plant/reset")
        since = len(robot.odom)
        for event in (reset, stop_and_release, put_into_the_ground):
            robot.says("plant", "following, from the hold", parrot.speak)
            robot.stands(parrot.speak)
            robot.says("plant", "following", parrot.speak)
            event(robot)
        robot.stands(parrot.speak)
        robot.not_thrown(since)
        assert plant.end() == (0, [])


def test_a_command_from_before_the_reset_does_not_end_the_hold():
    plant = Process("plant", *SLOWLY)
    with running(plant), peer() as us:
        plant.await_line("ready")
        states = us.listen(JointState, "joint_states")
        before = us.until(lambda: states and states[-1], "a state")
        us.call(Trigger, "plant/reset")

        def outdated() -> bool:
            us.send("joint_commands", JointState(header=before.header, name=before.name, effort=[0.0] * 12))
            return int(us.status("plant").get("commands from before the epoch", "0")) > 0

        us.until(outdated, "the count")
        assert us.status("plant")["message"].endswith("holding")
        assert float(us.status("plant")["epoch [s]"]) >= convert.seconds_from_stamp(before.header.stamp) - 1e-6
        us.until(lambda: outdated() and us.status("plant")["level"] == "0", "no warning, but of a slow computer's")
        assert plant.end() == (0, [])


@pytest.fixture(scope="module")
def loop() -> Iterator[Robot]:
    """The loop of quadruped.launch.py, standing; tests with a plant of their own come before it starts."""
    nodes = [Process("plant", *options("plant"), *SLOWLY)]
    nodes += [Process(name, *options(name), *SIMULATED) for name in ("feedforward", "monitor", "controller")]
    with running(*nodes), peer() as us:
        for node in nodes:
            node.await_line("ready")
        robot = Robot(us)
        us.listen(JointState, "joint_commands", 10)
        robot.says("controller", "standing")
        yield robot
        assert [node.end() for node in nodes[::-1]] == [(0, [])] * 4


@pytest.fixture(autouse=True)
def standing(request: pytest.FixtureRequest) -> None:
    """Let every test of the loop begin with the robot on its feet."""
    if "loop" in request.fixturenames:
        robot = request.getfixturevalue("loop")
        robot.stands()
        robot.says("controller", "standing")


def stop_and_release(robot: Robot) -> None:
    robot.us.call(SetBool, "plant/estop", data=True)
    robot.us.until(lambda: robot.height < 0.5 * robot.stance.height, "the robot to sink")
    robot.us.call(SetBool, "plant/estop", data=False)


def reset(robot: Robot) -> None:
    robot.us.call(Trigger, "plant/reset")
    robot.us.until(lambda: robot.height < 0.8 * robot.stance.height, "the crouch")


def put_into_the_ground(robot: Robot) -> None:
    before = float(robot.us.status("plant")["epoch [s]"])
    robot.put(0.1, 0.0, 1.0)
    robot.us.until(lambda: float(robot.us.status("plant")["epoch [s]"]) > before, "the jump")


@pytest.mark.parametrize("event", every(2, [reset, stop_and_release, put_into_the_ground]))
@pytest.mark.parametrize("trot", every(2, [True, False]), ids=["trot", "stand"])
def test_our_controller_notices_and_rises_anew(loop: Robot, event: Callable[[Robot], None], trot: bool):
    us = loop.us
    us.call(SetBool, "controller/gait", data=trot)
    loop.says("controller", "trotting" if trot else "standing")
    since, starts = len(loop.odom), int(us.status("controller")["starts from where the joints were"])
    event(loop)
    loop.stands()
    us.until(lambda: int(us.status("controller")["starts from where the joints were"]) > starts, "a new start")
    loop.says("controller", "trotting" if trot else "standing")
    loop.not_thrown(since)
    us.call(SetBool, "controller/gait", data=False)


@pytest.mark.thorough
def test_a_robot_on_its_side_is_named_left_soft_and_stands_up_after_a_reset(loop: Robot):
    us, since = loop.us, len(loop.odom)
    us.call(SetBool, "controller/gait", data=True)
    loop.says("controller", "trotting")
    loop.put(0.2, np.sqrt(0.5), np.sqrt(0.5))
    for node in ("plant", "controller", "monitor"):
        loop.says(node, "fallen")
        assert us.status(node)["level"] == "1"
    command = us.new("joint_commands", 5)[-1]
    assert (len(command.position), len(command.effort), set(command.velocity)) == (0, 0, {0.0})
    us.call(SetBool, "controller/gait", data=False)
    us.call(Trigger, "plant/reset")
    loop.says("controller", "standing")
    for node in ("plant", "monitor"):
        us.until(lambda node=node: not us.status(node)["message"].startswith("fallen"), f"{node} to see it upright")
    loop.not_thrown(since)
