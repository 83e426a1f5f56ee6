#!/usr/bin/env python3
# drive=384MiB unit=4MiB
"""A sharer of files: pieces of 256 KiB come in any order into files made beforehand, several at a time; a journal of what is there; old files go."""
import os
import random
import sys

PIECE, ROOM, WRITTEN = 256 << 10, 325 << 20, 2_600 << 20
draw = random.Random(1)
noise = draw.randbytes(1 << 20)
root = sys.argv[1]
active, done = [], []
held = written = number = 0
while written < WRITTEN:
    while len(active) < 4:
        number += 1
        pieces = int(min(max(draw.lognormvariate(4.2, 0.8), 8), 260))
        while held + pieces * PIECE > ROOM:
            path, old = done.pop(0 if draw.random() < 0.6 else draw.randrange(len(done)))
            os.unlink(path)
            held -= old
        file = os.open(f"{root}/{number}.bin", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, pieces * PIECE)
        held += pieces * PIECE
        active.append([file, f"{root}/{number}.bin", draw.sample(range(pieces), pieces), pieces * PIECE])
    which = active[int(draw.random() ** 1.5 * len(active))]
    for _ in range(draw.randrange(1, 9)):
        if which[2]:
            # A piece comes in blocks of 16 KiB: those of two pieces may mix, but a piece is written when it is whole.
            os.pwrite(which[0], noise[:PIECE], which[2].pop() * PIECE)
            written += PIECE
    if not which[2]:
        os.fsync(which[0])
        os.close(which[0])
        done.append((which[1], which[3]))
        active.remove(which)
    if draw.random() < 0.2:
        with open(root + "/resume.new", "wb") as journal:
            journal.write(noise[:20_000])
            os.fsync(journal.fileno())
        os.rename(root + "/resume.new", root + "/resume")
    if draw.random() < 0.1:
        os.sync()
