"""Keyword arguments as the options they stand for (``crates/app/compare/src/options.rs``)."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, TypedDict, Union


class DriveOptions(TypedDict, total=False):
    """The drive of a comparison or a device, as the options of the command: lists multiply into a
    grid where that can be. ``anabranch replay --help`` says what each is."""

    size: Union[str, int, None]
    over_provisioning: Union[str, float, list[Any], None]
    unit: Union[str, int, list[Any], None]
    victim: Union[str, list[str], None]
    streams: Union[int, list[int], None]
    internal_streams: Union[int, list[int], None]
    levelling: Union[str, list[str], None]
    rated_erases: Union[int, None]
    fault: Union[str, list[str], None]



def listed(value: Any) -> list[Any]:
    """One value or several, as a list."""
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def present(options: dict[str, Any]) -> dict[str, Any]:
    """Only what was given."""
    return {key: value for key, value in options.items() if value is not None and value != []}


def drive_options(device: Any, given: DriveOptions) -> dict[str, Any]:
    """The drive: ``device`` and what of :class:`DriveOptions` was given. One value stands for a list
    of it, here as in a file."""
    unknown = [key for key in given if key not in DriveOptions.__annotations__]
    if unknown:
        raise TypeError(f"there is no option {unknown[0]!r} (there are: device, {_NAMES})")
    named: dict[str, Any] = {"device": device, **given}
    single = (str, int, float)
    return present(
        {key: value if isinstance(value, single) else listed(value) for key, value in named.items()}
    )


_NAMES = ", ".join(DriveOptions.__annotations__)


def path_text(path: str | PathLike[str] | None) -> str | None:
    """A path as text."""
    return None if path is None else fspath(path)
