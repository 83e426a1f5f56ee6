"""The table of a host that collects on drives with handles."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "lab/bench"))
    return importlib.import_module("host_collection")


def test_a_line_has_the_three_contests_on_a_drive_with_handles(
    collection: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wafs = {"ours": 1.3, "ours+host": 1.32, "ours+fdp": 1.4, "manual+fdp": 1.5, "baseline+fdp": 2.0}
    asked = []

    def replayed(given: Any, names: list[str], folders: Any, parts: int, spare: None, victim: str, drive: tuple[str, ...]) -> Any:
        asked.append((parts, victim, drive))
        row = collection.Row("a", "512KiB", (), Path("a.parquet"))
        late = {"ours+host": 1.5, "ours+fdp": 1.25}
        one = {name: {"waf": wafs[name], collection.LATE: late.get(name, 1.0)} for name in names}
        return {row: {name: scheme | {"collected": {"given_up_at_bytes": None}} for name, scheme in one.items()}}

    monkeypatch.setattr(collection, "replayed", replayed)
    lines = collection.by_handles(SimpleNamespace(scheme="ours", output=tmp_path))
    assert len(lines) == 12
    cells = [cell.strip() for cell in lines[0].strip("| ").split("|")]
    assert cells[:8] == ["1 chosen by", "2", "initially", "1.0000", "0.5000", "0.4000", "0.3200", "0.3000"]
    assert cells[8:] == ["-20.0 %", "-20.0 %", "1", "+20.00 % a", "0"]
    assert len(cells) == collection.HANDLES_HEAD.count("|") - 1
    assert {(parts, victim) for parts, victim, _ in asked} == {(8, "greedy")}
    assert asked[0][2] == ("--streams", "2") and asked[1][2] == ("--device", str(tmp_path / "2-initially/device.toml"))
