"""The compiled part. What people use is in the package's own modules."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

class AnabranchError(Exception): ...
class UsageError(AnabranchError): ...
class WorkError(AnabranchError): ...

class Write:
    """What a scheme is asked about: one write request."""

    @property
    def first_page(self) -> int:
        """First logical page."""
    @property
    def pages(self) -> int:
        """Number of pages, at least 1."""
    @property
    def context(self) -> int:
        """Who wrote: row of the context table."""
    @property
    def file(self) -> int:
        """The file it belongs to: row of the file table."""
    @property
    def hint(self) -> int:
        """The write hint by the kernel's number: 0 not set, 1 none, 2 short to 5 extreme."""
    @property
    def tenant(self) -> int:
        """Which of several programs on one drive."""
    @property
    def now_pages(self) -> int:
        """Logical time: pages the host had written before."""

class Writes:
    """What a scheme is asked about by ``assign_batch``: the columns of :class:`Write` for many
    write requests, in their order, as NumPy arrays that cannot be written to."""

    @property
    def first_page(self) -> npt.NDArray[np.uint32]:
        """First logical pages."""
    @property
    def pages(self) -> npt.NDArray[np.uint32]:
        """Numbers of pages, at least 1."""
    @property
    def context(self) -> npt.NDArray[np.uint32]:
        """Who wrote: rows of the context table."""
    @property
    def file(self) -> npt.NDArray[np.uint32]:
        """The files they belong to: rows of the file table."""
    @property
    def hint(self) -> npt.NDArray[np.uint8]:
        """The write hints by the kernel's number."""
    @property
    def tenant(self) -> npt.NDArray[np.uint32]:
        """Which of several programs on one drive."""
    @property
    def now_pages(self) -> npt.NDArray[np.uint64]:
        """Logical times: pages the host had written before each."""

class TraceCore:
    @staticmethod
    def read(path: str | PathLike[str], format: str | None = None) -> TraceCore: ...
    @staticmethod
    def from_arrow(batches: Any, tables: str, name: str) -> TraceCore: ...
    def to_arrow(self) -> Any: ...
    def write(self, path: str | PathLike[str]) -> None: ...
    def tables(self) -> str: ...
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...

class DeviceCore:
    def __new__(cls, options: str, relocation: str, seed: int) -> DeviceCore: ...
    def write(self, pages: npt.NDArray[np.uint32], stream: int) -> None: ...
    def write_to(self, pages: npt.NDArray[np.uint32], streams: npt.NDArray[np.uint16]) -> None: ...
    def write_run(self, first: int, count: int, stream: int) -> None: ...
    def discard(self, pages: npt.NDArray[np.uint32]) -> None: ...
    def discard_run(self, first: int, count: int) -> None: ...
    def state(self) -> str: ...
    def reset_counters(self) -> None: ...

def replay(
    traces: list[Any],
    options: str,
    guests: list[Any],
    format: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> str: ...
def contexts(
    trace: Any,
    streams: int,
    quick: bool = False,
    format: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> str: ...
def coverage(
    traces: list[Any], progress: Callable[[float], object] | None = None
) -> str: ...
def export(
    source: Any,
    options: str,
    output: str | PathLike[str],
    progress: Callable[[float], object] | None = None,
) -> str: ...
def report(
    results: list[str],
    sweeps: list[str],
    read: list[str],
    output: str | PathLike[str],
) -> None: ...
def shown(result: str) -> str: ...
def schemes() -> list[tuple[str, str, str]]: ...
def devices() -> list[tuple[str, str]]: ...
def sweep_traces(name: str, grid: str) -> list[str]: ...
def sweep_looks(
    name: str, grid: str, traces: list[tuple[str, int]], directory: str | PathLike[str]
) -> list[tuple[str, str | None]]: ...
def sweep_look(asked: str, path: str | PathLike[str]) -> str: ...
def sweep_plan(
    name: str,
    grid: str,
    looks: list[tuple[str, str]],
    directory: str | PathLike[str],
    cells: int,
    memory_bytes: int,
) -> str: ...
def sweep_run(batch: str, path: str | PathLike[str]) -> bytes: ...
def sweep_singles(batch: str) -> list[str]: ...
def sweep_keep(directory: str | PathLike[str], batch: str, file: bytes) -> int: ...
def sweep_local(
    name: str,
    grid: str,
    directory: str | PathLike[str],
    workers: int | None,
    cells: int,
    memory_bytes: int,
    tell: Callable[[str, int, int, int], object],
) -> str: ...
def sweep_summary(directory: str | PathLike[str]) -> str: ...
