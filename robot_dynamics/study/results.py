# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Results on disk: chunks of runs, each written whole or not at all, and the table of all in Parquet.

No column, option or byte depends on when, where or by how many the runs were done.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.extras import missing
from ..errors import ParameterError
from .reading import CHUNK
from .runs import Row, Study, column

TABLE = "runs.parquet"
CHUNKS = "chunks"
STUDY = "study.json"


def arrow() -> Any:
    """Return pyarrow with its Parquet. Raises ParameterError: it is missing, and what to type."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParameterError(missing("pyarrow")) from None
    return pyarrow


class Results:
    """The folder of a study's results."""

    def __init__(self, folder: Path, study: Study):
        """Take a folder, new or with results of this study.

        Raises
        ------
        ParameterError
            It holds runs of another study, or pyarrow is missing.
        """
        self.folder, self.study, self._arrow = folder, study, arrow()
        self._schema = _schema(self._arrow, study)
        (folder / CHUNKS).mkdir(parents=True, exist_ok=True)
        mark = folder / STUDY
        if mark.exists() and _fingerprint(mark) != study.fingerprint:
            raise ParameterError(
                f"'{folder}' holds runs of another study, or of this one before it was changed: "
                "choose another --output, or delete it"
            )
        _write(mark, json.dumps({"fingerprint": study.fingerprint}).encode())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from writing here. Raises ParameterError if one does."""
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ParameterError(f"another process is writing to '{self.folder}'") from None
            yield

    def chunks(self) -> list[range]:
        """Numbers of the runs of every chunk."""
        runs = self.study.runs
        return [range(begin, min(begin + CHUNK, runs)) for begin in range(0, runs, CHUNK)]

    def missing(self) -> list[range]:
        """Chunks that are still to be done; one that cannot be read is."""
        return [numbers for numbers in self.chunks() if self._read(numbers) is None]

    def keep(self, numbers: range, rows: Sequence[Row]) -> None:
        """Write the rows of a chunk."""
        table = self._arrow.Table.from_pylist(list(rows), schema=self._schema)
        self._write_table(self._file(numbers), table)

    def finish(self) -> Path:
        """Write the table of all runs, in the order of their numbers, once every chunk is there."""
        parts = [self._read(numbers) for numbers in self.chunks()]
        table = self._arrow.concat_tables([part for part in parts if part is not None]).combine_chunks()
        assert table.column("run").to_pylist() == list(range(self.study.runs))
        self._write_table(self.folder / TABLE, table)
        return self.folder / TABLE

    def _file(self, numbers: range) -> Path:
        return self.folder / CHUNKS / f"{numbers.start:08d}.parquet"

    def _read(self, numbers: range) -> Any:
        """Table of a chunk, or None if it is not there whole."""
        file = self._file(numbers)
        if not file.exists():
            return None
        try:
            table = self._arrow.parquet.read_table(file, schema=self._schema)
        except (OSError, ValueError):  # pyarrow's own errors are ValueErrors
            return None
        if table.column("run").to_pylist() != list(numbers):
            return None
        return table.replace_schema_metadata(self._schema.metadata)

    def _write_table(self, path: Path, table: Any) -> None:
        sink = self._arrow.BufferOutputStream()
        self._arrow.parquet.write_table(
            table, sink, version="2.6", compression="zstd", row_group_size=1 << 16, store_schema=True
        )
        _write(path, sink.getvalue().to_pybytes())


def read_table(folder: Path) -> dict[str, list[Any]]:
    """Return the columns of a study's results. Raises ParameterError."""
    try:
        found: dict[str, list[Any]] = arrow().parquet.read_table(folder / TABLE).to_pydict()
    except (OSError, ValueError) as error:
        raise ParameterError(f"cannot read '{folder / TABLE}': {error}") from None
    return found


def _schema(arrow: Any, study: Study) -> Any:
    """Columns in their order, and the study itself as metadata."""
    fields = [("run", arrow.int64()), ("seed", arrow.int64())]
    fields += [(p.name, arrow.string() if p.name == "terrain" else arrow.float64()) for p in study.parameters]
    fields += [("fell", arrow.bool_()), ("fell_at", arrow.float64())]
    fields += [(column(name), arrow.float64()) for name in study.judges]
    fields += [("stopped", arrow.string())]
    return arrow.schema(fields, metadata={"robot_dynamics.study": study.text})


def _fingerprint(mark: Path) -> str:
    try:
        return str(json.loads(mark.read_bytes())["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole: a kill leaves the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
