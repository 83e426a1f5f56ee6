# Each of several scenarios, TENANTS, in a directory of its own, `tenant-1` and on: the probe takes the
# number for the tenant. When one fails the others are ended too, but for their teardown. each DIR VERB
: "${TENANTS:=postgres-pgbench rocksdb-update}"
each() {
    local dir=$1 verb=$2 others name number=0 ended status=0 pids=()
    others=$(cd "$(dirname "$0")/.." && pwd)
    for name in $TENANTS; do
        number=$((number + 1))
        [ "$verb" != setup ] || mkdir "$dir/tenant-$number"
        bash "$others/$name/$verb.sh" "$dir/tenant-$number" &
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
