#!/usr/bin/env python3
# drive=320MiB unit=4MiB
"""A desktop: a browser's cache files and its databases, a chat's pictures, documents saved over and over, photographs kept, packages upgraded."""
import os
import random
import shutil
import sqlite3
import sys

ROUNDS = 420
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
root = sys.argv[1]
for folder in ("cache", "documents", "photographs", "chat"):
    os.mkdir(f"{root}/{folder}")
databases = []
for name in ("places", "cookies", "chat"):
    database = sqlite3.connect(f"{root}/{name}.sqlite", isolation_level=None)
    database.execute("pragma journal_mode=wal")
    database.execute("pragma wal_autocheckpoint=400")
    database.execute("create table rows (id integer primary key, body blob)")
    databases.append(database)


def some(most):
    return noise[:draw.randrange(500, most)]


def keep(folder, name, data, most):
    """Writes a file and removes files by chance while the folder holds more than `most` bytes."""
    with open(f"{root}/{folder}/{name}", "wb") as file:
        file.write(data)
    files = kept.setdefault(folder, {})
    files[name] = len(data)
    while sum(files.values()) > most:
        old = list(files)[int(draw.random() ** 3 * len(files))]
        os.unlink(f"{root}/{folder}/{old}")
        del files[old]


kept = {}
for number in range(ROUNDS):
    for visit in range(draw.randrange(25)):
        keep("cache", f"{number}-{visit}", some(draw.choice((20_000, 60_000, 400_000))), 70 << 20)
    for database in databases:
        database.execute("begin")
        for _ in range(draw.randrange(120)):
            database.execute("insert or replace into rows values (?, ?)", (int(draw.random() ** 2 * 12_000), some(1800)))
        database.execute("commit")
    if draw.random() < 0.3:
        keep("chat", str(number), some(900_000), 30 << 20)
    if draw.random() < 0.4:
        # A document is saved beside itself and renamed.
        name = f"{draw.randrange(12)}.odt"
        with open(f"{root}/documents/new", "wb") as file:
            file.write(some(3_000_000))
            os.fsync(file.fileno())
        os.rename(f"{root}/documents/new", f"{root}/documents/{name}")
    if draw.random() < 0.12:
        keep("photographs", str(number), some(6_000_000), 50 << 20)
    if number % 60 == 30:
        shutil.rmtree(root + "/packages", ignore_errors=True)
        os.mkdir(root + "/packages")
        for file in range(250):
            with open(f"{root}/packages/{file}", "wb") as part:
                part.write(some(150_000))
    os.sync()
