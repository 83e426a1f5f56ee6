# RocksDB's db_bench on the drive: bench DIR BENCHMARKS [OPTION...]; parameters as in workload.toml.
# The limits on compaction's debt keep a tight drive from running full; bytes_per_sync lets the log
# reach the drive at all (it would be deleted before it is written out).
bench() {
    local dir=$1 benchmarks=$2
    shift 2
    if [ "${DIRECT:?}" = 1 ]; then
        # Reads stay in the page cache: through the loop device each would take half a millisecond.
        set -- "$@" --use_direct_io_for_flush_and_compaction
    fi
    db_bench --benchmarks="$benchmarks" --db="$dir/rocksdb" --num="${KEYS:?}" --value_size="${VALUE_BYTES:?}" \
        --compression_type=none --seed="${SEED:?}" --threads=1 --write_buffer_size="${TABLE_BYTES:?}" \
        --target_file_size_base="$TABLE_BYTES" --max_bytes_for_level_base=$((4 * TABLE_BYTES)) \
        --level_compaction_dynamic_level_bytes --soft_pending_compaction_bytes_limit=$((32 * TABLE_BYTES)) \
        --hard_pending_compaction_bytes_limit=$((64 * TABLE_BYTES)) --max_background_jobs=2 \
        --bytes_per_sync=1048576 --wal_bytes_per_sync=131072 "$@" 2>&1 |
        tr '\r' '\n' | grep --line-buffered -E 'micros/op|rror'
}
