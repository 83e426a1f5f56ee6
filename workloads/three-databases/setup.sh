#!/usr/bin/env bash
# setup.sh DIR
set -euo pipefail
export TENANTS="postgres-pgbench rocksdb-update mariadb-tpcc"
. "$(dirname "$0")/../mixed/each.sh"
chmod 755 "$1"
each "${1:?directory}" setup
