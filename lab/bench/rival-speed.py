"""Replays by Anabranch and by other people's simulators, in turns on one core: seconds of processor, and that the WAFs agree.

Use: python3 lab/bench/rival-speed.py ANABRANCH [--ftlsim FTLSIM] [--midas SSDSIMUL] [--rounds 7]

ANABRANCH is the command, built for release. Each rival gets the same single-page writes, in the form that it reads:

- FTLSIM is lab/bench/ftlsim.c, built as it says beside pjd-nu/sssl-ftlsim (commit 729b638, the last whose C needs no
  SWIG). A drive of so many units of 1,024 pages is filled in order and overwritten ten times at random; 15 % of the
  flash is spare, one stream, greedy victims. Raw page numbers, for both.
- SSDSIMUL is sungkyun123/MiDAS-Simulation, as its Makefile builds it. A drive of 2 GB in 512 units of 4 MiB, filled
  in order twice (once by itself, before it reads its trace) and overwritten ten times by a Zipf law of exponent 0.99;
  both choose the last group's victims by cost and benefit. Lines of text for it, raw page numbers for us. Its process
  waits for most of a minute; its processor's time is compared.

Prints a table in CSV, the data of docs/results/speed.md: medians of the rounds, and the least and most of the paired
ratios. Reading the file is in all.
"""

import argparse
import array
import csv
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

UNIT_PAGES, PAGE_BYTES = 1024, 4096
CAPACITIES = 10
SPARE = 0.15
EXPONENT = 0.99
HEAD = ["rival", "drive", "Anabranch, s", "rival, s", "times as fast", "million flash writes a second", "rival's", "WAF", "rival's WAF"]


def uniform(pages: int) -> array.array:
    """Fills the drive, and overwrites it at random."""
    draw = random.Random(1)
    numbers = array.array("I", range(pages))
    numbers.extend(int(draw.random() * pages) for _ in range(CAPACITIES * pages))
    return numbers


def zipf(pages: int) -> array.array:
    """Fills the drive, and overwrites it by a Zipf law."""
    draw = random.Random(1)
    shares = list(itertools.accumulate(1 / (rank + 1) ** EXPONENT for rank in range(pages)))
    places = list(range(pages))
    draw.shuffle(places)
    numbers = array.array("I", range(pages))
    numbers.extend(draw.choices(places, cum_weights=shares, k=CAPACITIES * pages))
    return numbers


def run(call: list[str]) -> tuple[float, str]:
    """Seconds of processor of a process on the first core, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, told


def beside_ftlsim(command: str, rival: str, folder: Path, data_units: int):
    """Calls of both on a drive of so many units of data, its name, pages written, and what reads the rival's WAF."""
    pages, trace = data_units * UNIT_PAGES, folder / "ftlsim.u32"
    trace.write_bytes(uniform(pages).tobytes())
    ours = replay(command, trace, pages, 100 * SPARE / (1 - SPARE), "mixed")
    theirs = [rival, str(trace), str(round(data_units / (1 - SPARE))), str(UNIT_PAGES), str(data_units)]
    return ours, theirs, f"{pages * PAGE_BYTES >> 30} GiB", lambda told: float(told.split()[-1])


def beside_midas(command: str, rival: str, folder: Path, gigabytes: int):
    """The same on a drive of so many GB in as many GiB of flash."""
    pages, trace = gigabytes * 10**9 // PAGE_BYTES, folder / "midas.u32"
    numbers = zipf(pages)
    trace.write_bytes(numbers[:pages].tobytes() + numbers.tobytes())
    lines = folder / "midas.txt"
    with lines.open("w") as file:
        file.writelines(f"{index * 1e-6:.6f} 1 {page} {PAGE_BYTES}\n" for index, page in enumerate(numbers))
    ours = replay(command, trace, pages, 100 * ((gigabytes << 30) / (pages * PAGE_BYTES) - 1), "midas")
    waf = lambda told: float(told.split("TOTAL WAF: ")[1].split()[0])  # noqa: E731
    return ours, [rival, str(lines), "cost-benefit", str(gigabytes), "4"], f"{gigabytes} GB", waf


def replay(command: str, trace: Path, pages: int, percent: float, scheme: str) -> list[str]:
    drive = ["--device", "golden", "--unit", f"{UNIT_PAGES * PAGE_BYTES >> 20}MiB", "--size", f"{pages * PAGE_BYTES}", "--over-provisioning", f"{percent:.4f}%"]
    return [command, "replay", str(trace), *drive, "--scheme", scheme, "--json"]


def row(name: str, ours: list[str], theirs: list[str], drive: str, waf_of, rounds: int) -> list[str]:
    found: list[list[tuple[float, str]]] = [[], []]
    for number in range(rounds):
        for index in (0, 1)[:: 1 if number % 2 else -1]:
            found[index].append(run((ours, theirs)[index]))
    our_s, their_s = (statistics.median(seconds for seconds, _ in runs) for runs in found)
    ratios = sorted(theirs / ours for (ours, _), (theirs, _) in zip(*found))
    scheme = json.loads(found[0][0][1])["schemes"][0]
    host_pages, waf, their_waf = scheme["host_page_bytes"] // PAGE_BYTES, scheme["waf"], waf_of(found[1][0][1])
    speeds = [f"{waf * host_pages / our_s / 1e6:.0f}", f"{their_waf * host_pages / their_s / 1e6:.0f}"]
    ratio = f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
    return [name, drive, f"{our_s:.2f}", f"{their_s:.2f}", ratio, *speeds, f"{waf:.3f}", f"{their_waf:.3f}"]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("command")
    words.add_argument("--ftlsim")
    words.add_argument("--midas")
    words.add_argument("--rounds", type=int, default=7)
    asked = words.parse_args()
    rivals = [("ssl-ftlsim", asked.ftlsim, beside_ftlsim, size) for size in (256, 1024, 4096)]
    rivals.append(("MiDAS", asked.midas, beside_midas, 2))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEAD)
    for name, rival, beside, size in rivals:
        if rival is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs, drive, waf_of = beside(asked.command, rival, Path(folder), size)
            table.writerow(row(name, ours, theirs, drive, waf_of, asked.rounds))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
