"""Writes the tables of the documents from their data: scripts/tables.py [PAGE...]; all pages of docs by default.

A table stands between the lines `<!-- table NAME -->` and `<!-- end of NAME -->`, and is that of lab/data/NAME.csv. The file begins
with lines `# key: value` that tell where the figures are from: `command`, `commit`, and `machine` where they depend on it.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"<!-- table (\S+) -->\n.*?<!-- end of \1 -->\n", re.DOTALL)


def table(name: str) -> str:
    """The table of a file of data, and where it is from."""
    lines = (ROOT / f"lab/data/{name}.csv").read_text().splitlines()
    origin = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    header, *rows = csv.reader(line for line in lines if not line.startswith("# "))
    all_rows = [header, ["---"] * len(header), *rows]
    shown = "".join(f"| {' | '.join(row)} |\n" for row in all_rows)
    machine = f", {origin['machine']}" if "machine" in origin else ""
    return f"{shown}\n`{origin['command']}`\n(commit {origin['commit']}{machine}; `lab/data/{name}.csv`)\n"


def written(page: str) -> str:
    """A page with its tables made anew."""
    return PLACE.sub(
        lambda place: f"<!-- table {place[1]} -->\n{table(place[1])}<!-- end of {place[1]} -->\n", page
    )


def pages() -> list[Path]:
    """The documents."""
    return sorted((ROOT / "docs").rglob("*.md"))


def main() -> None:
    for path in [Path(one) for one in sys.argv[1:]] or pages():
        page = path.read_text()
        if (anew := written(page)) != page:
            path.write_text(anew)
            print(path)


if __name__ == "__main__":
    main()
