"""What it is worth to know the level of a tree that RocksDB writes: `anabranch` with the write hints of a recording, which RocksDB
sets by level, and without them, when all levels of a compaction's output are of one writer.

Use: levels.py ANABRANCH [-o FOLDER]      (markdown on standard output; needs pyarrow)
  ANABRANCH  the command
  -o         keeps recordings without hints, and results, under FOLDER; what is there already is not made again

Who knows what a compaction has read knows no more than its output's level, so this bounds what watching reads could give. Means of
three seeds; *gap* is the share of the copies of `baseline` beyond those of `oracle` that are not made.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from leave_out import CONTESTS, TRACES, Row, mean, replay, rows, spec

# The recordings in which RocksDB, or MariaDB's RocksDB, alone sets hints.
NAMES = ("rocksdb-demo", "rocksdb-update", "rocksdb-append", "rocksdb-fill", "rocksdb-update-direct", "rocksdb-append-direct",
         "rocksdb-fill-direct", "myrocks")
SEEDS = (1, 2, 3)


def without_hints(row: Row, folder: Path) -> Row:
    """The same recording as if no program had given hints."""
    path = folder / f"{row.name}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        table = pq.read_table(row.path)
        at = table.column_names.index("hint")
        none = pa.array(["not-set"] * table.num_rows, type=pa.string())
        pq.write_table(table.set_column(at, table.schema.field(at), none), path, compression="zstd")
    return row._replace(path=path)


def main() -> None:
    """Prints a line for each recording and contest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("anabranch")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/levels"))
    options = parser.parse_args()
    found = {row.name: row for folder in (TRACES, TRACES / "held-out") for row in rows(folder)}
    print("| recording | unit | ours | `baseline` | `oracle` | without hints | gap | with hints | gap |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for row in (found[name] for name in NAMES):
        forms = {"without": without_hints(row, options.output / "traces"), "with": row}
        for contest in CONTESTS:
            relocation = f"+{contest.relocation}" if contest.relocation else ""
            schemes = [f"baseline{relocation}", f"oracle{relocation}", *(spec(contest, "", seed) for seed in SEEDS)]
            wafs = {}
            for form, recording in forms.items():
                result = replay(options.anabranch, recording, schemes, options.output / form / contest.ours / f"{row.name}.json")
                wafs[form] = [result[name]["waf"] for name in schemes]
            baseline, oracle = wafs["with"][:2]
            cells = []
            for form in forms:
                waf = mean(wafs[form][2:])
                cells += [f"{waf:.3f}", f"{100 * (baseline - waf) / (baseline - oracle):.0f} %" if baseline > oracle + 0.001 else "-"]
            print(f"| {row.name} | {row.unit} | `{contest.ours}` | {baseline:.3f} | {oracle:.3f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
