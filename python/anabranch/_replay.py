"""The comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Union

from anabranch import _core
from anabranch._options import DriveOptions, drive_options, listed, path_text, present
from anabranch._result import Result
from anabranch._scheme import Scheme, is_scheme
from anabranch._trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyTrace = Union[Trace, str, "PathLike[str]"]
AnyScheme = Union[str, Scheme, "type[Scheme]", Any]


def replay(
    trace: AnyTrace | Iterable[AnyTrace],
    schemes: AnyScheme | Iterable[AnyScheme] | None = None,
    device: str | list[str] | None = None,
    *,
    fill: str | float | list[Any] | None = None,
    pack: bool = False,
    relocation: str | list[str] | None = None,
    time: str | None = None,
    queue_depth: int | None = None,
    time_scale: float | None = None,
    collect_after_idle_ms: int | None = None,
    lifetimes: str | PathLike[str] | None = None,
    profile: str | PathLike[str] | None = None,
    drive: str | PathLike[str] | None = None,
    discards: str | None = None,
    no_discards: bool = False,
    details: bool = False,
    sample: str | None = None,
    samples: int | None = None,
    quick: bool = False,
    format: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    **drive_is: Unpack[DriveOptions],
) -> Result:
    """Compares schemes on recorded writes, as ``anabranch replay`` does: options have its names,
    its meanings and its defaults, and lists multiply into a grid of drives. Those of the drive are
    ``size``, ``unit``, ``over_provisioning``, ``victim``, ``streams``, ``internal_streams``,
    ``levelling``, ``rated_erases`` and ``fault``. Without any the drive is the one that the trace was
    recorded for, if it tells.

    ``lifetimes`` is a file that keeps lifetimes of contexts from run to run; ``profile`` is its name in
    earlier versions.

    With ``sample="1/64"``, or ``"auto"``, one page of many stands for all: ``samples`` of them, whose spread
    is the error bar.

    ``trace`` is a :class:`Trace`, a path, or several; ``schemes`` are names, classes or objects
    written in Python (:class:`Scheme`), or a mixture. ``progress`` is called with the share of the
    pass that is done, a few times a second. With ``details`` the result holds what a page shows beyond
    the figures (:func:`report`): maps of the drives, lifetimes, contexts.

    The interpreter is free while the core runs; Ctrl-C ends it.

    >>> result = replay("traces/rocksdb-demo.parquet", ["baseline+gc", "pcstream"], quick=True)
    >>> result.schemes["scheme"].tolist()
    ['baseline+gc', 'pcstream']
    """
    traces = [trace] if isinstance(trace, (Trace, str, PathLike)) else list(trace)
    wanted = listed(schemes)
    guests = [scheme for scheme in wanted if is_scheme(scheme)]
    options: dict[str, Any] = {
        "drive": drive_options(device, drive_is),
        "comparison": present(
            {
                "relocation": listed(relocation),
                "lifetimes": path_text(lifetimes or profile),
                "details": details,
                "sample": sample,
                "samples": samples,
                "seed": seed,
                "threads": threads,
            }
        ),
        "time": present(
            {
                "issue": time,
                "queue_depth": queue_depth,
                "time_scale": time_scale,
                "collect_after_idle_ms": collect_after_idle_ms,
            }
        ),
        "fill": listed(fill),
        "pack": pack,
        "discards": discards,
        "no_discards": no_discards,
        "quick": quick,
        "drive_file": path_text(drive),
    }
    if schemes is not None:
        options["comparison"]["schemes"] = [name for name in wanted if not is_scheme(name)]
    sources = [one._core if isinstance(one, Trace) else fspath(one) for one in traces]
    text = _core.replay(sources, json.dumps(options), guests, format, progress)
    return Result(text)
