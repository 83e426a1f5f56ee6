#!/usr/bin/env python3
# drive=192MiB unit=4MiB
"""DuckDB, an analytical database in one file: days of rows appended, old days deleted, some rows changed, a summary made anew."""
import sys

import duckdb

database = duckdb.connect(sys.argv[1] + "/days.duckdb")
database.execute("set threads=1; set memory_limit='64MB'; set checkpoint_threshold='8MB'; set preserve_insertion_order=false")
database.execute("create table events (day integer, id bigint, amount double, body varchar)")
for day in range(150):
    database.execute("insert into events select ?, range, random(), sha256(random()::varchar) || sha256(random()::varchar) from range(90000)", [day])
    database.execute("delete from events where day < ?", [day - 10])
    database.execute("update events set amount = amount + 1 where day = ? and id % 7 = ?", [day - day % 10, day % 7])
    database.execute("create or replace table summary as select day, id % 50000 as kind, sum(amount) total from events where day > ? group by all", [day - 3])
database.close()
