# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages written and read as bytes are those that rclpy would have made."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Transform, Twist, Vector3, Wrench, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from robot_dynamics.errors import ShapeError
from robot_dynamics.kernels.measured import ANGULAR, LINEAR, PLACE
from robot_dynamics.ros import wire

NAMES = [(), ("a",), ("a", "a"), ("FL_foot", "FR", "a_link_with_a_long_name"), ("Füße", "b", "cc", "ddd")]
FRAMES = ["", "odom", "a/frame"]


def vectors(parts) -> list[list[float]]:
    return [[part.x, part.y, part.z] for part in parts]


class Numbers:
    """What an intake copies; `asked` counts how often it asked where to."""

    def __init__(self, kind: type):
        self.intake, self.asked = wire.Intake(kind, self.prepare), 0

    def prepare(self, layout: wire.Layout) -> np.ndarray:
        self.layout, self.numbers = layout, np.full(layout.length, np.nan)
        self.asked += 1
        return self.numbers

    def columns(self, data: bytes) -> list[np.ndarray]:
        assert self.intake.take(data)
        return [self.numbers[part] for part in self.layout.parts]


def written(writer: wire.Writer, kind: type):
    """What others see of a message; its stamp is checked."""
    msg = deserialize_message(writer.stamped(5_000_000_001), kind)
    stamp = msg.clock if kind is Clock else msg.header.stamp
    assert (stamp.sec, stamp.nanosec) == (5, 1)
    return msg


def test_a_clock_is_its_stamp():
    writer = wire.Writer(Clock())
    written(writer, Clock)
    assert wire.nanoseconds_from_clock(writer.stamped(7_000_000_002)) == 7_000_000_002
    for data in (b"", b"\x00\x07" + writer.stamped(1)[2:], writer.stamped(1)[:9]):
        with pytest.raises(ShapeError, match="Clock"):
            wire.nanoseconds_from_clock(data)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("left_out", ["", "position", "velocity", "effort"])
@pytest.mark.parametrize("names", NAMES, ids=len)
def test_a_joint_state_is_written_through_its_views_and_read_back(names, left_out, frame):
    kept = {field: field != left_out for field in ("position", "velocity", "effort")}
    writer, reader = wire.JointStateWriter(names, frame, **kept), wire.Reader(JointState)
    for value in (1.0, 2.0):
        writer.position[:], writer.velocity[:], writer.effort[:] = value, -value, 3.0 * value
        msg = written(writer, JointState)
        expected = [
            [factor * value] * len(names) * keep for factor, keep in zip((1, -1, 3), kept.values(), strict=True)
        ]
        assert (tuple(msg.name), msg.header.frame_id) == (names, frame)
        assert [list(msg.position), list(msg.velocity), list(msg.effort)] == expected
        back = reader.read(serialize_message(msg))
        assert (back.names, back.nanoseconds) == (names, 5_000_000_001)
        assert [column.tolist() for column in wire.columns_from_joint_state(back)] == expected


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("child", FRAMES)
def test_odometry_is_written_and_read_back(frame, child):
    writer, q, qd = wire.OdometryWriter(frame, child), np.arange(1.0, 9.0), np.arange(11.0, 19.0)
    for at, numbers in ((PLACE, q[:7]), (ANGULAR, qd[:3]), (LINEAR, qd[3:6])):
        writer.numbers[at : at + len(numbers)] = numbers
    msg = written(writer, Odometry)
    pose, twist = msg.pose.pose, msg.twist.twist
    assert (msg.header.frame_id, msg.child_frame_id) == (frame, child)
    assert vectors([pose.position, pose.orientation, twist.angular, twist.linear]) == [
        [1, 2, 3], [4, 5, 6], [11, 12, 13], [14, 15, 16],
    ]  # fmt: skip
    assert pose.orientation.w == 7
    assert not any([*msg.pose.covariance, *msg.twist.covariance])
    back = wire.Reader(Odometry).read(serialize_message(msg))
    assert back.names == (frame, child)
    assert list(wire.base_from_odometry(back)) == [q[:7].tolist(), qd[:6].tolist()]


