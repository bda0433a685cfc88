# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Learned locomotion policies: what they observe, declared in a YAML file, and the joint targets that they answer with.

q_des = default + action_scale * action, in the order of joints of the policy. Base quantities are in base axes.
"""

import io
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.extras import missing
from ..errors import ParameterError
from ..model.model import Model
from ..simulation.plant import Plant
from .actuation import spread

Array = NDArray[np.float64]
Network = Callable[[Array], Array]


class Sensed(NamedTuple):
    """What a policy may know of the robot; joints (n,) in the order of the policy."""

    base_linear_velocity: Array
    base_angular_velocity: Array
    projected_gravity: Array
    joint_positions: Array
    joint_velocities: Array


TERMS = (*Sensed._fields, "command", "last_action", "clock")
"""Joint positions are told from the default; the clock is (sin, cos) of the phase of a gait with `period`."""
PER_JOINT = ("joint_positions", "joint_velocities", "last_action")
ORDERS, STACKS = ("oldest_first", "newest_first"), ("observation", "term")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the observation, and what it is multiplied by: one number or one per entry."""

    name: str
    scale: Array
    size: int


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A policy as its YAML file declares it; figures per joint are (n,) in the order of `joints`."""

    policy: Path
    joints: tuple[str, ...]
    default_positions: Array
    action_scale: Array
    kp: Array
    kd: Array
    observation: tuple[Term, ...]
    rate: float = 50.0
    period: float = 0.0
    clip: float = 100.0
    action_clip: float = 100.0
    history: int = 1
    history_order: str = "oldest_first"
    history_by: str = "observation"

    @property
    def size(self) -> int:
        """Length of what the network gets."""
        return self.history * sum(term.size for term in self.observation)


def read_spec(path: str | Path) -> PolicySpec:
    """Read the declaration of a policy.

    Raises
    ------
    ParameterError
        No such file, no YAML, an unknown or missing key, a term that there is not, figures that do not fit.
    """
    path = Path(path)
    given = _yaml(path)
    known = [f.name for f in fields(PolicySpec)]
    for key in given:
        if key not in known:
            raise ParameterError(f"{path}: there is no key '{key}'; valid keys: {', '.join(known)}")
    for key in ("policy", "joints", "observation"):
        if not given.get(key):
            raise ParameterError(f"{path}: the key '{key}' is missing")
    joints = tuple(given["joints"])
    n = len(joints)
    figures: dict[str, Any] = {}
    for key, usual in (("default_positions", 0.0), ("action_scale", 0.25), ("kp", None), ("kd", None)):
        if (value := given.get(key, usual)) is None:
            raise ParameterError(f"{path}: the key '{key}' is missing: the gain with which the policy was trained")
        figures[key] = _numbers(f"{path}: {key}", value, n)
    rest = {key: given[key] for key in known[7:] if key in given}
    _check_rest(path, rest)
    terms = tuple(_term(path, entry, n) for entry in given["observation"])
    spec = PolicySpec(path.parent / given["policy"], joints, **figures, observation=terms, **rest)
    if any(term.name == "clock" for term in terms) and spec.period <= 0.0:
        raise ParameterError(f"{path}: the term 'clock' needs a 'period' above 0 [s]")
    return spec


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        import yaml  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise ParameterError(missing("yaml")) from None
    try:
        given = yaml.safe_load(path.read_text())
    except OSError as problem:
        raise ParameterError(f"there is no policy file '{path}': {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{path} is no YAML: {problem}") from None
    if not isinstance(given, dict):
        raise ParameterError(f"{path} must hold keys and values, got {type(given).__name__}")
    return given


def _numbers(what: str, value: Any, n: int) -> Array:
    try:
        return spread(value, n, what)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be a number or {n} of them, got {value!r}") from None


def _check_rest(path: Path, rest: Mapping[str, Any]) -> None:
    for key, valid in (("history_order", ORDERS), ("history_by", STACKS)):
        if key in rest and rest[key] not in valid:
            raise ParameterError(f"{path}: '{key}' must be one of {', '.join(valid)}, got {rest[key]!r}")
    for key in ("rate", "period", "clip", "action_clip", "history"):
        kind = int if key == "history" else (int, float)
        if key in rest and not (isinstance(rest[key], kind) and rest[key] > 0):
            raise ParameterError(f"{path}: '{key}' must be a number above 0, got {rest[key]!r}")


def _term(path: Path, entry: Any, n: int) -> Term:
    given = {"term": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict) or not set(given) <= {"term", "scale"} or given.get("term") not in TERMS:
        raise ParameterError(
            f"{path}: an observation is a term, or {{term, scale}}; terms: {', '.join(TERMS)}; got {entry!r}"
        )
    name = given["term"]
    size = n if name in PER_JOINT else 2 if name == "clock" else 3
    return Term(name, _numbers(f"{path}: scale of {name}", given.get("scale", 1.0), size), size)


class Observation:
    """Builds what the network gets, and remembers the last ones where it gets several."""

    def __init__(self, spec: PolicySpec):
        """Remember nothing yet."""
        self.spec = spec
        self._past: deque[list[Array]] = deque(maxlen=spec.history)

    def reset(self) -> None:
        """Forget the past: the first observation then stands for all before it."""
        self._past.clear()

    def build(self, sensed: Sensed, command: Array, action: Array, time: float) -> Array:
        """Return the observation (size,) at the time [s], `command` = [v_x, v_y, omega_z], `action` the last one."""
        s = self.spec
        phase = 2.0 * np.pi * time / s.period if s.period else 0.0
        values: dict[str, Array] = sensed._asdict()
        values |= {"command": command, "last_action": action, "clock": np.array([np.sin(phase), np.cos(phase)])}
        values["joint_positions"] = sensed.joint_positions - s.default_positions
        now = [np.clip(term.scale * values[term.name], -s.clip, s.clip) for term in s.observation]
        self._past.append(now)
        while len(self._past) < s.history:
            self._past.append(now)
        frames = list(self._past) if s.history_order == "oldest_first" else list(self._past)[::-1]
        if s.history_by == "term":
            return np.concatenate([frame[i] for i in range(len(now)) for frame in frames])
        return np.concatenate([part for frame in frames for part in frame])


class Policy:
    """A network with what it observes: answers states with joint targets."""

    def __init__(self, spec: PolicySpec, network: Network):
        """Start with an action of 0."""
        self.spec, self.network = spec, network
        self.observation = Observation(spec)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self.observation.reset()
        self.action = np.zeros(len(self.spec.joints))

    def answer(self, sensed: Sensed, command: Array, time: float) -> Array:
        """Return target positions (n,) in the order of the policy [rad].

        Raises
        ------
        ParameterError
            The network answers with another number of actions, or with what is not finite.
        """
        s = self.spec
        action = self.network(self.observation.build(sensed, command, self.action, time))
        if action.shape != self.action.shape or not np.isfinite(action).all():
            raise ParameterError(f"{s.policy.name} must answer with {len(s.joints)} finite actions, got {action!r}")
        self.action = np.clip(action, -s.action_clip, s.action_clip)
        return s.default_positions + s.action_scale * self.action


class PlantPolicy:
    """A policy on a simulated robot: answers with the command of all its joints; those it does not know are limp."""

    def __init__(self, policy: Policy, model: Model):
        """Find its joints. Raises UnknownNameError."""
        self.policy = policy
        self.policy.reset()
        n = len(model.joint_names)
        self._where = [model.joint_index(name) for name in policy.spec.joints]
        self._targets, self._rest, self._kp, self._kd = np.zeros((4, n))
        self._kp[self._where], self._kd[self._where] = policy.spec.kp, policy.spec.kd

    def command(self, plant: Plant, command: Array, time: float) -> tuple[Array, Array, Array, Array]:
        """Answer the arguments of `Plant.track`; command = [v_x, v_y, omega_z], time [s] since the policy began.

        Joints and angular velocity are as sensors say, noise included; velocity and attitude of the base as they are.
        """
        seen = plant.measure()
        sensed = Sensed(
            plant.qd[3:6] if plant.model.floating_base else np.zeros(3),
            seen.angular_velocity,
            projected_gravity(seen.orientation),
            seen.position[self._where],
            seen.velocity[self._where],
        )
        self._targets[self._where] = self.policy.answer(sensed, command, time)
        return self._targets.copy(), self._rest, self._kp, self._kd


def projected_gravity(quaternion: Array) -> Array:
    """Unit vector downwards in base axes (..., 3), from attitudes xyzw (..., 4) of the base."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    down: Array = np.stack([2.0 * (w * y - x * z), -2.0 * (y * z + w * x), 2.0 * (x * x + y * y) - 1.0], axis=-1)
    return down


