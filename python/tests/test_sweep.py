"""Sweeps: the same files from one process, from many, and after a death."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import anabranch
from anabranch import UsageError, WorkError

from conftest import DEMO

#: 4 volumes x 5 stream counts x 10 schemes = 200 cells.
GRID = """
traces = "{}/*.parquet"
schemes = ["baseline", "baseline+gc", "sepbit", "pcstream*", "pcstream", "autostream-sfr",
           "dac", "fadac", "hints", "multilog"]
[drive]
size = "64MiB"
unit = "512KiB"
over_provisioning = "20%"
streams = [2, 3, 4, 6, 8]
"""


def volume(number: int) -> anabranch.Trace:
    """A volume of its own skew, in which each context writes what lives as long."""
    random = np.random.default_rng(number)
    pages = (random.random(60_000) ** (1 + number) * 16_000).astype(np.uint64)
    return anabranch.Trace.from_arrays(
        offset_bytes=pages * np.uint64(4096),
        length_bytes=4096,
        context=(pages // np.uint64(2_000)).astype(np.uint32),
        hint=(pages // np.uint64(4_000)).astype(np.uint8),
        device_bytes=64 << 20,
    )


@pytest.fixture(scope="session")
def grid(tmp_path_factory) -> str:
    """The grid over four volumes."""
    fleet = tmp_path_factory.mktemp("fleet")
    for number in range(4):
        volume(number).write(fleet / f"volume-{number}.parquet")
    return GRID.format(fleet)


def contents(directory: Path) -> dict[str, str]:
    """Every file of a sweep's rows, by name."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (directory / "cells").iterdir()
    }


@pytest.fixture(scope="session")
def alone(grid: str, tmp_path_factory) -> Path:
    """The sweep of one process."""
    directory = tmp_path_factory.mktemp("alone")
    swept = anabranch.sweep(grid, directory, workers=1, batch=2)
    assert swept.outcome["done"] == 200
    return directory


