"""Changes two of Samba's tables in a directory: locks come and go, a directory's entries change in transactions."""
import os
import random
import sys
import time

import tdb

FILES, ENTRIES, TRANSACTIONS, AT_FIRST, BATCH = 30_000, 36_000, 1000, 400, 4
draw = random.Random(1)
noise = draw.randbytes(1 << 20)


def some(middle, most):
    at = draw.randrange(len(noise) - most)
    return noise[at:at + int(min(max(draw.lognormvariate(middle, 0.7), 40), most))]


def change(table, key, value):
    """Puts an entry, or takes it away if there is no value."""
    if value is not None:
        table.store(key, value)
    elif table.get(key) is not None:
        table.delete(key)


locks = tdb.open(sys.argv[1] + "/locking.tdb", 10_007, tdb.CLEAR_IF_FIRST, os.O_RDWR | os.O_CREAT, 0o600)
entries = tdb.open(sys.argv[1] + "/sam.ldb", 10_007, tdb.DEFAULT, os.O_RDWR | os.O_CREAT, 0o600)
added = 0
for _ in range(ENTRIES // AT_FIRST + TRANSACTIONS):
    entries.transaction_start()
    for _ in range(AT_FIRST if added < ENTRIES else BATCH):
        entry = added if added < ENTRIES else int(ENTRIES * draw.random() ** 1.8)
        added += 1
        change(entries, b"DN=CN=%d,OU=PEOPLE" % entry, None if draw.random() < 0.1 else some(7, 12_000))
        change(entries, b"DN=@INDEX:OBJECTGUID:%d" % entry, noise[entry:entry + 48])
    entries.transaction_commit()
    time.sleep(0.03)
    for _ in range(100):
        change(locks, b"%020d" % int(FILES * draw.random() ** 2), None if draw.random() < 0.45 else some(5.8, 4000))
