# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a browser does at the socket of a page of viser, without a browser: looks, ticks boxes, drags."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
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

    def take(self) -> None:
        """Wait for the next window of messages."""
        data = self.socket.recv(timeout=self.patience)
        size = int.from_bytes(data[8:16], "little")
        inner = zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
        self.messages += msgspec.msgpack.decode(inner)["messages"]

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


@contextmanager
def opened(address: str, patience: float) -> Iterator[Page]:
    """Open a page at http://host:port."""
    url = address.replace("http://", "ws://")
    with connect(url, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, ping_interval=None) as socket:
        yield Page(socket, patience)
