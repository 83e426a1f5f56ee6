#!/usr/bin/env python3
# drive=192MiB unit=2MiB
"""HDF5: a file of compressed chunked arrays; chunks are computed anew and move when they no longer fit, steps of a simulation come and
the older ones are deleted, a summary grows; once in a while the file is repacked into another."""
import os
import random
import sys

import h5py
import numpy

from flushing import flush_each_second

WRITTEN, ROOM = 1_500 << 20, 100 << 20
draw = numpy.random.default_rng(1)
pick = random.Random(1)
path = sys.argv[1] + "/run.h5"

flush_each_second()
noise = draw.random((1024, 2048), dtype="f4")


def field(rows):
    """Numbers of which some are rounded, so that a chunk's size after compression differs each time."""
    start = pick.randrange(1024 - rows)
    values = noise[start:start + rows].copy()
    part = pick.randrange(0, rows // 2)
    values[:part] = values[:part].round(1)
    return values


settings = dict(chunks=(16, 2048), compression="gzip", compression_opts=1)
file = h5py.File(path, "w", libver="latest", fs_strategy="fsm", fs_persist=True)
state = [file.create_dataset(f"state/{name}", data=field(512), **settings) for name in range(5)]
series = file.create_dataset("series", (0, 64), maxshape=(None, 64), chunks=(256, 64))
written = step = 0
while written < WRITTEN:
    group = file.create_group(f"steps/{step}")
    for name in ("density", "velocity"):
        rows = pick.choice((64, 128, 256))
        written += group.create_dataset(name, data=field(rows), **settings).id.get_storage_size()
    for _ in range(12):
        one, at = pick.choice(state), pick.randrange(32) * 16
        one[at:at + 16] = field(16)
        written += 120_000
    series.resize(series.shape[0] + 8, axis=0)
    series[-8:] = draw.random((8, 64))
    if len(file["steps"]) > 24:
        # Each tenth step is kept ten times as long.
        old = min((int(name) for name in file["steps"]), key=lambda name: name + (0 if name % 10 else 200))
        del file[f"steps/{old}"]
    file.flush()
    step += 1
    if step % 400 == 0:
        with h5py.File(path + ".new", "w", libver="latest", fs_strategy="fsm", fs_persist=True) as new:
            for name in file:
                file.copy(name, new)
        written += os.path.getsize(path + ".new")
        file.close()
        os.rename(path + ".new", path)
        file = h5py.File(path, "r+", libver="latest")
        state, series = [file[f"state/{name}"] for name in range(5)], file["series"]
file.close()
