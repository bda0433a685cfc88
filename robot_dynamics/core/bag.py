# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of ROS messages (rosbag2, MCAP): written so that a kill costs a second, read also after one.

Reading and writing is that of `rosbags`; here is what a user sees of it when a file is damaged.
"""

import math
import os
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..errors import RobotDynamicsError

MAGIC = b"\x89MCAP0\r\n"
RECORD = struct.Struct("<BQ")
"""What an MCAP record begins with: its kind, and how many bytes follow."""
FOOTER, DATA_END, KINDS = 0x02, 0x0F, 0x0F
"""Kinds of records; the largest that there is."""
ENDING = b"".join(
    (RECORD.pack(DATA_END, 4), bytes(4), RECORD.pack(FOOTER, 20), bytes(20), MAGIC)
)  # no checksum, no summary
BLOCK = 1 << 20
FLUSH = 500_000_000
"""Time between the chunks of a bag [ns]: with LATE, what is lost with a writer that is killed."""
LATE = 250_000_000
"""So long messages wait for those that were sent before them [ns]."""

SURPLUS = range(9)
"""Bytes that may stand behind a message; readers take a message only if none do."""


class BagError(RobotDynamicsError):
    """A bag cannot be read, or not be written."""


class Bag:
    """A bag that is read; a context manager. Its messages come in the order in which they were recorded.

    topics : type of each topic. salvaged : says that it is read in spite of a missing end; empty if it is whole.
    """

    def __init__(self, path: str | os.PathLike[str]):
        """Open the folder of a bag, an .mcap or a .db3 file.

        Raises
        ------
        BagError
            It is none, is damaged, or holds nothing.
        ModuleNotFoundError
            `rosbags` is not installed.
        """
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore

        self.path, self.salvaged = Path(path), ""
        self._open, self._store = AnyReader, get_typestore(Stores.ROS2_KILTED)
        self._stack, self._surplus = ExitStack(), dict[str, int]()
        if not self.path.exists():
            raise BagError(f"there is no bag '{self.path}'")
        try:
            self._reader = self._opened(self.path)
        except BagError as problem:
            self._salvage(problem)
        self._types = self._reader.typestore  # with the definitions that the bag brings
        self.topics: dict[str, str] = {c.topic: c.msgtype for c in self._reader.connections}

    def _opened(self, path: Path) -> Any:
        return self._told(lambda: self._stack.enter_context(self._open([path], default_typestore=self._store)))

    def _told(self, action: Callable[[], Any]) -> Any:
        """Do what a damaged file may break in any way that the reader has not thought of."""
        try:
            return action()
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise BagError(f"cannot read the bag '{self.path}': {reason}") from None

    def _salvage(self, problem: BagError) -> None:
        """Read a file without its end up to the last whole record; raises `problem` if there is none."""
        files = sorted(self.path.glob("*.mcap")) if self.path.is_dir() else [self.path]
        if len(files) != 1 or files[0].suffix != ".mcap":
            raise problem
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        copy = Path(folder) / "salvaged.mcap"
        if not salvage(files[0], copy):
            raise problem
        self._reader = self._opened(copy)
        self.salvaged = f"'{files[0].name}' has no proper end; read as far as it goes"

    def raw(self, *topics: str) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and bytes of the messages of these topics, of all without any.

        Raises
        ------
        BagError
            The file is damaged.
        """
        wanted = [c for c in self._reader.connections if not topics or c.topic in topics]
        messages = self._reader.messages(connections=wanted) if wanted else iter(())
        while (found := self._told(lambda: next(messages, None))) is not None:
            connection, time, data = found
            yield connection.topic, time, data

    def messages(self, *topics: str) -> Iterator[tuple[str, int, Any]]:
        """Yield topic, time of recording [ns] and message; raises as `raw`."""
        for topic, time, data in self.raw(*topics):
            try:
                msg = self._read(topic, data)
            except Exception as error:
                reason = str(error) or type(error).__name__
                raise BagError(f"cannot read the bag '{self.path}': a message of {topic}: {reason}") from None
            yield topic, time, msg

    def _read(self, topic: str, data: bytes) -> Any:
        """Read a message, and without the bytes behind it: ROS reserves too many where a list of floats is empty."""
        read, kind = self._types.deserialize_cdr, self.topics[topic]
        surplus = self._surplus.get(topic, 0)
        try:
            return read(data[: len(data) - surplus], kind)
        except Exception:
            for other in SURPLUS:
                with suppress(Exception):
                    msg = read(data[: len(data) - other], kind)
                    self._surplus[topic] = other
                    return msg
            raise

    def span(self) -> tuple[int, int]:
        """Return the times of the first and of the last message [ns]; raises as `raw`."""
        return self._told(lambda: (self._reader.start_time, self._reader.end_time))

    def counts(self) -> dict[str, int]:
        """Return how many messages each topic has."""
        return dict(sum((Counter({c.topic: c.msgcount}) for c in self._reader.connections), Counter()))

    def only(self, kind: str, wanted: str = "") -> str:
        """Return the topic of a message type: the one `wanted`, else the only one.

        Raises
        ------
        BagError
            There is none, or several to choose from.
        """
        found = sorted(topic for topic, k in self.topics.items() if k == kind)
        if wanted in found or (not wanted and len(found) == 1):
            return wanted or found[0]
        held = ", ".join(sorted(f"{topic} ({k})" for topic, k in self.topics.items())) or "no topic at all"
        if found:
            raise BagError(f"'{self.path}' has {len(found)} topics of type {kind} ({', '.join(found)})")
        raise BagError(f"'{self.path}' has no topic of type {kind}; it holds {held}")

    def ending(self, name: str) -> str:
        """Return the topic whose name is this or ends so, as in a namespace; "" if there is none, or several."""
        found = [topic for topic in self.topics if topic.strip("/") == name or topic.endswith(f"/{name}")]
        exact = [topic for topic in found if topic.strip("/") == name]
        return (exact or found)[0] if len(exact or found) == 1 else ""

    def __enter__(self) -> "Bag":
        """Give the bag itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._stack.close()


def salvage(damaged: Path, copy: Path) -> bool:
    """Copy the whole records of an MCAP file that lacks its end, and end the copy; tell whether there were any.

    A summary is left out: readers make do without, and a damaged one is of no use.
    """
    with damaged.open("rb") as source, copy.open("wb") as target:
        if source.read(len(MAGIC)) != MAGIC:
            return False
        target.write(MAGIC)
        size, records = damaged.stat().st_size, 0
        while len(head := source.read(RECORD.size)) == RECORD.size:
            kind, length = RECORD.unpack(head)
            if not 0 < kind < KINDS or kind == FOOTER or source.tell() + length > size:
                break
            target.write(head)
            _copy(source, target, length)
            records += 1
        target.write(ENDING)
    return records > 1  # a header alone is nothing


def _copy(source: IO[bytes], target: IO[bytes], length: int) -> None:
    while length:
        data = source.read(min(length, BLOCK))
        target.write(data)
        length -= len(data)


class BagWriter:
    """A new bag: a folder with one MCAP file, compressed in chunks of half a second; a context manager.

    A process that is killed leaves a file which `Bag` reads up to its last chunk.
    """

    def __init__(self, path: str | os.PathLike[str], notes: Mapping[str, str] | None = None):
        """Make the folder; `notes` go into its metadata.

        Raises
        ------
        BagError
            It exists already, or cannot be made.
        ModuleNotFoundError
            `rosbags` is not installed.
        """
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        self.path, self.store = Path(path), get_typestore(Stores.ROS2_KILTED)
        if self.path.exists():
            raise BagError(f"'{self.path}' exists already; a bag is written to a new folder")
        try:
            self._writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            self._writer.open()
        except OSError as error:
            raise BagError(f"'{self.path}' cannot be made: {error.strerror}") from None
        self._check_chunks()
        self._connections: dict[str, Any] = {}
        self._waiting: list[tuple[int, str, bytes]] = []
        self._last = 0
        for key, value in (notes or {}).items():
            self.note(key, value)

    def _check_chunks(self) -> None:
        """Have chunks carry a checksum, without which bytes that a disk turned are taken for messages."""
        from rosbags.rosbag2.storage_mcap import zstd

        storage: Any = self._writer.storage
        options = {zstd.CompressionParameter.checksum_flag: 1}
        storage.compressor = lambda data: zstd.compress(data, options=options)

    def note(self, key: str, value: str) -> None:
        """Note something beside the messages; the bag has it once it is closed."""
        self._writer.set_custom_data(key, value)

    def knows(self, kind: str) -> bool:
        """Whether messages of a type can be written, `sensor_msgs/msg/JointState`."""
        return kind in self.store.types

    def add(self, topic: str, kind: str, latched: bool = False) -> None:
        """Declare a topic; a `latched` one is offered to those who come late when the bag is played."""
        qos = [_latched()] if latched else []
        self._connections[topic] = self._writer.add_connection(
            topic, kind, typestore=self.store, offered_qos_profiles=qos
        )

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Write the bytes of a message with the time [ns] at which it was sent, in order of these times.

        A file without its end has no index, and readers take its messages only if their times never fall: messages wait
        for LATE ones, and what comes later still has the time of the message before it.

        Raises
        ------
        BagError
            The file cannot take it: a full disk.
        """
        self._waiting.append((time, topic, data))
        if time - self._waiting[0][0] > FLUSH + LATE:
            self.flush(time - LATE)

    def put(self, topic: str, time: int, msg: Any) -> None:
        """Write a message of the `store`; raises as `write`."""
        self.write(topic, time, self.store.serialize_cdr(msg, msg.__msgtype__))

    def flush(self, end: float = math.inf) -> None:
        """Put what waits from before `end` [ns] into a chunk of its own, and that into the file; raises as `write`."""
        storage: Any = self._writer.storage
        ready = sorted((message for message in self._waiting if message[0] <= end), key=itemgetter(0))
        self._waiting = [message for message in self._waiting if message[0] > end]
        try:
            for time, topic, data in ready:
                self._last = max(self._last, time)
                self._writer.write(self._connections[topic], self._last, data)
            if storage.chunk.bio.tell():
                storage.close_chunk()
                storage.bio.flush()
        except OSError as error:
            raise BagError(f"'{self.path}' cannot be written any more: {error.strerror}") from None

    def __enter__(self) -> "BagWriter":
        """Give the writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, whatever happened: what was written can be read.

        Raises
        ------
        BagError
            The file cannot take its end: a full disk.
        """
        try:
            try:
                self.flush()
            finally:
                self._writer.close()
        except (BagError, OSError) as problem:
            if error is None:
                raise BagError(f"'{self.path}' cannot be ended: {problem}") from None


def _latched() -> Any:
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(0, 0)
    return Qos(
        QosHistory.KEEP_LAST,
        1,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        never,
        never,
        QosLiveliness.AUTOMATIC,
        never,
        False,
    )
