"""What calls the command: running and recording programs, and reading other people's traces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Union

from anabranch._command import call, words
from anabranch._options import DriveOptions
from anabranch._result import Result
from anabranch._trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyPath = Union[str, "PathLike[str]"]


class CaptureOptions(DriveOptions, total=False):
    """What is captured, beside the drive; ``anabranch run --help`` says what each is."""

    reads: bool
    no_hints: bool
    no_generations: bool
    ring: Union[str, int, None]
    tenant: Union[str, list[str], None]


class RunOptions(CaptureOptions, total=False):
    """How a program is run; ``anabranch run --help`` says what each is."""

    device: Union[str, None]
    relocation: Union[str, list[str], None]
    profile: Union[AnyPath, None]
    details: bool
    sample: Union[str, None]
    samples: Union[int, None]
    seed: Union[int, None]
    threads: Union[int, None]
    file_system: Union[str, None]
    chdir: bool
    wait: bool
    until: Union[str, None]
    backing: Union[AnyPath, None]
    log: Union[AnyPath, None]


def run(
    program: Sequence[AnyPath] | None = None,
    *,
    workload: str | None = None,
    schemes: str | Iterable[str] | None = None,
    trace: AnyPath | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Runs a program on a fresh emulated drive and compares schemes on its writes, live, as
    ``anabranch run`` does: as root, with eBPF. ``{dir}`` in the program's arguments is the drive's
    directory. Instead of a program a ``workload`` may be named.

    The trace is kept in ``trace``, else in ``anabranch.parquet``; :func:`replay` takes it from there.
    ``result.exit_status`` is the program's own. Options have the command's names with ``_`` for ``-``.

    This calls the command, which must be installed; see docs/python.md.
    """
    if (program is None) == (workload is None):
        raise TypeError("run takes a program and its arguments, or workload=: one of them")
    named = None if schemes is None else listed_names(schemes)
    given = words({"workload": workload, "scheme": named, "trace": trace, **options})
    found, status = call("run", [*given, *_program(program)])
    result = Result(json.dumps(found, indent=2) + "\n")
    result.exit_status = status
    return result


def record(
    device: AnyPath,
    output: AnyPath = "trace.parquet",
    program: Sequence[AnyPath] | None = None,
    *,
    for_: str | None = None,
    max: str | int | None = None,
    pid: int | list[int] | None = None,
    cgroup: AnyPath | None = None,
    sample: str | None = None,
    seed: int | None = None,
    reads: bool = False,
    no_hints: bool = False,
    no_generations: bool = False,
    ring: str | int | None = None,
    tenant: str | list[str] | None = None,
) -> Trace:
    """Records what a block device is asked to do, with program contexts, as ``anabranch record`` does:
    as root, with eBPF. It ends when ``program`` does, after the time ``for_`` (``"10m"``), after ``max``
    bytes of writes, or when the cell is interrupted. The trace stays in ``output``. With ``sample``
    (``"1/64"``) it holds that share of the device's pages, which ``seed`` draws.

    This calls the command, which must be installed; see docs/python.md.
    """
    asked = {
        "device": device,
        "output": output,
        "for": for_,
        "max": max,
        "pid": pid,
        "cgroup": cgroup,
        "sample": sample,
        "seed": seed,
        "reads": reads,
        "no_hints": no_hints,
        "no_generations": no_generations,
        "ring": ring,
        "tenant": tenant,
    }
    call("record", [*words(asked), *_program(program)], until_interrupted=True)
    return Trace.read(output)


def import_(
    files: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    format: str | None = None,
    renumber: bool = False,
    volume: str | int | None = None,
    skip_bad: bool = False,
    event: str | None = None,
    columns: str | None = None,
) -> Trace:
    """Turns traces of other people into one of Anabranch's own in the file ``output``, as ``anabranch
    import`` does: several files or patterns, packed or not. Without a ``format`` it is the one they look
    like. (:meth:`Trace.read` reads a single file without leaving another.)

    This calls the command, which must be installed; see docs/python.md.
    """
    asked = {
        "format": format,
        "output": output,
        "renumber": renumber,
        "volume": volume,
        "skip_bad": skip_bad,
        "event": event,
        "columns": columns,
    }
    call("import", [*words(asked), "--", *listed_names(files)])
    return Trace.read(output)


def listed_names(names: AnyPath | Iterable[AnyPath]) -> list[str]:
    """One name or path, or several, as a list of texts."""
    if isinstance(names, (str, os.PathLike)):
        return [fspath(names)]
    return [fspath(name) for name in names]


def _program(program: Sequence[AnyPath] | None) -> list[str]:
    if isinstance(program, (str, bytes)):
        raise TypeError('a program is a list of words, as in ["db_bench", "--db={dir}/db"]')
    return [] if program is None else ["--", *(fspath(word) for word in program)]
