"""Schemes written in Python, for research."""

from __future__ import annotations

from typing import Any

from anabranch._core import Write


class Scheme:
    """A placement scheme to derive from; any class with :meth:`assign` will do as well.

    Give the class itself to :func:`anabranch.replay`, and every drive of the comparison gets a new
    object; an object serves all drives in turn. Slow, every write being a call into Python,
    but right: the device, the counters and the order of calls are those of built-in schemes.

    A class with ``assign_batch(writes)`` in place of :meth:`assign` is asked about up to 16,384
    requests at once: :class:`Writes`, NumPy arrays, for which it answers with an array of streams.
    It does not hear of discards among them before it has answered.

    >>> import anabranch
    >>> class Parity(anabranch.Scheme):
    ...     def assign(self, write):
    ...         return write.first_page % 2
    >>> trace = anabranch.Trace.from_arrays(offset_bytes=[0, 4096, 8192], length_bytes=4096)
    >>> result = anabranch.replay(trace, schemes=["baseline+gc", Parity])
    >>> result.streams.query("scheme == 'Parity'")["host_page_bytes"].tolist()
    [8192, 4096]
    """

    #: Where garbage collection copies to; one of the device's relocations.
    relocation: str = "mixed"
    #: Whether requests of several pages are handed to :meth:`assign` page by page.
    by_page: bool = False

    def begin(self, drive: dict[str, int]) -> None:
        """The scheme meets a drive: ``logical_pages``, ``page_bytes``, ``host_streams``,
        ``pages_per_unit``, ``physical_units``. Called before anything else."""

    def learn(self, files: dict[int, str], contexts: dict[int, tuple[str, str]]) -> None:
        """Names of what writes carry the numbers of: files, and the signature and thread role of
        program contexts. Called before the first write that carries one."""

    def assign(self, write: Write) -> int:
        """The stream of a write, below ``host_streams``. Called once for each write request, in
        order; whatever those pages held before has died."""
        raise NotImplementedError

    def invalidate(self, first_page: int, pages: int, now_pages: int) -> None:
        """The host discarded pages: what they held has died."""


def is_scheme(value: Any) -> bool:
    """Whether this is a scheme of Python's, and not a name."""
    return not isinstance(value, str)
