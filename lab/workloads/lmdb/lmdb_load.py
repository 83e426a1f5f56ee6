"""LMDB through its writable map: lmdb_load.py load|run DIR; parameters as in workload.toml.

With a writable map the kernel sees stores to memory and no write calls; it writes
them back when it likes, and when it is asked to.
"""

import os
import random
import sys

import lmdb


def parameter(name: str) -> int:
    return int(os.environ[name])


KEYS = parameter("KEYS")
NOISE = random.Random(parameter("SEED")).randbytes(1 << 20)


def put_all(store: lmdb.Environment, keys, rng: random.Random) -> None:
    """One value of 400 to 1,600 bytes for each key, in transactions of BATCH, flushed every FLUSH."""
    batch, flush = parameter("BATCH"), parameter("FLUSH")
    for first in range(0, len(keys), batch):
        with store.begin(write=True) as transaction:
            for key in keys[first : first + batch]:
                size = rng.randint(400, 1600)
                at = rng.randrange(len(NOISE) - size)
                transaction.put(b"%016d" % key, NOISE[at : at + size])
        if first // batch % flush == flush - 1:
            store.sync(True)


def load(store: lmdb.Environment) -> None:
    put_all(store, range(KEYS), random.Random(parameter("SEED")))


def run(store: lmdb.Environment) -> None:
    rng = random.Random(parameter("SEED") + 1)
    for _ in range(parameter("ROUNDS")):
        put_all(store, [rng.randrange(KEYS) for _ in range(KEYS)], rng)


if __name__ == "__main__":
    verb, directory = sys.argv[1:]
    environment = lmdb.open(
        f"{directory}/lmdb",
        map_size=parameter("MAP_MIB") << 20,
        writemap=True,
        map_async=True,
        metasync=False,
        # With readahead the page cache holds large folios, and one store makes a whole one dirty.
        readahead=False,
    )
    {"load": load, "run": run}[verb](environment)
    environment.close()
