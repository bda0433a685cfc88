"""The only room with numba: pure functions on tuples of floats, and the drivers that run them over a robot."""
