# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""The server of viser from which a browser gets a scene: where it listens, and that it is quiet."""

import asyncio
import atexit
import contextlib
import errno
import io
import ipaddress
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from ..core.extras import missing
from ..errors import ParameterError, RobotDynamicsError

TRIED = 100
"""So many ports are tried, from the one that is asked for on."""
LAST_PORT = 65535
PATIENCE = 60.0
"""Wall time after which a page that does nothing is given up [s]."""
FOREIGN = "refused: this page belongs to another site\n"


def serve(host: str, port: int) -> Any:
    """Start a viser server on the first free port from `port` on; 0: any.

    Raises
    ------
    RobotDynamicsError
        viser is not installed, or cannot refuse pages of other sites.
    ParameterError
        There is no such host on this computer, or no port is free.
    """
    try:
        import viser
    except ImportError:
        raise RobotDynamicsError(missing("viser")) from None
    with quiet(), strangers_refused(host):
        server = viser.ViserServer(host=host, port=free_port(host, port), label="robot_dynamics", verbose=False)
    atexit.unregister(server.stop)  # it prints
    atexit.register(stop, server)
    server.scene.set_up_direction("+z")
    return server


@contextlib.contextmanager
def strangers_refused(host: str) -> Iterator[None]:
    """Have the server that is made meanwhile refuse browsers that show pages of other sites.

    Any page may open a socket to this computer. viser has no option for it: what it serves by is replaced for a moment.
    Raises RobotDynamicsError where it was not called.
    """
    from websockets.asyncio import server

    made, serve = [], server.serve

    def guarded(*args: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            if not own(request.headers, host):
                return connection.respond(HTTPStatus.FORBIDDEN, FOREIGN)
            return process_request(connection, request)

        made.append(serve(*args, process_request=process, **options))
        return made[-1]

    server.serve = guarded  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]
    if not made:
        raise RobotDynamicsError("this version of viser cannot be kept from pages of other sites: install viser 1.1")


def own(headers: Mapping[str, str], host: str) -> bool:
    """Whether a request comes from a page of this server at `host`, or from no browser at all.

    Browsers name the site of a page as its origin. Where this computer alone is served the name must be one of its own:
    another site may give its name the address 127.0.0.1.
    """
    here, origin = headers.get("Host", ""), headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != here:
        return False
    name = urlsplit(f"//{here}").hostname or ""
    return not loopback(host) or loopback(name)


def loopback(name: str) -> bool:
    """Whether a host's name or address means this computer."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


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
    done = Future[None]()

    def doing() -> None:
        try:
            do()
            done.set_result(None)
        except BaseException as problem:  # whatever it is, who waits must know
            done.set_exception(problem)

    try:
        here = asyncio.get_running_loop() is loop
    except RuntimeError:  # of a thread without one
        here = False
    if here:
        do()
    else:
        loop.call_soon_threadsafe(doing)
        done.result(PATIENCE)


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
