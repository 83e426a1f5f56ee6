"""What there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    import pandas


def schemes() -> pandas.DataFrame:
    """Every built-in scheme: its name, what it does, where it comes from.

    >>> import anabranch
    >>> "sepbit" in set(anabranch.schemes()["scheme"])
    True
    """
    import pandas

    columns = ["scheme", "description", "source"]
    frame: pandas.DataFrame = pandas.DataFrame(_core.schemes(), columns=columns)
    return frame


def devices() -> dict[str, str]:
    """Every shipped device profile, as the TOML that a profile of one's own may start from.

    >>> import anabranch
    >>> "pcstream-emulator" in anabranch.devices()
    True
    """
    return dict(_core.devices())
