"""Contact laws on the whole robot: the open-loop trot of the reference, isotropic friction, the same bytes again."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import open_loop_trot as trot
import pytest

import robot_dynamics as rd
from robot_dynamics.plant import PlantParams

pytestmark = pytest.mark.slow  # thousands of steps, hours un-jitted

BALL = (
    '<robot name="b"><link name="b"><inertial><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


def test_spring_damper_trot_at_1_ms_hardly_slips():
    """The C++ simulator: 31.9 mm and 25 degrees at the same step."""
    log = trot.run(PlantParams(contact=rd.SpringDamper(friction=0.6)), armature=True)
    assert trot.slip(log) <= 1e-3
    assert trot.scatter(log) <= 6.0


def test_impulse_trot_at_1_ms_does_not_slip():
    log = trot.run(PlantParams(contact=rd.Impulse(friction=0.6)), armature=True)
    assert trot.slip(log) <= 1e-5


@pytest.mark.parametrize("contact", [rd.SpringDamper(friction=0.4), rd.Impulse(friction=0.4)], ids=["soft", "hard"])
def test_friction_is_the_same_in_all_directions(contact):
    """A point mass sliding on the plane goes equally far whichever way it is sent."""
    model = rd.load_urdf(BALL, floating_base=True)
    point = rd.points(model, {"b": [(0, 0, 0)]})
    ways = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        plant = rd.Plant(model, PlantParams(contact=contact), point)
        plant.reset(rd.neutral(model), [0, 0, 0, np.cos(angle), np.sin(angle), 0])
        plant.advance(1.0)
        ways.append(np.linalg.norm(plant.q[:2]))
    np.testing.assert_allclose(ways, ways[0], rtol=1e-9)


DROP = """
import hashlib, sys
import numpy as np
import robot_dynamics as rd
model = rd.load_urdf(sys.argv[1], floating_base=True)
plant = rd.Plant(model, rd.PlantParams(contact=rd.Impulse()))
q = rd.neutral(model)
q[2] = 0.5
plant.reset(q, 0.3 * np.random.default_rng(7).standard_normal(model.nv))
plant.advance(1.0)
print(hashlib.sha256(plant.q.tobytes() + plant.qd.tobytes()).hexdigest())
"""


def test_another_process_computes_the_same_bytes():
    urdf = Path(__file__).parents[1] / "urdf" / "mini_cheetah.urdf"
    runs = [
        subprocess.run([sys.executable, "-c", DROP, str(urdf)], capture_output=True, text=True, check=True, timeout=280)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.strip()) == len(hashlib.sha256().hexdigest())
