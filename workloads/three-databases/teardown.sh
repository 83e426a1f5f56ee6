#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
export TENANTS="postgres-pgbench rocksdb-update mariadb-tpcc"
. "$(dirname "$0")/../mixed/each.sh"
each "${1:?directory}" teardown
