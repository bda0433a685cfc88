"""How every node starts, says what is wrong, and ends."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_nodes import PATIENCE, URDF, Process, peer, running
from std_msgs.msg import String

from robot_dynamics.ros import run

pytestmark = pytest.mark.ros
NODES = ("plant", "feedforward", "monitor", "controller")
SCRIPTS = Path(__file__).parents[1] / "scripts"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_every_node_with_exit_code_0_and_without_a_word(number):
    nodes = [Process(name) for name in NODES]
    with running(*nodes):
        for node in nodes:
            node.await_line("ready")
        assert [node.end(number) for node in nodes] == [(0, [])] * 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_signals_that_go_on_until_the_end_change_nothing(number):
    """As with an impatient user, or a terminal and a launch that both pass Ctrl-C on."""
    node = Process("controller")
    with running(node):
        node.await_line("ready")
        before = len(node.lines)
        while node.popen.poll() is None:
            node.popen.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.popen.wait(0.02)
        assert node.result(before) == (0, [])


def signalled_at(line: int, monkeypatch) -> tuple[list[str], int]:
    """Who noticed a signal at the so-manieth line of the code around the spin, and how many lines that has."""
    noticed, count = [], 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename == run.__file__ and event == "line":
            count += 1
            if count == line:
                signal.raise_signal(signal.SIGINT)
        return trace

    monkeypatch.setattr(run, "_end_anyway", lambda: None)
    node, executor = SimpleNamespace(end=None), SimpleNamespace(create_task=lambda _: noticed.append("in order"))
    before = signal.signal(signal.SIGINT, lambda *_: noticed.append("at once"))
    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        with run._ending_in_order(node, executor):
            pass
    finally:
        sys.settrace(tracer)
        signal.signal(signal.SIGINT, before)
    return noticed, count


def test_no_signal_falls_between_the_handlers(monkeypatch):
    lines = signalled_at(0, monkeypatch)[1]
    assert lines > 10
    for line in range(1, lines + 1):
        assert signalled_at(line, monkeypatch)[0], f"lost at line {line} of {lines}"


def test_a_signal_ends_a_start_that_holds_a_lock_of_rclpy():
    code = (
        "import os, signal; from rclpy import context; from robot_dynamics.ros import run; import rclpy\n"
        "rclpy.init(signal_handler_options=run.SignalHandlerOptions.NO)\n"
        "with run._ending_at_once(), context.g_logging_configure_lock: os.kill(os.getpid(), signal.SIGINT)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("module", ["encodings", "runpy", "numpy", "numba", "rclpy", "robot_dynamics.ros.component"])
def test_a_signal_ends_a_node_that_is_still_imported(monkeypatch, module, number):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    node = Process("plant", command=[str(SCRIPTS / "plant"), "--ros-args", "-p", f"urdf_file:={URDF}"])
    with running(node):
        node.await_line(f"| {module}")
        code, lines = node.end(number)
    assert code == 0
    assert [line for line in lines if not line.startswith("import time:")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_node_that_compiles(monkeypatch, tmp_path, number):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    node = Process("plant")
    with running(node):
        node.await_line("compiling loader")
        assert node.end(number) == (0, [])


def test_a_node_that_waits_for_its_robot_ends_as_well():
    node = Process("controller", "-p", "autostart:=false", urdf=None)
    with running(node), peer() as us:
        us.until(lambda: us.status("controller"), "a diagnostic")
        assert us.status("controller")["message"] == "waiting for robot_description"
        assert node.end() == (0, [])


NO_FEET = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize(
    ("name", "urdf", "arguments", "words"),
    [
        ("plant", "<robot", [], ["URDF"]),
        ("monitor", "nowhere.urdf", [], ["nowhere.urdf"]),
        ("plant", NO_FEET, [], ["no feet", "contact_links", "ball"]),
        ("controller", NO_FEET, [], ["four feet", "ball"]),
        ("feedforward", None, ["-p", "armature.knie:=0.1"], ["knie", "FR_knee"]),
        ("plant", None, ["-p", "joints:=[FR_abad, elbow]"], ["elbow", "FR_knee"]),
        ("plant", None, ["-p", "timestep:=0.3"], ["timestep", "0.02"]),
        ("plant", None, ["-p", "time_step:=0.001"], ["time_step", "timestep"]),
        ("controller", None, ["-p", "feet:=[nose]"], ["nose", "FR_knee"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, name, urdf, arguments, words):
    path = URDF
    if urdf is not None:
        path = tmp_path / ("robot.urdf" if urdf.startswith("<") else urdf)
    if urdf and urdf.startswith("<"):
        path.write_text(urdf)
    node = Process(name, *arguments, urdf=path)
    with running(node):
        code, lines = node.result()
    assert code == 2, lines
    assert len(lines) == 1
    assert lines[0].startswith(f"{name}: ")
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("name", "started"),
    [
        ("plant", "holding"),
        ("feedforward", "no joint_states"),
        ("monitor", "no joint_states"),
        ("controller", "no joint_states"),
    ],
)
def test_the_description_may_come_late_broken_and_twice(name, started):
    node = Process(name, urdf=None)
    with running(node), peer() as us:

        def says(message: str) -> None:
            us.until(lambda: us.status(name).get("message", "").startswith(message), f"'{message}'")

        says("waiting for robot_description")
        for broken in ("<robot", "", URDF.read_text().replace('child link="FR_knee"', 'child link="nowhere"')):
            us.send("robot_description", String(data=broken), LATCHED)
            says("robot_description refused: ")
        for _ in range(2):
            us.send("robot_description", String(data=URDF.read_text()), LATCHED)
        node.await_line("ready")
        says(started)
        assert "ignored robot_description" not in us.status(name)
        us.send("robot_description", String(data=NO_FEET), LATCHED)
        us.until(lambda: us.status(name).get("ignored robot_description") == "1", "the diagnostic")
        says(started)
        assert node.end() == (0, [])


@pytest.mark.parametrize("name", NODES)
def test_lifecycle_transitions_configure_activate_deactivate_clean_up_and_end(name):
    node = Process(name, "-p", "autostart:=false")
    t = Transition
    steps = [
        (t.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE),
        (t.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE),
        (t.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE),
        (t.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE),
        (t.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE),
        (t.TRANSITION_CLEANUP, State.PRIMARY_STATE_UNCONFIGURED),
        (t.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE),
    ]
    with running(node), peer() as us:
        for transition, state in steps:
            assert us.call(ChangeState, f"{name}/change_state", transition=Transition(id=transition)).success
            assert us.call(GetState, f"{name}/get_state").current_state.id == state
        before = len(node.lines)
        us.call(ChangeState, f"{name}/change_state", transition=Transition(id=t.TRANSITION_INACTIVE_SHUTDOWN))
        assert node.result(before) == (0, [])


@pytest.mark.parametrize("name", NODES)
def test_a_node_at_work_can_be_shut_down_by_its_lifecycle(name):
    node = Process(name)
    with running(node), peer() as us:
        node.await_line("ready")
        before, end = len(node.lines), Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN)
        assert us.call(ChangeState, f"{name}/change_state", transition=end).success
        assert node.result(before) == (0, [])


@pytest.mark.parametrize("waiting", ["start_paused", "lockstep"])
def test_a_plant_that_waits_ends_as_well(waiting):
    plant = Process("plant", "-p", f"{waiting}:=true")
    with running(plant):
        plant.await_line("ready")
        assert plant.end() == (0, [])


def test_a_node_that_hangs_while_it_stops_ends_all_the_same():
    code = (
        "import sys, threading; from robot_dynamics.ros import run; from robot_dynamics.ros.plant import PlantNode\n"
        "class Hanging(PlantNode):\n    def stop(self): threading.Event().wait()\n"
        f"sys.exit(run.run(Hanging, 'hanging', ['', '--ros-args', '-p', 'urdf_file:={URDF}']))"
    )
    node = Process("plant", command=[sys.executable, "-c", code])
    with running(node):
        node.await_line("ready")
        assert node.end() == (0, [])
