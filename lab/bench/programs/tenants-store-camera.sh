#!/usr/bin/env bash
# drive=768MiB unit=8MiB
# Two tenants: LevelDB, and the recorder of cameras.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
tenants "$1" leveldb surveillance
