# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics estimate` over a bag of the plant: beside the truth, without it, and over bags that are none."""

import numpy as np
import pytest
import quadrupeds

pytest.importorskip("rosbags", reason="rosbags is not installed")
pytest.importorskip("rich", reason="rich is not installed")

import robot_dynamics as rd
from robot_dynamics.cli import main
from robot_dynamics.control.estimated_bag import IMU, JOINTS, TRUTH, estimate_bag, figures
from robot_dynamics.control.limbs import find_legs
from robot_dynamics.control.simulation import gains, home_pose
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.joint_log import LogError

TYPES = {JOINTS: "sensor_msgs/msg/JointState", IMU: "sensor_msgs/msg/Imu", TRUTH: "nav_msgs/msg/Odometry"}
RATE = 500


def write(folder, topics=tuple(TYPES), seconds=1.0, prefix="/"):
    """A bag of a Mini Cheetah that is put down 1 cm above the ground, at (3, 2), without noise."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_KILTED)
    T = store.types
    model = quadrupeds.model("mini_cheetah")
    plant = rd.Plant(model, rd.PlantParams(timestep=1 / RATE), find_legs(model).feet)
    home = home_pose(model, "stance", {}, plant.points, 0.01)
    home[:2] = 3.0, 2.0
    plant.reset(home, np.zeros(model.nv))
    plant.track(home[model.q_index], np.zeros(12), *gains(model, [0.0], [0.0]))

    def vector(x):
        return T["geometry_msgs/msg/Vector3"](*map(float, x))

    def quaternion(x):
        return T["geometry_msgs/msg/Quaternion"](*map(float, x))

    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        channels = {name: writer.add_connection(prefix + name, TYPES[name], typestore=store) for name in topics}
        for step in range(round(seconds * RATE)):
            plant.step()
            t, r, q, qd, zeros = (step + 1) * 10**9 // RATE, plant.measure(), plant.q, plant.qd, np.zeros(9)
            header = T["std_msgs/msg/Header"](T["builtin_interfaces/msg/Time"](*divmod(t, 10**9)), "")
            point = T["geometry_msgs/msg/Point"](*map(float, q[:3]))
            pose = T["geometry_msgs/msg/Pose"](point, quaternion(q[3:7]))
            twist = T["geometry_msgs/msg/Twist"](vector(qd[3:6]), vector(qd[:3]))
            turn, w, a = quaternion(r.orientation), vector(r.angular_velocity), vector(r.linear_acceleration)
            place = T["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
            speed = T["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36))
            made = {
                IMU: (turn, zeros, w, zeros, a, zeros),
                TRUTH: ("base", place, speed),
                JOINTS: (list(model.joint_names), r.position, r.velocity, r.effort),
            }
            for name in (n for n in made if n in topics):
                msg = T[TYPES[name]](header, *made[name])
                writer.write(channels[name], t, store.serialize_cdr(msg, TYPES[name]))
    return folder


def estimator():
    legs, _ = quadrupeds.stance("mini_cheetah")
    return rd.BaseEstimator(legs.model, legs.feet)


def test_a_bag_is_estimated_beside_its_truth(tmp_path):
    shares = []
    found = estimate_bag(write(tmp_path / "run"), estimator(), progress=shares.append)
    assert found.reference == TRUTH
    assert found.known.all()
    assert shares == sorted(shares)
    late = found.stamp > 0.5
    assert np.abs(found.twist[late] - found.truth[late, 7:]).max() < 0.02
    assert np.abs(found.pose[-1, :3] - found.truth[-1, :3]).max() < 0.01
    assert (found.stance[-1] > 0.5).all()
    assert figures(found)["roll and pitch [deg]"] < 0.5


def test_the_command_leaves_a_page(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    bag = write(tmp_path / "run", (JOINTS, IMU), 0.2, prefix="/bot/")
    arguments = ["--urdf", str(quadrupeds.MINI_CHEETAH), "--namespace", "bot", "--output", str(tmp_path / "page.html")]
    assert main(["estimate", str(bag), *arguments]) == 0
    assert "accelerometer bias" in capsys.readouterr().out
    assert (tmp_path / "page.html").read_text().count("<img") == 3
    with pytest.raises(ParameterError, match=r"no ground_truth/odom"):
        figures(estimate_bag(bag, estimator(), "bot"))


def test_bags_that_lack_what_is_needed_are_one_sentence(tmp_path, capsys):
    bag = write(tmp_path / "run", (JOINTS,), 0.1)
    with pytest.raises(LogError, match=r"lacks /imu/data; it holds /joint_states"):
        estimate_bag(bag, estimator())
    assert main(["estimate", str(tmp_path / "nowhere"), "--urdf", str(quadrupeds.MINI_CHEETAH)]) == 2
    assert "there is no bag" in capsys.readouterr().err
