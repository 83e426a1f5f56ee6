#!/usr/bin/env python3
# drive=224MiB unit=2MiB fill=0.9
"""UnQLite: a linear hash table in one file, pages in place with a rollback journal; sessions of a web site, of many sizes, changed, ended and begun."""
import random
import sys

import unqlite

from flushing import flush_each_second

SESSIONS, CHANGES, BATCH = 45_000, 75_000, 400
draw = random.Random(1)
noise = draw.randbytes(1 << 20)

flush_each_second()
store = unqlite.UnQLite(sys.argv[1] + "/sessions.db")
there = set()
for change in range(SESSIONS + CHANGES):
    session = change if change < SESSIONS else int(SESSIONS * draw.random() ** 1.7)
    if session in there and draw.random() < 0.15:
        store.delete(b"session:%012d" % session)
        there.remove(session)
    else:
        at = draw.randrange(len(noise) - 16_000)
        store[b"session:%012d" % session] = noise[at:at + int(min(max(draw.lognormvariate(6.8, 0.7), 60), 16_000))]
        there.add(session)
    if change % BATCH == BATCH - 1:
        store.commit()
store.close()
