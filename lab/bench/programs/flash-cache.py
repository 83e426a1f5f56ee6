#!/usr/bin/env python3
# drive=256MiB unit=4MiB
"""A flash cache as CacheLib lays one out: small objects in 4 KiB buckets, one bucket written for each; large ones in regions, first in, first out."""
import mmap
import os
import random
import sys

SMALL, LARGE, REGION = 48 << 20, 166 << 20, 8 << 20
draw = random.Random(1)
page = mmap.mmap(-1, 1 << 20)
page.write(draw.randbytes(1 << 20))
view = memoryview(page)
file = os.open(sys.argv[1] + "/cache", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
os.posix_fallocate(file, 0, SMALL + LARGE)


def small_object():
    bucket = int(draw.random() ** 1.3 * SMALL / 4096)
    os.pwrite(file, view[:4096], bucket * 4096)


def large_region(offset):
    os.pwrite(file, view[:256 << 10], SMALL + offset)


offset = written = 0
while written < 1900 << 20:
    for _ in range(24):
        small_object()
    large_region(offset)
    offset = (offset + (256 << 10)) % (LARGE // REGION * REGION)
    written += 24 * 4096 + (256 << 10)
