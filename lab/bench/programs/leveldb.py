"""LevelDB: every key once, then keys of a skewed choice again and again."""
import random
import sys

import plyvel

KEYS, VALUE_BYTES, OPERATIONS = 145_000, 1000, 620_000
draw = random.Random(1)
noise = draw.randbytes(1 << 20)
database = plyvel.DB(sys.argv[1] + "/leveldb", create_if_missing=True, compression=None,
                     write_buffer_size=2 << 20, max_file_size=2 << 20)
for step in range(KEYS + OPERATIONS):
    key = (step if step < KEYS else int(KEYS * draw.random() ** 2)) * 7919 % KEYS
    at = draw.randrange(len(noise) - VALUE_BYTES)
    database.put(b"%012d" % key, noise[at:at + VALUE_BYTES])
database.close()
