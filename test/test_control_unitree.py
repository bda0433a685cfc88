# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Unitree's messages byte by byte, its checksum, its motors by name, and what motors are told when nobody commands."""

import struct
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.control.actuation import Actuation, Drive
from robot_dynamics.control.unitree import (
    NO_POSITION,
    NO_VELOCITY,
    QUADRUPED,
    ROBOTS,
    Command,
    Commander,
    Motors,
    State,
    roll_pitch_yaw,
)
from robot_dynamics.control.unitree_messages import MESSAGES, Frame, crc32
from robot_dynamics.errors import ParameterError, ShapeError

DEFINITIONS = Path(__file__).with_name("unitree_messages")
SIZES = {
    "unitree_go/LowCmd": 812,
    "unitree_go/LowState": 1180,
    "unitree_hg/LowCmd": 1004,
    "unitree_hg/LowState": 2092,
}
"""Sizes of the C structures as unitree_sdk2_python states them [bytes]."""
GO_COMMAND = "<4B4IH2x" + "B3x5f3I" * 20 + "4B55Bx2I"
"""The C structure of LowCmd in the letters of Python's struct, as unitree_sdk2_python packs it."""
FL_FIRST = tuple(f"{leg}_{joint}_joint" for leg in ("FL", "FR", "RL", "RR") for joint in ("hip", "thigh", "calf"))


def bitwise(words):
    """Unitree's checksum as its examples compute it: bit by bit over 32-bit words."""
    crc = 0xFFFFFFFF
    for word in words:
        for bit in range(31, -1, -1):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
            crc ^= 0x04C11DB7 if word >> bit & 1 else 0
    return crc


def drive(n, **given):
    return Drive(**{name: np.full(n, given.get(name, 0.0)) for name in Drive._fields})


def test_the_checksum_is_the_one_that_catalogues_publish():
    assert crc32(b"123456789") == 0x0376E6E7  # CRC-32/MPEG-2


@pytest.mark.parametrize("name", MESSAGES)
def test_structures_have_the_published_sizes_and_the_checksum_of_the_published_loop(name):
    frame, rng = Frame(name), np.random.default_rng(3)
    assert frame.layout.struct.itemsize == SIZES[name]
    noise = rng.integers(0, 256, frame.layout.size, dtype=np.uint8).tobytes()
    frame.read(b"\0\1\0\0" + noise)
    assert frame.checksum() == bitwise(np.frombuffer(frame.fields.tobytes(), "<u4")[:-1].tolist())
    assert not frame.sound
    again = Frame(name)
    again.read(frame.message())
    assert again.sound
    assert again.message() == frame.message()


def test_a_command_packs_as_the_python_sdk_packs_it():
    command = Command(Motors("go2", QUADRUPED), 12)
    command.write(drive(12, position=0.5, velocity=-1.0, kp=40.0, kd=1.5, effort=2.0))
    motors = [x for i in range(20) for x in ((1, 0.5, -1.0, 2.0, 40.0, 1.5) if i < 12 else passive()) + (0, 0, 0)]
    head = [0xFE, 0xEF, 0xFF, 0, 0, 0, 0, 0, 0]
    expected = struct.pack(GO_COMMAND, *head, *motors, *[0] * 59, 0, 0)
    assert command.frame.fields.tobytes()[:-4] == expected[:-4]
    assert int(command.frame.fields["crc"]) == bitwise(struct.unpack("<203I", expected)[:-1])


def passive():
    return (0, NO_POSITION, NO_VELOCITY, 0.0, 0.0, 0.0)


def test_motors_are_matched_by_name_whatever_the_order_of_the_urdf():
    motors, q = Motors("go2", FL_FIRST), np.arange(12.0)
    command = Command(motors, 12)
    command.write(drive(12, kp=1.0, kd=1.0)._replace(position=q))
    sent = command.frame.fields["motor_cmd"]["q"][:12]
    assert [FL_FIRST[int(value)] for value in sent] == list(QUADRUPED)
    back = command.read(command.frame.message())
    np.testing.assert_array_equal(back.position, q)


def test_a_state_comes_back_as_it_was_sent():
    motors, rng = Motors("g1", ROBOTS["g1"].motors[::-1]), np.random.default_rng(1)
    joints = tuple(rng.normal(size=(3, 29)).astype(np.float32).astype(float))
    imu = (np.array([0.1, 0.2, 0.3, 0.927]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 9.75]))
    sender, receiver = State(motors), State(motors)
    sender.frame.fields["mode_machine"] = 5
    assert receiver.read(sender.write(joints, imu, 12.345))
    assert (receiver.tick, receiver.machine) == (12345, 5)
    np.testing.assert_array_equal(receiver.joints, joints)
    for got, sent in zip(receiver.imu, imu, strict=True):
        np.testing.assert_allclose(got, sent, rtol=1e-6)


@pytest.mark.parametrize("axis", range(3))
def test_roll_pitch_yaw_turn_about_their_axes(axis):
    quaternion = [0.0, 0.0, 0.0, np.cos(0.2)]
    quaternion[axis] = np.sin(0.2)
    np.testing.assert_allclose(roll_pitch_yaw(*quaternion), 0.4 * np.eye(3)[axis], atol=1e-12)


