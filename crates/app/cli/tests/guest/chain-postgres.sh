# PostgreSQL as one process that reads its statements (--single): 40,000 rows, then 1,500 transactions of 20 random rows.
# No other process makes checkpoints for it. It refuses root, and looks for its own files beside the place that it was started from.
tar -x -C / -f /job/data.tar
tar -x -C /mnt -f /job/cluster.tar
# The guest has no disk but its memory: nothing of it lies there twice.
rm /job/data.tar /job/cluster.tar
mkdir -p /usr/lib/postgresql/15/bin
mv /job/postgres /usr/lib/postgresql/15/bin/
echo 'postgres:x:65534:65534::/tmp:/bin/sh' >/etc/passwd
chown -R 65534:65534 /mnt/cluster
chmod 700 /mnt/cluster
chmod 777 /tmp
awk 'BEGIN {
    srand(1)
    print "CREATE TABLE t(k int PRIMARY KEY, v text) WITH (fillfactor = 80)"
    for (from = 0; from < 40000; from += 2000) {
        print "INSERT INTO t SELECT k, repeat(md5(k::text), 20) FROM generate_series(" from ", " from + 1999 ") k"
        print "CHECKPOINT"
    }
    for (turn = 0; turn < 1500; turn++) {
        rows = int(rand() * 40000)
        for (row = 1; row < 20; row++) rows = rows "," int(rand() * 40000)
        print "UPDATE t SET v = repeat(md5(v), 20) WHERE k IN (" rows ")"
        if (turn % 25 == 24) print "CHECKPOINT"
        if (turn % 250 == 249) print "VACUUM t"
    }
    print "SELECT count(*), sum(length(v)) FROM t"
}' >/tmp/work.sql
cat >/tmp/postgres.sh <<'END'
exec /job/ld-linux-x86-64.so.2 --argv0 /usr/lib/postgresql/15/bin/postgres --library-path /job \
    /usr/lib/postgresql/15/bin/postgres --single -D /mnt/cluster -c max_wal_size=8MB -c min_wal_size=2MB \
    -c shared_buffers=8MB -c dynamic_shared_memory_type=mmap -c shared_memory_type=mmap -c log_checkpoints=off \
    -c timezone=UTC -c log_timezone=UTC postgres </tmp/work.sql
END
su -s /bin/sh postgres -c 'sh /tmp/postgres.sh' >/tmp/said 2>&1 || { tail -c 2000 /tmp/said; exit 1; }
! grep -E 'ERROR|FATAL|PANIC' /tmp/said
grep -o 'count = "40000".*' /tmp/said
