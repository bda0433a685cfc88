"""One look at the numbers that a call brings."""

from .jit import lean


@lean
def finite(a, b, c):
    """Whether all numbers of three vectors are finite: 0 x is 0 for those alone."""
    total = 0.0
    for k in range(a.shape[0]):
        total += 0.0 * a[k]
    for k in range(b.shape[0]):
        total += 0.0 * b[k]
    for k in range(c.shape[0]):
        total += 0.0 * c[k]
    return total == 0.0
