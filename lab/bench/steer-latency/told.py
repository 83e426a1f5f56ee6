"""Latencies where the host collects, beside those where the drive does, in pairs.

Use: told.py TOLD     (called by steer-latency.sh)
"""

import json
import statistics
import sys
from pathlib import Path

# Of fio's terse form, version 3, behind the name put before each line.
RATE, PERCENTILES = 49, slice(59, 63)

latencies: dict[str, list[list[float]]] = {}
reports: dict[str, list[dict]] = {}
for line in Path(sys.argv[1]).read_text(errors="replace").splitlines():
    kind, _, rest = line.partition(" ")
    if kind == "@latency":
        fields = rest.split(";")
        microseconds = [float(field.partition("=")[2]) for field in fields[PERCENTILES]]
        latencies.setdefault(f"{fields[0]}, {fields[3]}", []).append([float(fields[RATE]), *microseconds])
    elif kind == "@report":
        name, _, report = rest.partition(" ")
        reports.setdefault(name, []).append(json.loads(report))


def told(values: list[float], form: str) -> str:
    """The median, and least and most."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


idle = [report for report in reports["host"] if not report["collected"]["rewritten_bytes"]]
if idle:
    sys.exit(f"in {len(idle)} rounds the host collected nothing: {idle[0]['limitations']}")

columns = ("writes a second", "median", "99 %", "99.9 %", "99.99 %")
print("latencies in microseconds: medians (least to most) of", len(reports["host"]), "pairs")
for name, rounds in latencies.items():
    print(f"{name:14}", "; ".join(f"{column} {told(list(values), '.0f')}" for column, values in zip(columns, zip(*rounds, strict=True), strict=True)))
for writer in ("turns", "few"):
    ratios = [[host / drive for host, drive in zip(*pair, strict=True)] for pair in zip(latencies[f"host, {writer}"], latencies[f"drive, {writer}"], strict=True)]
    print(f"host / drive, {writer}:", "; ".join(f"{column} {told(list(values), '.2f')}" for column, values in zip(columns, zip(*ratios, strict=True), strict=True)))
for report in reports["host"]:
    print(report["collected"]["words"])
