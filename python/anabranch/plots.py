"""Results as the field draws them. Needs matplotlib (``pip install anabranch[plots]``).

Every function draws on ``axes``, or on new ones, and hands them back.

>>> import anabranch, matplotlib
>>> matplotlib.use("agg")
>>> result = anabranch.replay("traces/rocksdb-demo.parquet", ["baseline+gc", "pcstream"], quick=True)
>>> anabranch.plots.bars(result).get_ylabel()
'write amplification'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch._core import UsageError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from anabranch._result import Result

GIB = float(1 << 30)
MIB = float(1 << 20)


def waf(
    result: Result, comparison: int = 0, axes: Axes | None = None, window: bool = True
) -> Axes:
    """WAF over the bytes the host has written, a line a scheme.

    With ``window`` each point is over the last sixteenth of the run before it, which shows phases;
    without, over the whole run so far, which is what the final figure is.
    """
    axes = _axes(axes)
    series = _of(result.series, comparison)
    for scheme, points in series.groupby("scheme", sort=False):
        host, media = points["host_page_bytes"], points["media_bytes"]
        if window:
            back = max(1, len(points) // 16)
            ratio = media.diff(back) / host.diff(back)
        else:
            ratio = points["waf"]
        axes.plot(host / GIB, ratio, label=str(scheme))
    axes.set_xlabel("written by the host (GiB)")
    axes.set_ylabel("write amplification")
    axes.set_ylim(bottom=1.0)
    axes.legend(frameon=False)
    return axes


def bars(result: Result, comparison: int = 0, axes: Axes | None = None) -> Axes:
    """WAF of the whole run, a bar a scheme, its figure above it."""
    axes = _axes(axes)
    schemes = _of(result.schemes, comparison)
    return _bars(axes, schemes, "waf", "write amplification", "{:.2f}")


def lifetimes(result: Result, comparison: int = 0, axes: Axes | None = None) -> Axes:
    """How many times as long the flash lasts as an ordinary drive's (``baseline+gc``), a bar a scheme."""
    axes = _axes(axes)
    schemes = _of(result.schemes, comparison)
    if schemes["lifetime_vs_ordinary"].isna().all():
        raise UsageError("lifetimes are against an ordinary drive: compare baseline+gc, too")
    _bars(axes, schemes, "lifetime_vs_ordinary", "lifetime against an ordinary drive", "{:.2f}x")
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    return axes


def distribution(frame: pandas.DataFrame, value: str = "waf", axes: Axes | None = None) -> Axes:
    """The share of volumes at or below each value, a step line a scheme: what a sweep over many
    volumes found (:func:`anabranch.sweep`)."""
    axes = _axes(axes)
    for scheme, rows in frame.groupby("scheme", sort=False):
        values = rows[value].dropna().sort_values()
        share = [(place + 1) / len(values) for place in range(len(values))]
        axes.step(values, share, where="post", label=str(scheme))
    axes.set_xlabel(value.replace("_", " "))
    axes.set_ylabel("share of volumes")
    axes.set_ylim(0.0, 1.0)
    axes.legend(frameon=False)
    return axes


def contexts(frame: pandas.DataFrame, most: int = 10, axes: Axes | None = None) -> Axes:
    """How long the data of each context live (:func:`anabranch.contexts`): a line from the lower to the
    upper quartile and a point at the median, those with most bytes on top."""
    axes = _axes(axes)
    columns = [f"lifetime_p{quartile}_bytes" for quartile in (25, 50, 75)]
    shown = frame.dropna(subset=columns).head(most).iloc[::-1]
    low, middle, high = (shown[column].astype(float) / MIB for column in columns)
    places = range(len(shown))
    axes.hlines(places, low, high, linewidth=3)
    axes.plot(middle, places, "o", color="black", markersize=4)
    axes.set_yticks(list(places), shown["label"].str.slice(0, 60).tolist(), fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("life of a page (MiB written meanwhile)")
    return axes


def _bars(axes: Axes, schemes: pandas.DataFrame, column: str, label: str, text: str) -> Axes:
    drawn = axes.bar(schemes["scheme"], schemes[column])
    axes.bar_label(drawn, [text.format(value) for value in schemes[column]], padding=2)
    axes.set_ylabel(label)
    axes.tick_params(axis="x", rotation=30)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def _of(frame: pandas.DataFrame, comparison: int) -> pandas.DataFrame:
    found: pandas.DataFrame = frame[frame["comparison"] == comparison]
    if found.empty:
        raise UsageError(f"there is no comparison {comparison}")
    return found


def _axes(axes: Axes | None) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise UsageError("plots need matplotlib: pip install 'anabranch[plots]'") from error
    _, made = pyplot.subplots(layout="constrained")
    return made
