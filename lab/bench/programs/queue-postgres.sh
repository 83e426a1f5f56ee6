#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# PostgreSQL as a queue: jobs come in bulk, are taken by workers, marked, and deleted; a table of results by hour is loaded and truncated.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
postgres "$1" 'max_wal_size = 24MB' 'synchronous_commit = off' 'autovacuum_vacuum_cost_delay = 0'
"$bin/psql" --quiet postgres <<'END'
create table jobs (id bigserial primary key, state int not null default 0, run_at double precision not null default random(), payload bytea not null);
create index on jobs (state, run_at);
create table archive (hour int, id bigint, payload bytea) partition by list (hour);
create table hours (hour int);
insert into hours values (0);
create procedure turn() language plpgsql as $$
declare now int;
begin
    update hours set hour = hour + 1 returning hour into now;
    execute format('create table archive_%s partition of archive for values in (%s)', now, now);
    if now > 5 then execute format('drop table archive_%s', now - 5); end if;
end $$;
END
cat >"$scratch/produce.sql" <<'END'
insert into jobs (payload) select string_agg(sha512((random()::text || job)::bytea), '') from generate_series(1, 20) job, generate_series(1, (12 + 4 * job)) part
    where (select count(*) from (select from jobs limit 14000) waiting) < 14000 group by job;
END
cat >"$scratch/work.sql" <<'END'
update jobs set state = 1 where id in (select id from jobs where state = 0 order by run_at limit 20 for update skip locked);
with done as (delete from jobs where id in (select id from jobs where state = 1 order by run_at limit 20 for update skip locked) returning id, payload)
    insert into archive select (select max(hour) from hours), id, payload from done where random() < 0.3;
END
"$bin/psql" --quiet -c 'call turn()' -c "insert into jobs (payload) select string_agg(sha512((random()::text || job)::bytea), '') from generate_series(1, 12000) job, generate_series(1, 25) part group by job" postgres
(while sleep 3; do "$bin/psql" --quiet -c 'call turn()' postgres; done) &
children+=($!)
"$bin/pgbench" -n -f "$scratch/produce.sql" -f "$scratch/work.sql" -c 2 -T 30 --random-seed=1 postgres >/dev/null
"$bin/pg_ctl" -D "$1/postgres" -m fast stop >/dev/null 2>&1 || true
