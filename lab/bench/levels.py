"""What it is worth to know the level of a tree that is written: by the generations of files, which the probe tells, and by the write
hints of a program that gives some.

Use: levels.py ANABRANCH [-o FOLDER] [NAME...]      (markdown on standard output; needs pyarrow)
  ANABRANCH  the command
  -o         keeps recordings without generations or hints, and results, under FOLDER; what is there already is not made again
  NAME       only these recordings

Each recording of `traces/generations` is replayed in up to four forms: without generations and hints, when
all that one call path writes is of one writer; with either; with both. Means of three seeds of our schemes; in brackets is the share of
the copies of `baseline` beyond those of `oracle` that are not made.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from contests import PLACEMENT, TRACES, Row, asking, mean, named, replay, rows, spec

SEEDS = (1, 2, 3)
# Schemes by contexts; ours stand for a contest each, whose relocation the bounds have as well.
RIVALS = ("pcstream", "pcstream*+gc")
TABLE = b"anabranch.contexts"


def merged(table: pa.Table) -> pa.Table:
    """The same requests as if nobody had seen what threads read: contexts that differ by generation alone are one."""
    told = json.loads(table.schema.metadata[TABLE])
    first: dict[str, int] = {}
    for one in told:
        path = json.dumps([one["kind"], one["role"], one["frames"]])
        one["first"] = first.setdefault(path, one["id"])
    number = pa.array([one.pop("first") for one in told], type=table.schema.field("context").type)
    for one in told:
        one.pop("generation", None)
    at = table.column_names.index("context")
    table = table.set_column(at, table.schema.field(at), number.take(table["context"].combine_chunks()))
    return table.replace_schema_metadata(table.schema.metadata | {TABLE: json.dumps(told).encode()})


def unhinted(table: pa.Table) -> pa.Table:
    """The same requests as if no program had given hints."""
    at = table.column_names.index("hint")
    none = pa.array(["not-set"] * table.num_rows, type=pa.string())
    return table.set_column(at, table.schema.field(at), none)


def formed(row: Row, has_generations: bool, has_hints: bool, folder: Path) -> Row:
    """A form of a recording."""
    if has_generations and has_hints:
        return row
    path = folder / f"{row.name}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        table = pq.read_table(row.path)
        table = table if has_generations else merged(table)
        table = table if has_hints else unhinted(table)
        pq.write_table(table, path.with_suffix(".partial"), compression="zstd")
        os.replace(path.with_suffix(".partial"), path)
    return row._replace(path=path)


def is_hinted(row: Row) -> bool:
    """Whether a program gave hints."""
    return set(pq.read_table(row.path, columns=["hint"])["hint"].unique().to_pylist()) != {"not-set"}


def main() -> None:
    """Prints a line for each recording and scheme."""
    parser = asking("out/levels")
    options = parser.parse_args()
    found = named(rows(TRACES / "generations"), options.names, parser)
    print("| recording | unit | scheme | `baseline` | `oracle` | neither | generations | hints | both |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for row in found:
        forms = [(False, False), (True, False)] + ([(False, True), (True, True)] if is_hinted(row) else [])
        schemes = [[spec(contest, "", seed) for seed in SEEDS] for contest in PLACEMENT] + [[rival] for rival in RIVALS]
        bounds = [f"{bound}{relocation}" for relocation in ("", "+gc") for bound in ("baseline", "oracle")]
        results = []
        for form in forms:
            kind = f"{'generations' if form[0] else 'paths'}-{'hints' if form[1] else 'alone'}"
            recording = formed(row, *form, options.output / kind / "traces")
            asked = bounds + [name for seeds in schemes for name in seeds]
            results.append(replay(options.anabranch, recording, asked, options.output / kind / row.file))
        for seeds in schemes:
            baseline, oracle = (results[0][f"{bound}{'+gc' if '+gc' in seeds[0] else ''}"]["waf"] for bound in ("baseline", "oracle"))
            cells = []
            for result in results:
                waf = mean(result[name]["waf"] for name in seeds)
                gap = f" ({100 * (baseline - waf) / (baseline - oracle):.0f} %)" if baseline > oracle + 0.001 else ""
                cells.append(f"{waf:.3f}{gap}")
            cells += ["-"] * (4 - len(cells))
            print(f"| {row.name} | {row.unit} | `{seeds[0]}` | {baseline:.3f} | {oracle:.3f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
