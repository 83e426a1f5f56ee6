#!/usr/bin/env python3
# drive=256MiB unit=4MiB
"""A table of Parquet files with a log of transactions (Delta Lake): small batches come in, late rows are merged into their days, days are
compacted, old days deleted, and what no version needs any more is vacuumed."""
import sys

import numpy
import pyarrow
from deltalake import DeltaTable, write_deltalake

from flushing import flush_each_second

BATCHES, DAYS = 2000, 12
draw = numpy.random.default_rng(1)
path = sys.argv[1] + "/table"

flush_each_second()


def batch(day, rows):
    """Rows of a day: a key, a few measurements, a text that does not compress."""
    return pyarrow.table({
        "day": pyarrow.array(numpy.full(rows, day, "i4")),
        "key": pyarrow.array(draw.integers(0, 1 << 40, rows)),
        "value": pyarrow.array(draw.random(rows)),
        "text": pyarrow.array([draw.bytes(180) for _ in range(rows)], pyarrow.binary()),
    })


for number in range(BATCHES):
    day = number // 20
    # Most are of today, some are late.
    for each in (day, max(day - int(draw.integers(1, 5)), 0)) if number % 4 == 0 else (day,):
        write_deltalake(path, batch(each, int(draw.integers(500, 5000))), mode="append", partition_by=["day"])
    if number % 20 == 19:
        table = DeltaTable(path)
        table.optimize.compact(partition_filters=[("day", ">=", str(max(day - 4, 0)))], target_size=8 << 20)
        if day >= DAYS:
            # Of each fifth day a part stays for good.
            table.delete(f"day = {day - DAYS}" + (" AND value < 0.9" if (day - DAYS) % 5 == 0 else ""))
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        table.create_checkpoint()
        table.cleanup_metadata()
