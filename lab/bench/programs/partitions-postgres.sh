#!/usr/bin/env bash
# drive=192MiB unit=2MiB
# PostgreSQL with a table of measurements by day (BRIN and a b-tree): copied in, some corrected late, rolled up into a summary, old days dropped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
postgres "$1" 'max_wal_size = 48MB'
"$bin/psql" --quiet postgres <<'END'
create table measured (day int, at bigint, sensor int, value double precision, note bytea) partition by range (day);
create table summary (sensor int, day int, readings bigint, least double precision, most double precision, primary key (sensor, day));
END
for ((day = 0; day < 30; day++)); do
    "$bin/psql" --quiet -c "create table measured_$day partition of measured for values from ($day) to ($((day + 1)))" \
        -c "create index on measured_$day using brin (at)" -c "create index on measured_$day (sensor)" postgres
    for hour in 1 2 3 4 5 6; do
        "$bin/psql" --quiet postgres <<END
insert into measured select $day - (random() < 0.05 and $day > 0)::int, $day * 86400 + $hour * 3600 + row, random() * 2000, random(), substr(sha512((random()::text || row)::bytea), 1, 20 + row % 40)
    from generate_series(1, 10000) row;
update measured set value = value * 1.01 where day = $day - 1 and sensor between $hour * 200 and $hour * 200 + 60;
END
    done
    "$bin/psql" --quiet postgres <<END
insert into summary select sensor, day, count(*), min(value), max(value) from measured where day >= $day - 1 group by sensor, day
    on conflict (sensor, day) do update set readings = excluded.readings, least = excluded.least, most = excluded.most;
END
    if ((day > 9)); then "$bin/psql" --quiet -c "drop table measured_$((day - 10))" -c "delete from summary where day < $day - 40" postgres; fi
done
"$bin/pg_ctl" -D "$1/postgres" -m fast stop >/dev/null 2>&1 || true
