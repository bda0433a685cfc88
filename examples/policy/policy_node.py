# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs a policy as a node: joint_states, odom and cmd_vel in, joint_commands and joint_gains out.

    python policy_node.py --ros-args -p policy:=walk.yaml -p use_sim_time:=true

It answers a joint state each 1 / rate of the policy, by the stamps of the states, and copies the stamp into the answer.
"""

import sys
from pathlib import Path

import numpy as np
import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from robot_dynamics.control.policy import Sensed, load_policy, projected_gravity
from robot_dynamics.errors import RobotDynamicsError

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
RISE = 1.5
"""Time in which the joints go to the default pose before the policy begins [s]."""


class PolicyNode(Node):
    """First to the default pose, then as the policy says."""

    def __init__(self):
        super().__init__("policy")
        default = str(Path(__file__).resolve().with_name("walk.yaml"))
        self.policy = load_policy(self.declare_parameter("policy", default).value)
        self.command, self.velocity, self.omega = np.zeros((3, 3))
        self.gravity = np.array([0.0, 0.0, -1.0])
        self.begun = self.last = -np.inf
        self.commands = self.create_publisher(JointState, "joint_commands", 1)
        self.gains = self.create_publisher(JointState, "joint_gains", 1)
        self.create_subscription(Twist, "cmd_vel", self.on_command, 1)
        self.create_subscription(Odometry, "odom", self.on_base, NEWEST)
        self.create_subscription(JointState, "joint_states", self.on_joints, NEWEST)

    def on_command(self, msg):
        self.command = np.array([msg.linear.x, msg.linear.y, msg.angular.z])

    def on_base(self, msg):
        o, v, w = msg.pose.pose.orientation, msg.twist.twist.linear, msg.twist.twist.angular
        self.velocity, self.omega = np.array([v.x, v.y, v.z]), np.array([w.x, w.y, w.z])
        self.gravity = projected_gravity(np.array([o.x, o.y, o.z, o.w]))

    def on_joints(self, msg):
        spec, time = self.policy.spec, msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
        if 0.0 <= time - self.last < 0.999 / spec.rate:
            return
        where = [msg.name.index(name) for name in spec.joints]
        q, qd = np.array(msg.position)[where], np.array(msg.velocity)[where]
        if not 0.0 <= time - self.last < 0.5:  # the first state, or time went elsewhere
            self.begun, self.start = time, q
            self.policy.reset()
        self.last, share = time, min((time - self.begun) / RISE, 1.0)
        if share < 1.0:
            targets = self.start + share * (spec.default_positions - self.start)
        else:
            sensed = Sensed(self.velocity, self.omega, self.gravity, q, qd)
            targets = self.policy.answer(sensed, self.command, time)
        names = list(spec.joints)
        self.gains.publish(JointState(header=msg.header, name=names, position=list(spec.kp), velocity=list(spec.kd)))
        zeros = [0.0] * len(names)
        self.commands.publish(JointState(header=msg.header, name=names, position=list(targets), velocity=zeros))


def main():
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # of a signal Python learns between two messages
    try:
        rclpy.spin(PolicyNode())
    except RobotDynamicsError as problem:
        print(f"policy: {problem}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
