#!/usr/bin/env python3
# drive=192MiB unit=2MiB
"""A cache of a map's tiles (diskcache): small ones in SQLite, others in a file each, found by way of a database; the least recently stored go."""
import random
import sys

import diskcache

from flushing import flush_each_second

TILES, ASKED = 300_000, 26_000
draw = random.Random(1)
noise = draw.randbytes(4 << 20)

flush_each_second()
cache = diskcache.Cache(sys.argv[1] + "/tiles", size_limit=118 << 20, cull_limit=20, eviction_policy="least-recently-stored", disk_min_file_size=8 << 10)
for asked in range(ASKED):
    tile = int(TILES * draw.random() ** 2.2)
    size = random.Random(tile).lognormvariate(9.0, 0.9)
    if tile not in cache:
        start = draw.randrange(1 << 20)
        cache.set(tile, noise[start:start + int(min(max(size, 200), 400_000))], expire=draw.choice((None, 20, 60)), tag=tile % 10)
    if asked % 8000 == 7999:
        # A layer of the map is drawn anew.
        cache.evict(asked // 8000 % 10)
cache.close()
