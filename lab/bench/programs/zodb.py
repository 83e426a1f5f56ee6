#!/usr/bin/env python3
# drive=168MiB unit=2MiB
"""ZODB: objects appended to one file by each transaction, and the file packed into a new one once half of it is old; an index beside it."""
import random
import sys

import transaction
import ZODB
import ZODB.FileStorage
from persistent.mapping import PersistentMapping

from flushing import flush_each_second

OBJECTS, WRITTEN = 12_000, 1_500 << 20
draw = random.Random(1)
noise = draw.randbytes(4 << 20)

flush_each_second()
storage = ZODB.FileStorage.FileStorage(sys.argv[1] + "/Data.fs", pack_keep_old=False)
store = ZODB.DB(storage, cache_size=3000)
root = store.open().root()
objects = []
for folder in range(OBJECTS // 1000):
    root[folder] = PersistentMapping()
    objects += [root[folder].setdefault(number, PersistentMapping()) for number in range(1000)]
    transaction.commit()
written = 0
while written < WRITTEN:
    for _ in range(40):
        size = int(min(max(draw.lognormvariate(7.8, 0.9), 200), 60_000))
        start = draw.randrange(len(noise) - size)
        objects[int(OBJECTS * draw.random() * draw.random())]["body"] = noise[start:start + size]
        written += size
    transaction.commit()
    if storage.getSize() > 85 << 20:
        store.pack()
        written += storage.getSize()
store.close()
