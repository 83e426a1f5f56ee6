#!/usr/bin/env bash
# Reads and writes of random rows, one to one: run.sh DIR
set -euo pipefail
here=$(dirname "$0")
. "$here/../server.sh"
. "$here/java.sh"
dir=${1:?directory}
while_lives "$(cat "$dir/run/pid")" stress "$dir" mixed "ratio(write=1,read=1)" duration="${SECONDS_RUN:?}s" cl=ONE no-warmup \
    -pop "dist=uniform(1..${KEYS:?})" -rate threads=8 "throttle=${RATE:?}/s"
