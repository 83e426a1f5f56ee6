#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# PostgreSQL with long texts, which lie beside their table (TOAST), and an index of their words (GIN): changed, deleted, put back.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
postgres "$1" 'max_wal_size = 32MB' 'synchronous_commit = off' 'autovacuum_vacuum_cost_delay = 0' 'gin_pending_list_limit = 512kB'
"$bin/psql" --quiet postgres <<'END'
create table pages (id int primary key, changed bigint not null, title text, words tsvector, body bytea);
alter table pages alter column body set storage external;
create index on pages using gin (words);
create index on pages (changed);
create function page_words(how_many int) returns tsvector language sql as $$
    select array_to_tsvector(array_agg(distinct 'w' || (30000 * random() ^ 3)::int)) from generate_series(1, how_many)
$$;
create procedure change_page(which int) language plpgsql as $$
declare length int := least(exp(ln(90) + (random() + random() + random() - 1.5) * 1.6), 600);
begin
    insert into pages select which, extract(epoch from clock_timestamp()) * 1000, 'page ' || which, page_words(20 + length / 4), string_agg(sha512((random()::text || part)::bytea), '')
        from generate_series(1, length) part
    on conflict (id) do update set changed = excluded.changed, words = excluded.words, body = excluded.body;
end $$;
create procedure fill(begin_at int, end_at int) language plpgsql as $$
begin
    for page in begin_at .. end_at loop
        call change_page(page);
        if page % 50 = 0 then commit; end if;
    end loop;
end $$;
call fill(1, 9000);
END
cat >"$scratch/change.sql" <<'END'
\set page int(9000 * random(0, 1000000) / 1000000.0 * random(0, 1000000) / 1000000.0) + 1
call change_page(:page);
END
cat >"$scratch/delete.sql" <<'END'
\set page random(1, 9000)
delete from pages where id between :page and :page + 2;
END
"$bin/pgbench" -n -f "$scratch/change.sql@12" -f "$scratch/delete.sql@1" -c 2 -T 20 --random-seed=1 postgres >/dev/null
"$bin/pg_ctl" -D "$1/postgres" -m fast stop >/dev/null 2>&1 || true
