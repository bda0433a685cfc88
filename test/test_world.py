# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ground from files: what the surfaces of a file are, by their heights; what is wrong with a bad one, in a sentence."""

from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.contact.terrain import clearances
from robot_dynamics.control.simulation import above_ground, chosen_points, home_pose
from robot_dynamics.errors import ParameterError

ROOT = Path(__file__).resolve().parents[1]
MINI_CHEETAH = ROOT / "urdf" / "mini_cheetah.urdf"
PIL = pytest.importorskip("PIL.Image", reason="pillow is not installed")


def height(terrain, x, y, top=3.0):
    """Height of the terrain at (x, y): where a point that comes down from `top` by its clearance ends."""
    z = top
    for _ in range(400):
        z -= float(clearances(terrain, [(x, y, z)])[0])
    return z


def world(folder, text):
    path = folder / "world.yaml"
    path.write_text(text)
    return rd.load_world(path)


def test_stairs_rise_step_by_step_and_have_upright_sides():
    flight = (
        rd.Plane(),
        *rd.stairs((1.0, 2.0, 0.0), 5, rise=0.12, run=0.3, width=1.5, heading=0.5 * np.pi, landing=1.0),
    )
    for k in range(5):
        for y in (2.01 + 0.3 * k, 2.29 + 0.3 * k):
            assert height(flight, 1.0, y) == pytest.approx(0.12 * (k + 1), abs=1e-9)
    assert height(flight, 1.7, 4.19) == pytest.approx(0.6, abs=1e-9)
    for beside in ((1.0, 1.99), (1.0, 4.21), (1.76, 3.0), (0.24, 3.0)):
        assert height(flight, *beside) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("rise", [0.3, -0.3])
def test_a_ramp_leads_from_its_foot_to_its_rise(rise):
    start = (1.0, 0.5, 0.4)
    slope = rd.ramp(start, length=2.0, width=1.0, rise=rise, heading=np.pi)
    for share in (0.01, 0.5, 0.99):
        assert height(slope, 1.0 - 2.0 * share, 0.5) == pytest.approx(0.4 + rise * share, abs=1e-6)


