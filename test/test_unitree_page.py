# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The two copies on the Unitree page map by name and leave out what a command leaves out."""

import re
from pathlib import Path
from types import SimpleNamespace

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "unitree.md").read_text()
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
LEGS = ("FR", "FL", "RR", "RL")


def bridge() -> dict:
    namespace: dict = {}
    exec(CODE, namespace)
    return namespace


def motors(**fields) -> list[SimpleNamespace]:
    return [SimpleNamespace(mode=0, **{key: 100.0 * value + i for key, value in fields.items()}) for i in range(20)]


def test_the_table_is_the_order_of_the_code():
    row = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in PAGE.splitlines()
        if line.startswith("| ")
    }
    names = [f"{leg}_{joint}_joint" for leg, joint in zip(row["leg"], row["joint"], strict=True)]
    assert row["index"] == [str(i) for i in range(12)]
    assert bridge()["NAMES"] == names


def test_a_state_is_copied_by_name():
    state = SimpleNamespace()
    bridge()["write_joint_state"](SimpleNamespace(motor_state=motors(q=1, dq=2, tau_est=3)), state)
    thigh = state.name.index("RL_thigh_joint")
    assert (state.position[thigh], state.velocity[thigh], state.effort[thigh]) == (110.0, 210.0, 310.0)
    assert len(state.name) == len(state.position) == 12


def test_a_command_in_any_order_reaches_its_motor_and_what_is_left_out_has_no_gain():
    low, names = SimpleNamespace(motor_cmd=motors(q=0, dq=0, kp=0, kd=0, tau=0)), bridge()["NAMES"][::-1]
    command = SimpleNamespace(name=names, position=[], velocity=[], effort=[float(i) for i in range(12)])
    bridge()["write_low_cmd"](command, low, 20.0, 1.0)
    first = low.motor_cmd[0]
    assert (first.mode, first.q, first.dq, first.kp, first.kd, first.tau) == (1, 2.146e9, 16000.0, 0.0, 0.0, 11.0)
    command.position, command.velocity = [0.1] * 12, [0.2] * 12
    bridge()["write_low_cmd"](command, low, 20.0, 1.0)
    assert (first.q, first.dq, first.kp, first.kd) == (0.1, 0.2, 20.0, 1.0)
    assert low.motor_cmd[12].mode == 0
