"""SQLite under short transactions: sqlite.py load|run DIR; parameters as in workload.toml."""

import os
import random
import sqlite3
import sys
import time


def parameter(name: str) -> int:
    return int(os.environ[name])


ROWS = parameter("ROWS")
SEED = parameter("SEED")


def values(rng: random.Random):
    """Bodies of 1,000 to 3,000 bytes that do not compress, cut from one MiB of noise."""
    noise = rng.randbytes(1 << 20)
    while True:
        size = rng.randint(1000, 3000)
        at = rng.randrange(len(noise) - size)
        yield noise[at : at + size]


def row(rng: random.Random) -> int:
    """80 % of the accesses go to 20 % of the rows, scattered over the keys by a multiplicative hash."""
    if rng.random() < 0.8:
        return int(ROWS * rng.random() ** 7.2) * 2654435761 % ROWS
    return rng.randrange(ROWS)


def connect(directory: str) -> sqlite3.Connection:
    db = sqlite3.connect(f"{directory}/items.sqlite", isolation_level=None)
    db.execute("pragma page_size=4096")
    db.execute(f"pragma journal_mode={os.environ['JOURNAL']}")
    db.execute(f"pragma synchronous={os.environ['SYNCHRONOUS']}")
    db.execute("pragma cache_size=-8000")
    return db


def load(db: sqlite3.Connection) -> None:
    rng = random.Random(SEED)
    body = values(rng)
    db.execute("create table item(id integer primary key, owner integer, stamp integer, body blob)")
    db.execute("create index item_owner on item(owner, stamp)")
    for first in range(0, ROWS, 1000):
        rows = range(first, min(first + 1000, ROWS))
        db.execute("begin")
        db.executemany("insert into item values(?,?,?,?)", ((i, rng.randrange(1000), first, next(body)) for i in rows))
        db.execute("commit")


def run(db: sqlite3.Connection) -> None:
    rng = random.Random(SEED + 1)
    body = values(rng)
    end, operations = time.monotonic() + parameter("SECONDS_RUN"), 0
    while time.monotonic() < end and operations < parameter("OPERATIONS"):
        db.execute("begin immediate")
        for _ in range(parameter("BATCH")):
            i, dice = row(rng), rng.random()
            operations += 1
            if dice < 0.7:
                db.execute("update item set stamp=?, body=? where id=?", (operations, next(body), i))
            elif dice < 0.85:
                db.execute("update item set owner=?, stamp=? where id=?", (rng.randrange(1000), operations, i))
            else:
                values_ = (i, rng.randrange(1000), operations, next(body))
                db.execute("insert or replace into item values(?,?,?,?)", values_)
        db.execute("commit")
    print("operations", operations)


if __name__ == "__main__":
    verb, directory = sys.argv[1:]
    database = connect(directory)
    {"load": load, "run": run}[verb](database)
    database.close()