def test_rough_ground_is_that_of_its_seed_and_level_at_its_border():
    (a,), (b,), (c,) = (rd.rough_ground((0, 0, 0.1), (2, 3), 0.1, 0.05, seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(a.heights, b.heights)
    assert not np.array_equal(a.heights, c.heights)
    assert a.heights.shape == (21, 31)
    assert 0.04 < a.heights.max() <= 0.05
    assert height((a,), 1.0, 0.0) == pytest.approx(0.1, abs=1e-9)


PICTURE = np.array([[0, 64, 255], [128, 0, 0]], dtype=np.uint8)
"""Two rows of three pixels; the upper right one is white."""


@pytest.mark.parametrize("name", ["hills.png", "hills.pgm"])
def test_a_picture_lies_as_map_server_lays_it(tmp_path, name):
    PIL.fromarray(PICTURE).save(tmp_path / name)
    field = f"height_field: {{image: {name}, resolution: 0.5, origin: [1, 2], height: 0.2}}"
    ground = world(tmp_path, f"surfaces: [{field}]")
    # the middle of the upper right pixel: 2.5 pixels to the right of the origin, 1.5 up
    assert height(ground, 1.0 + 1.25 - 1e-9, 2.0 + 0.75 - 1e-9) == pytest.approx(0.2, abs=1e-6)
    assert height(ground, 1.0 + 0.25 + 1e-9, 2.0 + 0.25 + 1e-9) == pytest.approx(0.2 * 128 / 255, abs=1e-6)
    (tmp_path / "map.yaml").write_text(f"image: {name}\nresolution: 0.5\norigin: [1.0, 2.0, 0.0]\nnegate: 1\n")
    (turned,) = world(tmp_path, "surfaces: [height_field: {map: map.yaml, height: 0.2}]")
    assert np.array_equal(turned.heights, ground[0].heights)
    assert turned.corner == ground[0].corner
    (tmp_path / "map.yaml").write_text(f"image: {name}\nresolution: 0.5\norigin: [1.0, 2.0, 0.0]\n")
    (occupied,) = world(tmp_path, "surfaces: [height_field: {map: map.yaml, height: 0.2}]")
    assert np.allclose(occupied.heights, 0.2 - ground[0].heights)


def test_deep_pictures_keep_their_depth(tmp_path):
    deep = np.array([[0, 1], [40000, 65535]], dtype=np.uint16)
    PIL.fromarray(deep).save(tmp_path / "deep.png")
    (field,) = world(tmp_path, "surfaces: [height_field: {image: deep.png, resolution: 1, height: 1}]")
    assert np.array_equal(field.heights, deep[::-1].T / 65535.0)


def test_samples_are_heights_from_the_origin_on(tmp_path):
    heights = np.random.default_rng(3).normal(size=(4, 6))
    np.save(tmp_path / "hills.npy", heights)
    text = "surfaces: [height_field: {samples: hills.npy, resolution: 0.25, origin: [1, 2, 3], friction: 0.3}]"
    (field,) = world(tmp_path, text)
    assert np.array_equal(field.heights, heights)
    assert field.corner == (1.0, 2.0, 3.0)
    assert field.friction == 0.3


BAD = {
    "no_file": (None, "No such file"),
    "no_yaml": ("surfaces: [", "is no YAML"),
    "nothing": ("", "must be a mapping with the one key 'surfaces'"),
    "other_key": ("planes: []", "must be a mapping with the one key 'surfaces'"),
    "no_surface": ("surfaces: []", "a list of surfaces"),
    "no_kind": ("surfaces: [3]", "surface 1: must be one of plane, box, ramp, stairs"),
    "unknown_kind": ("surfaces: [plane: {}, hill: {}]", "surface 2: there is no 'hill'; valid kinds: plane, box"),
    "unknown_figure": ("surfaces: [box: {sizes: 1}]", "box has no 'sizes'; valid names: size, position, orientation"),
    "lacking": ("surfaces: [ramp: {position: [0, 0, 0], width: 1, rise: 1}]", "ramp lacks 'length'"),
    "text": ("surfaces: [plane: {height: high}]", "height of Plane must be a number, got 'high'"),
    "nan": ("surfaces: [plane: {height: .nan}]", "height of Plane must be at least -inf, got nan"),
    "list": ("surfaces: [box: {size: 1}]", "size of Box must be 3 finite numbers, got 1"),
    "steps": ("surfaces: [stairs: {position: [0, 0, 0], steps: 2.5, rise: 1, run: 1, width: 1}]", "steps of stairs"),
    "figures": ("surfaces: [box: 4]", "box must be followed by its figures"),
    "huge": ("surfaces: [rough_ground: {corner: [0, 0, 0], size: [1e5, 1e5], spacing: 0.01, amplitude: 0}]", "samples"),
    "no_image": ("surfaces: [height_field: {image: no.png, resolution: 1, height: 1}]", "cannot read the image"),
    "text_image": ("surfaces: [height_field: {image: world.yaml, resolution: 1, height: 1}]", "no image"),
    "no_array": ("surfaces: [height_field: {samples: world.yaml, resolution: 1}]", "no .npy array"),
    "no_form": ("surfaces: [height_field: {resolution: 1}]", "height_field needs one of image, map, samples"),
    "no_height": ("surfaces: [height_field: {image: world.yaml}]", "needs 'height'"),
    "no_map": ("surfaces: [height_field: {map: world.yaml, height: 1}]", "is no map of map_server"),
    "origin": ("surfaces: [height_field: {samples: a.npy, resolution: 1, origin: 3}]", "no number, list or file name"),
    "resolution": (
        "surfaces: [height_field: {samples: a.npy, resolution: -1}]",
        "spacing of HeightField must be above 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_sentence(tmp_path, name):
    text, sentence = BAD[name]
    path = tmp_path / "world.yaml"
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    if text is not None:
        path.write_text(text)
    with pytest.raises(ParameterError) as problem:
        rd.load_world(path)
    assert sentence in str(problem.value)
    assert str(path) in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["stairs.yaml", "rough.yaml"])
def test_the_worlds_of_the_package_carry_a_robot(name):
    model = rd.load_urdf(MINI_CHEETAH, floating_base=True)
    terrain, feet = rd.load_world(ROOT / "worlds" / name), chosen_points(model, [])
    q = above_ground(model, home_pose(model, "stance", {}, feet, 0.0), feet, terrain, 0.0)
    gap = clearances(terrain, rd.point_position(model, feet, q)) - feet.radius
    assert gap.min() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("level", [-3.0, 0.0, 2.0])
def test_the_start_is_on_the_ground_however_high_it_is(level):
    model = rd.load_urdf(MINI_CHEETAH, floating_base=True)
    feet = chosen_points(model, [])
    terrain = (rd.Plane(level, (0.2, -0.1, 1.0)), rd.Box((0.5, 0.5, 0.3), (0.1, 0.0, level)))
    q = above_ground(model, home_pose(model, "stance", {}, feet, 0.0), feet, terrain, 0.02)
    gap = clearances(terrain, rd.point_position(model, feet, q)) - feet.radius
    assert gap.min() == pytest.approx(0.02, abs=1e-6)
    with pytest.raises(ParameterError, match="no surface below"):
        above_ground(model, q, feet, (rd.HeightField(np.zeros((2, 2)), 0.01, (50.0, 0.0, 0.0)),), 0.0)
