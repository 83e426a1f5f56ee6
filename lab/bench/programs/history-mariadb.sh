#!/usr/bin/env bash
# drive=512MiB unit=2MiB fill=0.9
# MariaDB's InnoDB as a monitor's database: values by the hour in partitions that are dropped, trends changed in place, events that a housekeeper deletes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mariadb_server "$1" --innodb-flush-log-at-trx-commit=2 --innodb-max-undo-log-size=10M
client -e 'create database d'
{
    cat <<'END'
create table history (item integer not null, hour integer not null, clock integer not null, value double, note varbinary(200), key (item, clock)) partition by list (hour) (partition p0 values in (0));
create table trends (item integer not null, day integer not null, count integer, least double, most double, primary key (item, day));
create table events (id integer not null auto_increment primary key, item integer, clock integer, severity integer, body varbinary(2000), key (item, clock), key (clock));
END
    for ((hour = 0; hour < 100; hour++)); do
        echo "alter table history add partition (partition p$((hour + 1)) values in ($((hour + 1))));"
        for minute in 0 12 24 36 48; do
            echo "insert into history select seq * 7919 % 4000, $hour, $hour * 3600 + $minute * 60 + seq % 720, rand(), left(sha2(rand(), 512), floor(rand() * 120)) from seq_1_to_8000;"
            echo "insert into events (item, clock, severity, body) select floor(rand() * 4000), $hour * 3600 + $minute * 60 + seq, floor(rand() * 6), repeat(random_bytes(60), floor(1 + rand() * 30)) from seq_1_to_500;"
            # The housekeeper: of each severity, its own time.
            echo "delete from events where clock < $((hour - 6)) * 3600 and severity < 4 limit 600; delete from events where clock < $((hour - 20)) * 3600 limit 200;"
        done
        echo "insert into trends select item, $hour div 4, count(*), min(value), max(value) from history where hour = $hour group by item on duplicate key update count = trends.count + values(count), least = least(trends.least, values(least)), most = greatest(trends.most, values(most));"
        if ((hour > 7)); then echo "alter table history drop partition p$((hour - 8)); delete from trends where day < ($hour - 40) div 4;"; fi
    done
} | client d || { tail -n 5 "$scratch/log"; exit 1; }
