#!/usr/bin/env python3
# drive=192MiB unit=2MiB
"""A desktop's mail program: folders in mbox files, mails appended and marked as deleted in place, a folder written anew when much of it is; full-text index in SQLite."""
import os
import random
import sqlite3
import sys

from flushing import flush_each_second

FOLDERS, ROOM, MAILS = 24, 82 << 20, 10_000
draw = random.Random(1)
noise = draw.randbytes(3 << 20).hex().encode()
root = sys.argv[1] + "/mail"
os.mkdir(root)
words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(3, 9))) for _ in range(6000)]

flush_each_second()
index = sqlite3.connect(root + "/index.sqlite", isolation_level=None)
index.executescript("pragma journal_mode=wal; pragma synchronous=normal; pragma wal_autocheckpoint=500;"
                    "create table messages (id integer primary key, folder integer, at integer, subject text);"
                    "create virtual table texts using fts5(body, prefix='2')")
folders = [open(f"{root}/{number}.mbox", "w+b", buffering=64 << 10) for number in range(FOLDERS)]
mails = [{} for _ in range(FOLDERS)]
wasted = [0] * FOLDERS
held = 0


def compact(folder):
    """What is not deleted goes into another file, which takes the folder's name."""
    file = folders[folder]
    with open(f"{root}/{folder}.compacting", "w+b") as fresh:
        for mail, (start, length) in mails[folder].items():
            file.seek(start)
            mails[folder][mail] = fresh.tell(), length
            fresh.write(file.read(length))
        fresh.flush()
        os.fsync(fresh.fileno())
    file.close()
    os.rename(f"{root}/{folder}.compacting", f"{root}/{folder}.mbox")
    folders[folder] = open(f"{root}/{folder}.mbox", "r+b", buffering=64 << 10)
    index.execute("begin")
    index.executemany("update messages set at = ? where id = ?", [(start, mail) for mail, (start, _) in mails[folder].items()])
    index.execute("commit")
    wasted[folder] = 0


for mail in range(MAILS):
    # A few folders get most; what has an attachment is long.
    folder = int(FOLDERS * draw.random() ** 2.5)
    length = int(min(draw.lognormvariate(9.6, 1.5), 4 << 20))
    at = draw.randrange(len(noise) - length)
    subject, body = (" ".join(draw.choices(words, k=count)) for count in (6, 60))
    folders[folder].seek(0, os.SEEK_END)
    start = folders[folder].tell()
    folders[folder].write(b"From - \nX-Mozilla-Status: 0001\nSubject: %s\n\n%s\n%s\n\n" % (subject.encode(), body.encode(), noise[at:at + length]))
    length = folders[folder].tell() - start
    mails[folder][mail] = start, length
    held += length
    index.execute("begin")
    index.execute("insert into messages values (?, ?, ?, ?)", (mail, folder, start, subject))
    index.execute("insert into texts (rowid, body) values (?, ?)", (mail, subject + " " + body))
    index.execute("commit")
    while held > ROOM:
        # Read and deleted: mostly one of the last, else any of that folder.
        folder = int(FOLDERS * draw.random() ** 2.5)
        if len(mails[folder]) < 5:
            continue
        which = list(mails[folder])
        gone = which[-min(int(draw.expovariate(1 / 40)) + 1, len(which))] if draw.random() < 0.5 else draw.choice(which)
        start, length = mails[folder].pop(gone)
        folders[folder].seek(start + 24)
        folders[folder].write(b"0009")
        index.execute("delete from messages where id = ?", (gone,))
        index.execute("delete from texts where rowid = ?", (gone,))
        held -= length
        wasted[folder] += length
    for folder in range(FOLDERS):
        if wasted[folder] > 1 << 20 and wasted[folder] > 0.3 * sum(length for _, length in mails[folder].values()):
            compact(folder)
