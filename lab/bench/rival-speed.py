"""Replays of one trace by Anabranch and by ssl-ftlsim, in turns on one core: seconds of processor, and that the WAFs agree.

Use: python3 lab/bench/rival-speed.py ANABRANCH FTLSIM [ROUNDS]

ANABRANCH is the command, built for release; FTLSIM is lab/bench/ftlsim.c, built as it says beside pjd-nu/sssl-ftlsim (commit
729b638, the last whose C needs no SWIG). Both read the same file of raw page numbers: a drive of so many units of 1,024
pages is filled in order and overwritten ten times at random; 15 % of the flash is spare, one stream, greedy victims.
Prints a table in CSV, the data of docs/results/speed.md: medians of ROUNDS (seven), and the least and most of the
paired ratios. Reading the file is in both.
"""

import array
import csv
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
#: Units of data: 1, 4 and 16 GiB.
DRIVES = (256, 1024, 4096)
SPARE = 0.15


def trace_of(path: Path, pages: int) -> None:
    """Fills the drive, and overwrites it ten times at random."""
    draw = random.Random(1)
    numbers = array.array("I", range(pages))
    numbers.extend(int(draw.random() * pages) for _ in range(10 * pages))
    path.write_bytes(numbers.tobytes())


def run(call: list[str]) -> tuple[float, str]:
    """Seconds of processor of a process on the first core, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        call, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, told


def main() -> None:
    command, rival = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["drive", "Anabranch, s", "ssl-ftlsim, s", "times as fast", "million flash writes a second", "ssl-ftlsim's", "WAF", "ssl-ftlsim's"])
    for data_units in DRIVES:
        units = round(data_units / (1 - SPARE))
        pages = data_units * UNIT_PAGES
        with tempfile.NamedTemporaryFile(suffix=".u32") as file:
            trace_of(Path(file.name), pages)
            ours = [command, "replay", file.name, "--device", "golden", "--unit", f"{UNIT_PAGES * PAGE_BYTES >> 20}MiB", "--size", f"{pages * PAGE_BYTES}"]
            ours += ["--over-provisioning", f"{100 * SPARE / (1 - SPARE):.4f}%", "--scheme", "mixed", "--json"]
            theirs = [rival, file.name, str(units), str(UNIT_PAGES), str(data_units)]
            found: dict[str, list[tuple[float, str]]] = {"ours": [], "theirs": []}
            for number in range(rounds):
                for name, call in (("ours", ours), ("theirs", theirs))[:: 1 if number % 2 else -1]:
                    found[name].append(run(call))
        (our_s, their_s), ratios = (
            [statistics.median(one for one, _ in runs) for runs in found.values()],
            sorted(theirs / ours for (ours, _), (theirs, _) in zip(found["ours"], found["theirs"])),
        )
        our_waf = json.loads(found["ours"][0][1])["schemes"][0]["waf"]
        words = found["theirs"][0][1].split()
        flash = int(words[3])
        table.writerow(
            [f"{data_units * UNIT_PAGES * PAGE_BYTES >> 30} GiB", f"{our_s:.2f}", f"{their_s:.2f}"]
            + [f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"]
            + [f"{our_waf * 11 * pages / our_s / 1e6:.0f}", f"{flash / their_s / 1e6:.0f}", f"{our_waf:.3f}", words[-1]]
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
