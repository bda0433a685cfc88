# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Coefficient tensors written out: text and LaTeX for people, Python and C for compilers.

A tensor has one axis per joint; its index counts the basis functions 1, c, s, c^2, c s of a revolute and 1, q, q^2 of a
prismatic joint (or the first three, the first two). Joints are called q1 .. qn from the base outwards.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array

Entries = Mapping[tuple[int, int], Array]
Flags = NDArray[np.bool_]

REVOLUTE_NAMES = ("1", "c", "s", "c^2", "c s")
PRISMATIC_NAMES = ("1", "q", "q^2")
DEGREES = (0, 1, 1, 2, 2)
WIDTH = 110
ROUNDING = 1e-13
"""Harmonics below this fraction of the largest coefficient are rounding of the conversion."""

HARMONICS = np.array(
    [  # 1, c, s, c^2, c s as sums of exp(i k q), k = -2 .. 2
        [0, 0, 1, 0, 0],
        [0, 0.5, 0, 0.5, 0],
        [0, 0.5j, 0, -0.5j, 0],
        [0.25, 0, 0.5, 0, 0.25],
        [0.25j, 0, 0, 0, -0.25j],
    ]
).T


def factor_names(revolute: Flags) -> list[tuple[str, ...]]:
    """Names of each joint's basis functions."""
    return [REVOLUTE_NAMES if r else PRISMATIC_NAMES for r in revolute]


def text(
    joint_names: Sequence[str], revolute: Flags, entries: Entries, V: Array, gravity: Sequence[Array], latex: bool
) -> str:
    """Formulas of H (upper triangle, by (row, column)), V and G = dV/dq, each sum in its shorter form."""
    style = Latex if latex else Plain
    lines = style.legend(joint_names, revolute)
    for (j, k), tensor in entries.items():
        lines += style.equation(style.symbol("H", joint_names[j], joint_names[k]), shortest(tensor, revolute, style))
    lines += style.equation("V", shortest(V, revolute, style))
    for name, tensor in zip(joint_names, gravity, strict=True):
        lines += style.equation(style.symbol("G", name), shortest(tensor, revolute, style))
    return "\n".join(style.framed(lines)) + "\n"


class Plain:
    """Formulas for a terminal."""

    sine, cosine, times = "sin", "cos", " "

    @staticmethod
    def variable(i: int) -> str:
        """Name joint i."""
        return f"q{i + 1}"

    @staticmethod
    def of(function: str, angle: str, power: int = 1) -> str:
        """Write a sine or cosine of an angle."""
        return f"{function}({angle})" + (f"^{power}" if power > 1 else "")

    @staticmethod
    def number(value: float) -> str:
        """Write six digits."""
        return f"{value:.6g}"

    @staticmethod
    def symbol(name: str, *joints: str) -> str:
        """Write a component by joint names."""
        return f"{name}({', '.join(joints)})"

    @staticmethod
    def legend(joint_names: Sequence[str], revolute: Flags) -> list[str]:
        """Tell which joint is q1, q2, ..."""
        pairs = enumerate(zip(joint_names, revolute, strict=True))
        return [f"q{i + 1} = {name} [{_unit(r)}]" for i, (name, r) in pairs]

    @staticmethod
    def equation(left: str, terms: Sequence[str]) -> list[str]:
        """Break an equation into lines before a sign."""
        lines = [f"{left} ="]
        for term in terms:
            if len(lines[-1]) + len(term) + 1 > WIDTH:
                lines.append("   ")
            lines[-1] += f" {term}"
        return ["", *lines]

    @staticmethod
    def framed(lines: list[str]) -> list[str]:
        """Put nothing around the lines."""
        return lines


