# Each of several scenarios in a directory of its own, `tenant-1` and on: the probe takes the number for
# the tenant. When one fails the others are ended too, but for their teardown. each DIR VERB
case $(basename "$(dirname "$0")") in
three-databases) tenants=(postgres-pgbench rocksdb-update mariadb-tpcc) ;;
*) tenants=(postgres-pgbench rocksdb-update) ;;
esac
each() {
    local dir=$1 verb=$2 others number ended status=0 pids=()
    others=$(cd "$(dirname "$0")/.." && pwd)
    # All before any is started: a directory that cannot be made ends this script.
    for number in "${!tenants[@]}"; do
        [ "$verb" != setup ] || mkdir "$dir/tenant-$((number + 1))"
    done
    for number in "${!tenants[@]}"; do
        bash "$others/${tenants[number]}/$verb.sh" "$dir/tenant-$((number + 1))" &
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
