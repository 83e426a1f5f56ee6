# Each of two scenarios in a directory of its own, `tenant-1` and `tenant-2`: the probe takes the
# number for the tenant. When one fails the other is ended too, but for its teardown. each DIR VERB
TENANTS=(postgres-pgbench rocksdb-update)
each() {
    local dir=$1 verb=$2 others ended status=0 pids=()
    others=$(cd "$(dirname "$0")/.." && pwd)
    for tenant in 1 2; do
        bash "$others/${TENANTS[tenant - 1]}/$verb.sh" "$dir/tenant-$tenant" &
        pids+=($!)
    done
    for _ in "${pids[@]}"; do
        ended=0
        wait -n || ended=$?
        [ $ended != 0 ] || continue
        [ $status != 0 ] || status=$ended
        [ "$verb" = teardown ] || kill "${pids[@]}" 2>/dev/null || true
    done
    return $status
}
