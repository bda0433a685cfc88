# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A controller and a judge of one's own, for own.yaml: hold a pose against gravity, and how far the base has sunk."""

import numpy as np

POSE = np.array(4 * [0.0, -0.8, 1.6])


def hold(model, seed, kp=60.0, kd=1.5):
    """Called at the start of a run; what it returns is called every period."""

    def act(time, measurement):
        """Answer the arguments of Plant.track: q_des, qd_des, kp, kd and, if there are any, feed-forward efforts."""
        return POSE, np.zeros(len(model.joint_names)), kp, kd

    return act


def sunk(run):
    """Answer one number about a run [m]; `robot_dynamics.study.runs.Run` says what there is to judge."""
    return run.clearance[0] - run.clearance[-1]
