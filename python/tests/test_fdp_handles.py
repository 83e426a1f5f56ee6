"""The table of drives with Flexible Data Placement."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "lab/bench"))
    return importlib.import_module("fdp_handles")


def test_units_are_a_quarter(handles: Any) -> None:
    assert [handles.Row("a", unit, (), Path("a")).on(4, None).unit for unit in ("1MiB", "8MiB", "512KiB")] == ["256KiB", "2048KiB", "128KiB"]


def test_a_line_has_the_means_by_program_and_the_worst_row(handles: Any) -> None:
    def row(name: str) -> Any:
        return handles.Row(name, "512KiB", (), Path(f"{name}.parquet"))

    others = dict.fromkeys(handles.RIVALS, 2.0)
    found = {
        row("a-one"): {**others, "dac+fdp": 1.2, handles.OURS: 1.1},
        row("a-two"): {**others, "dac+fdp": 1.4, handles.OURS: 1.3},
        row("b"): {**others, "dac+fdp": 1.5, handles.OURS: 1.8},
    }
    # Programs: a 0.2 of ours and 0.3 of dac, b 0.8 and 0.5.
    assert handles.line(4, "initially", found) == (
        "| 4 | initially | 3 | 1.0000 | 0.4000 `dac+fdp` | 0.5000 | +25.0 % | 2 | +20.0 % b | 0 |"
    )


def test_handles_are_replayed_and_a_drive_that_refuses_them_is_left_out(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "lab/bench/fdp_handles.py"), command, "-o", str(tmp_path), "clickhouse"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    drives = [line.split("|")[1:4] for line in done.stdout.splitlines()[2:]]
    assert drives == [
        [f" {count} ", f" {how} ", " 1 "]
        for how, counts in (("initially", (2, 4, 8)), ("persistently", (2, 4)))
        for count in counts
    ]
    assert "8-persistently" in done.stderr and "are too few" in done.stderr
