"""The fault table: what bad commanders and bad sensors do to the nodes, over real DDS."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from ros_nodes import Peer, Process, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros import convert

pytestmark = pytest.mark.ros
NAN = float("nan")


@pytest.fixture(scope="module")
def us() -> Iterator[Peer]:
    plant = Process("plant", "-p", "update_rate:=500.0", "-p", "timestep:=0.002")
    with running(plant), peer() as us:
        plant.await_line("ready")
        us.listen(JointState, "joint_states")
        us.new("joint_states")
        yield us
        assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in us.heard["joint_states"])
        assert plant.end() == (0, [])


def command(us: Peer, **changes) -> JointState:
    """A good command for the last state, with changes."""
    state = us.new("joint_states")[-1]
    msg = JointState(name=list(state.name), position=list(state.position))
    msg.header.stamp = state.header.stamp
    for field, value in changes.items():
        if field == "later":
            convert.write_stamp(
                msg.header.stamp, convert.nanoseconds_from_stamp(state.header.stamp) + round(1e9 * value)
            )
        else:
            setattr(msg, field, value)
    return msg


@pytest.mark.parametrize(
    ("cause", "changes"),
    [
        ("not finite", {"position": [NAN] * 12}),
        ("not finite", {"velocity": [float("inf")] * 12}),
        ("wrong length", {"position": [0.0] * 11}),
        ("unknown joint", {"name": [f"elbow_{i}" for i in range(12)]}),
        ("duplicate joint", {"name": ["FR_knee"] * 12}),
        ("stale stamp", {"later": -0.5}),
        ("stamp from the future", {"later": 1.0}),
    ],
)
def test_a_bad_target_is_refused_named_in_the_diagnostics_and_a_good_one_still_works(us, cause, changes):
    key = f"refused targets: {cause}"
    before = int(us.status("plant").get(key, 0))

    def noticed() -> bool:
        us.send("joint_commands", command(us, **changes))
        return int(us.status("plant").get(key, 0)) > before

    us.until(noticed, key)
    obeys(us)


@pytest.mark.parametrize(("cause", "data"), [("not finite", [NAN] * 12), ("wrong length", [0.0] * 11)])
def test_bad_efforts_are_refused_and_named(us, cause, data):
    key = f"refused efforts: {cause}"
    before = int(us.status("plant").get(key, 0))

    def noticed() -> bool:
        us.send("effort_controller/commands", Float64MultiArray(data=data))
        us.new("joint_states")
        return int(us.status("plant").get(key, 0)) > before

    us.until(noticed, key)


def obeys(us: Peer) -> None:
    """Send good commands until the diagnostics say that they are followed."""

    def following() -> bool:
        us.send("joint_commands", command(us))
        return us.status("plant").get("message") == "following"

    us.until(following, "obedience")


def test_a_command_with_an_older_stamp_than_the_last_is_refused_and_named(us):
    key = "refused targets: older than the last"

    def noticed() -> bool:
        msg = command(us)
        us.send("joint_commands", msg)
        convert.write_stamp(msg.header.stamp, convert.nanoseconds_from_stamp(msg.header.stamp) - 10_000_000)
        us.send("joint_commands", msg)
        return key in us.status("plant")

    us.until(noticed, key)
    obeys(us)


def test_permuted_joints_do_the_same(us):
    state = us.new("joint_states")[-1]
    order = np.random.default_rng(0).permutation(12)
    wanted = np.array(state.position) + 0.02

    def there() -> bool:
        now = command(us, name=[state.name[i] for i in order], position=[wanted[i] for i in order])
        us.send("joint_commands", now)
        return np.abs(np.array(us.heard["joint_states"][-1].position) - wanted).max() < 0.06

    us.until(there, "the permuted target")


def test_a_commander_that_falls_silent_leads_to_the_hold_and_a_new_one_recovers(us):
    obeys(us)
    us.until(lambda: us.status("plant").get("message") == "timed out", "the timeout")
    first = np.array(us.new("joint_states")[0].position)
    assert np.abs(np.array(us.new("joint_states", 100)[-1].position) - first).max() < 0.05
    obeys(us)
