#!/usr/bin/env bash
# drive=896MiB unit=8MiB
# Three tenants: Berkeley DB, Tarantool's log-structured tree, a host of containers.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
tenants "$1" berkeleydb tarantool images
