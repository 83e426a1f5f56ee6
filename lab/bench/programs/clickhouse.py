#!/usr/bin/env python3
# drive=288MiB unit=8MiB
"""ClickHouse inside the program (chdb): parts inserted, merged, and a partition dropped when its time has come."""
import sys

from chdb.session import Session

session = Session(sys.argv[1] + "/clickhouse")
session.query("create database events engine = Atomic")
session.query("create table events.log (day UInt32, id UInt64, amount Float64, body String codec(NONE)) engine = MergeTree"
              " partition by intDiv(day, 20) order by (id, day) settings min_bytes_for_wide_part = 1000000, old_parts_lifetime = 1")
for day in range(540):
    session.query(f"insert into events.log select {day}, rand64() % 100000, rand() / 7, randomString(100) from numbers(18000)")
    if day % 20 == 0 and day >= 60:
        session.query(f"alter table events.log drop partition {day // 20 - 3}")
session.close()
