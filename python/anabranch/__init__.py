"""What would every placement of your application's writes cost the SSD?

>>> import anabranch
>>> trace = anabranch.Trace.from_arrays(offset_bytes=[0, 4096, 0], length_bytes=4096)
>>> result = anabranch.replay(trace, schemes=["baseline+gc", "pcstream"])
>>> list(result.schemes["waf"])
[1.0, 1.0]

The same questions get the same answers as from the ``anabranch`` command, to the last count, and
where they are wrong the same words, as exceptions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from anabranch._advice import Exported, contexts, coverage, export, report
from anabranch._core import (
    AnabranchError,
    UsageError,
    WorkError,
    Write,
    Writes,
    __version__,
)
from anabranch._device import Device
from anabranch._lists import devices, schemes
from anabranch._live import import_, record, run
from anabranch._replay import replay
from anabranch._result import Result
from anabranch._scheme import Scheme
from anabranch._trace import Trace

if TYPE_CHECKING:
    from anabranch._sweep import Sweep, sweep

__all__ = [
    "AnabranchError",
    "Device",
    "Exported",
    "Result",
    "Scheme",
    "Sweep",
    "Trace",
    "UsageError",
    "WorkError",
    "Write",
    "Writes",
    "__version__",
    "contexts",
    "coverage",
    "devices",
    "export",
    "import_",
    "record",
    "replay",
    "report",
    "run",
    "schemes",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Sweeps are loaded when they are asked for, as NumPy, pandas and pyarrow are within: a replay
    from a script shall not wait for them. So are plots."""
    if name in ("Sweep", "sweep"):
        from anabranch import _sweep

        return getattr(_sweep, name)
    if name == "plots":
        return importlib.import_module("anabranch.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
