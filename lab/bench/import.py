"""Imports of an MSR trace: `anabranch import` beside polars and pandas, in turns, on one core and on all.

Use: python lab/bench/import.py COMMAND [LINES] [ROUNDS], with polars, pandas and pyarrow (scripts/python.txt) and COMMAND
built for release. It makes an MSR file of LINES (four million) by a seed. Each program reads it, and writes time,
operation, offset, length and volume as Parquet of row groups of 128 Ki rows, packed by zstd at level 3. `anabranch`
also checks every line, counts what is ever written and writes digests. The order alternates from round to round.
Prints a table in CSV, the data of docs/results/speed.md: medians of ROUNDS (seven) of seconds of processor and
elapsed time, medians of the paired ratios to polars, and the peak of memory.
"""

import csv
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEED = 50
LINES = 4_000_000
ROUNDS = 7
HOSTS = ("src1", "usr", "hm", "prxy")
COLUMNS = ["time", "host", "disk", "operation", "offset", "length", "response"]
#: What pandas and polars do: read, join host and disk, write. Both get the files as arguments.
POLARS = f"""
import sys, polars as pl
frame = pl.read_csv(sys.argv[1], has_header=False, new_columns={COLUMNS})
frame.select("time", "operation", "offset", "length", pl.concat_str("host", "disk", separator="_").alias("volume")
    ).write_parquet(sys.argv[2], compression="zstd", compression_level=3, row_group_size=131072)
"""
PANDAS = f"""
import sys, pandas as pd
frame = pd.read_csv(sys.argv[1], header=None, names={COLUMNS})
frame["volume"] = frame["host"] + "_" + frame["disk"].astype(str)
frame[["time", "operation", "offset", "length", "volume"]].to_parquet(
    sys.argv[2], compression="zstd", compression_level=3, row_group_size=131072, index=False)
"""


def write_trace(path: Path, lines: int) -> None:
    """An MSR file: one volume, writes in runs and at random, gaps and response times of several lengths."""
    draw = random.Random(SEED)
    time_100ns, offset, length = 128_166_372_003_061_629, 0, 4096
    host = draw.choice(HOSTS)
    with path.open("w") as file:
        for _ in range(lines):
            time_100ns += int(draw.expovariate(1 / 40_000))
            if draw.random() < 0.3:
                offset += length
            else:
                offset = int(draw.random() ** 3 * (1 << 26)) * 512
            length = 512 << int(draw.random() * 8)
            kind = "Write" if draw.random() < 0.7 else "Read"
            file.write(f"{time_100ns},{host},0,{kind},{offset},{length},{int(draw.expovariate(1 / 30_000))}\n")


def measured(call: list[str], cores: set[int]) -> tuple[float, float, float]:
    """Seconds of processor and elapsed time that a process takes on these cores, and MiB of its peak."""
    threads = {"POLARS_MAX_THREADS": str(len(cores)), "OMP_NUM_THREADS": str(len(cores))}
    began = time.perf_counter()
    child = subprocess.Popen(
        call,
        env=os.environ | threads,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{call[0]} failed")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024


def rounds(calls: dict[str, list[str]], cores: set[int], count: int) -> dict[str, list[tuple[float, float, float]]]:
    """All measurements of each program, whose order alternates."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in calls}
    for number in range(count):
        for name in list(calls) if number % 2 == 0 else reversed(calls):
            found[name].append(measured(calls[name], cores))
    return found


def rows(found: dict[str, list[tuple[float, float, float]]], cores: str) -> list[list[str]]:
    """A line of the table for each program."""
    lines = []
    for name, runs in found.items():
        processor, elapsed, peak = (statistics.median(column) for column in zip(*runs))
        ratios = [
            statistics.median(one[kind] / other[kind] for one, other in zip(runs, found["polars"]))
            for kind in (0, 1)
        ]
        cells = [f"{processor:.2f}", f"{elapsed:.2f}", *(f"{ratio:.2f}" for ratio in ratios), f"{peak:.0f}"]
        lines.append([cores, name, *cells])
    return lines


def main() -> None:
    command = sys.argv[1]
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else LINES
    count = int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS
    all_cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        trace, output = Path(folder) / "msr.csv", str(Path(folder) / "out.parquet")
        write_trace(trace, lines)
        calls = {
            "`anabranch import`": [command, "import", str(trace), "-o", output, "--format", "msr"],
            "polars": [sys.executable, "-c", POLARS, str(trace), output],
            "pandas": [sys.executable, "-c", PANDAS, str(trace), output],
        }
        size = trace.stat().st_size / 1e6
        print(f"# {lines} lines, {size:.0f} MB, {len(all_cores)} cores, load {os.getloadavg()[0]:.1f}, {count} rounds")
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(["cores", "program", "processor, s", "elapsed, s", "beside polars, processor", "elapsed", "peak, MiB"])
        for name, cores in (("one", {min(all_cores)}), (str(len(all_cores)), all_cores)):
            table.writerows(rows(rounds(calls, cores, count), name))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
