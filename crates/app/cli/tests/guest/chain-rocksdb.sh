# RocksDB: 30,000 keys of 1,000 bytes, and as many overwrites.
# The limits on compaction's debt keep a tight drive from running full; bytes_per_sync lets the log reach the drive at
# all (it would be deleted before it is written out), as in workloads/rocksdb-update.
table=262144
bench() {
    /job/ld-linux-x86-64.so.2 --argv0 db_bench --library-path /job /job/db_bench --db=/mnt/rocksdb --num=30000 \
        --value_size=1000 --compression_type=none --seed=1 --threads=1 --write_buffer_size="$table" \
        --target_file_size_base="$table" --max_bytes_for_level_base=$((4 * table)) --level_compaction_dynamic_level_bytes \
        --soft_pending_compaction_bytes_limit=$((8 * table)) --hard_pending_compaction_bytes_limit=$((16 * table)) \
        --max_background_jobs=2 --bytes_per_sync=1048576 --wal_bytes_per_sync=131072 "$@" >/tmp/bench 2>&1 || status=$?
    tr '\r' '\n' </tmp/bench | grep -E 'micros/op|rror' || true
    return ${status:-0}
}
bench --benchmarks=filluniquerandom
bench --benchmarks=overwrite --use_existing_db=1
