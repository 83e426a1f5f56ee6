#!/usr/bin/env python3
"""What sampled drives cost and how far they are off: every shipped trace on the drive that
traces/README.md names, whole and sampled, at the coarsest rate that leaves an erase unit so many pages. With --held-out the
traces of traces/held-out on theirs, which had no part in the choice of the bars' width. Prints the tables of docs/results/speed.md.

    lab/bench/sampling.py [--command target/release/anabranch] [--schemes all] [--pages 256,128] [--held-out] [TRACE ...]
"""

import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys

import contests

ROOT = pathlib.Path(__file__).resolve().parents[2]


def replay(command, trace, schemes, more=()):
    """A result, and the processor time in seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call = [command, "replay", str(trace), "--scheme", schemes, "--threads", "1", "--json", *more]
    text = subprocess.run(call, check=True, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(text), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def drives(held_out):
    """The recordings with the drive of each, as options."""
    if held_out:
        found = contests.rows(contests.TRACES / "held-out")
        return [(row.path, ["--unit", row.unit, *row.drive]) for row in found]
    text = (ROOT / "traces/README.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([\w-]+) \| \d+ \| (\w+) \|", text, re.MULTILINE)
    return [(ROOT / "traces" / f"{name}.parquet", ["--unit", unit]) for name, unit in found]


def judged(whole, sampled):
    """Each scheme's error and bar, as shares of the whole drive's WAF."""
    truths = {scheme["name"]: scheme["waf"] for scheme in whole["schemes"]}
    for scheme in sampled["schemes"]:
        truth = truths[scheme["name"]]
        yield scheme["name"], scheme["waf"] / truth - 1, scheme["sampled"]["error"] / truth


def row(name, found):
    errors = [abs(error) for _, error, _ in found]
    inside = sum(abs(error) <= bar for _, error, bar in found) / len(found)
    worst = max(found, key=lambda one: abs(one[1]))
    print(
        f"| {name} | {len(found)} | {100 * statistics.mean(errors):.2f} % | {100 * worst[1]:+.1f} % ({worst[0]}) "
        f"| {100 * statistics.mean(bar for *_, bar in found):.2f} % | {100 * inside:.0f} % |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", default=str(ROOT / "target/release/anabranch"))
    parser.add_argument("--schemes", default="baseline,baseline+gc,hints,autostream-sfr,sepbit,pcstream*,pcstream,anabranch")
    parser.add_argument("--pages", default="256,128")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("traces", nargs="*")
    asked = parser.parse_args()
    pages = [int(number) for number in asked.pages.split(",")]
    found = {number: [] for number in pages}
    seconds = {number: [] for number in pages}
    rows = drives(asked.held_out)
    names = {pathlib.Path(trace).stem for trace in asked.traces}
    if unknown := names - {path.stem for path, _ in rows}:
        sys.exit(f"no such recordings: {', '.join(sorted(unknown))}")
    print("| trace, pages a unit, rate | WAFs | mean error | worst | mean bar | inside their bar |")
    print("|---|---|---|---|---|---|")
    for path, drive in rows:
        name = path.stem
        if names and name not in names:
            continue
        whole, cost = replay(asked.command, path, asked.schemes, drive)
        device = whole["device"]
        unit_pages = device["unit_bytes"] // device["page_bytes"]
        for number in pages:
            one_of = 1 << max(unit_pages // number, 1).bit_length() - 1
            if one_of < 2:
                continue
            rate = f"1/{one_of}"
            sampled, own = replay(asked.command, path, asked.schemes, [*drive, "--sample", rate])
            some = [(f"{name} {scheme}", *rest) for scheme, *rest in judged(whole, sampled)]
            row(f"{name}, {unit_pages // one_of}, {rate}", [(one[0].split(" ", 1)[1], *one[1:]) for one in some])
            found[number] += some
            seconds[number].append(own / cost * one_of)
    for number in pages:
        if found[number]:
            row(f"all, at least {number}", found[number])
            print(
                f"{number} pages a unit: four samples cost {statistics.median(seconds[number]):.1f} times the whole drive's "
                f"processor time over N, in the median",
                file=sys.stderr,
            )


if __name__ == "__main__":
    main()
