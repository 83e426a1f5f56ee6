#!/usr/bin/env python3
# drive=256MiB unit=2MiB fill=0.9
"""Kuzu: a graph of people, what they wrote and whom they follow, in one file with a log and checkpoints; profiles change, posts come and go."""
import random
import sys

import kuzu

from flushing import flush_each_second

PEOPLE, ROUNDS, BATCH = 12_000, 700, 300
draw = random.Random(1)
noise = draw.randbytes(1 << 20).hex()


def text(mean):
    at = draw.randrange(len(noise) - 8000)
    return noise[at:at + int(min(max(draw.lognormvariate(mean, 0.7), 20), 8000))]


flush_each_second()
store = kuzu.Database(sys.argv[1] + "/graph.kuzu", buffer_pool_size=1 << 30, checkpoint_threshold=4 << 20, max_num_threads=2, compression=False)
connection = kuzu.Connection(store)
for statement in ("create node table Person (id int64 primary key, name string, about string)", "create node table Post (id int64 primary key, at int64, body string)",
                  "create rel table Wrote (from Person to Post)", "create rel table Follows (from Person to Person, since int64)"):
    connection.execute(statement)
for begin in range(0, PEOPLE, 1000):
    connection.execute("unwind $rows as row create (:Person {id: row.id, name: row.name, about: row.about})",
                       {"rows": [{"id": person, "name": f"person {person}", "about": text(6)} for person in range(begin, begin + 1000)]})
for turn in range(ROUNDS):
    # The older half of the posts goes as they become too many.
    rows = [{"id": turn * BATCH + number, "person": int(PEOPLE * draw.random() ** 2), "body": text(6.5)} for number in range(BATCH)]
    connection.execute(f"unwind $rows as row match (p:Person {{id: row.person}}) create (p)-[:Wrote]->(:Post {{id: row.id, at: {turn}, body: row.body}})", {"rows": rows})
    connection.execute("unwind $rows as row match (p:Person {id: row.id}) set p.about = row.about",
                       {"rows": [{"id": int(PEOPLE * draw.random() ** 2), "about": text(6)} for _ in range(BATCH)]})
    connection.execute("unwind $rows as row match (a:Person {id: row.a}), (b:Person {id: row.b}) create (a)-[:Follows {since: row.since}]->(b)",
                       {"rows": [{"a": int(PEOPLE * draw.random() ** 2), "b": draw.randrange(PEOPLE), "since": turn} for _ in range(BATCH)]})
    if turn > 60:
        connection.execute("unwind $gone as id match (p:Post {id: id}) detach delete p", {"gone": [draw.randrange((turn - 60) * BATCH, (turn - 40) * BATCH) for _ in range(BATCH)]})
