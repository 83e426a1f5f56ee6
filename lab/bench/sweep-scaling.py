"""How a sweep scales from 1 to 4 workers: threads of one process beside processes of a Dask cluster.

Use: target/venv/bin/python lab/bench/sweep-scaling.py [--rounds 5] [--workers 1,2,4] [--writes 400000]
Build the package as it is to be measured: `maturin develop --release`. Answers with a table in markdown.

In every round each number of workers is tried once, by threads, by Dask and by processes that only count, in
turns; ratios are of one round. The cluster is up and has the package loaded before the clock starts. The column
of counting is what the machine itself gave: other work on it shows there first. All sweeps of all rounds must
give the same files, to the byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anabranch
import numpy as np
from distributed import Client, LocalCluster

VOLUMES = 8
SCHEMES = ["baseline", "baseline+gc", "sepbit", "pcstream*", "pcstream", "autostream-sfr", "dac", "multilog"]
#: Cells that read a trace together: 4 batches a volume, 32 in all, which 1, 2 and 4 divide.
BATCH = 4
GRID = """
traces = "{traces}/*.parquet"
schemes = {schemes}
[drive]
size = "64MiB"
unit = "512KiB"
over_provisioning = "20%"
streams = [4, 8]
"""
COUNT = "import sys\nleft = int(sys.argv[1])\nwhile left: left -= 1"
COUNTS = 20_000_000


def make_fleet(directory: Path, writes: int) -> None:
    """Volumes of unlike skew, in which each context writes what lives as long."""
    for number in range(VOLUMES):
        random = np.random.default_rng(number)
        pages = (random.random(writes) ** (1 + number / 2) * 16_000).astype(np.uint64)
        anabranch.Trace.from_arrays(
            offset_bytes=pages * np.uint64(4096),
            length_bytes=4096,
            context=(pages // np.uint64(2_000)).astype(np.uint32),
            device_bytes=64 << 20,
        ).write(directory / f"volume-{number}.parquet")


def digest(directory: str) -> str:
    """One digest of all rows of a sweep, by file name."""
    found = hashlib.sha256()
    for file in sorted((Path(directory) / "cells").glob("*.parquet")):
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


def by_threads(grid: str, workers: int) -> tuple[float, str]:
    """Seconds of a sweep on threads of this process, and what it found."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        anabranch.sweep(grid, directory, workers=workers, batch=BATCH)
        return time.perf_counter() - began, digest(directory)


def load() -> None:
    """On a worker: what its first batch would otherwise load."""
    import anabranch


def by_dask(grid: str, workers: int) -> tuple[float, str]:
    """The same on worker processes of a cluster on loopback."""
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster, Client(cluster) as client, tempfile.TemporaryDirectory() as directory:
        client.wait_for_workers(workers)
        client.run(load)
        began = time.perf_counter()
        anabranch.sweep(grid, directory, client=client, batch=BATCH)
        return time.perf_counter() - began, digest(directory)


def by_counting(workers: int) -> float:
    """Seconds in which so many processes count as far together as one does alone."""
    began = time.perf_counter()
    call = [sys.executable, "-c", COUNT, str(COUNTS // workers)]
    for process in [subprocess.Popen(call) for _ in range(workers)]:
        process.wait()
    return time.perf_counter() - began


def told(values: list[float], unit: str = "") -> str:
    """The median, and how far the rounds are apart."""
    return f"{statistics.median(values):.2f}{unit} ({min(values):.2f} .. {max(values):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="How a sweep scales.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--writes", type=int, default=400_000, help="of each volume")
    given = parser.parse_args()
    counts = [int(number) for number in given.workers.split(",")]
    seconds: dict[tuple[str, int], list[float]] = {}
    loads, found = [os.getloadavg()[0]], set()
    with tempfile.TemporaryDirectory() as fleet:
        make_fleet(Path(fleet), given.writes)
        grid = GRID.format(traces=fleet, schemes=SCHEMES)
        for number in range(given.rounds):
            # Every second round the other way about, so that no way always comes first.
            for workers in counts if number % 2 == 0 else reversed(counts):
                one, one_found = by_threads(grid, workers)
                other, other_found = by_dask(grid, workers)
                found |= {one_found, other_found}
                counting = by_counting(workers)
                for way, took in (("threads", one), ("dask", other), ("counting", counting)):
                    seconds.setdefault((way, workers), []).append(took)
                loads.append(os.getloadavg()[0])
                print(
                    f"round {number + 1}, {workers} workers: threads {one:.2f} s, dask {other:.2f} s, "
                    f"counting {counting:.2f} s, load {loads[-1]:.1f}",
                    file=sys.stderr,
                    flush=True,
                )
    if len(found) != 1:
        raise SystemExit("the sweeps did not all give the same files")

    def ratios(over: tuple[str, int], under: tuple[str, int]) -> list[float]:
        return [one / other for one, other in zip(seconds[over], seconds[under])]

    cells = VOLUMES * 2 * len(SCHEMES)
    print(
        f"{cells} cells of {given.writes:,} writes, batches of {BATCH}, {given.rounds} rounds; "
        f"{os.cpu_count()} cores, load {loads[0]:.1f} before and {min(loads):.1f} to {max(loads):.1f} meanwhile\n"
    )
    print("| workers | threads, s | times as fast | Dask, s | times as fast | Dask / threads | counting, times as fast |")
    print("|---|---|---|---|---|---|---|")
    first = counts[0]
    for workers in counts:
        row = [
            told(seconds["threads", workers]),
            told(ratios(("threads", first), ("threads", workers))),
            told(seconds["dask", workers]),
            told(ratios(("dask", first), ("dask", workers))),
            told(ratios(("dask", workers), ("threads", workers))),
            told(ratios(("counting", first), ("counting", workers))),
        ]
        print(f"| {workers} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
