"""The price of advice on writes that it has not seen: for each shipped trace, made from the first half, priced on the second.

Use: advice_halves.py ANABRANCH [NAME...] [-o FILE.csv]      (markdown on standard output)
  ANABRANCH  the command
  -o         writes a row for each trace and piece of advice
  NAME       only traces whose path contains it

Columns: WAF over the second half of the writes, of the scheme itself (its promise) and of each piece of advice; how far the piece is
off; whether the promise holds (at most 5 % more is written to the flash).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from contests import TRACES

SCHEME = "anabranch+fdp"
TARGETS = "rules,hints,fdp"
# The longest that one trace may take.
SECONDS = 600
COLUMNS = ("trace", "piece", "waf", "waf_second_half", "promised", "promised_second_half", "off_by", "holds")


def rows(anabranch: str, trace: Path) -> list[dict[str, object]]:
    """A row for each piece of advice, or one that says why there is none."""
    name = str(trace.relative_to(TRACES).with_suffix(""))
    with tempfile.TemporaryDirectory() as place:
        command = [anabranch, "export", str(trace), "--scheme", SCHEME, "--to", TARGETS, "--json", "-q", "-o", f"{place}/advice"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return [{"trace": name, "piece": f"none: more than {SECONDS} s"}]
    if done.returncode != 0:
        return [{"trace": name, "piece": "none: " + (done.stderr.strip().splitlines() or ["?"])[-1]}]
    found = json.loads(done.stdout)
    return [
        {
            "trace": name,
            "piece": check["what"].split(",")[0],
            "waf": check["under_it"]["waf"],
            "waf_second_half": check["second_half"]["waf"],
            "promised": found["promised"]["waf"],
            "promised_second_half": found["promised_second_half"]["waf"],
            "off_by": check["off_by"],
            "holds": check["holds"],
        }
        for check in found["checks"]
    ]


def summary(all_rows: list[dict[str, object]]) -> list[str]:
    """A line of the table for each kind of advice."""
    lines = ["| advice | traces | its promise holds | off by, median | off by, worst |", "|---|---:|---:|---:|---:|"]
    pieces = sorted({str(row["piece"]) for row in all_rows if "off_by" in row})
    for piece in pieces:
        priced = [row for row in all_rows if row["piece"] == piece and row.get("off_by") is not None]
        off = [float(row["off_by"]) for row in priced]
        held = sum(bool(row["holds"]) for row in priced)
        lines.append(f"| {piece} | {len(off)} | {held} | {median(off):+.1%} | {max(off):+.1%} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anabranch")
    parser.add_argument("-o", dest="output")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    traces = sorted(TRACES.rglob("*.parquet"))
    wanted = [one for one in traces if not arguments.names or any(name in str(one) for name in arguments.names)]
    all_rows: list[dict[str, object]] = []
    for trace in wanted:
        print(trace.relative_to(TRACES), file=sys.stderr)
        all_rows += rows(arguments.anabranch, trace)
    if arguments.output:
        with open(arguments.output, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(all_rows)
    print("\n".join(summary(all_rows)))
    without = [row for row in all_rows if "off_by" not in row]
    for row in without:
        print(f"\n{row['trace']}: {row['piece']}")


if __name__ == "__main__":
    main()
