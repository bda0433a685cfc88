"""Contact sets written and read as bytes are the messages that rclpy would have made."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Transform, Twist, Vector3, Wrench
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import MultiDOFJointState

from robot_dynamics.errors import ShapeError
from robot_dynamics.ros.wire import ContactReader, ContactWriter

NAMES = [(), ("a",), ("a", "a"), ("FL_foot", "FR", "a_link_with_a_long_name"), ("Füße", "b", "cc", "ddd")]


def vectors(parts) -> list[list[float]]:
    return [[part.x, part.y, part.z] for part in parts]


@pytest.mark.parametrize("names", NAMES, ids=len)
@pytest.mark.parametrize("frame", ["", "odom", "a/frame"])
def test_what_is_written_is_the_message(names, frame):
    writer = ContactWriter(names, frame)
    for seed in (0, 1):
        p, v, f = np.random.default_rng(seed).normal(size=(3, len(names), 3))
        writer.position[:], writer.velocity[:], writer.force[:] = p, v, f
        msg = deserialize_message(writer.stamped(5_000_000_000 + seed), MultiDOFJointState)
        assert (msg.header.frame_id, msg.header.stamp.sec, msg.header.stamp.nanosec) == (frame, 5, seed)
        assert tuple(msg.joint_names) == names
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
    reader = ContactReader()
    for seed, (names, left_out) in enumerate(
        [(n, ()) for n in NAMES] * 2
        + [(("a", "b"), ("twist",)), (("a", "b"), ("wrench",)), (("a", "b"), ("transforms",))]
    ):
        msg = contact_set(names, seed, left_out)
        read = reader.read(serialize_message(msg))
        assert read.stamp == 3.5
        assert read.links == names
        zero = np.zeros((len(names), 3)).tolist()
        assert read.position.tolist() == (vectors(t.translation for t in msg.transforms) or zero)
        assert read.velocity.tolist() == (vectors(t.linear for t in msg.twist) or zero)
        assert read.force.tolist() == (vectors(w.force for w in msg.wrench) or zero)


def test_the_links_of_an_unchanged_set_are_the_same_object():
    reader = ContactReader()
    first, second = (reader.read(serialize_message(contact_set(("a", "b"), seed))) for seed in (0, 1))
    assert first.links is second.links
    assert first.force.tolist() != second.force.tolist()


def test_a_set_with_fewer_wrenches_than_names_is_refused():
    msg = contact_set(("a", "b"))
    msg.wrench = msg.wrench[:1]
    with pytest.raises(ShapeError, match="2 names needs as many"):
        ContactReader().read(serialize_message(msg))


@pytest.mark.parametrize("seed", range(5))
def test_bytes_that_are_no_contact_set_are_refused(seed):
    rng, good = np.random.default_rng(seed), serialize_message(contact_set(NAMES[3]))
    reader = ContactReader()
    reader.read(good)
    for size in (0, 1, 3, 10, 20, len(good) // 2, len(good) - 1):
        with pytest.raises(ShapeError):
            reader.read(good[:size])
    for _ in range(200):
        spoilt = bytearray(good)
        spoilt[rng.integers(len(good))] = rng.integers(256)
        try:
            read = reader.read(bytes(spoilt))
        except ShapeError:
            continue
        assert read.force.shape == (len(read.links), 3)
    with pytest.raises(ShapeError, match="plain CDR"):
        reader.read(b"\x00\x07" + good[2:])
