# A telephone's writes on F2FS: phone.sh DEVICE, as root. Two databases (a rollback journal, a write-ahead log) are changed in
# short transactions, 80 % of the changes in 20 % of the rows; pictures come and go as whole files; applications write
# small files into many directories and delete them. ROWS, ROUNDS, PICTURES and SMALL are in the environment.
set -e
mkfs.f2fs -q -f "$1"
mount -t f2fs -o discard "$1" /mnt
mkdir /mnt/data /mnt/pictures /mnt/apps

changes() {
    awk -v rows="$ROWS" -v seed="$1" -v transactions="$2" '
    # The seventh power: 80 % of what is drawn is below a fifth. (busybox has no powers.)
    function skewed(r) { r = rand(); return r * r * r * r * r * r * r }
    BEGIN {
        srand(seed)
        for (t = 0; t < transactions; t++) {
            print "begin immediate;"
            for (i = 0; i < 20; i++) {
                row = rand() < 0.8 ? (int(rows * skewed()) * 2654435761) % rows : int(rows * rand())
                printf "update item set stamp=%d, body=randomblob(%d) where id=%d;\n", t, 1000 + int(2000 * rand()), row
            }
            print "commit;"
        }
    }'
}

# database NAME JOURNAL SEED TRANSACTIONS: loads the rows, or changes them.
database() {
    {
        echo "pragma journal_mode=$2; pragma synchronous=full; pragma cache_size=-4000;"
        if [ "$4" = 0 ]; then
            echo "create table item(id integer primary key, stamp integer, body blob); create index stamps on item(stamp);"
            echo "with recursive n(i) as (select 0 union all select i+1 from n where i<$ROWS-1)"
            echo "insert into item select i, 0, randomblob(1000 + abs(random()) % 2000) from n;"
        else
            changes "$3" "$4"
        fi
    } | /job/sqlite3 "/mnt/data/$1.db" >/dev/null
}

# pictures FIRST LAST: each of 1 to 4 MiB; beyond PICTURES the ones of long ago are deleted.
pictures() {
    for n in $(seq "$1" "$2"); do
        dd if=/dev/zero of="/mnt/pictures/$n.jpg" bs=256k count=$((4 + n * 7 % 13)) conv=fsync 2>/dev/null
        rm -f "/mnt/pictures/$((n - PICTURES + n % 5)).jpg"
    done
}

# small FIRST LAST: files of 4 to 64 KiB in 32 directories; beyond SMALL one of the earlier is deleted.
small() {
    for n in $(seq "$1" "$2"); do
        place=/mnt/apps/$((n % 32))
        [ -d "$place" ] || mkdir "$place"
        dd if=/dev/zero of="$place/$n.cache" bs=4k count=$((1 + n * 11 % 16)) 2>/dev/null
        old=$((n - SMALL + n % 64))
        [ "$old" -lt 0 ] || rm -f "/mnt/apps/$((old % 32))/$old.cache"
    done
}

database messages delete 1 0
database contacts wal 2 0
pictures 1 "$PICTURES"
small 1 "$SMALL"
df -m /mnt
# In turns, as one user does things: programs side by side would lose the probe events on a machine as slow as an emulated one.
for round in $(seq "$ROUNDS"); do
    database messages delete $((2 * round + 1)) 25
    database contacts wal $((2 * round + 2)) 25
    pictures $((PICTURES + 2 * round - 1)) $((PICTURES + 2 * round))
    small $((SMALL + 20 * round - 19)) $((SMALL + 20 * round))
done
df -m /mnt
umount /mnt
