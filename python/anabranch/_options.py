"""Keyword arguments as the options they stand for (``crates/compare/src/options.rs``)."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any


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


def drive_options(**given: Any) -> dict[str, Any]:
    """The drive: ``device``, ``size``, ``unit`` and the rest."""
    single = ("size", "rated_erases")
    return present(
        {key: value if key in single else listed(value) for key, value in given.items()}
    )


def path_text(path: str | PathLike[str] | None) -> str | None:
    """A path as text."""
    return None if path is None else fspath(path)
