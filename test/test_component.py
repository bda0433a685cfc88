# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes share: time, topics of which only the newest message matters, and who listens."""

import itertools
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from ros_nodes import Peer, peer
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from robot_dynamics.ros import convert, wire
from robot_dynamics.ros.component import SENSOR, STREAM, Component
from robot_dynamics.ros.parameters import ControllerParameters

pytestmark = pytest.mark.ros
BROKEN = b"\x00\x07" + bytes(10)


class Quiet(Component):
    """A node that does nothing by itself."""

    kind = ControllerParameters


@pytest.fixture
def us() -> Iterator[Peer]:
    with peer() as us:
        yield us


@pytest.fixture
def node(us: Peer) -> Iterator[Quiet]:
    rclpy.init(args=["--ros-args", "-p", "use_sim_time:=true"])
    made = Quiet("quiet")
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def clock(nanoseconds: int) -> Clock:
    msg = Clock()
    convert.write_stamp(msg.clock, nanoseconds)
    return msg


def told(us: Peer, node: Quiet, nanoseconds: int) -> None:
    """Tell the time until the node knows it."""
    us.until(lambda: (us.send("/clock", clock(nanoseconds)), node.nanoseconds() == nanoseconds)[-1], "the time")


def test_time_is_that_of_the_newest_clock_and_no_clock_wakes_the_executor(us, node):
    assert node.nanoseconds() == 0
    assert "/clock" not in {subscription.topic for subscription in node.subscriptions}
    for nanoseconds in (5_000_000_000, 6_000_000_001, 2_999_999_999):
        told(us, node, nanoseconds)
    assert node.now() == pytest.approx(2.999999999, abs=1e-9)
    us.publishers["/clock"].publish(BROKEN)
    told(us, node, 8)


def test_simulated_time_can_be_left_and_taken_up_again(us, node):
    told(us, node, 5_000_000_000)
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert node.now() > 1e9
    assert node.now() == pytest.approx(time.time(), abs=10.0)
    node.set_parameters([Parameter("use_sim_time", value=True)])
    assert node.nanoseconds() == 0
    told(us, node, 6_000_000_000)


def test_events_that_rclpy_stamps_carry_simulated_time(us, node):
    told(us, node, 5_000_000_000)
    node._diagnose()
    assert node.get_clock().now().nanoseconds == 5_000_000_000


@pytest.mark.parametrize("depth", [1, 5])
def test_only_the_newest_message_of_a_topic_is_taken_and_only_once(us, node, depth):
    heard: list[int] = []
    qos = QoSProfile(depth=depth, reliability=SENSOR.reliability)
    update = node.latest(Clock, "ticks", lambda data: heard.append(wire.nanoseconds_from_clock(data)), qos)
    assert "ticks" not in {subscription.topic for subscription in node.subscriptions}
    update()
    numbers = itertools.count(1)

    def ten() -> list[int]:
        for _ in range(10):
            us.send("ticks", clock(next(numbers)))
        return heard

    us.until(lambda: (ten(), update(), len(heard) > 3)[-1], "messages")
    assert heard == sorted(set(heard))
    assert len(heard) <= next(numbers) // 10
    us.publishers["ticks"].publish(BROKEN)
    us.until(lambda: (us.send("ticks", clock(0)), update(), heard[-1] == 0)[-1], "the message after what was none")


def test_what_waits_is_handed_over_whole_and_in_order_and_wakes_nobody(us, node):
    heard: list[int] = []
    take = node.waiting(Clock, "ticks", lambda data: heard.append(wire.nanoseconds_from_clock(data)), STREAM)
    assert "ticks" not in {subscription.topic for subscription in node.subscriptions}
    us.until(lambda: (us.send("ticks", clock(1)), take(), heard)[-1], "the first message")
    for number in range(2, STREAM.depth):
        us.send("ticks", clock(number))
    us.publishers["ticks"].publish(BROKEN)
    us.send("ticks", clock(STREAM.depth))
    us.until(lambda: (take(), heard[-1:] == [STREAM.depth])[-1], "the last message")
    assert [number for number in heard if number > 1] == list(range(2, STREAM.depth + 1))


def test_who_listens_is_known_once_it_was_looked_at(us, node):
    publisher, other = (node.publisher(Clock, topic, SENSOR) for topic in ("ticks", "tocks"))
    node.count_listeners()
    assert not node.heard(publisher, other)
    us.listen(Clock, "ticks")
    us.until(lambda: (node.count_listeners(), node.heard(publisher))[-1], "a listener")
    assert node.heard(publisher, other)
    assert not node.heard(other)


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "message"])
def test_what_the_executor_had_queued_reaches_nothing_once_the_node_is_deactivated(node, raw):
    came = []
    node._activate()
    subscription = node.subscription(Clock, "news", lambda _: came.append("message"), SENSOR, raw)
    timer = node.timer(1e3, lambda: came.append("time"))
    service = node.service(Trigger, "ask", lambda _, response: (came.append("question"), response)[-1])
    late = (lambda: subscription.callback(b""), timer.callback, lambda: service.callback(None, Trigger.Response()))
    for call in late:
        call()
    assert came == ["message", "time", "question"]
    node._deactivate()
    for call in late:
        call()
    assert len(came) == 3
