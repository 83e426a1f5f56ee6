#!/usr/bin/env bash
# run.sh DIR
set -euo pipefail
export TENANTS="postgres-pgbench rocksdb-update mariadb-tpcc"
. "$(dirname "$0")/../mixed/each.sh"
each "${1:?directory}" run
