"""What does not go together is refused as by the command, in the same words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anabranch
from anabranch import Trace, UsageError
from anabranch._command import words

TABLE = Path(__file__).parents[2] / "crates/app/compare/tests/wrong.toml"
ROWS: list[dict[str, Any]] = tomllib.loads(TABLE.read_text())["wrong"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    offsets = np.arange(64, dtype=np.uint64) * np.uint64(1 << 20)
    return Trace.from_arrays(offset_bytes=offsets, length_bytes=4096, device_bytes=64 << 20)


@pytest.mark.parametrize("row", ROWS, ids=[",".join(row["options"]) for row in ROWS])
def test_what_does_not_go_together_is_refused_in_the_words_of_the_table(
    trace: Trace, row: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as raised:
        anabranch.replay(trace, "baseline", **row["options"])
    assert row["words"] in str(raised.value)


def test_an_option_that_is_none_is_named_with_those_there_are(trace: Trace) -> None:
    with pytest.raises(TypeError, match="no option 'strems'.*internal_streams"):
        anabranch.replay(trace, "baseline", strems=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no option 'strems'"):
        anabranch.Device(strems=3)  # type: ignore[call-arg]


def test_a_path_makes_a_trace_and_nothing_else_does() -> None:
    assert len(Trace("traces/rocksdb-demo.parquet")) == len(Trace.read("traces/rocksdb-demo.parquet"))
    assert "rocksdb-demo" in repr(Trace("traces/rocksdb-demo.parquet"))
    with pytest.raises(TypeError, match="from_arrays"):
        Trace([1, 2])  # type: ignore[arg-type]


def test_of_several_tenants_each_has_its_option_and_other_lists_are_joined() -> None:
    made = words({"tenant": ["a/*.scope", "b,c"], "pid": [1, 2]})
    assert made == ["--tenant", "a/*.scope", "--tenant", "b,c", "--pid", "1,2"]
    assert words({"tenant": "a"}) == ["--tenant", "a"]
