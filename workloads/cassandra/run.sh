#!/usr/bin/env bash
# Reads and writes of random rows, one to one: run.sh DIR
set -euo pipefail
. "$(dirname "$0")/java.sh"
stress "${1:?directory}" mixed "ratio(write=1,read=1)" duration="${SECONDS_RUN:?}s" cl=ONE no-warmup \
    -pop "dist=uniform(1..${KEYS:?})" -rate threads=8 "throttle=${RATE:?}/s"
