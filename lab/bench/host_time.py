"""Replays recordings with time, and compares the latency of writes where the drive collects with that where the host does.

Use: host_time.py ANABRANCH [NAME...] [-o FOLDER] [--parts N] [--load SHARE] [--folder NAME] [--data NAME]
  --parts   cuts each erase unit in so many [default: 8: some 1,000 units]
  --load    the recording's own times are stretched so that it takes this share of what `baseline+gc` writes at most [default: 0.5]
  --folder  folders below traces/, with commas [default: .,fresh]
  --data    keeps the summary as lab/data/NAME.csv, for scripts/tables.py
Each recording is replayed twice: as fast as the drive answers, 32 requests at a time, and at that load.
Markdown on standard output. Lower and higher are by more than 1 %; means are geometric.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from pathlib import Path

from contests import TRACES, Row, keep, recordings, replay

ORDINARY, HALF, OURS = SCHEMES = ("baseline+gc", "anabranch+gc", "anabranch+host")
FAST = ("--time", "closed", "--queue-depth", "32")
# A drive copies where its write amplification is above this (our choice): elsewhere there is nothing to collect.
COPIES = 1.05
GROUPS = (("all", lambda one: True), (f"ordinary drive above {COPIES}", lambda one: one[ORDINARY]["waf"] > COPIES))
QUANTILES = (("p99", "p99_ns"), ("p99.9", "p99_9_ns"), ("p99.99", "p99_99_ns"))
HEAD = "| recordings | beside | media bytes | rate | " + " | ".join(f"{name} of writes | lower, higher" for name, _ in QUANTILES) + " |"


def replayed(given: argparse.Namespace, row: Row, time: tuple[str, ...], output: Path) -> tuple[dict, dict[str, dict]]:
    """The result of a recording replayed with time, made unless it is there, and its schemes by name."""
    timed = row._replace(drive=(*row.drive, "--device", "fdp-8ruh", *time))
    schemes = replay(given.anabranch, timed, list(SCHEMES), output)
    return json.loads(output.read_text()), schemes


def measured(given: argparse.Namespace, row: Row) -> dict | None:
    """Figures of a recording; none where its drive has too few units for a host that collects, or it has no clock."""
    folder = given.output / f"{given.parts}-{given.load}"
    try:
        fast, schemes = replayed(given, row, FAST, folder / f"fast-{row.file}")
    except subprocess.CalledProcessError:
        return None
    span_ns = fast["source"]["last_ns"] - fast["source"]["first_ns"]
    taken_ns = schemes[ORDINARY]["time"]["elapsed_ns"]
    if span_ns <= 0:
        return None
    scale = taken_ns / given.load / span_ns
    rates = {name: one["host_page_bytes"] / one["time"]["elapsed_ns"] for name, one in schemes.items()}
    result, schemes = replayed(given, row, ("--time", "open", "--time-scale", f"{scale:.6g}"), folder / f"open-{row.file}")
    return {"units": result["device"]["physical_units"], "rates": rates, **schemes}


def mean_ratio(pairs: list[tuple[float, float]]) -> float:
    """The geometric mean of ratios."""
    return math.exp(sum(math.log(ours / theirs) for ours, theirs in pairs) / len(pairs))


def latency_ms(found: dict, scheme: str, quantile: str) -> float:
    """A quantile of the latency of writes."""
    return found[scheme]["time"]["latency"]["write"][quantile] / 1e6


def line(row: Row, found: dict) -> str:
    """A recording's row: write amplification, latencies in milliseconds, and the drive's copies, a figure a scheme."""
    cells = [row.name, str(found["units"]), *(f"{found[name]['waf']:.3f}" for name in SCHEMES)]
    cells += [f"{latency_ms(found, name, quantile):.3g}" for _, quantile in QUANTILES for name in SCHEMES]
    cells.append(f"{found[OURS]['collected']['copied_bytes'] / found[OURS]['host_page_bytes']:.4f}")
    return "| " + " | ".join(cells) + " |"


def summary(results: list[dict]) -> list[str]:
    """Ratios in the mean, and in how many recordings the host is ahead, a line a group and a scheme beside it."""
    lines = []
    for group, is_of in GROUPS:
        members = [one for one in results if is_of(one)]
        for other in (HALF, ORDINARY):
            cells = [f"{len(members)}, {group}", f"`{other}`"]
            cells.append(f"{mean_ratio([(one[OURS]['waf'], one[other]['waf']) for one in members]):.3f}")
            cells.append(f"{mean_ratio([(one['rates'][OURS], one['rates'][other]) for one in members]):.3f}")
            for _, quantile in QUANTILES:
                pairs = [(latency_ms(one, OURS, quantile), latency_ms(one, other, quantile)) for one in members]
                lower, higher = sum(ours < 0.99 * theirs for ours, theirs in pairs), sum(ours > 1.01 * theirs for ours, theirs in pairs)
                cells += [f"{mean_ratio(pairs):.2f}", f"{lower}, {higher}"]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Replays and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anabranch")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/host-time"))
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--load", type=float, default=0.5)
    parser.add_argument("--folder", default=".,fresh")
    parser.add_argument("--data")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    results = []
    for row in recordings(tuple(TRACES / folder for folder in given.folder.split(","))):
        if given.names and row.name not in given.names:
            continue
        found = measured(given, row.on(given.parts, None))
        if found is not None:
            results.append(found)
            print(line(row, found), flush=True)
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|", *summary(results)]
    print("\n" + "\n".join(lines))
    if given.data:
        keep(given.data, given.anabranch, lines)


if __name__ == "__main__":
    main()
