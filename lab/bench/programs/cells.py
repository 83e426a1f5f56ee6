#!/usr/bin/env python3
# drive=128MiB unit=2MiB
"""TileDB: arrays of which regions change; each change is a folder of files of its own, and now and then those of an array are made one and the old ones deleted."""
import random
import sys

import numpy
import tiledb

from flushing import flush_each_second

ARRAYS, EDGE, TILE, CHANGES, FRAGMENTS = 6, 1024, 128, 6_000, 8
draw = random.Random(1)
noise = numpy.random.default_rng(1).random((EDGE, EDGE))

flush_each_second()
context = tiledb.Ctx({"sm.consolidation.total_buffer_size": str(64 << 20), "sm.compute_concurrency_level": "2", "sm.io_concurrency_level": "2"})
paths = [f"{sys.argv[1]}/array-{number}" for number in range(ARRAYS)]
for path in paths:
    domain = tiledb.Domain(*(tiledb.Dim(name=name, domain=(0, EDGE - 1), tile=TILE, dtype=numpy.int32) for name in "xy"))
    tiledb.Array.create(path, tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr(name="value", dtype=numpy.float64)]))
    with tiledb.open(path, "w", ctx=context) as array:
        array[:] = noise
changed = [1] * ARRAYS
for change in range(CHANGES):
    number = int(ARRAYS * draw.random() ** 1.5)
    # Of one to sixteen tiles, some of them in part.
    left, top = (draw.randrange(0, EDGE - TILE, TILE // 2) for _ in range(2))
    right, bottom = (min(at + TILE * draw.randrange(1, 5), EDGE) for at in (left, top))
    with tiledb.open(paths[number], "w", ctx=context) as array:
        array[left:right, top:bottom] = noise[:right - left, :bottom - top]
    changed[number] += 1
    if changed[number] == FRAGMENTS:
        tiledb.consolidate(paths[number], ctx=context)
        tiledb.vacuum(paths[number], ctx=context)
        changed[number] = 1
