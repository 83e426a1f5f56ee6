#!/usr/bin/env python3
# drive=480MiB unit=8MiB fs=xfs
"""A training run: every step a line of metrics, now and then a checkpoint of weights and of the optimizer in shards, of which the last three and
the best are kept; examples prepared by two workers into a cache of files that the epoch after the next has no use for."""
import os
import random
import sys
import threading
import time

WRITTEN = 4 << 30
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
root = sys.argv[1]
written = 0
lock = threading.Lock()


def put(path, size, random_source):
    """A file in pieces of 256 KiB, written aside and renamed."""
    global written
    with open(path + ".tmp", "wb", buffering=0) as file:
        for at in range(0, size, 256 << 10):
            piece = min(256 << 10, size - at)
            start = random_source.randrange(len(noise) - piece)
            file.write(noise[start:start + piece])
        os.fsync(file.fileno())
    os.rename(path + ".tmp", path)
    with lock:
        written += size


def remove(folder):
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


def prepare(worker):
    """Examples of an epoch, one file each; those of the epoch before the last go, in the order of their names."""
    source = random.Random(100 + worker)
    epoch = 0
    while written < WRITTEN:
        os.makedirs(f"{root}/cache-{worker}/{epoch}")
        for example in range(250):
            put(f"{root}/cache-{worker}/{epoch}/{example}.npy", int(min(max(source.lognormvariate(11.5, 0.7), 4096), 2 << 20)), source)
            time.sleep(0.004)
        if epoch >= 1:
            remove(f"{root}/cache-{worker}/{epoch - 1}")
        epoch += 1


workers = [threading.Thread(target=prepare, args=(worker,), daemon=True) for worker in range(2)]
for worker in workers:
    worker.start()
kept, best, best_loss, number = [], None, 9.0, 0
log = open(root + "/metrics.jsonl", "w", buffering=1)
while written < WRITTEN:
    for _ in range(60):
        log.write('{"step": %d, "loss": %.9f, "gradient": %.9f}\n' % (number, draw.random(), draw.random()))
        time.sleep(0.01)
    folder = f"{root}/checkpoint-{number}"
    os.mkdir(folder)
    put(f"{folder}/model.safetensors", 16 << 20, draw)
    for shard in range(4):
        put(f"{folder}/optimizer-{shard}.bin", 8 << 20, draw)
    put(f"{folder}/state.json", 30_000, draw)
    kept.append(folder)
    loss = draw.random()
    if loss < best_loss:
        best, older, best_loss = folder, best, loss
        if older and older not in kept:
            remove(older)
    if len(kept) > 3:
        oldest = kept.pop(0)
        if oldest != best:
            remove(oldest)
    number += 1
    if number % 20 == 0:
        best_loss = 9.0
os.sync()
