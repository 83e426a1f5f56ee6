"""Traces: what a block device was asked to do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from anabranch._core import TraceCore, UsageError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

#: Columns of a trace; ``crates/core/trace`` documents them.
COLUMNS = (
    "time_ns",
    "operation",
    "offset_bytes",
    "length_bytes",
    "context",
    "file",
    "hint",
    "hint_granted",
    "tenant",
)
#: Columns of numbers, and the type that goes in without a copy.
_NUMBERS: Mapping[str, str] = {
    "time_ns": "uint64",
    "offset_bytes": "uint64",
    "length_bytes": "uint64",
    "context": "uint32",
    "file": "uint32",
    "tenant": "uint32",
}

if TYPE_CHECKING:
    Column = npt.ArrayLike


class Trace:
    """Requests to a block device, in order, with the tables beside them.

    One is made from a file (:meth:`read`), from NumPy arrays (:meth:`from_arrays`), or from
    anything that speaks Arrow (:meth:`from_arrow`: pyarrow, polars, DuckDB, pandas). It is one
    itself: ``pyarrow.table(trace)`` and ``polars.DataFrame(trace)`` work.

    >>> import anabranch, numpy as np
    >>> trace = anabranch.Trace.from_arrays(
    ...     offset_bytes=np.array([0, 4096, 0], dtype=np.uint64),
    ...     length_bytes=np.array([4096, 8192, 4096], dtype=np.uint64),
    ...     context=np.array([1, 2, 1], dtype=np.uint32),
    ... )
    >>> len(trace)
    3
    >>> trace.to_pandas()["offset_bytes"].tolist()
    [0, 4096, 0]
    """

    def __init__(self, source: TraceCore | str | PathLike[str]) -> None:
        """``Trace(path)`` is ``Trace.read(path)``."""
        if isinstance(source, TraceCore):
            self._core = source
        elif isinstance(source, (str, PathLike)):
            self._core = TraceCore.read(source)
        else:
            raise TypeError(
                f"a trace is made of a path, not of {type(source).__name__}: Trace.from_arrays, "
                "Trace.from_arrow, Trace.from_pandas and Trace.from_polars make one of data"
            )

    @classmethod
    def read(cls, path: str | PathLike[str], format: str | None = None) -> Trace:
        """Reads a trace file whole: Anabranch's own Parquet, raw u32 page numbers, or any form
        that ``anabranch import`` knows but CSV (``format``; ``"auto"`` guesses).

        >>> Trace.read("traces/rocksdb-demo.parquet").device_bytes
        1310720000
        """
        return cls(TraceCore.read(path, format))

    @classmethod
    def from_arrays(
        cls,
        *,
        offset_bytes: Column,
        length_bytes: Column,
        time_ns: Column | None = None,
        operation: Column | str | None = None,
        context: Column | None = None,
        file: Column | None = None,
        hint: Column | None = None,
        tenant: Column | None = None,
        contexts: Sequence[Mapping[str, Any]] | None = None,
        files: Sequence[str] | None = None,
        device_bytes: int | None = None,
        name: str = "memory",
    ) -> Trace:
        """A trace of NumPy arrays, one entry a request; a number stands for a column of it.

        Arrays of the column's own type (``uint64`` for times, offsets and lengths, ``uint32`` for
        contexts, files and tenants) are used where they are; others are converted. ``operation``
        is of words (``read``, ``write``, ``discard``, ``flush``) or of their numbers, 0 to 3, as
        ``uint8``; all are writes without it. What is left out is not known.

        >>> trace = Trace.from_arrays(offset_bytes=[0, 0], length_bytes=4096,
        ...                           operation=["write", "discard"])
        >>> trace.to_pandas()["operation"].tolist()
        ['write', 'discard']
        """
        import numpy as np
        import pyarrow

        given: dict[str, Column | None] = {
            "time_ns": time_ns,
            "operation": operation,
            "offset_bytes": offset_bytes,
            "length_bytes": length_bytes,
            "context": context,
            "file": file,
            "hint": hint,
            "tenant": tenant,
        }
        rows = len(np.atleast_1d(np.asarray(offset_bytes)))
        columns = {
            key: pyarrow.array(_column(key, values, rows))
            for key, values in given.items()
            if values is not None
        }
        table = pyarrow.table(columns)
        return cls.from_arrow(
            table, contexts=contexts, files=files, device_bytes=device_bytes, name=name
        )

    @classmethod
    def from_arrow(
        cls,
        table: Any,
        *,
        contexts: Sequence[Mapping[str, Any]] | None = None,
        files: Sequence[str] | None = None,
        device_bytes: int | None = None,
        name: str = "memory",
    ) -> Trace:
        """A trace of anything with ``__arrow_c_stream__``. Columns go by their names
        (:data:`COLUMNS`); ``offset_bytes`` and ``length_bytes`` must be there, others may be
        missing. Columns of the right type are not copied.

        ``contexts`` and ``files`` are the tables that context and file numbers are rows of, row 0
        being "not known". Without them they come from the table's own metadata, where
        :meth:`to_arrow` puts them, or else are rows without names.

        >>> import polars
        >>> frame = polars.DataFrame({"offset_bytes": [0, 4096], "length_bytes": [4096, 4096]})
        >>> len(Trace.from_arrow(frame))
        2
        """
        if not hasattr(table, "__arrow_c_stream__"):
            raise UsageError(
                f"{type(table).__name__} does not speak Arrow (__arrow_c_stream__): give a "
                "pyarrow, polars or pandas table, or use Trace.from_arrays"
            )
        tables: dict[str, Any] = {"device_bytes": device_bytes}
        if contexts is not None:
            tables["contexts"] = [dict(row) for row in contexts]
        if files is not None:
            tables["files"] = [{"name": file} for file in files]
        return cls(TraceCore.from_arrow(table, json.dumps(tables), name))

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame, **tables: Any) -> Trace:
        """A trace of a pandas data frame; see :meth:`from_arrow`.

        >>> import pandas
        >>> frame = pandas.DataFrame({"offset_bytes": [0, 4096], "length_bytes": [4096, 512]})
        >>> len(Trace.from_pandas(frame, device_bytes=1 << 20))
        2
        """
        import pyarrow

        return cls.from_arrow(pyarrow.Table.from_pandas(frame, preserve_index=False), **tables)

    @classmethod
    def from_polars(cls, frame: polars.DataFrame, **tables: Any) -> Trace:
        """A trace of a polars data frame; see :meth:`from_arrow`."""
        return cls.from_arrow(frame, **tables)

    def to_arrow(self) -> pyarrow.Table:
        """The requests as a ``pyarrow.Table``, with the tables beside them in the schema's
        metadata. Nothing is copied.

        >>> trace = Trace.from_arrays(offset_bytes=[0], length_bytes=4096)
        >>> trace.to_arrow().num_rows
        1
        """
        return self._core.to_arrow().read_all()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Anyone who speaks Arrow may read the trace."""
        return self._core.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The requests as a pandas data frame; words are categories."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The requests as a polars data frame.

        >>> trace = Trace.from_arrays(offset_bytes=[0, 8192], length_bytes=4096)
        >>> trace.to_polars()["offset_bytes"].sum()
        8192
        """
        import polars

        return polars.DataFrame(self.to_arrow())

    def write(self, path: str | PathLike[str]) -> None:
        """Writes a trace file, which the command reads, too. It appears whole or not at all."""
        self._core.write(fspath(path))

    @property
    def name(self) -> str:
        """What results call it: its path, or ``memory``."""
        return self._core.name

    @property
    def contexts(self) -> list[dict[str, Any]]:
        """The table of program contexts, row 0 being "not known".

        >>> trace = Trace.read("traces/rocksdb-demo.parquet")
        >>> [context["id"] for context in trace.contexts[:3]], trace.contexts[0]["kind"]
        ([0, 1, 2], 'unknown')
        """
        rows: list[dict[str, Any]] = self._tables()["contexts"]
        return rows

    @property
    def files(self) -> list[str]:
        """Names of files, row 0 being "no file"."""
        return [file["name"] for file in self._tables()["files"]]

    @property
    def capture(self) -> dict[str, Any]:
        """How the trace was made: device, file system, command, lost events."""
        capture: dict[str, Any] = self._tables()["capture"]
        return capture

    @property
    def device_bytes(self) -> int:
        """Bytes of the device that was watched; 0 where that is not known."""
        return int(self.capture["device_bytes"])

    def _tables(self) -> dict[str, Any]:
        tables: dict[str, Any] = json.loads(self._core.tables())
        return tables

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self)} requests)"


def _column(key: str, values: Column, rows: int) -> npt.NDArray[Any]:
    """A column of NumPy's, as it is where its type is right."""
    import numpy as np

    found = np.asarray(values)
    if key in _NUMBERS:
        if found.dtype.kind == "i" and found.size and int(found.min()) < 0:
            raise UsageError(f"{key}: {int(found.min())} is below 0")
        if found.dtype.kind not in "iu" and found.size:
            raise UsageError(f"{key}: an array of whole numbers is needed, not {found.dtype}")
        found = found.astype(_NUMBERS[key], copy=False)
    if found.ndim == 0:
        found = np.repeat(found, rows)
    if found.shape != (rows,):
        raise UsageError(f"{key}: {found.shape} entries for {rows} requests")
    return found