class Latex(Plain):
    """Formulas for a document: an align* environment."""

    sine, cosine, times = r"\sin", r"\cos", r"\,"

    @staticmethod
    def variable(i: int) -> str:
        """Name joint i."""
        return f"q_{{{i + 1}}}"

    @staticmethod
    def of(function: str, angle: str, power: int = 1) -> str:
        """Write a sine or cosine of an angle."""
        return function + (f"^{power}" if power > 1 else "") + f"({angle})"

    @staticmethod
    def number(value: float) -> str:
        """Write six digits, and powers of ten in full."""
        mantissa, _, exponent = f"{value:.6g}".partition("e")
        return mantissa + (rf" \cdot 10^{{{int(exponent)}}}" if exponent else "")

    @staticmethod
    def symbol(name: str, *joints: str) -> str:
        """Write a component by joint names."""
        return f"{name}_{{{', '.join(_texttt(joint) for joint in joints)}}}"

    @staticmethod
    def legend(joint_names: Sequence[str], revolute: Flags) -> list[str]:
        """Tell which joint is q1, q2, ..."""
        pairs = enumerate(zip(joint_names, revolute, strict=True))
        return [rf"& q_{{{i + 1}}} = {_texttt(name)}\ [\mathrm{{{_unit(r)}}}] \\" for i, (name, r) in pairs]

    @staticmethod
    def equation(left: str, terms: Sequence[str]) -> list[str]:
        """Break an equation into lines before a sign."""
        lines = Plain.equation(left, terms)[1:]
        lines[0] = lines[0].replace(" =", " ={}&", 1)
        return [line if n == 0 else rf"    & \quad{line[3:]}" for n, line in enumerate(lines)]

    @staticmethod
    def framed(lines: list[str]) -> list[str]:
        """Put an align* environment around the lines."""
        broken = [line if line.endswith(r"\\") else rf"{line} \\" for line in lines]
        return [r"\begin{align*}", *broken, r"\end{align*}"]


def shortest(tensor: Array, revolute: Flags, style: type[Plain]) -> list[str]:
    """Signed terms of the sum, as products of sines and cosines or with sums of angles, whichever is shorter."""
    if not tensor.any():
        return ["0"]
    forms = [_signed(sorted(form(tensor, revolute, style)), style) for form in (_products, _sums)]
    return min(forms, key=lambda terms: sum(map(len, terms)))


def _signed(terms: list[tuple[int, tuple[int, ...], float, str]], style: type[Plain]) -> list[str]:
    texts = []
    for place, (_, _, coefficient, factor) in enumerate(terms):
        sign = "-" if coefficient < 0.0 else "+" if place else ""
        number = style.number(abs(coefficient))
        product = factor if number == "1" and factor else style.times.join(filter(None, (number, factor)))
        texts.append(f"{sign} {product}" if place else f"{sign}{product}")
    return texts


def _products(tensor: Array, revolute: Flags, style: type[Plain]) -> Iterator[tuple[int, tuple[int, ...], float, str]]:
    """(degree, index, coefficient, factor) of each monomial."""
    for index in map(tuple, np.argwhere(tensor)):
        factors = [_factor(i, d, revolute[i], style) for i, d in enumerate(index) if d]
        degree = sum(DEGREES[d] if r else int(d) for d, r in zip(index, revolute, strict=True))
        yield degree, tuple(map(int, index)), float(tensor[index]), style.times.join(factors)


def _factor(joint: int, digit: int, revolute: bool, style: type[Plain]) -> str:
    q = style.variable(joint)
    if not revolute:
        return q if digit == 1 else f"{q}^2"
    cosine, sine = style.of(style.cosine, q), style.of(style.sine, q)
    return ("", cosine, sine, style.of(style.cosine, q, 2), cosine + style.times + sine)[digit]


def _sums(tensor: Array, revolute: Flags, style: type[Plain]) -> Iterator[tuple[int, tuple[int, ...], float, str]]:
    """(degree, index, coefficient, factor) with products of sines and cosines folded into sums of angles."""
    spectrum = tensor.astype(complex)
    for joint in np.flatnonzero(revolute):
        functions = HARMONICS[:, : tensor.shape[joint]]
        spectrum = np.moveaxis(np.tensordot(functions, spectrum, (1, joint)), 0, joint)
    for index in np.argwhere(np.abs(spectrum) > ROUNDING * np.abs(tensor).max()):
        harmonics = np.where(revolute, index - 2, 0)
        turning = harmonics[harmonics != 0]
        if turning.size and turning[0] < 0:
            continue  # the conjugate of one with a positive first harmonic
        powers = np.where(revolute, 0, index)
        length = [style.variable(i) + ("^2" if p == 2 else "") for i, p in enumerate(powers) if p]
        degree = int(np.abs(harmonics).sum() + powers.sum())
        order = (*(-abs(harmonics)).tolist(), *powers.tolist(), *(-harmonics).tolist())
        value = spectrum[tuple(index)]
        if not turning.size:
            yield degree, (*order, 0), float(value.real), style.times.join(length)
            continue
        angle = _angle(harmonics, style)
        for part, function, last in ((2.0 * value.real, style.cosine, 0), (-2.0 * value.imag, style.sine, 1)):
            if abs(part) > ROUNDING * np.abs(tensor).max():
                yield degree, (*order, last), float(part), style.times.join((*length, style.of(function, angle)))