@pytest.mark.parametrize("frame", FRAMES)
def test_an_imu_and_a_force_are_written(frame):
    writer = wire.ImuWriter(frame)
    writer.write(np.arange(4.0), np.arange(4.0, 7.0), np.arange(7.0, 10.0))
    imu = written(writer, Imu)
    assert imu.header.frame_id == frame
    assert vectors([imu.orientation, imu.angular_velocity, imu.linear_acceleration]) == [
        [0, 1, 2],
        [4, 5, 6],
        [7, 8, 9],
    ]
    assert imu.orientation.w == 3
    assert not any([*imu.orientation_covariance, *imu.angular_velocity_covariance, *imu.linear_acceleration_covariance])
    force = wire.ForceWriter(frame)
    force.force[:] = 1.0, 2.0, 3.0
    wrench = written(force, WrenchStamped).wrench
    assert vectors([wrench.force, wrench.torque]) == [[1, 2, 3], [0, 0, 0]]


@pytest.mark.parametrize("names", NAMES, ids=len)
@pytest.mark.parametrize("frame", FRAMES)
def test_contacts_are_written_through_their_views(names, frame):
    writer = wire.ContactWriter(names, frame)
    for seed in (0, 1):
        p, v, f = np.random.default_rng(seed).normal(size=(3, len(names), 3))
        writer.position[:], writer.velocity[:], writer.force[:] = p, v, f
        msg = written(writer, MultiDOFJointState)
        assert (msg.header.frame_id, tuple(msg.joint_names)) == (frame, names)
        assert vectors(t.translation for t in msg.transforms) == p.tolist()
        assert vectors(t.linear for t in msg.twist) == v.tolist()
        assert vectors(w.force for w in msg.wrench) == f.tolist()
        assert all(t.rotation.w == 1.0 and not t.rotation.x for t in msg.transforms)
        assert not any(w.torque.z for w in msg.wrench)


def contact_set(names, seed=0, left_out=()) -> MultiDOFJointState:
    p, v, f = np.random.default_rng(seed).normal(size=(3, len(names), 3))
    msg = MultiDOFJointState(joint_names=list(names))
    msg.header.stamp.sec, msg.header.stamp.nanosec = 3, 500_000_000
    msg.transforms = [Transform(translation=Vector3(x=x, y=y, z=z)) for x, y, z in p.tolist()]
    msg.twist = [Twist(linear=Vector3(x=x, y=y, z=z)) for x, y, z in v.tolist()]
    msg.wrench = [Wrench(force=Vector3(x=x, y=y, z=z)) for x, y, z in f.tolist()]
    for field in left_out:
        setattr(msg, field, [])
    return msg


def test_one_reader_reads_whatever_publishers_send_in_turn():
    reader, two = wire.Reader(MultiDOFJointState), ("a", "b")
    sets = [(names, ()) for names in NAMES] * 2 + [(two, (field,)) for field in ("twist", "wrench", "transforms")]
    for seed, (names, left_out) in enumerate(sets):
        msg = contact_set(names, seed, left_out)
        read = reader.read(serialize_message(msg))
        assert (read.stamp, read.names) == (3.5, names)
        zero = np.zeros((len(names), 3)).tolist()
        expected = [
            vectors(t.translation for t in msg.transforms),
            vectors(t.linear for t in msg.twist),
            vectors(w.force for w in msg.wrench),
        ]
        assert [x.tolist() for x in wire.points_from_contacts(read)] == [x or zero for x in expected]


@pytest.mark.parametrize("left_out", ["position", "velocity", "effort"])
def test_nothing_stands_behind_a_message(left_out):
    """rclpy leaves bytes there that are nobody's, and strict readers of bags refuse the message."""
    writer = wire.JointStateWriter(("a", "b"), **{left_out: False})
    data = writer.stamped(0)
    assert len(data) == writer.layout.size
    typesys = pytest.importorskip("rosbags.typesys", reason="needs rosbags (extra `bag`)")
    store = typesys.get_typestore(typesys.Stores.ROS2_KILTED)
    assert store.deserialize_cdr(data, "sensor_msgs/msg/JointState").name == ["a", "b"]


