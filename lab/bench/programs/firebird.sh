#!/usr/bin/env bash
# drive=160MiB unit=2MiB fill=0.9
# Firebird, embedded: record versions in pages written in place, swept as transactions end.
set -euo pipefail
database=$1/rows.fdb
isql-fb -quiet <<END
create database '$database' page_size 8192;
commit;
create table things (id integer not null primary key, grp integer, body varchar(700) character set octets);
create index things_group on things (grp);
commit;
set term ^;
execute block as declare i integer = 0; begin
  while (i < 120000) do begin insert into things values (:i, mod(:i * 7919, 1000), rpad('', 690, gen_uuid())); i = i + 1; end
end^
commit^
set term ;^
END
for ((round = 0; round < 45; round++)); do cat <<END
set term ^;
execute block as declare i integer = 0; declare k integer; begin
  while (i < 1500) do begin k = cast(rand() * rand() * 119999 as integer); update things set grp = mod(:k * $round, 1000), body = rpad('', 690, gen_uuid()) where id = :k; i = i + 1; end
end^
commit^
set term ;^
END
done | isql-fb -quiet "$database"