def load_policy(path: str | Path) -> Policy:
    """Load a policy by its YAML file; the network it names is .onnx, .pt (TorchScript) or .npz.

    Raises
    ------
    ParameterError
        As `read_spec` and `policy_of`.
    """
    spec = read_spec(path)
    return policy_of(spec, read_network(spec))


def read_network(spec: PolicySpec) -> bytes:
    """Return what the file of the network holds. Raises ParameterError: another kind, or no such file."""
    if spec.policy.suffix not in KINDS:
        raise ParameterError(f"'{spec.policy.name}' must end in one of {', '.join(KINDS)}")
    if not spec.policy.is_file():
        raise ParameterError(f"there is no file '{spec.policy}'")
    return spec.policy.read_bytes()


def policy_of(spec: PolicySpec, network: bytes) -> Policy:
    """Return the policy of a declaration and what the file of its network holds.

    Raises
    ------
    ParameterError
        No such network, one of another input size, or the package that runs it is not installed.
    """
    n = len(spec.joints)
    try:
        policy = Policy(spec, KINDS[spec.policy.suffix](network))
        policy.network(np.zeros(spec.size))
    except ParameterError:
        raise
    except Exception as problem:  # each runtime raises its own
        raise ParameterError(
            f"{spec.policy.name} does not take the {spec.size} numbers that are declared for {n} joints: {problem}"
        ) from None
    return policy