def test_names_that_stay_are_the_same_object():
    reader = wire.Reader(MultiDOFJointState)
    first, second = (reader.read(serialize_message(contact_set(("a", "b"), seed))) for seed in (0, 1))
    assert first.names is second.names
    assert first.blocks[2].tolist() != second.blocks[2].tolist()


def test_the_other_byte_order_is_read_as_well():
    msg = contact_set(("a", "b"))
    little = serialize_message(msg)
    layout = wire.Layout(MultiDOFJointState, little)
    big = bytearray(b"\x00\x00" + little[2:])
    ends = [0, *(at for at, _ in layout.counts)]
    whole = [4, 8, 12, 20, 24, 32, *ends[1:]]  # stamp, length of the frame, count, lengths of the names, counts
    for at in whole:
        big[at : at + 4] = big[at : at + 4][::-1]
    for start, n, width in layout.blocks:
        for at in range(start, start + 8 * n * width, 8):
            big[at : at + 8] = big[at : at + 8][::-1]
    read = wire.Reader(MultiDOFJointState).read(bytes(big))
    assert (read.names, read.stamp) == (("a", "b"), 3.5)
    assert wire.points_from_contacts(read)[2].tolist() == vectors(w.force for w in msg.wrench)


def test_a_joint_state_in_the_other_byte_order_is_read_as_well():
    writer = wire.JointStateWriter(("a",), "f", effort=False)
    writer.position[:], writer.velocity[:] = 1.5, -2.5
    little = writer.stamped(3_500_000_000)
    layout = wire.Layout(JointState, little)
    big = bytearray(b"\x00\x00" + little[2:])
    for at in [4, 8, 12, 20, 24, *(at for at, _ in layout.counts)]:  # stamp, length of the frame, names, length of "a"
        big[at : at + 4] = big[at : at + 4][::-1]
    for start in (start for start, n, _ in layout.blocks if n):
        big[start : start + 8] = big[start : start + 8][::-1]
    read = wire.Reader(JointState).read(bytes(big))
    assert (read.names, read.stamp) == (("a",), 3.5)
    assert [column.tolist() for column in wire.columns_from_joint_state(read)] == [[1.5], [-2.5], []]
    numbers = Numbers(JointState)
    for data in (bytes(big), little, bytes(big)):
        assert [column.tolist() for column in numbers.columns(data)] == [[1.5], [-2.5], []]
        assert numbers.intake.stamp == 3.5


@pytest.mark.parametrize("names", NAMES, ids=len)
def test_bytes_that_fill_up_say_nothing(names):
    """Whoever writes may leave anything between a count and its numbers."""
    writer = wire.JointStateWriter(names)
    data, layout = bytearray(writer.stamped(1)), writer.layout
    for (at, count), (start, _, _) in zip(layout.counts, layout.blocks, strict=True):
        if count:
            data[at + 4 : start] = b"\xff" * (start - at - 4)
    read = wire.Reader(JointState).read(bytes(data))
    assert [column.tolist() for column in wire.columns_from_joint_state(read)] == [[0.0] * len(names)] * 3
    assert [column.tolist() for column in Numbers(JointState).columns(bytes(data))] == [[0.0] * len(names)] * 3


@pytest.mark.parametrize("left_out", ["", "position", "velocity", "effort"])
def test_an_intake_copies_what_a_reader_reads_whatever_publishers_send_in_turn(left_out):
    kept = {field: field != left_out for field in ("position", "velocity", "effort")}
    numbers, reader = Numbers(JointState), wire.Reader(JointState)
    for seed, names in enumerate(NAMES[1:] * 2):
        writer = wire.JointStateWriter(names, **kept)
        for _ in range(2):
            for block in writer.blocks:
                block[:] = np.random.default_rng(seed).normal(size=block.shape)
            data = writer.stamped(10**9 + seed)
            read = wire.columns_from_joint_state(reader.read(data))
            assert [column.tolist() for column in numbers.columns(data)] == [column.tolist() for column in read]
            assert (numbers.intake.nanoseconds, numbers.layout.names) == (10**9 + seed, names)
        assert numbers.asked == seed + 1, "a message like the last one is copied without a question"


