"""Sweeps: traces × schemes × drives × parameters, on this machine or on a Dask cluster.

>>> import anabranch, tempfile
>>> grid = '''
... traces = "traces/rocksdb-demo.parquet"
... schemes = ["baseline+gc", "pcstream"]
... quick = true
... [drive]
... streams = [2, 4]
... '''
>>> with tempfile.TemporaryDirectory() as directory:
...     swept = anabranch.sweep(grid, directory)
...     len(swept.frame)
4

``python -m anabranch sweep`` is what ``anabranch sweep --scheduler`` calls.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch._core import AnabranchError, UsageError, WorkError

if TYPE_CHECKING:
    import tempfile

    import pandas

#: Cells that read a trace together, unless told otherwise; as the command.
CELLS = 8
#: Copies of remote traces that a worker keeps.
COPIES = 4
_UNBOUNDED = 2**64 - 1

#: Told how far a sweep is: cells done, cells to do, seconds to go (``None`` while unknown).
Progress = Callable[[int, int, "float | None"], object]


class Sweep:
    """What a sweep's directory holds."""

    def __init__(self, directory: str | PathLike[str], outcome: dict[str, Any] | None = None) -> None:
        self.directory = Path(directory)
        #: ``cells``, ``finished_before``, ``done``, ``failed`` of the last call.
        self.outcome = outcome or {}

    def report(self, output: str | PathLike[str]) -> Path:
        """Writes the page of the sweep; see :func:`anabranch.report`."""
        from anabranch._advice import report

        return report(self, output)

    @property
    def frame(self) -> pandas.DataFrame:
        """Every cell as a row (docs/sweeps.md has the columns), in the order of the files."""
        import pandas

        files = sorted((self.directory / "cells").glob("*.parquet"))
        if not files:
            raise UsageError(f"{self.directory} holds no cells of a sweep")
        frame: pandas.DataFrame = pandas.concat(
            [pandas.read_parquet(file) for file in files], ignore_index=True
        )
        return frame

    @property
    def summary(self) -> pandas.DataFrame:
        """How figures are distributed over the traces: a row for each drive and scheme."""
        import pandas

        groups = json.loads(_core.sweep_summary(self.directory))
        frame: pandas.DataFrame = pandas.json_normalize(groups)
        return frame

    def __repr__(self) -> str:
        return f"Sweep({str(self.directory)!r}, {self.outcome})"


