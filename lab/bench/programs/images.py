#!/usr/bin/env python3
# drive=384MiB unit=4MiB
"""A host of containers: layers downloaded as archives and unpacked into many small files, logs beside them, unused images removed."""
import os
import random
import shutil
import sys

ROOM, WRITTEN = 315 << 20, 2_700 << 20
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
root = sys.argv[1]
layers, logs = [], {}
held = written = number = 0


def write(path, size):
    global written
    with open(path, "wb") as file:
        for at in range(0, size, len(noise)):
            file.write(noise[:min(size - at, len(noise))])
    written += size


while written < WRITTEN:
    number += 1
    sizes = [int(min(max(draw.lognormvariate(10.6, 1.5), 100), 8 << 20)) for _ in range(int(draw.lognormvariate(4.6, 0.7)))]
    size = sum(sizes)
    if size > 48 << 20:
        continue
    while held + size * 3 // 2 > ROOM:
        # Base images stay longer than the others.
        at = 0 if draw.random() < 0.4 else draw.randrange(len(layers))
        path, old = layers.pop(at)
        shutil.rmtree(path)
        held -= old
    write(f"{root}/download", size // 2)
    os.sync()
    folder = f"{root}/layer-{number}"
    os.mkdir(folder)
    for file, each in enumerate(sizes):
        if file % 40 == 0:
            os.mkdir(f"{folder}/{file}")
        write(f"{folder}/{file // 40 * 40}/{file}", each)
    os.sync()
    os.unlink(f"{root}/download")
    layers.append((folder, size))
    held += size
    for container in range(6):
        path = f"{root}/log-{container}"
        logs[container] = logs.get(container, 0) + 1
        with open(path, "wb" if logs[container] % 20 == 0 else "ab") as log:
            log.write(noise[:draw.randrange(200_000)])
