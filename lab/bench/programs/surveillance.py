#!/usr/bin/env python3
# drive=512MiB unit=8MiB
"""A recorder of cameras: each writes clips at its own rate at the same time, the oldest go, marked clips stay longer, an index is written anew."""
import collections
import os
import random
import sys

ROOM, WRITTEN = 415 << 20, 4 << 30
draw = random.Random(1)
noise = draw.randbytes(2 << 20)
root = sys.argv[1]
rates = [draw.choice((16, 32, 64, 128)) << 10 for _ in range(12)]
lengths = [draw.choice((20, 30, 60)) for _ in rates]
held, clips, marked = 0, collections.deque(), collections.deque()
written = second = 0
files = {}
while written < WRITTEN:
    second += 1
    for camera, rate in enumerate(rates):
        if camera not in files:
            path = f"{root}/camera{camera}-{second}.mp4"
            files[camera] = [open(path, "wb", buffering=0), path, 0]
        size = int(rate * draw.uniform(0.5, 1.5))
        files[camera][0].write(noise[:size])
        files[camera][2] += size
        held += size
        written += size
        if (second + camera * 7) % lengths[camera] == 0:
            file, path, size = files.pop(camera)
            os.fdatasync(file.fileno())
            file.close()
            (marked if draw.random() < 0.1 else clips).append((path, size))
    while held > ROOM:
        path, size = (marked if len(marked) > 120 else clips).popleft()
        os.unlink(path)
        held -= size
    if second % 10 == 0:
        with open(root + "/index.new", "wb") as index:
            index.write(noise[:64 * (len(clips) + len(marked))])
        os.rename(root + "/index.new", root + "/index")
    if second % 5 == 0:
        os.sync()