def test_targets_that_say_none_and_passive_motors_have_no_gain():
    command = Command(Motors("go2", QUADRUPED), 12)
    command.write(drive(12, effort=3.0))
    cmd = command.frame.fields["motor_cmd"]
    assert (cmd["q"][0], cmd["dq"][0]) == (np.float32(NO_POSITION), np.float32(NO_VELOCITY))
    cmd["kp"][:12], cmd["kd"][:12] = 30.0, 2.0
    asked = command.read(command.frame.message())
    assert not np.any([asked.position, asked.velocity, asked.kp, asked.kd])
    assert np.all(asked.effort == 3.0)
    cmd["mode"] = 0
    assert not np.any(command.read(command.frame.message()))


def test_what_does_not_fit_is_said():
    with pytest.raises(ParameterError, match="no Unitree robot 'go3'; valid names: go2, a1, b2, g1"):
        Motors("go3", QUADRUPED)
    with pytest.raises(ParameterError, match="name the joint of every motor in the parameter 'motors'"):
        Motors("g1", QUADRUPED)
    with pytest.raises(ParameterError, match="20 joints at most, got 21"):
        Motors("go2", QUADRUPED, [f"j{i}" for i in range(21)])
    with pytest.raises(ParameterError, match="names a joint twice"):
        Motors("go2", QUADRUPED, QUADRUPED[:3] + QUADRUPED[:1])
    with pytest.raises(ShapeError, match="expected a unitree_go/LowCmd of 812 bytes"):
        Frame("unitree_go/LowCmd").read(b"\0\1\0\0" + bytes(100))
    with pytest.raises(ShapeError, match="little-endian"):
        Frame("unitree_go/LowCmd").read(b"\0\0\0\0" + bytes(808))


def test_joints_of_hands_have_no_motor_here():
    motors = Motors("g1", (*ROBOTS["g1"].motors, "left_hand_thumb_0_joint"))
    assert motors.left_out == ("left_hand_thumb_0_joint",)


def commander(timeout=0.016):
    joints = QUADRUPED
    return Commander(Actuation(joints, 60.0, 2.0, timeout=timeout, action="damp"), 3.0), joints


def command(bridge, joints, now, angle=0.5):
    a = bridge.actuation
    assert a.set_target(joints, np.full(12, angle), np.zeros(12), np.zeros(12), now, now)


def test_nothing_is_sent_before_the_first_command():
    bridge, _ = commander()
    assert bridge.drive(1.0, np.zeros(12)) is None
    assert bridge.state == "waiting"


def test_silence_is_answered_by_damping_within_its_time():
    bridge, joints = commander()
    for i in range(10):
        now = 1.0 + 0.002 * i
        command(bridge, joints, now)
        assert bridge.drive(now, np.zeros(12)) is not None
    times = now + 0.002 * np.arange(1, 15)
    damped = [t for t in times if bridge.drive(t, np.zeros(12)).kp.max() == 0.0]
    assert damped[0] - now <= 0.020 + 1e-9
    assert damped == list(times[times >= damped[0]])
    last = bridge.drive(times[-1] + 0.002, np.zeros(12))
    assert np.all(last.kd == 3.0)
    assert not np.any([last.kp, last.effort, last.velocity])
    assert bridge.state == "damping"


def test_commands_after_a_silence_take_over_from_where_the_robot_is_by_then():
    bridge, joints = commander()
    sagged = np.full(12, -0.3)
    command(bridge, joints, 1.0)
    bridge.drive(1.0, np.zeros(12))
    assert bridge.drive(1.1, sagged).kp.max() == 0.0
    command(bridge, joints, 1.2)
    first = bridge.drive(1.2, sagged)
    np.testing.assert_allclose(first.position, sagged)
    before, speeds = first.position, []
    for i in range(1, 2000):
        now = 1.2 + 0.002 * i
        command(bridge, joints, now)
        asked = bridge.drive(now, sagged)
        speeds.append(np.abs(asked.position - before).max() / 0.002)
        before = asked.position
    assert max(speeds) < 1.6
    np.testing.assert_allclose(before, 0.5)


def test_an_emergency_stop_damps_whatever_is_commanded_and_even_before_that():
    bridge, joints = commander()
    bridge.actuation.stop(True)
    assert np.all(bridge.drive(1.0, np.zeros(12)).kd == 3.0)
    command(bridge, joints, 1.1)
    assert bridge.drive(1.1, np.zeros(12)).kp.max() == 0.0
    assert bridge.state == "stopped"


def test_bytes_on_the_way_are_those_of_an_independent_implementation_of_cdr():
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store, rng = get_typestore(Stores.EMPTY), np.random.default_rng(7)
    for path in sorted(DEFINITIONS.rglob("*.msg")):
        store.register(get_types_from_msg(path.read_text(), f"{path.parts[-3]}/msg/{path.stem}"))
    for name, fields in MESSAGES.items():
        package, kind = name.split("/")
        frame = Frame(name)
        frame.read(b"\0\1\0\0" + rng.integers(0, 120, frame.layout.size, dtype=np.uint8).tobytes())
        data = frame.message()
        there = store.deserialize_cdr(data, f"{package}/msg/{kind}")
        for field, *_ in fields:
            compare(getattr(there, field), frame.fields[field])
        assert bytes(store.serialize_cdr(there, f"{package}/msg/{kind}"))[: len(data)] == data


def compare(there, here):
    if here.dtype.names is None:
        np.testing.assert_array_equal(there, here)
        return
    for one, other in zip(np.atleast_1d(there), np.atleast_1d(here), strict=True):
        for field in here.dtype.names:
            compare(getattr(one, field), other[field])
