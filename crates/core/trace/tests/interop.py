"""Opens a trace with pandas, polars and DuckDB, and compares what each sees with what was written.

Use: interop.py TRACE EXPECTED_JSON. Exits with 77 when one of the packages is missing.
"""

import importlib
import json
import sys

MISSING = 77
PACKAGES = ("pandas", "pyarrow", "polars", "duckdb")
SUMMED = ("offset_bytes", "length_bytes", "context", "file", "hint_granted", "tenant")
COUNTED = ("operation", "hint")


def missing_packages():
    missing = []
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def with_pandas(path):
    import pandas

    frame = pandas.read_parquet(path, engine="pyarrow")
    return {
        "rows": len(frame),
        "last_time_ns": int(frame["time_ns"].max()),
        "sums": {name: int(frame[name].sum()) for name in SUMMED},
        "counts": {name: frame[name].value_counts().to_dict() for name in COUNTED},
    }


def with_polars(path):
    import polars

    frame = polars.read_parquet(path)
    return {
        "rows": frame.height,
        "last_time_ns": frame["time_ns"].max(),
        "sums": {name: frame[name].sum() for name in SUMMED},
        "counts": {name: dict(frame[name].value_counts().iter_rows()) for name in COUNTED},
    }


def with_duckdb(path):
    import duckdb

    def rows_of(query):
        return duckdb.execute(f"SELECT {query}", [path]).fetchall()

    source = "FROM read_parquet(?)"
    sums = ", ".join(f"sum({name}::UBIGINT)" for name in SUMMED)
    count, last, *sums = rows_of(f"count(*), max(time_ns), {sums} {source}")[0]
    return {
        "rows": count,
        "last_time_ns": last,
        "sums": {name: int(total) for name, total in zip(SUMMED, sums)},
        "counts": {
            name: dict(rows_of(f"{name}, count(*) {source} GROUP BY ALL")) for name in COUNTED
        },
    }


def metadata(path):
    import pyarrow.parquet

    entries = pyarrow.parquet.read_metadata(path).metadata
    return {
        "schema": entries[b"anabranch.schema"].decode(),
        "signatures": [one["signature"] for one in json.loads(entries[b"anabranch.contexts"])],
        "files": [one["name"] for one in json.loads(entries[b"anabranch.files"])],
        "capture": json.loads(entries[b"anabranch.capture"]),
    }


def main():
    missing = missing_packages()
    if missing:
        print("missing:", " ".join(missing), file=sys.stderr)
        return MISSING
    path, expected = sys.argv[1], json.loads(sys.argv[2])
    wrong = 0
    tables = expected.pop("tables")
    for reader, want in (
        (with_pandas, expected),
        (with_polars, expected),
        (with_duckdb, expected),
        (metadata, tables),
    ):
        got = reader(path)
        if got != want:
            print(f"{reader.__name__}: got {got}, expected {want}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
