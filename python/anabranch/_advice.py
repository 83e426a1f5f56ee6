"""What a trace tells by itself, and what leaves the house: advice, traces in other forms, pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from anabranch import _core
from anabranch._core import UsageError
from anabranch._options import DriveOptions, drive_options, listed, path_text, present
from anabranch._result import Result
from anabranch._trace import Trace

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

    from anabranch._sweep import Sweep

AnyPath = Union[str, "PathLike[str]"]
AnyTrace = Union[Trace, AnyPath]
Progress = Callable[[float], object]


def contexts(
    trace: AnyTrace,
    *,
    streams: int = 8,
    quick: bool = False,
    format: str | None = None,
    progress: Progress | None = None,
) -> pandas.DataFrame:
    """Who wrote, as ``anabranch contexts`` shows: a row a program context, those with most bytes first,
    with its label, call path (``path``, innermost call first), bytes and quartiles of lifetimes in
    bytes written to the drive. ``stream`` is what ``pcstream*`` gave its latest write, of ``streams``.

    >>> found = contexts("traces/sqlite-wal.parquet")
    >>> float(found["share"].sum().round(6))
    1.0
    """
    import pandas

    text = _core.contexts(_given(trace), streams, quick, format, progress)
    frame: pandas.DataFrame = pandas.DataFrame(json.loads(text)["contexts"])
    whole = ["lifetime_p25_bytes", "lifetime_p50_bytes", "lifetime_p75_bytes", "stream"]
    typed: pandas.DataFrame = frame.astype({name: "Int64" for name in whole if name in frame})
    return typed


def coverage(
    trace: AnyTrace | Iterable[AnyTrace], *, progress: Progress | None = None
) -> pandas.DataFrame:
    """How far contexts, files and addresses tell how long data will live, as ``anabranch coverage``
    shows: a row a trace. Columns are the command's JSON keys, inner ones after a dot, as
    ``context.explained``.

    >>> found = coverage("traces/sqlite-wal.parquet")
    >>> bool(0 <= found.loc[0, "context.explained"] <= 1)
    True
    """
    import pandas

    traces = [trace] if isinstance(trace, (Trace, str, PathLike)) else list(trace)
    text = _core.coverage([_given(one) for one in traces], progress)
    frame: pandas.DataFrame = pandas.json_normalize(json.loads(text)["traces"])
    return frame


class Exported:
    """What an export wrote, and what each piece is worth."""

    def __init__(self, found: dict[str, Any], output: Path) -> None:
        #: The JSON that ``anabranch export --json`` prints.
        self.found = found
        #: Where it lies: a directory of advice, or the file of a trace.
        self.output = output

    @property
    def files(self) -> list[Path]:
        """What was written."""
        names = self.found.get("files")
        return [self.output] if names is None else [self.output / name for name in names]

    @property
    def checks(self) -> pandas.DataFrame:
        """A row for each piece that was fed back: ``waf`` under it, ``off_by`` what share that is off
        the scheme's own, whether its promise ``holds``, and what it ``loses``."""
        import pandas

        rows = [{**row, "waf": row["under_it"]["waf"]} for row in self.found.get("checks", [])]
        columns = ["what", "waf", "off_by", "holds", "loses"]
        frame: pandas.DataFrame = pandas.DataFrame(rows, columns=columns)
        return frame

    def __repr__(self) -> str:
        return f"Exported({', '.join(path.as_posix() for path in self.files)})"

    def _repr_html_(self) -> str:
        return str(self.checks.to_html(index=False)) if "checks" in self.found else repr(self)


def export(
    source: AnyTrace,
    to: str | list[str],
    output: AnyPath,
    *,
    scheme: str | None = None,
    trace: AnyPath | None = None,
    lifetimes: AnyPath | None = None,
    profile: AnyPath | None = None,
    fill: str | float | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    **drive_is: Unpack[DriveOptions],
) -> Exported:
    """Writes advice that leaves the house, each piece fed back before it is written, or the trace in
    another's form, as ``anabranch export`` does with the same options. ``source`` is a trace, or the file
    of a trace, a result or kept lifetimes. ``to`` is what to write: ``rules``, ``hints``, ``fdp``,
    ``fio``, ``rocksdb``, ``mysql``, ``postgres``, ``cassandra`` go to the directory ``output``; a form of
    traces, such as ``msr``, to the file ``output``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     done = export("traces/rocksdb-demo.parquet", "rules", directory)
    ...     [path.name for path in done.files], len(done.checks)
    (['rules.toml'], 1)
    """
    options = present(
        {
            "to": listed(to),
            "scheme": scheme,
            "trace": path_text(trace),
            "lifetimes": path_text(lifetimes or profile),
            "fill": None if fill is None else str(fill),
            "drive": drive_options(device, drive_is),
        }
    )
    text = _core.export(_given(source), json.dumps(options), fspath(output), progress)
    return Exported(json.loads(text), Path(output))


def report(
    results: Result | Sweep | AnyPath | Iterable[Result | Sweep | AnyPath], output: AnyPath
) -> Path:
    """Writes the page of pictures of results, or of sweeps, as ``anabranch report`` does: one file that
    needs no network. Maps and lifetimes are on it where the comparison was asked for ``details=True``.

    >>> import anabranch, tempfile
    >>> result = anabranch.replay("traces/rocksdb-demo.parquet", "baseline", quick=True)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     report(result, f"{directory}/page.html").name
    'page.html'
    """
    single = isinstance(results, (str, PathLike)) or not isinstance(results, Iterable)
    given: list[Any] = [results] if single else list(results)  # type: ignore[arg-type]
    given = [getattr(one, "directory", one) for one in given]
    sweeps = [one for one in given if not isinstance(one, Result) and Path(one).is_dir()]
    if sweeps and len(sweeps) < len(given):
        raise UsageError(
            "results and sweeps have pages of their own: give results, or directories of sweeps"
        )
    read = [fspath(one) for one in given if not isinstance(one, Result)]
    if sweeps:
        _core.report([], read, [], fspath(output))
    else:
        texts = [one if isinstance(one, Result) else Result.read(one) for one in given]
        _core.report([one.to_json() for one in texts], [], read, fspath(output))
    return Path(output)


def _given(trace: AnyTrace) -> Any:
    return trace._core if isinstance(trace, Trace) else fspath(trace)
