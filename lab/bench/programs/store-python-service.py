"""A small service: records in SQLite, pictures in files, a cache written anew and renamed. Use: DIRECTORY EVENTS"""

import os
import pickle
import random
import sqlite3
import sys


def save_record(database, key, body):
    database.execute("insert or replace into record values (?, ?)", (key, body))


def commit(database):
    database.commit()


def save_picture(directory, key, body):
    with open(f"{directory}/picture-{key}.jpg", "wb") as file:
        file.write(body)


def save_cache(directory, cache):
    path = f"{directory}/cache.pkl"
    with open(path + ".tmp", "wb") as file:
        pickle.dump(cache, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".tmp", path)


def append_log(log, line):
    log.write(line)
    log.flush()


def main():
    directory, events = sys.argv[1], int(sys.argv[2])
    draw = random.Random(1)
    database = sqlite3.connect(f"{directory}/records.db")
    database.execute("pragma journal_mode = wal")
    database.execute("create table record (key integer primary key, body blob)")
    cache, log = {}, open(f"{directory}/service.log", "w")
    for event in range(events):
        key = int(draw.random() ** 2 * 20_000)
        save_record(database, key, draw.randbytes(draw.randrange(500, 3000)))
        cache[key % 2000] = draw.randbytes(800)
        append_log(log, f"{event} record {key}\n" * 4)
        if event % 20 == 19:
            commit(database)
            save_picture(directory, draw.randrange(400), draw.randbytes(draw.randrange(20_000, 200_000)))
        if event % 400 == 399:
            save_cache(directory, cache)
    database.commit()


if __name__ == "__main__":
    main()