def test_an_intake_asks_again_about_what_was_not_wanted():
    wanted = False
    intake = wire.Intake(JointState, lambda layout: np.zeros(layout.length) if wanted else None)
    data = wire.JointStateWriter(("a",)).stamped(1)
    assert not intake.take(data)
    assert not intake.take(data)
    wanted = True
    assert intake.take(data)
    with pytest.raises(ShapeError, match="JointState"):
        intake.take(data[:-1])


def test_a_set_with_fewer_wrenches_than_names_is_refused():
    msg = contact_set(("a", "b"))
    msg.wrench = msg.wrench[:1]
    with pytest.raises(ShapeError, match="2 names need as many"):
        wire.points_from_contacts(wire.Reader(MultiDOFJointState).read(serialize_message(msg)))


@pytest.mark.parametrize("seed", range(5))
def test_bytes_that_are_something_else_are_refused(seed):
    rng, good = np.random.default_rng(seed), serialize_message(contact_set(NAMES[3]))
    reader = wire.Reader(MultiDOFJointState)
    reader.read(good)
    for size in (0, 1, 3, 10, 20, len(good) // 2, len(good) - 1):
        with pytest.raises(ShapeError):
            reader.read(good[:size])
    for _ in range(200):
        spoilt = bytearray(good)
        spoilt[rng.integers(len(good))] = rng.integers(256)
        try:
            points = wire.points_from_contacts(read := reader.read(bytes(spoilt)))
        except ShapeError:
            continue
        assert all(x.shape == (len(read.names), 3) for x in points)
    with pytest.raises(ShapeError, match="plain CDR"):
        reader.read(b"\x00\x07" + good[2:])


@pytest.mark.parametrize("labels", [(), ("joints",), ("a", "of different", "lengths")], ids=len)
def test_arrays_are_read_whatever_their_layout(labels):
    reader, layout = wire.ArrayReader(), MultiArrayLayout(dim=[MultiArrayDimension(label=x, size=1) for x in labels])
    for values in ([1.0, 2.0, 3.0], [], [4.0], [5.0, 6.0]):
        data = serialize_message(Float64MultiArray(layout=layout, data=values))
        assert reader.read(data).tolist() == values
        assert wire.ArrayReader().read(data).tolist() == values
        if values:
            with pytest.raises(ShapeError):
                reader.read(data[:-8])
    assert reader.read(serialize_message(Float64MultiArray(data=[7.0]))).tolist() == [7.0]


def test_an_array_is_written_behind_its_layout():
    data = wire.ArrayWriter("joints", 3).message(np.array([1.0, 2.0, 3.0]))
    msg = deserialize_message(data, Float64MultiArray)
    assert list(msg.data) == [1.0, 2.0, 3.0]
    assert [(d.label, d.size, d.stride) for d in msg.layout.dim] == [("joints", 3, 3)]
    assert wire.ArrayReader().read(data).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("seed", range(5))
def test_bytes_that_are_no_array_are_refused_or_read(seed):
    rng, reader = np.random.default_rng(seed), wire.ArrayReader()
    good = wire.ArrayWriter("joints", 3).message(np.zeros(3))
    for _ in range(300):
        spoilt = bytearray(good)
        spoilt[rng.integers(len(good))] = rng.integers(256)
        try:
            assert reader.read(bytes(spoilt[: rng.integers(len(good) + 1)])).ndim == 1
        except ShapeError:
            continue
        finally:
            assert reader.read(good).tolist() == [0.0, 0.0, 0.0]
