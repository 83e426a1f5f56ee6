"""Writes the tables of the documents from their data: scripts/tables.py [PAGE...]; all pages of docs by default.

A table stands between the lines `<!-- table NAME -->` and `<!-- end of NAME -->`, and is that of lab/data/NAME.csv. The file begins
with lines `# key: value` that tell where the figures are from:

  command  makes them; where there are several, `; ` is between them. The page names it too, so that the table's last line does not
  commit   the program's; `or earlier` where only the commit is known that wrote the figures down
  machine  and its load, or `any` where figures are counts that are the same everywhere
  rounds   where more than one was made (left out else)
  source   in place of these four, where the figures are other people's: the publication, which the page names too
  align    a letter a column, `l` or `r` (left out where all are `l`)
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"<!-- table (\S+) -->\n.*?<!-- end of \1 -->\n", re.DOTALL)
RULES = {"l": "---", "r": "---:"}


def data(name: str) -> tuple[dict[str, str], list[list[str]]]:
    """The heading of a file of data, and its rows."""
    lines = (ROOT / f"lab/data/{name}.csv").read_text().splitlines()
    heading = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return heading, list(csv.reader(line for line in lines if not line.startswith("# ")))


def table(name: str) -> str:
    """The table of a file of data, and where it is from."""
    heading, (header, *rows) = data(name)
    align = heading.get("align", "l" * len(header))
    lines = [header, *rows]
    shown = ["".join(f"| {cell} " if cell else "| " for cell in line) + "|" for line in lines]
    shown.insert(1, f"|{'|'.join(RULES[side] for side in align)}|")
    origin = f"published: {heading['source']}" if "source" in heading else f"commit {heading['commit']}"
    return "\n".join([*shown, "", f"(`lab/data/{name}.csv`, {origin})", ""])


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
