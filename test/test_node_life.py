# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""How every node starts, says what is wrong, and ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from depth import every
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_nodes import PATIENCE, URDF, Peer, Process, peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.ros import run
from robot_dynamics.ros.realtime import DEVICE

pytestmark = pytest.mark.ros
NODES = ("plant", "feedforward", "monitor", "controller", "estimator")
SCRIPTS = Path(__file__).parents[1] / "scripts"
SIMULATED = ("-p", "use_sim_time:=true")
SAID = {
    "plant": ("joint_states", JointState),
    "feedforward": ("feedforward/torque/total", JointState),
    "monitor": ("monitor/mass_matrix", Float64MultiArray),
    "controller": ("joint_commands", JointState),
    "estimator": ("estimator/stance", JointState),
}
"""What a node publishes while it is active."""
OPTIONS = dict.fromkeys(NODES, SIMULATED) | {
    "plant": ("-p", "command_timeout:=30.0"),
    "estimator": (*SIMULATED, "-r", "odom:=estimated"),
}
"""Beside a plant, whose own odom the others hear; where five nodes share a core it would warn of late commands."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_every_node_with_exit_code_0_and_without_a_word(number):
    # on one clock: else they refuse the plant's states, and warn of it perhaps just when they end
    nodes = [Process(name, *OPTIONS[name]) for name in NODES]
    with running(*nodes):
        for node in nodes:
            node.await_line("ready")
        assert [node.end(number) for node in nodes] == [(0, [])] * len(NODES)


@pytest.mark.parametrize("limits", [{"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, {"ROS_LOCALHOST_ONLY": "1"}, {}], ids=str)
def test_nodes_share_no_memory_with_processes_that_may_be_killed(limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setenv(name, value)
    assert not shares_memory()


def test_shared_memory_is_used_where_the_user_chose_it(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "DEFAULT")
    assert shares_memory()


def test_a_profile_of_the_user_is_left_alone(monkeypatch, tmp_path):
    profile = tmp_path / "mine.xml"
    profile.write_text('<profiles xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"/>')
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", str(profile))
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", str(profile))
    assert shares_memory()


@pytest.mark.parametrize("discovery", ["LOCALHOST", "SUBNET"])
def test_no_thread_of_a_node_looks_up_types(discovery, monkeypatch):
    """Fast DDS 3.2 may crash in it where many nodes start at once."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", discovery)
    assert not any(name.startswith("dds.tls") for name in of_a_node(threads))


def shares_memory() -> bool:
    """Whether Fast DDS of a node has queues in shared memory."""
    return of_a_node(lambda own: "/dev/shm/fast" in (own / "maps").read_text())


def threads(own: Path) -> list[str]:
    """Names of the threads of a process."""
    return [thread.read_text() for thread in own.glob("task/*/comm")]


def of_a_node(look: Callable[[Path], Any]) -> Any:
    """What `look` sees in the folder of /proc of a node that is ready."""
    node = Process("controller")
    with running(node):
        node.await_line("ready")
        seen = look(Path(f"/proc/{node.popen.pid}"))
        assert node.end() == (0, [])
    return seen


def test_nodes_of_the_loop_run_in_real_time_where_that_is_permitted_while_they_are_active():
    code = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))"
    permitted = subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    awake = os.access(DEVICE, os.W_OK)
    ordinary = {(os.SCHED_OTHER, 0)}
    priorities = {"controller": 54, "estimator": 53, "feedforward": 52, "plant": 50, "monitor": 40}
    nodes = {name: Process(name, *OPTIONS[name]) for name in priorities}
    with running(*nodes.values()), peer() as us:
        for name, node in nodes.items():
            node.await_line("ready")
            own = priorities[name]
            urgent = {(os.SCHED_FIFO, own - below) for below in range(3)}
            assert policies(node) == (urgent if permitted else ordinary)
            assert os.sched_getparam(node.popen.pid).sched_priority == (own if permitted else 0)
            assert any(f"thread_priority {own} is not permitted" in line for line in node.lines) != permitted
        for node in (nodes["plant"], nodes["feedforward"]):
            assert keeps_processors_awake(node) == awake
            assert any("wake_latency 0 s is not permitted" in line for line in node.lines) != awake
        fast = Parameter("real_time_factor", value=0.0).to_parameter_msg()
        assert us.call(SetParameters, "plant/set_parameters", parameters=[fast]).results[0].successful
        for name in ("controller", "estimator", "feedforward", "monitor"):
            change(us, name, Transition.TRANSITION_DEACTIVATE)
        for node in nodes.values():
            assert policies(node) == ordinary
            assert not keeps_processors_awake(node)
        assert [node.end() for node in nodes.values()] == [(0, [])] * len(nodes)


