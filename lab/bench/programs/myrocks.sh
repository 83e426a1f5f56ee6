#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# MariaDB with MyRocks: a table with an index in RocksDB, changed in transactions by a stored procedure; the binary log purged behind.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mariadb_server "$1" --plugin-load-add=ha_rocksdb --log-bin="$1/mysql/binlog" --binlog-format=row --max-binlog-size=8M \
    --rocksdb-default-cf-options='write_buffer_size=4m;target_file_size_base=4m;max_bytes_for_level_base=16m;level0_file_num_compaction_trigger=4;level_compaction_dynamic_level_bytes=true;soft_pending_compaction_bytes_limit=33554432;hard_pending_compaction_bytes_limit=67108864;compression=kNoCompression;bottommost_compression=kNoCompression' \
    --rocksdb-bytes-per-sync=1048576 --rocksdb-wal-bytes-per-sync=131072 --rocksdb-max-total-wal-size=16777216 --rocksdb-flush-log-at-trx-commit=2
client <<'END'
create database d; use d;
create table things (id integer not null primary key, grp integer, body varbinary(1000), key (grp)) engine=rocksdb;
delimiter //
create procedure change_rows(begin integer, how_many integer, everyone integer)
begin
  declare i integer default 0; declare k integer;
  start transaction;
  while i < how_many do
    set k = if(everyone = 0, begin + i, floor(rand() * rand() * everyone));
    replace into things values (k, floor(rand() * 5000), concat(random_bytes(450), random_bytes(450)));
    if i % 20 = 19 then commit; start transaction; end if;
    set i = i + 1;
  end while;
  commit;
end//
END
for ((begin = 0; begin < 440000; begin += 10000)); do
    client d -e "call change_rows($begin, 10000, if($begin < 80000, 0, 80000)); purge binary logs before now()" || { tail -n 5 "$scratch/log"; exit 1; }
done
