"""A sweep of a fleet on a Dask cluster of this machine, and what a volume of it costs.

Use: target/venv/bin/python lab/bench/fleet.py [--volumes 100,1000] [--command target/release/anabranch]
Four of five volumes are synthetic mixes with settings and seeds of their own, the fifth is one of them in a public
form of traces, in turns. Answers with a table in markdown: the workers' processor time a volume is what to compare.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import anabranch
from distributed import Client, LocalCluster

WORKERS = 2
FORMS = ["msr", "alibaba", "tencent", "spc", "blkparse", "fio-iolog-v3", "fiu", "mqsim"]
LOADS = [
    "fio-passes:size=64MiB,write=128MiB,seed={seed}",
    "fio-three-streams:size=64MiB,write=192MiB,sequential={share}%,seed={seed}",
    "cachelib:size=64MiB,write=192MiB,small={share}%,small-writes=60%,seed={seed}",
    "fio-emmc:size=64MiB,write=192MiB,seed={seed}",
]
#: Forms tell no size of a device, and what a name does not tell is looked at.
GRID = """
traces = {traces}
format = "auto"
schemes = ["baseline", "sepbit", "pcstream", "anabranch"]
[drive]
size = "64MiB"
unit = "512KiB"
over_provisioning = "20%"
"""


def volumes(command: str, directory: Path, count: int) -> list[str]:
    """The traces of so many volumes, as a grid names them."""
    traces = []
    for number in range(count):
        load = LOADS[number // 5 % len(LOADS)].format(seed=number, share=5 + number % 40)
        traces.append(f"synthetic:{load}")
        if number % 5 == 4:
            form = FORMS[number // 5 % len(FORMS)]
            file = directory / f"volume-{number}.{form}"
            export = [command, "-q", "export", traces[-1], "--to", form, "-o", str(file)]
            subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
            traces[-1] = str(file)
    return traces


def used() -> tuple[float, int]:
    """On a worker: its processor time in seconds, and the most memory it held, in KiB."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def load() -> None:
    """On a worker: what its first batch would otherwise load."""
    import anabranch


def measured(command: str, count: int) -> str:
    """A row of the table."""
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as directory,
    ):
        grid = GRID.format(traces=volumes(command, Path(directory), count))
        client.wait_for_workers(WORKERS)
        client.run(load)
        before = sum(cpu for cpu, _ in client.run(used).values())
        began, own = time.perf_counter(), time.process_time()
        sweep = anabranch.sweep(grid, Path(directory, "fleet"), client=client)
        took, own = time.perf_counter() - began, time.process_time() - own
        found = client.run(used).values()
        cpu, memory = sum(cpu for cpu, _ in found) - before, max(memory for _, memory in found)
        cells = len(sweep.frame)
    return (
        f"| {count} | {cells} | {cpu:.1f} | {1000 * cpu / count:.0f} | {1000 * own / count:.0f} | {memory >> 10} "
        f"| {took:.0f} | {os.getloadavg()[0]:.1f} |"
    )


def main() -> None:
    """Sweeps of each size asked for, in turns."""
    parser = argparse.ArgumentParser(description="What a volume of a fleet costs.")
    parser.add_argument("--volumes", default="100,1000")
    parser.add_argument("--command", default="target/release/anabranch")
    asked = parser.parse_args()
    print("| volumes | cells | workers, s of processor | a volume, ms | caller, a volume, ms | worker's memory, MiB | took, s | load |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for count in asked.volumes.split(","):
        print(measured(asked.command, int(count)), flush=True)


if __name__ == "__main__":
    main()