def policies(node: Process) -> set[tuple[int, int]]:
    """How the threads of a node are scheduled: policy and priority."""
    threads = map(int, os.listdir(f"/proc/{node.popen.pid}/task"))
    return {(os.sched_getscheduler(thread), os.sched_getparam(thread).sched_priority) for thread in threads}


def keeps_processors_awake(node: Process) -> bool:
    """Whether a node has the file open that says how soon they must wake."""
    return any(file.resolve() == DEVICE for file in Path(f"/proc/{node.popen.pid}/fd").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_signals_that_go_on_until_the_end_change_nothing(number):
    """As with an impatient user, or a terminal and a launch that both pass Ctrl-C on."""
    node = Process("controller")
    with running(node):
        node.await_line("ready")
        before = node.now()
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
        node.await_line(f" {module}")  # however deep in others' imports
        code, lines = node.end(number)
    assert code == 0
    ours = ("import time:", "[INFO]", "[WARN]")  # on a busy machine the node is further when the signal comes
    assert [line for line in lines if not line.startswith(ours)] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_node_that_compiles(monkeypatch, tmp_path, number):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    node = Process("plant")
    with running(node):
        node.await_line("compiled 0 of 3 functions")
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
        ("controller", NO_FEET, [], ["2 to 8 feet", "ball"]),
        ("feedforward", None, ["-p", "armature.knie:=0.1"], ["knie", "FR_knee"]),
        ("plant", None, ["-p", "joints:=[FR_abad, elbow]"], ["elbow", "FR_knee"]),
        ("plant", None, ["-p", "timestep:=0.3"], ["timestep", "0.02"]),
        ("plant", None, ["-p", "time_step:=0.001"], ["time_step", "timestep"]),
        ("monitor", None, ["-p", "gravity:=[0.0, -9.81]"], ["gravity", "(3,)", "(2,)"]),
        ("plant", None, ["-p", "world:=/nowhere.yaml"], ["cannot read '/nowhere.yaml'"]),
        ("plant", None, ["-p", "world:=a.yaml", "-p", "ground_height:=1.0"], ["world", "ground_height"]),
        ("plant", None, ["-p", "sensor_rate:=300.0"], ["update_rate", "sensor_rate", "300"]),
        ("monitor", None, ["-p", "joint_friction:=[1.0, 2.0]"], ["joint_friction", "1 or 12 values, got 2"]),
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


def test_the_description_may_come_late_broken_and_twice_and_the_lifecycle_ends_nodes_at_work():
    apart = ("-r", "joint_states:=elsewhere")
    nodes = [Process(name, *(apart if name == "plant" else ()), urdf=None) for name in NODES]
    begun = {name: "holding" if name == "plant" else "no joint_states" for name in NODES}
    with running(*nodes), peer() as us:

        def all_say(message: str | dict[str, str]) -> None:
            wanted = message if isinstance(message, dict) else dict.fromkeys(NODES, message)
            us.until(lambda: all(us.status(n).get("message", "").startswith(wanted[n]) for n in NODES), f"'{message}'")

        for node in nodes:
            node.await_line("no robot yet")
        all_say("waiting for robot_description")
        for broken in ("<robot", "", URDF.read_text().replace('child link="FR_knee"', 'child link="nowhere"')):
            us.send("robot_description", String(data=broken), LATCHED)
            all_say("robot_description refused: ")
        for _ in range(2):
            us.send("robot_description", String(data=URDF.read_text()), LATCHED)
        for node in nodes:
            node.await_line("ready")
        all_say(begun)
        assert not any("ignored robot_description" in us.status(name) for name in NODES)
        us.send("robot_description", String(data=NO_FEET), LATCHED)
        us.until(lambda: all(us.status(n).get("ignored robot_description") == "1" for n in NODES), "the diagnostics")
        all_say(begun)
        for node in nodes:
            before = node.now()
            assert change(us, node.name, Transition.TRANSITION_ACTIVE_SHUTDOWN)
            assert node.result(before) == (0, [])


def change(us: Peer, name: str, transition: int) -> bool:
    return us.call(ChangeState, f"{name}/change_state", transition=Transition(id=transition)).success


@pytest.mark.parametrize("number", every(2, [None, signal.SIGTERM]), ids=["lifecycle", "SIGTERM"])
def test_lifecycle_transitions_work_while_states_and_commands_stream_and_inactive_nodes_end(number):
    """The plant comes first and goes last, so that every other node changes in the middle of its stream."""
    slow = ("-p", "real_time_factor:=0.2")
    nodes = [Process(name, "-p", "autostart:=false", *(slow if name == "plant" else OPTIONS[name])) for name in NODES]
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
    with running(*nodes), peer() as us:
        for topic, kind in SAID.values():
            us.listen(kind, topic)
        for transition, state in steps:
            for name in NODES if state == State.PRIMARY_STATE_ACTIVE else NODES[::-1]:
                assert change(us, name, transition)
                assert us.call(GetState, f"{name}/get_state").current_state.id == state
                topic = SAID[name][0]
                if state == State.PRIMARY_STATE_ACTIVE:
                    us.new(topic, 5)
                else:
                    us.until(lambda topic=topic: not us.node.count_publishers(topic), f"the end of {topic}")
        for node in nodes:
            node.await_line("12 joints", count=2)
            before = node.now()
            if number is None:
                change(us, node.name, t.TRANSITION_INACTIVE_SHUTDOWN)
            else:
                node.popen.send_signal(number)
            assert node.result(before) == (0, [])


@pytest.mark.parametrize("number", every(2, [signal.SIGKILL, signal.SIGTERM]), ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("name", ["plant", "controller"])
def test_a_node_that_is_to_end_with_a_process_does_so(name, number):
    """A shell takes the part of a launch; it passes nothing on."""
    node = f"{sys.executable} -m robot_dynamics.ros.{name} --ros-args -p urdf_file:={URDF}"
    shell = Process(name, command=["sh", "-c", f"{node} -p end_with_process:=$$ & wait"])
    with running(shell):
        shell.await_line("ready")
        before = len(shell.lines)
        assert shell.end(number)[0] == -number
        shell.await_line("<end>")
        assert len(shell.lines) == before + 2
        assert f"process {shell.popen.pid} is gone: ending with it" in shell.lines[before]


@pytest.mark.parametrize("given", every(2, [0, 2**30]), ids=["none", "gone at the start"])
def test_a_node_ends_with_nobody_unless_it_is_told(given):
    node = f"{sys.executable} -m robot_dynamics.ros.controller --ros-args -p urdf_file:={URDF}"
    shell = Process("controller", command=["sh", "-c", f"{node} -p end_with_process:={given} & echo node $!; wait"])
    with running(shell), peer() as us:
        shell.await_line("node ")
        pid = int(next(line for line in shell.lines if line.startswith("node ")).split()[1])
        if given:
            shell.await_line(f"process {given} is gone: ending with it")
        else:
            us.until(lambda: us.status("controller").get("message") == "no joint_states", "a diagnostic")
            shell.popen.kill()
            shell.popen.wait(PATIENCE)
            for _ in range(2):
                us.statuses.clear()
                us.until(lambda: us.status("controller"), "a node that goes on")
            os.kill(pid, signal.SIGINT)
        shell.await_line("<end>")


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
