# SQLite with a write-ahead log: 42,000 rows of 1,000 bytes, then 2,500 transactions of 20 random rows each.
awk 'BEGIN {
    srand(1)
    print "PRAGMA journal_mode=wal; PRAGMA synchronous=normal; CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB);"
    for (from = 0; from < 42000; from += 500)
        print "INSERT INTO t WITH RECURSIVE n(k) AS (SELECT " from " UNION ALL SELECT k + 1 FROM n LIMIT 500) SELECT k, randomblob(1000) FROM n;"
    for (turn = 0; turn < 2500; turn++) {
        print "BEGIN;"
        for (row = 0; row < 20; row++) print "UPDATE t SET v = randomblob(1000) WHERE k = " int(rand() * 42000) ";"
        print "COMMIT;"
    }
    print "SELECT count(*), sum(length(v)) FROM t;"
}' >/tmp/work.sql
/job/ld-linux-x86-64.so.2 --argv0 sqlite3 --library-path /job /job/sqlite3 -bail /mnt/test.db </tmp/work.sql
