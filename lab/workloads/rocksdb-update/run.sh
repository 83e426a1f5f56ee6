#!/usr/bin/env bash
# ROUNDS times as many operations of KIND as there are keys: run.sh DIR
set -euo pipefail
. "$(dirname "$0")/bench.sh"
rounds=${KIND:?}
for ((round = 1; round < ${ROUNDS:?}; round++)); do rounds+=,$KIND; done
bench "${1:?directory}" "$rounds" --use_existing_db=1