def _onnx(network: bytes) -> Network:
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise ParameterError(missing("onnxruntime")) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a pool of threads costs more than the network
    session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def run(observation: Array) -> Array:
        return np.asarray(session.run(None, {name: observation[None].astype(np.float32)})[0][0], dtype=float)

    return run


def _torch_script(network: bytes) -> Network:
    try:
        import torch
    except ModuleNotFoundError:
        raise ParameterError("a network in TorchScript needs torch: pip install torch, or export it to ONNX") from None
    module = torch.jit.load(io.BytesIO(network), map_location="cpu").eval()

    def run(observation: Array) -> Array:
        with torch.no_grad():
            return np.asarray(module(torch.from_numpy(observation[None]).float())[0], dtype=float)

    return run


def _layers(network: bytes) -> Network:
    """A multilayer perceptron with tanh between its layers, arrays W0, b0, W1, ...: runs with numpy alone."""
    with np.load(io.BytesIO(network)) as stored:
        layers = [(stored[f"W{i}"], stored[f"b{i}"]) for i in range(len(stored.files) // 2)]
    return lambda observation: perceptron(layers, observation)


def perceptron(layers: Sequence[tuple[Array, Array]], x: Array) -> Array:
    """Return the output (..., m) for inputs (..., k): x W + b, tanh between layers."""
    for W, b in layers[:-1]:
        x = np.tanh(x @ W + b)
    W, b = layers[-1]
    result: Array = x @ W + b
    return result


KINDS: Mapping[str, Callable[[bytes], Network]] = {".onnx": _onnx, ".pt": _torch_script, ".npz": _layers}
"""Endings of files of networks, and what runs them."""
