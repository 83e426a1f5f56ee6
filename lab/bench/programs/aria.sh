#!/usr/bin/env bash
# drive=192MiB unit=2MiB fill=0.9
# MariaDB's own older engines: a table in Aria with its log, another in MyISAM; rows changed, grown, deleted and put back.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mariadb_server "$1" --aria-pagecache-buffer-size=4M --aria-log-file-size=8M --aria-checkpoint-interval=2 --key-buffer-size=4M
client <<'END'
create database d; use d;
create table visits (id integer not null primary key, grp integer, body varbinary(2000), key (grp)) engine=aria transactional=1;
create table pages (id integer not null primary key, grp integer, body varbinary(2000), key (grp)) engine=myisam;
delimiter //
create procedure change_rows(begin integer, how_many integer, everyone integer)
begin
  declare i integer default 0; declare k integer;
  while i < how_many do
    replace into visits select if(everyone = 0, begin + i + seq, floor(rand() * rand() * everyone)), floor(rand() * 5000), repeat(random_bytes(floor(20 + rand() * 180)), 8) from seq_0_to_19;
    replace into pages select if(everyone = 0, begin + i + seq, floor(rand() * rand() * everyone)), floor(rand() * 5000), repeat(random_bytes(floor(20 + rand() * 180)), 8) from seq_0_to_19;
    set k = floor(rand() * everyone);
    delete from pages where id between k and k + 9;
    set i = i + 20;
  end while;
end//
END
for ((begin = 0; begin < 60000; begin += 10000)); do
    client d -e "call change_rows($begin, 10000, if($begin < 24000, 0, 24000))" || { tail -n 5 "$scratch/log"; exit 1; }
done