def test_a_cluster_that_loses_a_worker_gives_the_same_files(
    grid: str, alone: Path, tmp_path: Path
) -> None:
    from distributed import Client, LocalCluster

    killed = []

    def kill_one(done: int, left: int, to_go: float | None) -> None:
        if done > left // 4 and not killed:
            pids = list(client.run(os.getpid).values())
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])

    with LocalCluster(
        n_workers=4, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster, Client(cluster) as client:
        swept = anabranch.sweep(grid, tmp_path, client=client, batch=2, progress=kill_one)
    assert killed and swept.outcome == {
        "cells": 200, "finished_before": 0, "done": 200, "failed": [],
    }  # fmt: skip
    assert contents(tmp_path) == contents(alone)


def test_a_killed_sweep_goes_on_and_repeats_nothing(
    grid: str, alone: Path, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(grid)
    call = [command, "sweep", str(file), "-o", str(tmp_path), "--batch", "2", "--workers", "2"]
    child = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cells = tmp_path / "cells"
    while not cells.exists() or len(list(cells.iterdir())) < 10:
        assert child.poll() is None, "the sweep ended before it could be killed"
        time.sleep(0.002)
    child.kill()
    child.wait()
    before = {file.name: file.stat().st_mtime_ns for file in cells.glob("*.parquet")}
    assert 10 <= len(before) < 100
    ended = subprocess.run(call, capture_output=True, text=True, check=True)
    done = 2 * len(before)
    assert f"{200 - done} cells done now, {done} before, 0 failed, of 200" in ended.stderr
    after = {file.name: file.stat().st_mtime_ns for file in cells.glob("*.parquet")}
    assert {name: after[name] for name in before} == before
    assert contents(tmp_path) == contents(alone)


def test_the_command_calls_a_scheduler(
    grid: str, alone: Path, tmp_path: Path, command: str
) -> None:
    from distributed import LocalCluster

    file = tmp_path / "grid.toml"
    file.write_text(grid.replace("streams = [2, 3, 4, 6, 8]", "streams = 2"))
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, host="127.0.0.1", protocol="tcp",
        dashboard_address=None,
    ) as cluster:  # fmt: skip
        call = [command, "sweep", str(file), "-o", str(tmp_path), "--batch", "2"]
        call += ["--scheduler", cluster.scheduler_address]
        environment = {**os.environ, "ANABRANCH_PYTHON": sys.executable}
        subprocess.run(call, check=True, env=environment, stdout=subprocess.DEVNULL)
    found, all_of_them = contents(tmp_path), contents(alone)
    assert len(found) == 20
    assert all(all_of_them[name] == digest for name, digest in found.items())


def test_cells_are_what_a_replay_finds(alone: Path) -> None:
    frame = anabranch.Sweep(alone).frame
    row = frame.query("trace.str.contains('volume-3') and scheme == 'sepbit' and host_streams == 4")
    result = anabranch.replay(
        volume(3), "sepbit", size="64MiB", unit="512KiB", over_provisioning="20%", streams=4
    )
    assert row["media_bytes"].item() == result.schemes.loc[0, "media_bytes"]
    assert row["waf"].item() == result.schemes.loc[0, "waf"] > 1


def test_a_summary_tells_how_volumes_differ(alone: Path) -> None:
    summary = anabranch.Sweep(alone).summary
    assert len(summary) == 50
    assert (summary["cells"] == 4).all()
    assert (summary["waf.least"] <= summary["waf.p50"]).all()
    base = summary[summary["scheme"] == "baseline+gc"]
    assert (base["lifetime_vs_ordinary.p50"] == 1.0).all()


def test_a_grid_that_grows_does_only_what_is_new(tmp_path: Path) -> None:
    grid = f'traces = "{DEMO}"\nquick = true\nschemes = ["baseline"]\n'
    assert anabranch.sweep(grid, tmp_path).outcome["done"] == 1
    grown = grid.replace('["baseline"]', '["baseline", "oracle", "sepbit"]')
    again = anabranch.sweep(grown, tmp_path).outcome
    assert (again["finished_before"], again["done"]) == (1, 2)


def test_a_cell_that_cannot_be_done_does_not_stop_the_others(tmp_path: Path) -> None:
    small = "[drive]\nsize = '64MiB'\nunit = '1MiB'\n"
    grid = f"schemes = ['baseline', 'sepbit']\nquick = true\ntraces = ['{DEMO}', '{{}}']\n{small}"
    fits = tmp_path / "fits.parquet"
    anabranch.Trace.from_arrays(offset_bytes=[0], length_bytes=4096).write(fits)
    with pytest.raises(WorkError, match="2 cells could not be done: .*does not fit a drive of"):
        anabranch.sweep(grid.format(fits), tmp_path)
    assert len(anabranch.Sweep(tmp_path).frame) == 2


def test_what_needs_too_much_memory_is_refused_beforehand(tmp_path: Path) -> None:
    grid = f'traces = "{DEMO}"\nschemes = ["baseline"]\n'
    with pytest.raises(UsageError, match="takes up to .* bytes of memory, and a worker may have"):
        anabranch.sweep(grid, tmp_path, memory_bytes=1 << 20)
    assert not (tmp_path / "cells").exists()


#: A drive of 4 GiB and schemes of every size of memory: what is reckoned from the drive is most of it.
LARGE = """
traces = "{}"
schemes = ["baseline", "sepbit", "pcstream", "autostream-sfr", "dac", "oracle"]
[drive]
size = "4GiB"
unit = "16MiB"
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> str:
    """A grid whose one batch fills its drive's tables."""
    random = np.random.default_rng(7)
    pages = (random.random(1_200_000) ** 2 * (1 << 20)).astype(np.uint64)
    trace = tmp_path_factory.mktemp("large") / "large.parquet"
    anabranch.Trace.from_arrays(
        offset_bytes=pages * np.uint64(4096),
        length_bytes=4096,
        context=(pages // np.uint64(4096)).astype(np.uint32),
        device_bytes=4 << 30,
    ).write(trace)
    return LARGE.format(trace)


def peak_bytes(child: subprocess.Popen[str]) -> int:
    """The most memory that a process ever had; the kernel keeps the mark until it ends."""
    most = 0
    while child.poll() is None:
        try:
            text = Path(f"/proc/{child.pid}/status").read_text()
        except OSError:
            continue
        found = re.search(r"VmHWM:\s+(\d+) kB", text)
        most = max(most, int(found[1]) * 1024 if found else 0)
        time.sleep(0.005)
    return most


def test_a_worker_takes_no_more_memory_than_was_stated(
    large: str, tmp_path: Path, command: str
) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(large)
    call = [command, "sweep", str(grid), "-o", str(tmp_path / "swept"), "--workers", "1"]
    child = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most = peak_bytes(child)
    assert child.stderr is not None
    said = child.stderr.read()
    assert child.returncode == 0, said
    found = re.search(r"take up to ([\d.]+) (\w+) of memory each", said)
    assert found, said
    stated = float(found[1]) * {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[found[2]]
    assert stated > 250 << 20, "the drive's tables are most of it"
    # Neither too little nor so much that it says nothing.
    assert stated / 4 < most <= stated, (most, stated)


def test_a_worker_of_a_cluster_takes_no_more_than_was_stated(large: str, tmp_path: Path) -> None:
    from anabranch import _core

    traces = [(trace, os.path.getsize(trace)) for trace in _core.sweep_traces("large", large)]
    looks = _core.sweep_looks("large", large, traces, tmp_path)
    seen = [(look, _core.sweep_look(look, traces[0][0])) for look, _ in looks]
    plan = json.loads(_core.sweep_plan("large", large, seen, tmp_path, 8, 2**63))
    (batch,) = plan["batches"]
    worker = """
import re, sys
from pathlib import Path
import distributed
from anabranch import _core
mark = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = mark()
_core.sweep_run(sys.argv[1], sys.argv[2])
print((mark() - before) * 1024)
"""
    call = [sys.executable, "-c", worker, batch, traces[0][0]]
    took = int(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    # What is stated is beside the interpreter and Dask themselves.
    assert plan["memory_bytes"] / 4 < took <= plan["memory_bytes"], (took, plan["memory_bytes"])


def test_traces_come_by_any_address_of_fsspec(tmp_path: Path) -> None:
    import fsspec
    from distributed import Client, LocalCluster

    with open(DEMO, "rb") as file:
        fsspec.filesystem("memory").pipe("/fleet/a.parquet", file.read())
    grid = 'traces = "memory://fleet/*.parquet"\nquick = true\nschemes = "baseline"\n'
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        swept = anabranch.sweep(grid, tmp_path, client=client)
    assert swept.frame["trace"].tolist() == ["memory:///fleet/a.parquet"]
    near = anabranch.replay(DEMO, "baseline", quick=True)
    assert swept.frame["media_bytes"].item() == near.schemes.loc[0, "media_bytes"]
