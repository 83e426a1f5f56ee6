"""A small machine's evening: a database of SQLite, a log that is rotated, mails that come and go, packages that are unpacked."""
import os
import random
import shutil
import sqlite3
import sys

root, ROWS, ROUNDS = sys.argv[1], 40_000, 260
draw = random.Random(1)
noise = draw.randbytes(4 << 20)
database = sqlite3.connect(root + "/rows.db", isolation_level=None)
database.execute("pragma journal_mode=wal")
database.execute("pragma synchronous=normal")
database.execute("pragma wal_autocheckpoint=500")
database.execute("create table rows (id integer primary key, body blob)")
database.execute("begin")
for row in range(ROWS):
    database.execute("insert into rows values (?, ?)", (row, noise[row:row + 900]))
database.execute("commit")
os.mkdir(root + "/mail")
mails = []
for number in range(ROUNDS):
    for _ in range(3):
        database.execute("begin")
        for _ in range(200):
            at = draw.randrange(len(noise) - 900)
            database.execute("update rows set body = ? where id = ?", (noise[at:at + 900], int(draw.random() ** 3 * ROWS)))
        database.execute("commit")
    with open(root + "/log", "ab") as log:
        log.write(noise[:700_000])
        os.fsync(log.fileno())
    if number % 12 == 11:
        for old in (2, 1):
            if os.path.exists(f"{root}/log.{old}"):
                os.rename(f"{root}/log.{old}", f"{root}/log.{old + 1}")
        os.rename(root + "/log", root + "/log.1")
    for _ in range(20):
        path = f"{root}/mail/{number}-{draw.random()}"
        with open(path, "wb") as mail:
            mail.write(noise[:draw.randrange(2000, 90_000)])
        mails.append(path)
    while len(mails) > 900:
        os.unlink(mails.pop(draw.randrange(len(mails))))
    if number % 20 == 0:
        shutil.rmtree(root + "/package", ignore_errors=True)
        os.mkdir(root + "/package")
        for file in range(300):
            with open(f"{root}/package/{file}", "wb") as part:
                part.write(noise[:draw.randrange(1000, 200_000)])
    os.sync()
database.close()
