# MariaDB, whose server reads its statements from a file and ends: 40,000 rows, then 1,500 transactions of 20 random rows.
mkdir /mnt/data
awk 'BEGIN {
    srand(1)
    print "CREATE DATABASE d;"
    print "USE d;"
    print "CREATE TABLE t(k INT PRIMARY KEY, v VARCHAR(700)) ENGINE=InnoDB;"
    for (from = 0; from < 40000; from += 500) {
        line = "INSERT INTO t VALUES "
        for (k = from; k < from + 500; k++) line = line (k > from ? "," : "") "(" k ",REPEAT(MD5(" k "),20))"
        print line ";"
    }
    for (turn = 0; turn < 1500; turn++) {
        rows = int(rand() * 40000)
        for (row = 1; row < 20; row++) rows = rows "," int(rand() * 40000)
        print "UPDATE t SET v = REPEAT(MD5(v),20) WHERE k IN (" rows ");"
    }
    print "CREATE TABLE said AS SELECT COUNT(*) AS c, SUM(LENGTH(v)) AS l FROM t;"
    print "SELECT c, l FROM said INTO OUTFILE \"/tmp/counted\";"
    print "SHUTDOWN;"
}' >/tmp/work.sql
rm -f /tmp/counted
/job/ld-linux-x86-64.so.2 --argv0 mariadbd --library-path /job /job/mariadbd --no-defaults --user=root --datadir=/mnt/data \
    --skip-networking --socket=/tmp/mariadb.socket --skip-grant-tables --init-file=/tmp/work.sql --skip-log-bin \
    --innodb-log-file-size=4M --innodb-buffer-pool-size=8M --innodb-data-file-path=ibdata1:4M:autoextend \
    --innodb-flush-method=O_DIRECT >/tmp/said 2>&1 || { tail -c 2000 /tmp/said; exit 1; }
grep '^40000' /tmp/counted
