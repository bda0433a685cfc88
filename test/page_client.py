# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a browser does at the socket of a page of viser, without a browser: looks, ticks boxes, drags."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (1.0, 0.0, 0.0),
    "fov": 1.0,
    "near": 0.1,
    "far": 10.0,
    "image_height": 100,
    "image_width": 100,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


class Page:
    """One open page: everything that was sent to it is in `messages`."""

    def __init__(self, socket: ClientConnection, patience: float):
        """Tell where the camera is: from then on the server counts the page."""
        self.socket, self.patience = socket, patience
        self.messages: list[dict[str, Any]] = []
        self.send(CAMERA)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as a browser does."""
        self.socket.send(msgspec.msgpack.encode(message))

    def take(self, seconds: float | None = None) -> None:
        """Wait for the next window of messages, so long or as long as is patient; raises TimeoutError."""
        data = self.socket.recv(timeout=self.patience if seconds is None else seconds)
        at = 16 + int.from_bytes(data[8:16], "little")
        inner = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16:at]))
        arrays = []
        for size in inner["binaryBufferLengths"]:
            at += -at % 8
            arrays.append(data[at : at + size])
            at += size
        self.messages += with_arrays(inner["messages"], arrays)

    def poll(self, seconds: float = 0.05) -> list[dict[str, Any]]:
        """Return what has come, or comes within so long."""
        with suppress(TimeoutError):
            self.take(seconds)
        messages, self.messages = self.messages, []
        return messages

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message, and forget all up to it."""
        end, seen = time.monotonic() + self.patience, set()
        while True:
            for i, message in enumerate(self.messages):
                if wanted(message):
                    del self.messages[: i + 1]
                    return message
                seen.add(f"{message['type']} {message.get('name', '')}")
            assert time.monotonic() < end, f"waited in vain; there were {sorted(seen)}"
            self.messages.clear()
            self.take()

    def control(self, label: str) -> str:
        """Identifier of the control with this label; those of the panel come in order, before what moves."""
        return self.until(lambda m: m.get("props", {}).get("label") == label)["uuid"]

    def set(self, uuid: str, value: Any) -> None:
        """Give a control a value, as a hand does."""
        self.send({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})

    def drag(self, phase: str, name: str, start: tuple[float, ...], end: tuple[float, ...]) -> None:
        """Hold a node of the scene with the mouse."""
        places = {"start_position": start, "start_screen_pos": (0.0, 0.0), "end_position": end}
        self.send(
            {"type": "SceneNodeDragMessage", "phase": phase, "name": name, "instance_index": None, **places}
            | {"end_screen_pos": (0.0, 0.0), "button": "left", "modifier": None, "owner": ""}
        )


def with_arrays(value: Any, arrays: list[bytes]) -> Any:
    """Put arrays, which travel behind a message, where the message refers to them."""
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(arrays[value["__binary_index"]], value["dtype"])
        return {key: with_arrays(item, arrays) for key, item in value.items()}
    return [with_arrays(item, arrays) for item in value] if isinstance(value, list) else value


@contextmanager
def opened(address: str, patience: float, **options: Any) -> Iterator[Page]:
    """Open a page at http://host:port; options are those of the socket."""
    url = address.replace("http://", "ws://")
    protocols = [f"viser-v{viser.__version__}"]
    with connect(url, subprotocols=protocols, max_size=None, ping_interval=None, **options) as socket:
        yield Page(socket, patience)
