"""The device by itself: a multi-streamed flash translation layer to experiment with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anabranch._core import DeviceCore, UsageError
from anabranch._options import DriveOptions, drive_options

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas
    from typing_extensions import Unpack


class Device:
    """One drive: pages are written to streams and discarded, garbage is collected when room is
    short, and everything is counted.

    ``profile`` is a name of :func:`anabranch.devices` or a TOML file; ``size``, ``unit``,
    ``over_provisioning``, ``victim``, ``streams``, ``internal_streams``, ``levelling``, ``rated_erases``
    and ``fault`` change it as those options of the command do. ``relocation`` says where garbage collection copies to.

    >>> import numpy as np
    >>> drive = Device(size="64MiB", unit="1MiB", over_provisioning="10%")
    >>> pages = np.random.default_rng(1).integers(0, drive.logical_pages, 200_000, dtype=np.uint32)
    >>> drive.write(np.arange(drive.logical_pages, dtype=np.uint32))
    >>> drive.write(pages)
    >>> drive.waf > 2
    True
    """

    def __init__(
        self,
        profile: str = "demo",
        *,
        relocation: str = "mixed",
        seed: int = 0,
        **options: Unpack[DriveOptions],
    ) -> None:
        self._core = DeviceCore(json.dumps(drive_options(profile, options)), relocation, seed)

    def write(self, pages: npt.ArrayLike, stream: int | npt.ArrayLike = 0) -> None:
        """Writes pages, in order, to a stream, or each to its own. Arrays of ``uint32`` (pages)
        and ``uint16`` (streams) that lie in one piece are not copied.

        >>> drive = Device(size="64MiB", unit="1MiB")
        >>> drive.write([0, 1, 0], stream=[0, 1, 1])
        >>> drive.counters["host_pages"]
        3
        """
        import numpy as np

        numbers = _numbers(pages, "uint32", "pages")
        if isinstance(stream, (int, np.integer)):
            self._core.write(numbers, int(stream))
        else:
            self._core.write_to(numbers, _numbers(stream, "uint16", "stream"))

    def write_run(self, first: int, count: int, stream: int = 0) -> None:
        """Writes ``count`` pages from ``first`` on."""
        self._core.write_run(first, count, stream)

    def discard(self, pages: npt.ArrayLike) -> None:
        """Discards pages; those that hold nothing are passed over.

        >>> drive = Device(size="64MiB", unit="1MiB")
        >>> drive.write_run(0, 10)
        >>> drive.discard([2, 3, 12])
        >>> drive.mapped_pages
        8
        """
        self._core.discard(_numbers(pages, "uint32", "pages"))

    def discard_run(self, first: int, count: int) -> None:
        """Discards ``count`` pages from ``first`` on."""
        self._core.discard_run(first, count)

    def reset_counters(self) -> None:
        """Counts from zero; what the drive holds stays."""
        self._core.reset_counters()

    @property
    def config(self) -> dict[str, Any]:
        """What the drive is made of, resolved."""
        return dict(self._state()["config"])

    @property
    def counters(self) -> dict[str, int]:
        """What was counted, in pages and erase units."""
        return dict(self._state()["counters"])

    @property
    def waf(self) -> float | None:
        """Pages programmed for each page the host wrote; ``None`` before the first."""
        waf: float | None = self._state()["waf"]
        return waf

    @property
    def mapped_pages(self) -> int:
        """Logical pages that hold data."""
        return int(self._state()["mapped_pages"])

    @property
    def logical_pages(self) -> int:
        """Pages the host can address."""
        return int(self.config["logical_pages"])

    @property
    def wear(self) -> dict[str, Any]:
        """How worn its units are."""
        return dict(self._state()["wear"])

    @property
    def is_read_only(self) -> bool:
        """Whether so many units have failed that it takes no more writes."""
        return bool(self._state()["read_only"])

    @property
    def streams(self) -> pandas.DataFrame:
        """Counters of every stream, host streams first.

        >>> drive = Device(size="64MiB", unit="1MiB", streams=4)
        >>> drive.write_run(0, 10, stream=3)
        >>> int(drive.streams.loc[3, "host_pages"])
        10
        """
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self._state()["streams"])
        return frame

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._core.state())
        return state

    def __repr__(self) -> str:
        state = self._state()
        waf = "-" if state["waf"] is None else f"{state['waf']:.3f}"
        return f"Device({state['config']['logical_pages']} pages, WAF {waf})"


def _numbers(values: npt.ArrayLike, wanted: str, what: str) -> npt.NDArray[Any]:
    """Numbers in one piece and of the type wanted; as they are where that is so already."""
    import numpy as np

    found = np.asarray(values)
    if found.dtype != wanted:
        if found.dtype.kind not in "iu" and found.size:
            raise UsageError(f"{what}: whole numbers are needed, not {found.dtype}")
        most = int(np.iinfo(wanted).max)
        if found.size and (int(found.min()) < 0 or int(found.max()) > most):
            raise UsageError(f"{what}: numbers go from 0 to {most}")
        found = found.astype(wanted)
    return np.ascontiguousarray(found).reshape(-1)
