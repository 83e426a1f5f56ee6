"""Statements for the shell of SQLite: rows put, replaced and deleted in transactions: sqlite.py JOURNAL."""
import random
import sys
import time

ROWS, TRANSACTIONS = 12_000, 700
draw = random.Random(sys.argv[1])
print(f"pragma journal_mode={sys.argv[1]}; pragma synchronous=normal;")
print("create table message(id integer primary key, sender text, body blob); create index by_sender on message(sender);")
added = 0
for _ in range(ROWS // 100 + TRANSACTIONS):
    print("begin;")
    for _ in range(100 if added < ROWS else 12):
        row = added if added < ROWS else int(ROWS * draw.random() ** 2)
        added += 1
        if added >= ROWS and draw.random() < 0.2:
            print(f"delete from message where id={row};")
        else:
            sender, size = draw.randrange(2000), int(min(draw.lognormvariate(6.5, 0.9), 9000))
            print(f"insert or replace into message values({row}, 'sender-{sender}', randomblob({size}));")
    print("commit;", flush=True)
    time.sleep(0.03)
