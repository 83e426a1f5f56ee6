"""The table of what our scheme copies without a part of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def test_each_part_left_out_stands_beside_the_whole(command: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, str(ROOT / "lab/bench/ablation.py"), command, "-o", str(tmp_path)]
        return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)

    refused = run("nosuch")
    assert refused.returncode != 0 and "no such recording: nosuch" in refused.stderr
    done = run("--seeds", "1", "lmdb")
    assert done.returncode == 0, done.stderr
    table = {cells[1]: cells for line in done.stdout.splitlines()[2:] for cells in [[cell.strip() for cell in line.split("|")]]}
    assert list(table)[0] == "nothing" and len(table) == 7
    whole, fixed = table["nothing"], table["the choice of a setting: six classes"]
    assert (whole[3], whole[4]) == ("", "")
    # One stream is best for pages at random keys, which six classes throughout do not know.
    assert float(fixed[2]) > float(whole[2]) and fixed[3].startswith("+")
