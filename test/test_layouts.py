# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Layouts of Foxglove and PlotJuggler show topics that the nodes have, and fields that these messages have."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

rosbags = pytest.importorskip("rosbags.typesys", reason="needs rosbags (extra `bag`)")

ROOT = Path(__file__).resolve().parents[1]
KINDS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/feedforward/torque/total": "sensor_msgs/msg/JointState",
    "/monitor/residual": "sensor_msgs/msg/JointState",
    "/plant/drive": "sensor_msgs/msg/JointState",
    "/odom": "nav_msgs/msg/Odometry",
    "/imu/data": "sensor_msgs/msg/Imu",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
    "/robot_description": "std_msgs/msg/String",
    "/plant/markers": "visualization_msgs/msg/MarkerArray",
    "/plant/ground": "visualization_msgs/msg/MarkerArray",
}
JOINTS = {joint.get("name") for joint in ElementTree.parse(ROOT / "urdf" / "mini_cheetah.urdf").iter("joint")}


def has(kind: str, fields: list[str]) -> bool:
    """Whether a message type has a field of this path."""
    types = rosbags.get_typestore(rosbags.Stores.ROS2_KILTED).types
    for field in fields:
        annotations = types[kind].__dataclass_fields__
        if field not in annotations:
            return False
        named = (name for name in types if name.replace("/", "__") in str(annotations[field].type))
        kind = max(named, key=len, default="")  # Pose is in PoseWithCovariance
    return True


def foxglove() -> tuple[set[str], set[str]]:
    """Paths that panels plot, and topics that others show."""
    panels = json.loads((ROOT / "config" / "foxglove.json").read_text())["configById"]
    paths = {path["value"] for panel in panels.values() for path in panel.get("paths", ())}
    topics = {topic for panel in panels.values() for topic in panel.get("topics", ())}
    return paths, topics | {panel["topicToRender"] for panel in panels.values() if "topicToRender" in panel}


def test_foxglove_plots_what_there_is():
    paths, topics = foxglove()
    assert len(paths) > 10
    assert topics <= set(KINDS)
    for path in paths:
        topic, *fields = path.split(".")
        assert has(KINDS[topic], [re.sub(r"\[\d+\]", "", field) for field in fields]), path


def test_every_panel_of_foxglove_has_a_place():
    layout = json.loads((ROOT / "config" / "foxglove.json").read_text())
    assert set(re.findall(r'"(\w+!\w+)"', json.dumps(layout["layout"]))) == set(layout["configById"])


def test_plotjuggler_plots_what_there_is():
    curves = [curve.get("name", "") for curve in ElementTree.parse(ROOT / "config" / "plotjuggler.xml").iter("curve")]
    assert len(curves) > 10
    for curve in curves:
        topic = max((topic for topic in KINDS if curve.startswith(f"{topic}/")), key=len)
        fields = curve.removeprefix(f"{topic}/").split("/")
        if KINDS[topic] == "sensor_msgs/msg/JointState":
            assert fields[0] in JOINTS, curve
            del fields[0]
        assert has(KINDS[topic], fields), curve


def test_the_page_of_nodes_knows_the_topics():
    page = (ROOT / "docs" / "nodes.md").read_text()
    for topic in set(KINDS) - {"/robot_description", "/feedforward/torque/total"}:
        name = topic.lstrip("/").removeprefix("plant/").removeprefix("monitor/")
        assert re.search(rf"`~?/?{name}[`,]", page) or f"`~/{name}`" in page, topic