def _angle(harmonics: NDArray[np.int64], style: type[Plain]) -> str:
    """Sum of angles, 2 q1 + q2 - q3."""
    text = ""
    for i in np.flatnonzero(harmonics).tolist():
        multiple = abs(harmonics[i])
        sign = " - " if harmonics[i] < 0 else " + " if text else ""
        text += sign + (f"{multiple} " if multiple > 1 else "") + style.variable(i)
    return text


def _unit(revolute: bool) -> str:
    return "rad" if revolute else "m"


def _texttt(name: str) -> str:
    return r"\mathtt{" + name.replace("_", r"\_") + "}"


def python_source(joint_names: Sequence[str], revolute: Flags, entries: Entries) -> str:
    """Write a module with `mass_matrix(q, H=None)` that numba compiles; H (n, n) is filled and returned."""
    n = len(joint_names)
    lines = [
        f'"""Mass matrix of the joints {", ".join(joint_names)}, generated from its closed form."""',
        "",
        "from math import cos, sin",
        "",
        "import numpy as np",
        "from numba import njit",
        "",
        "",
        '@njit(error_model="numpy")',
        "def mass_matrix(q, H=None):",
        f'    """H(q) ({n}, {n}) [kg m^2], [kg m] or [kg] in the order of the joints above; q ({n},) [rad] or [m]."""',
        "    if H is None:",
        f"        H = np.empty(({n}, {n}))",
        *(f"    {name} = {value}" for name, value in _variables(revolute, entries)),
    ]
    for (j, k), tensor in entries.items():
        left = f"H[{j}, {k}]" if j == k else f"H[{j}, {k}] = H[{k}, {j}]"
        lines.append(f"    {left} = {_nested(tensor, revolute)}")
    return "\n".join([*lines, "    return H"]) + "\n"


def c_source(joint_names: Sequence[str], revolute: Flags, entries: Entries) -> str:
    """Write a C99 file with `void mass_matrix(const double q[n], double H[n * n])`, rows of H one after the other."""
    n = len(joint_names)
    lines = [
        f"/* Mass matrix of the joints {', '.join(joint_names)}, generated from its closed form.",
        f"   q ({n}) [rad] or [m]; H ({n} x {n}, row by row) [kg m^2], [kg m] or [kg]. Link with -lm. */",
        "#include <math.h>",
        "",
        f"void mass_matrix(const double q[{n}], double H[{n * n}])",
        "{",
        *(f"    const double {name} = {value};" for name, value in _variables(revolute, entries)),
    ]
    for (j, k), tensor in entries.items():
        left = f"H[{j * n + k}]" if j == k else f"H[{j * n + k}] = H[{k * n + j}]"
        lines.append(f"    {left} = {_nested(tensor, revolute)};")
    return "\n".join([*lines, "}"]) + "\n"


def _variables(revolute: Flags, entries: Entries) -> list[tuple[str, str]]:
    """Names and values of the basis functions that occur, and of what they are made of."""
    used = np.any([tensor != 0.0 for tensor in entries.values()], axis=0)
    found = []
    for i, r in enumerate(revolute):
        digits = np.flatnonzero(used.any(axis=tuple(m for m in range(used.ndim) if m != i))).tolist()
        c, s, q = f"c{i + 1}", f"s{i + 1}", f"q{i + 1}"
        values = {c: f"cos(q[{i}])", s: f"sin(q[{i}])", f"c{c}": f"{c} * {c}", f"c{s}": f"{c} * {s}"}
        needs = {1: (c,), 2: (s,), 3: (c, f"c{c}"), 4: (c, s, f"c{s}")}
        if not r:
            values, needs = {q: f"q[{i}]", f"q{q}": f"{q} * {q}"}, {1: (q,), 2: (q, f"q{q}")}
        needed = {name for digit in digits if digit for name in needs[digit]}
        found += [(name, value) for name, value in values.items() if name in needed]
    return found


def _nested(tensor: Array, revolute: Flags, joint: int = 0) -> str:
    """Nested sum over the joints' functions: a + c1 * (b + s2 * d)."""
    if joint == len(revolute):
        return repr(float(tensor))
    names = ("", "c", "s", "cc", "cs") if revolute[joint] else ("", "q", "qq")
    parts = []
    for name, part in zip(names, tensor, strict=False):
        if np.any(part):
            inner = _nested(part, revolute, joint + 1)
            parts.append(inner if not name else f"{name}{joint + 1} * ({inner})")
    return " + ".join(parts) or "0.0"
