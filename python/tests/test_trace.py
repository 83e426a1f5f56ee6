"""Traces: in from anywhere, out again unchanged, and without copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import anabranch
from anabranch import Trace, UsageError

from conftest import DEMO


def some(rows: int = 20_000) -> Trace:
    random = np.random.default_rng(7)
    return Trace.from_arrays(
        offset_bytes=random.integers(0, 1000, rows, dtype=np.uint64) * np.uint64(4096),
        length_bytes=np.full(rows, 4096, dtype=np.uint64),
        operation=random.choice(np.array([0, 1, 2], dtype=np.uint8), rows),
        time_ns=np.arange(rows, dtype=np.uint64),
        context=random.integers(0, 5, rows, dtype=np.uint32),
        device_bytes=1000 * 4096,
    )


def plain(trace: Trace) -> list[dict[str, object]]:
    """Records as Python has them: however their words are coded."""
    return trace.to_arrow().to_pylist()


def test_a_trace_goes_through_every_library_and_back_unchanged() -> None:
    trace = some()
    for other in (
        Trace.from_arrow(trace.to_arrow()),
        Trace.from_arrow(trace),
        Trace.from_pandas(trace.to_pandas(), device_bytes=trace.device_bytes),
        Trace.from_polars(trace.to_polars(), device_bytes=trace.device_bytes),
    ):
        assert plain(other) == plain(trace)


def test_a_trace_goes_through_a_file_and_back_unchanged(tmp_path) -> None:
    trace = some()
    trace.write(tmp_path / "some.parquet")
    again = Trace.read(tmp_path / "some.parquet")
    assert plain(again) == plain(trace)
    assert again.contexts == trace.contexts
    assert again.device_bytes == trace.device_bytes


def test_the_shipped_trace_keeps_its_tables_through_arrow() -> None:
    trace = Trace.read(DEMO)
    again = Trace.from_arrow(trace.to_arrow())
    assert again.contexts == trace.contexts and len(trace.contexts) > 5
    assert again.files == trace.files
    assert again.capture == trace.capture


def test_arrays_of_numpy_go_in_and_come_out_without_a_copy() -> None:
    offsets = np.arange(1000, dtype=np.uint64) * np.uint64(4096)
    trace = Trace.from_arrays(offset_bytes=offsets, length_bytes=4096)
    column = trace.to_arrow()["offset_bytes"].chunk(0)
    assert column.to_numpy(zero_copy_only=True).ctypes.data == offsets.ctypes.data


def test_a_table_that_lacks_what_a_trace_needs_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="needs offset_bytes and length_bytes"):
        Trace.from_arrow(pyarrow.table({"offset_bytes": [0]}))
    with pytest.raises(UsageError, match="does not speak Arrow"):
        Trace.from_arrow([1, 2])
    with pytest.raises(UsageError, match="-4096 is below 0"):
        Trace.from_arrays(offset_bytes=[-4096], length_bytes=4096)
    with pytest.raises(UsageError, match="record 1 .*a write of 0 bytes"):
        Trace.from_arrays(offset_bytes=[0, 0], length_bytes=[1, 0])
    with pytest.raises(UsageError, match="has nulls"):
        Trace.from_polars(polars.DataFrame({"offset_bytes": [0, None], "length_bytes": [1, 1]}))
    with pytest.raises(UsageError, match="erase"):
        frame = pandas.DataFrame(
            {"offset_bytes": [0], "length_bytes": [1], "operation": ["erase"]}
        )
        Trace.from_pandas(frame)
    with pytest.raises(UsageError, match="no-such.parquet"):
        Trace.read("no-such.parquet")


def test_a_doubt_about_a_foreign_trace_is_a_warning(tmp_path: Path) -> None:
    text = (
        "app-4 [003] ..... 9203.3: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=17, nsid=1, flags=0x0, meta=0x0, "
        "cmd=(nvme_cmd_write slba=4096, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n"
    )
    (tmp_path / "trace.txt").write_text(text)
    with pytest.warns(UserWarning, match="512 bytes are taken"):
        Trace.read(tmp_path / "trace.txt", format="ftrace")


def test_a_foreign_trace_is_read_with_its_format() -> None:
    trace = Trace.read("crates/core/trace/tests/foreign/samples/msr.csv", format="msr")
    assert len(trace) == 3
    with pytest.raises(UsageError, match="no form of traces is called so"):
        Trace.read(DEMO, format="nonsense")


def test_a_context_column_gets_a_table_of_its_own() -> None:
    trace = Trace.from_arrays(offset_bytes=[0, 0], length_bytes=4096, context=[3, 1])
    assert [row["id"] for row in trace.contexts] == [0, 1, 2, 3]
    assert trace.contexts[3]["signature"] == f"{3:016x}"
    assert anabranch.replay(trace, "pcstream*").schemes.loc[0, "host_page_bytes"] == 8192
