#!/usr/bin/env python3
# drive=512MiB unit=8MiB
"""An object store: one file an object, log-normal sizes, lives of two kinds; written aside, synced, renamed."""
import heapq
import os
import random
import sys

ROOM, WRITTEN = 400 << 20, 4 << 30
draw = random.Random(1)
noise = draw.randbytes(16 << 20)
root = sys.argv[1] + "/objects"
for folder in range(64):
    os.makedirs(f"{root}/{folder:02x}")
held = written = number = 0
deaths, sizes = [], {}


def put(path, size):
    with open(path + ".part", "wb", buffering=0) as file:
        for at in range(0, size, 1 << 20):
            file.write(noise[at:min(at + (1 << 20), size)])
        os.fdatasync(file.fileno())
    os.rename(path + ".part", path)


while written < WRITTEN:
    size = min(max(int(draw.lognormvariate(11.8, 1.4)), 1024), len(noise))
    number += 1
    # Temporary objects live a tenth of the store, the others two of it at the mean.
    mean = ROOM / 10 if draw.random() < 0.5 else ROOM * 2
    while held + size > ROOM:
        _, path = heapq.heappop(deaths)
        held -= sizes.pop(path)
        os.unlink(path)
    path = f"{root}/{number % 64:02x}/{number:08x}"
    put(path, size)
    sizes[path] = size
    heapq.heappush(deaths, (written + draw.expovariate(1 / mean), path))
    held += size
    written += size
