"""What a comparison found."""

from __future__ import annotations

import html
import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

#: What of a scheme's outcome is a table of its own, or not a plain value.
_NESTED = ("parameters", "gap_closed", "wear", "time", "streams", "series")


class Result:
    """The result of a comparison, or of a grid of them, as data frames.

    Every frame begins with the column ``comparison``, the row of :attr:`comparisons` it belongs
    to. Bytes are bytes, and ``waf`` is media bytes over host bytes.

    >>> import anabranch
    >>> result = anabranch.replay("traces/rocksdb-demo.parquet", ["baseline", "baseline+gc"],
    ...                           streams=[2, 4], quick=True)
    >>> len(result.comparisons), len(result.schemes)
    (2, 4)
    >>> result.steady
    False
    """

    #: The program's own exit status, where one was run (:func:`anabranch.run`).
    exit_status: int | None = None

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Result:
        """A result that the command wrote (``--output``)."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def to_json(self) -> str:
        """The JSON that ``anabranch replay --json`` prints for the same question, to the byte."""
        return self._text

    @cached_property
    def outcomes(self) -> list[dict[str, Any]]:
        """Every comparison as the JSON has it."""
        found = json.loads(self._text)
        return found["results"] if "results" in found else [found]

    @property
    def answer(self) -> str:
        """Whether streams are worth it, how much, what it takes and what comes next, in the command's
        words; of several comparisons a line each.

        >>> import anabranch
        >>> result = anabranch.replay("traces/rocksdb-demo.parquet", ["baseline+gc", "pcstream"])
        >>> print(result.answer.split(":")[0])
        Worth it
        """
        return str(self._shown["answer"])

    @cached_property
    def _shown(self) -> dict[str, str]:
        """Heading, table and answer as the command prints them."""
        shown: dict[str, str] = json.loads(_core.shown(self._text))
        return shown

    @property
    def steady(self) -> bool:
        """Whether every scheme's WAF had settled; :attr:`steady_reasons` say why not."""
        return all(outcome["steady"] for outcome in self.outcomes)

    @property
    def steady_reasons(self) -> list[str]:
        """Why a comparison has not settled, in words; empty words where it has."""
        return [outcome["steady_reason"] for outcome in self.outcomes]

    @cached_property
    def comparisons(self) -> pandas.DataFrame:
        """A row a comparison: trace, drive, what was written, whether it settled."""
        return _frame(
            {
                "comparison": number,
                "trace": outcome["config"].get("trace"),
                "fill": outcome["config"].get("fill"),
                "seed": outcome["seed"],
                "steady": outcome["steady"],
                "steady_reason": outcome["steady_reason"],
                **outcome["device"],
                **{key: value for key, value in outcome["source"].items() if key != "host_page_bytes"},
                "source_host_page_bytes": outcome["source"]["host_page_bytes"],
            }
            for number, outcome in enumerate(self.outcomes)
        )

    @cached_property
    def schemes(self) -> pandas.DataFrame:
        """A row a scheme: WAF, bytes, erases, lifetime against an ordinary drive (``baseline+gc``).

        >>> import anabranch
        >>> result = anabranch.replay("traces/rocksdb-demo.parquet", "baseline", quick=True)
        >>> int(result.schemes.loc[0, "media_bytes"] - result.schemes.loc[0, "host_page_bytes"])
        0
        """
        return _frame(
            {"comparison": number, "scheme": scheme["name"], **_plain(scheme)}
            for number, scheme in self._each()
        )

    @cached_property
    def streams(self) -> pandas.DataFrame:
        """A row a stream of each scheme."""
        return self._nested("streams")

    @cached_property
    def series(self) -> pandas.DataFrame:
        """Host and media bytes over the run, and ``waf`` so far."""
        frame = self._nested("series")
        frame["waf"] = frame["media_bytes"] / frame["host_page_bytes"].where(frame["host_page_bytes"] > 0)
        return frame

    def _each(self) -> list[tuple[int, dict[str, Any]]]:
        return [
            (number, scheme)
            for number, outcome in enumerate(self.outcomes)
            for scheme in outcome["schemes"]
        ]

    def _nested(self, key: str) -> pandas.DataFrame:
        return _frame(
            {"comparison": number, "scheme": scheme["name"], **row}
            for number, scheme in self._each()
            for row in scheme[key]
        )

    def report(self, output: str | PathLike[str]) -> Path:
        """Writes the page of pictures; see :func:`anabranch.report`."""
        from anabranch._advice import report

        return report(self, output)

    def plot_waf(self, comparison: int = 0, axes: Axes | None = None, window: bool = True) -> Axes:
        """WAF over the bytes written; see :func:`anabranch.plots.waf`."""
        from anabranch import plots

        return plots.waf(self, comparison, axes, window)

    def plot_bars(self, comparison: int = 0, axes: Axes | None = None) -> Axes:
        """WAF of each scheme; see :func:`anabranch.plots.bars`."""
        from anabranch import plots

        return plots.bars(self, comparison, axes)

    def plot_lifetimes(self, comparison: int = 0, axes: Axes | None = None) -> Axes:
        """Drive lifetime against an ordinary drive; see :func:`anabranch.plots.lifetimes`."""
        from anabranch import plots

        return plots.lifetimes(self, comparison, axes)

    def __repr__(self) -> str:
        lines = [
            f"{scheme['name']}: WAF " + ("-" if scheme["waf"] is None else f"{scheme['waf']:.3f}")
            for _, scheme in self._each()
        ]
        return "Result(" + ", ".join(lines) + ")"


    def _repr_html_(self) -> str:
        """The command's heading, answer and table, for notebooks."""
        heading, answer = html.escape(self._shown["heading"]), html.escape(self.answer)
        lines = self._shown["table"].splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        head, *body = [row for row in rows if not set("".join(row)) <= set("-: ")]
        table = _row("th", head) + "".join(_row("td", row) for row in body)
        told = "".join(f"<p>{line}</p>" for line in answer.splitlines() if line)
        return f"<div><p><small>{heading}</small></p>{told}<table>{table}</table></div>"


def _row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _plain(scheme: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scheme.items() if key not in _NESTED and key != "name"}


def _frame(rows: Any) -> pandas.DataFrame:
    import pandas

    frame: pandas.DataFrame = pandas.DataFrame(list(rows))
    return frame
