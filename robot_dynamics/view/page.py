# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The server of viser from which a browser gets a scene: where it listens, and that it is quiet."""

import asyncio
import atexit
import contextlib
import errno
import io
import socket
from collections.abc import Callable, Iterator
from typing import Any

from ..core.extras import missing
from ..errors import ParameterError, RobotDynamicsError

TRIED = 100
"""So many ports are tried, from the one that is asked for on."""
LAST_PORT = 65535
PATIENCE = 60.0
"""Wall time after which a page that does nothing is given up [s]."""


def serve(host: str, port: int) -> Any:
    """Start a viser server on the first free port from `port` on; 0: any.

    Raises
    ------
    RobotDynamicsError
        viser is not installed.
    ParameterError
        There is no such host on this computer, or no port is free.
    """
    try:
        import viser
    except ImportError:
        raise RobotDynamicsError(missing("viser")) from None
    with quiet():
        server = viser.ViserServer(host=host, port=free_port(host, port), label="robot_dynamics", verbose=False)
    atexit.unregister(server.stop)  # it prints
    atexit.register(stop, server)
    server.scene.set_up_direction("+z")
    return server


def free_port(host: str, port: int) -> int:
    """First port from `port` on that nobody listens at; raises as `serve`."""
    if not port:
        return 0
    for candidate in range(port, min(port + TRIED, LAST_PORT + 1)):
        try:
            with socket.create_server((host, candidate)):
                return candidate
        except OSError as problem:
            if problem.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise ParameterError(f"'host' must be an address of this computer, got '{host}': {problem}") from None
    raise ParameterError(f"no port of {host} is free from {port} to {candidate}")


def on_page(server: Any, do: Callable[[], None]) -> None:
    """Have something done by the thread of the page, and wait for it: nobody else may change what pages show.

    viser wakes its writers by an event of asyncio, which breaks where another thread sets it while many wait.
    """
    loop = server.get_event_loop()

    async def doing() -> None:
        do()

    try:
        here = asyncio.get_running_loop() is loop
    except RuntimeError:  # of a thread without one
        here = False
    if here:
        do()
    else:
        asyncio.run_coroutine_threadsafe(doing(), loop).result(PATIENCE)


def stop(server: Any) -> None:
    """Stop a server without the line that it prints."""
    atexit.unregister(stop)
    with quiet():
        server.stop()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what is printed to the standard output from it."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def address(server: Any) -> str:
    """What to type into the browser."""
    host = server.get_host()
    return f"http://{f'[{host}]' if ':' in host else host}:{server.get_port()}"
