#!/usr/bin/env python3
# drive=128MiB unit=1MiB
"""Applications of a desk, each with an SQLite of its own and a way of its own to write it: notes with full-text search (write-ahead log, mapped
memory), a feed reader that vacuums, a cache of pictures that truncates its journal, counters that persist theirs, a list without any."""
import os
import random
import sqlite3
import sys
import threading
import time

SECONDS = 15
root = sys.argv[1]
noise = random.Random(1).randbytes(4 << 20)
words = [noise[at:at + 3].hex() for at in range(0, 60_000, 3)]
end = time.monotonic() + SECONDS


def connect(name, *settings):
    store = sqlite3.connect(f"{root}/{name}.db", isolation_level=None)
    for setting in settings:
        store.execute(f"pragma {setting}")
    return store


def some(draw, most):
    size = draw.randrange(most // 8, most)
    start = draw.randrange(len(noise) - size)
    return noise[start:start + size]


def notes(draw):
    store = connect("notes", "journal_mode=wal", "mmap_size=67108864", "wal_autocheckpoint=500")
    store.execute("create virtual table notes using fts5(body)")
    for step in range(10**9):
        body = " ".join(words[int(len(words) * draw.random() ** 3)] for _ in range(draw.randrange(40, 400)))
        if step < 6000:
            store.execute("insert into notes values (?)", (body,))
        else:
            store.execute("update notes set body = ? where rowid = ?", (body, 1 + int(6000 * draw.random() ** 2)))
        yield


def feeds(draw):
    store = connect("feeds", "journal_mode=delete", "auto_vacuum=incremental")
    store.execute("create table items (id integer primary key, feed int, text blob)")
    store.execute("create index of_feed on items (feed)")
    for step in range(10**9):
        store.execute("begin")
        for _ in range(40):
            store.execute("insert into items (feed, text) values (?, ?)", (draw.randrange(30), some(draw, 6000)))
        if step > 80:
            store.execute("delete from items where id in (select id from items where feed = ? order by id limit 40)", (draw.randrange(30),))
        store.execute("commit")
        if step % 100 == 99:
            store.execute("pragma incremental_vacuum(200)").fetchall()
        yield


def pictures(draw):
    store = connect("pictures", "journal_mode=truncate", "page_size=8192")
    store.execute("create table pictures (id integer primary key, used int, data blob)")
    for step in range(10**9):
        store.execute("replace into pictures values (?, ?, ?)", (int(600 * draw.random()), step, some(draw, 60_000)))
        yield


def counters(draw):
    store = connect("counters", "journal_mode=persist")
    store.execute("create table counters (id integer primary key, value int, text blob)")
    store.executemany("insert into counters values (?, 0, ?)", ((number, noise[number:number + 300]) for number in range(20_000)))
    while True:
        store.execute("begin")
        for _ in range(8):
            store.execute("update counters set value = value + 1 where id = ?", (int(20_000 * draw.random() ** 4),))
        store.execute("commit")
        yield


def places(draw):
    store = connect("places", "journal_mode=off", "synchronous=off")
    store.execute("create table places (id integer primary key, data blob)")
    while True:
        store.execute("insert or replace into places values (?, ?)", (draw.randrange(8000), some(draw, 2500)))
        yield


def run(application, pause):
    for _ in application(random.Random(application.__name__)):
        if time.monotonic() > end:
            return
        time.sleep(pause)


applications = [threading.Thread(target=run, args=each) for each in ((notes, 0.004), (feeds, 0.05), (pictures, 0.01), (counters, 0.02), (places, 0.001))]
for each in applications:
    each.start()
for each in applications:
    each.join()
