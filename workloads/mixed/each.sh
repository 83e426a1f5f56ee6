# Each of two scenarios in a directory of its own, `tenant-1` and `tenant-2`: the probe takes the
# number for the tenant. each DIR VERB
TENANTS=(postgres-pgbench rocksdb-update)
each() {
    local dir=$1 verb=$2 others status=0 pid pids=()
    others=$(cd "$(dirname "$0")/.." && pwd)
    for tenant in 1 2; do
        bash "$others/${TENANTS[tenant - 1]}/$verb.sh" "$dir/tenant-$tenant" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
    return $status
}
