# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""A process that has imported everything and starts nodes by forking: each of them saves two seconds of imports.

Run by `ros_nodes.NodeServer` with a socket as its standard input. A request is one line of JSON {"module", "arguments",
"environment", "folder"} with the file descriptor of the output; the answer {"started": pid}. Later comes {"ended": pid,
"code": code}. It ends when the socket is closed. What a node does from its `main` on is what it always does.
"""

import importlib
import json
import os
import select
import signal
import socket
import sys
import threading

import robot_dynamics.ros.controller
import robot_dynamics.ros.estimator
import robot_dynamics.ros.feedforward
import robot_dynamics.ros.monitor
import robot_dynamics.ros.plant
import robot_dynamics.ros.viewer  # noqa: F401

LONGEST = 1 << 20


def serve(tests: socket.socket) -> None:
    """Start what is asked for and tell what has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    while True:
        ready, _, _ = select.select([tests, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            tell_ends(tests)
        if tests in ready:
            data, descriptors, _, _ = socket.recv_fds(tests, LONGEST, 1)
            if not data:
                return
            request = json.loads(data)
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                threading.main_thread()._set_native_id()  # which Python before 3.12 leaves as it was
                for number in (signal.SIGCHLD, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else signal.default_int_handler)
                for own in (woken, wake, tests.fileno()):
                    os.close(own)
                become(request, descriptors[0])
            os.close(descriptors[0])
            answer(tests, started=pid)


def tell_ends(tests: socket.socket) -> None:
    """Tell which nodes have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        answer(tests, ended=pid, code=os.waitstatus_to_exitcode(status))


def answer(tests: socket.socket, **values: int) -> None:
    """Send one message."""
    tests.sendall(json.dumps(values).encode() + b"\n")


def become(request: dict, output: int) -> None:
    """Be the node that is asked for, until the end of the process."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = [request["module"], *request["arguments"]]
        code = importlib.import_module(request["module"]).main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