def sweep(
    grid: str | PathLike[str],
    directory: str | PathLike[str],
    *,
    client: Any = None,
    workers: int | None = None,
    batch: int = CELLS,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Does what is left of a grid, and keeps it in ``directory``.

    ``grid`` is a TOML file, or its text. Without ``client`` the cores of this machine do it
    (``workers``: that many at once); with a ``dask.distributed.Client`` its cluster does, and
    traces may be any address that fsspec knows. Both give the same files to the byte, and both go
    on where a killed sweep was. No worker takes more than ``memory_bytes``; a cell that needs more
    is refused beforehand.

    A cell that cannot be done does not stop the others; at the end there is a :class:`WorkError`
    that names it.
    """
    name, text = _grid(grid)
    limit = _UNBOUNDED if memory_bytes is None else memory_bytes
    clock = _Clock(progress)
    if client is None:
        told = _core.sweep_local(name, text, fspath(directory), workers, batch, limit, clock.tell)
        outcome: dict[str, Any] = json.loads(told)
    else:
        outcome = _distributed(name, text, fspath(directory), client, batch, limit, clock)
    if outcome["failed"]:
        words = "; ".join(f"{cell}: {fault}" for cell, fault in outcome["failed"])
        raise WorkError(f"{len(outcome['failed'])} cells could not be done: {words}")
    return Sweep(directory, outcome)


def _grid(grid: str | PathLike[str]) -> tuple[str, str]:
    """A grid's name and text."""
    if isinstance(grid, str) and ("\n" in grid or "=" in grid):
        return "text", grid
    try:
        return fspath(grid), Path(grid).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {fspath(grid)}: {error}") from error


class _Clock:
    """Says how far a sweep is, and how long it will take."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._began = time.monotonic()
        self.done = self.left = self.memory_bytes = 0

    def tell(self, what: str, one: int, two: int, three: int) -> None:
        """An event as the core tells it."""
        if what == "planned":
            self.left, self.memory_bytes = one - two, three
            self._began = time.monotonic()
        elif what in ("done", "failed"):
            self.done += one
        else:
            return
        if self._progress is not None:
            self._progress(self.done, self.left, self._to_go())

    def _to_go(self) -> float | None:
        if self.done == 0:
            return None
        return (time.monotonic() - self._began) / self.done * (self.left - self.done)


def _distributed(
    name: str, text: str, directory: str, client: Any, batch: int, limit: int, clock: _Clock
) -> dict[str, Any]:
    """The sweep on a cluster. Workers look and replay; this process keeps what they send."""
    from distributed import CancelledError, as_completed

    traces = [(trace, _length(trace)) for trace in _addresses(_core.sweep_traces(name, text))]
    looks = _core.sweep_looks(name, text, traces, directory)
    asked = [look for look, seen in looks if seen is None]
    looked = client.map(_look, asked, pure=False)
    unseen = []
    found = {}
    for look, future in zip(asked, looked):
        try:
            found[look] = future.result()
        except CancelledError:
            raise
        except Exception as error:
            unseen.append((json.loads(look)["trace"], str(error)))
    seen = [(look, known or found[look]) for look, known in looks if known or look in found]
    plan = json.loads(_core.sweep_plan(name, text, seen, directory, batch, limit))
    clock.tell("planned", plan["cells"], plan["finished"], plan["memory_bytes"])
    outcome: dict[str, Any] = {
        "cells": plan["cells"], "finished_before": plan["finished"], "done": 0,
        "failed": [*unseen, *(tuple(cell) for cell in plan["impossible"])],
    }  # fmt: skip
    work = {}

    def submit(batch: str) -> Any:
        # Not pure: a batch that is done again after a failure is done anew. Workers that die are
        # Dask's to replace; what raises is not tried again, for it would raise again.
        future = client.submit(_run, batch, pure=False, retries=0)
        work[future.key] = batch
        return future

    queue = as_completed([submit(batch) for batch in plan["batches"]])
    for future in queue:
        batch_json = work.pop(future.key)
        try:
            # Where the worker has died with the result, this waits until another has made it anew.
            file = future.result()
        except CancelledError:
            queue.add(submit(batch_json))
        except Exception as error:
            singles = _core.sweep_singles(batch_json)
            for single in singles:
                queue.add(submit(single))
            if not singles:
                outcome["failed"].append((_name(batch_json), str(error)))
                clock.tell("failed", 1, 0, 0)
        else:
            cells = _core.sweep_keep(directory, batch_json, file)
            outcome["done"] += cells
            clock.tell("done", cells, 0, 0)
        # The file is here; the worker need not keep it.
        future.release()
    outcome["failed"].sort()
    return outcome


def _name(batch: str) -> str:
    found = json.loads(batch)
    common = found["common"]
    return f"{common['trace']} on {common['drive']['profile']}: {', '.join(found['schemes'])}"


def _is_remote(address: str) -> bool:
    return "://" in address


def _addresses(names: list[str]) -> list[str]:
    """Every trace that addresses and patterns name, each once."""
    from glob import glob

    found: OrderedDict[str, None] = OrderedDict()
    for name in names:
        is_pattern = any(letter in name for letter in "*?[") and not os.path.exists(name)
        if not is_pattern:
            found[name] = None
            continue
        if _is_remote(name):
            from fsspec.core import url_to_fs

            system, path = url_to_fs(name)
            matches = [system.unstrip_protocol(match) for match in system.glob(path)]
        else:
            matches = glob(name)
        if not matches:
            raise UsageError(f"no file matches {name}")
        found.update((match, None) for match in sorted(matches, key=_count_order))
    return list(found)


def _count_order(name: str) -> list[Any]:
    """The order in which numbers within names count as numbers, as the command has it."""
    import re

    parts = re.split(r"(\d+)", name)
    return [(int(part), part) if part.isdigit() else (-1, part) for part in parts]


def _length(address: str) -> int:
    """A trace's length; 0 of what has none."""
    if _is_remote(address):
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
        return int(system.info(path).get("size") or 0)
    return os.path.getsize(address) if os.path.exists(address) else 0


class _Copies:
    """Copies of remote traces on a worker's own disk: the latest few."""

    def __init__(self) -> None:
        self._paths: OrderedDict[str, str] = OrderedDict()
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def path(self, address: str) -> str:
        """Where the trace can be read."""
        if not _is_remote(address):
            return address
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
        if system.protocol == "file" or "file" in system.protocol:
            return str(path)
        if address not in self._paths:
            import tempfile

            if self._directory is None:
                self._directory = tempfile.TemporaryDirectory(prefix="anabranch-")
            while len(self._paths) >= COPIES:
                os.unlink(self._paths.popitem(last=False)[1])
            # The ending tells the form of some traces.
            handle, copy = tempfile.mkstemp(suffix=Path(path).name, dir=self._directory.name)
            os.close(handle)
            system.get_file(path, copy)
            self._paths[address] = copy
        self._paths.move_to_end(address)
        return self._paths[address]


_copies = _Copies()


def _look(asked: str) -> str:
    """On a worker: looks at a trace."""
    return _core.sweep_look(asked, _copies.path(json.loads(asked)["trace"]))


def _run(batch: str) -> bytes:
    """On a worker: does a batch."""
    return _core.sweep_run(batch, _copies.path(json.loads(batch)["common"]["trace"]))


def _line(done: int, left: int, to_go: float | None) -> None:
    """Progress for a person: on a terminal, a line that changes."""
    if sys.stderr.isatty():
        rest = "" if to_go is None else f", {to_go:.0f} s to go"
        end = "\n" if done == left else ""
        sys.stderr.write(f"\r\x1b[K{done} of {left} cells{rest}{end}")
        sys.stderr.flush()


def main(arguments: list[str] | None = None) -> int:
    """The command: ``python -m anabranch sweep GRID --output DIR [--scheduler ADDRESS]``."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m anabranch", description="Anabranch.")
    parser.add_argument("verb", choices=["sweep"], help="what to do")
    parser.add_argument("grid", help="the grid, a TOML file")
    parser.add_argument("-o", "--output", required=True, help="the directory of the results")
    parser.add_argument("--scheduler", help="a Dask scheduler's address")
    parser.add_argument("--batch", type=int, default=CELLS, help="cells that read a trace together")
    parser.add_argument("--memory", type=int, help="bytes that a worker may take")
    given = parser.parse_args(arguments)
    client = None
    try:
        if given.scheduler:
            from distributed import Client

            client = Client(given.scheduler)
        swept = sweep(
            given.grid,
            given.output,
            client=client,
            batch=given.batch,
            memory_bytes=given.memory,
            progress=_line,
        )
        sys.stderr.write(
            f"anabranch: {swept.outcome['done']} cells done now, "
            f"{swept.outcome['finished_before']} before, of {swept.outcome['cells']}\n"
        )
        return 0
    except KeyboardInterrupt:
        return 130
    except (AnabranchError, OSError, ImportError) as error:
        sys.stderr.write(f"anabranch: {error}\n")
        return 1 if isinstance(error, WorkError) else 2
    finally:
        if client is not None:
            client.close()
